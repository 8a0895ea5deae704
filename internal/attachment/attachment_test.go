package attachment_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/sayso-dev/sayso/internal/attachment"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rows is the store as its contract says, for one goroutine.
type rows map[string]session.StoredAttachment

func (r rows) SaveAttachment(_ context.Context, a session.StoredAttachment) error {
	if _, known := r[a.AttachmentID]; !known {
		r[a.AttachmentID] = a
	}
	return nil
}

func (r rows) Attachment(_ context.Context, id string) (session.StoredAttachment, error) {
	a, known := r[id]
	if !known {
		return a, session.ErrNoAttachment
	}
	return a, nil
}

func (r rows) ForgetAttachments(_ context.Context, before time.Time) (n int, err error) {
	for id, a := range r {
		if len(a.Sessions) == 0 && a.CreatedAt.Before(before) {
			delete(r, id)
			n++
		}
	}
	return n, nil
}

func open(t *testing.T) (*attachment.Shelf, rows, string) {
	t.Helper()
	st := rows{}
	path := filepath.Join(t.TempDir(), "attachments")
	s, err := attachment.Open(path, st, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, st, path
}

func TestTypeIsThatOfTheContent(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"\x89PNG\r\n\x1a\nrest": "image/png", "\xff\xd8\xff\xe0": "image/jpeg", "GIF89a..": "image/gif", "RIFF\x00\x00\x00\x00WEBPVP8 ": "image/webp",
		"%PDF-1.7\n": "application/pdf", "hello": "text/plain", "ünï\n": "text/plain",
		"<svg onload=alert(1)>": "text/plain", "<!doctype html><script>": "text/plain",
		"": "", "\x00\x01": "", "\xff\xfeh\x00i\x00": "", "MZ\x90\x00\x03": "", "XXXX\x00\x00\x00\x00WEBP": "",
	} {
		got, err := attachment.MediaTypeOf([]byte(content))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", content, got, err, want)
		}
	}
}

func TestStoreAttachment(t *testing.T) {
	t.Parallel()
	s, st, path := open(t)
	a, err := s.Store(t.Context(), "", "u1", "../../etc/pass\u202egpj.exe\n", []byte("%PDF-1.7"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != "passgpj.exe" || a.MediaType != "application/pdf" || a.Size != 8 {
		t.Errorf("got %+v", a)
	}
	info, err := os.Stat(filepath.Join(path, a.AttachmentID))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if again, err := s.Store(t.Context(), a.AttachmentID, "u1", "x", []byte("other bytes")); err != nil || again.AttachmentID != a.AttachmentID {
		t.Errorf("again: %v, %v", again, err)
	}
	if data, err := s.Read(a.AttachmentID); err != nil || string(data) != "%PDF-1.7" {
		t.Errorf("read: %q, %v", data, err)
	}
	if kept, err := st.Attachment(t.Context(), a.AttachmentID); err != nil || kept.OwnerID != "u1" || kept.Name != a.Name {
		t.Errorf("row: %+v, %v", kept, err)
	}
	for _, id := range []string{uuid.NewString(), "../sayso.db", "", "."} {
		if _, err := s.Read(id); !errors.Is(err, session.ErrNoAttachment) {
			t.Errorf("read %q: %v", id, err)
		}
	}
	for name, content := range map[string][]byte{
		"empty": {}, "large.txt": []byte(strings.Repeat("x", attachment.MaxSize+1)), "program": {0, 1, 2},
	} {
		_, err := s.Store(t.Context(), "", "u1", name, content)
		var invalid *problem.Error
		if !errors.As(err, &invalid) || !strings.Contains(invalid.Message, name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSweepRemovesUnusedAttachments(t *testing.T) {
	t.Parallel()
	s, st, path := open(t)
	now := time.Now()
	keep := func() string {
		t.Helper()
		a, err := s.Store(t.Context(), "", "u1", "a.txt", []byte("text"))
		if err != nil {
			t.Fatal(err)
		}
		return a.AttachmentID
	}
	there := func(id string, want bool) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(path, id)); errors.Is(err, fs.ErrNotExist) == want {
			t.Errorf("%s: %v, want it there: %v", id, err, want)
		}
	}
	used, unused := keep(), keep()
	stray, part := uuid.NewString(), uuid.NewString()+".part"
	for _, name := range []string{stray, part} {
		if err := os.WriteFile(filepath.Join(path, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	row := st[used]
	row.Sessions = []string{uuid.NewString()}
	st[used] = row
	sweep := func(at time.Time) {
		t.Helper()
		if err := s.Sweep(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	sweep(now)
	there(used, true)
	there(unused, true)
	there(stray, true) // its row may be on its way
	sweep(now.Add(2 * time.Hour))
	there(stray, false)
	there(part, false)
	there(unused, true)
	sweep(now.Add(8 * 24 * time.Hour))
	there(unused, false)
	there(used, true)
	delete(st, used)
	sweep(now.Add(2 * time.Hour))
	there(used, false)
}
