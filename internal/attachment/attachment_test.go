package attachment_test

import (
	"bytes"
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

// database is the store as its contract says, for one goroutine.
type database struct {
	rows   map[string]session.StoredAttachment
	chunks map[string][]session.AttachmentChunk
	fail   int // fails after this many chunks; 0 for never
}

var errFull = errors.New("the disk is full")

func (d *database) SaveAttachmentChunk(_ context.Context, id string, c session.AttachmentChunk) error {
	if d.fail > 0 {
		if d.fail--; d.fail == 0 {
			return errFull
		}
	}
	d.chunks[id] = append(d.chunks[id][:c.Number:c.Number], c)
	return nil
}

func (d *database) AttachmentChunks(_ context.Context, id string) ([]session.AttachmentChunk, error) {
	return d.chunks[id], nil
}

func (d *database) SaveAttachment(_ context.Context, a session.StoredAttachment) error {
	if _, known := d.rows[a.AttachmentID]; !known {
		d.rows[a.AttachmentID] = a
	}
	return nil
}

func (d *database) Attachment(_ context.Context, id string) (session.StoredAttachment, error) {
	a, known := d.rows[id]
	if !known {
		return a, session.ErrNoAttachment
	}
	return a, nil
}

func (d *database) ForgetAttachments(_ context.Context, before time.Time) (n int, err error) {
	for id, a := range d.rows {
		if len(a.Sessions) == 0 && a.CreatedAt.Before(before) {
			delete(d.rows, id)
			n++
		}
	}
	return n, nil
}

func (d *database) ForgetAttachmentChunks(_ context.Context, before time.Time) (n int, err error) {
	for id, list := range d.chunks {
		if _, known := d.rows[id]; !known && list[0].CreatedAt.Before(before) {
			delete(d.chunks, id)
			n++
		}
	}
	return n, nil
}

// open returns a shelf, its store, and the path of the folder of an earlier version, which holds
// the given files.
func open(t *testing.T, files map[string][]byte) (*attachment.Shelf, *database, string) {
	t.Helper()
	d := &database{rows: map[string]session.StoredAttachment{}, chunks: map[string][]session.AttachmentChunk{}}
	path := filepath.Join(t.TempDir(), "attachments")
	for name, data := range files {
		if err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(filepath.Join(path, name), data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return reopen(t, d, path), d, path
}

func reopen(t *testing.T, d *database, path string) *attachment.Shelf {
	t.Helper()
	s, err := attachment.Open(path, d, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
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
	s, d, path := open(t, nil)
	a, err := s.Store(t.Context(), "", "u1", "../../etc/pass\u202egpj.exe\n", []byte("%PDF-1.7"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != "passgpj.exe" || a.MediaType != "application/pdf" || a.Size != 8 {
		t.Errorf("got %+v", a)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
	if again, err := s.Store(t.Context(), a.AttachmentID, "u1", "x", []byte("other bytes")); err != nil || again.AttachmentID != a.AttachmentID {
		t.Errorf("again: %v, %v", again, err)
	}
	if data, err := s.Read(t.Context(), a.AttachmentID); err != nil || string(data) != "%PDF-1.7" {
		t.Errorf("read: %q, %v", data, err)
	}
	if row := d.rows[a.AttachmentID]; row.OwnerID != "u1" || row.Name != a.Name {
		t.Errorf("row: %+v", row)
	}
	for _, id := range []string{uuid.NewString(), "../sayso.db", "", "."} {
		if _, err := s.Read(t.Context(), id); !errors.Is(err, session.ErrNoAttachment) {
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

func TestLargeAttachmentIsStoredInChunks(t *testing.T) {
	t.Parallel()
	s, d, _ := open(t, nil)
	content := bytes.Repeat([]byte("0123456789abcdef"), 5<<16/2) // 2.5 MiB
	d.fail = 3
	id := uuid.NewString()
	if _, err := s.Store(t.Context(), id, "u1", "a.txt", content); !errors.Is(err, errFull) {
		t.Fatalf("got %v", err)
	}
	if _, err := s.Read(t.Context(), id); !errors.Is(err, session.ErrNoAttachment) {
		t.Errorf("a part of it is there: %v", err)
	}
	if _, err := s.Store(t.Context(), id, "u1", "a.txt", content); err != nil {
		t.Fatal(err)
	}
	if n := len(d.chunks[id]); n != 3 {
		t.Errorf("%d chunks, want 3", n)
	}
	if data, err := s.Read(t.Context(), id); err != nil || !bytes.Equal(data, content) {
		t.Errorf("read %d bytes, %v", len(data), err)
	}
	whole := d.chunks[id]
	for what, damaged := range map[string][]session.AttachmentChunk{
		"the end is missing": whole[:2], "a part is missing": {whole[0], whole[2]},
		"a byte changed": {whole[0], whole[1], {Number: 2, Hash: whole[2].Hash, Data: append([]byte("x"), whole[2].Data[1:]...)}},
	} {
		d.chunks[id] = damaged
		if _, err := s.Read(t.Context(), id); !errors.Is(err, attachment.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestFilesOfAnEarlierVersionAreTakenOver(t *testing.T) {
	t.Parallel()
	first, second, stray, wrong := uuid.NewString(), uuid.NewString(), uuid.NewString(), uuid.NewString()
	content := map[string][]byte{first: bytes.Repeat([]byte("a"), 3<<20), second: bytes.Repeat([]byte("b"), 2<<20), stray: []byte("x"), first + ".1.part": []byte("aa"), wrong: []byte("cut")}
	s, d, path := open(t, content)
	for _, id := range []string{first, second} {
		d.rows[id] = session.StoredAttachment{AttachmentInfo: session.AttachmentInfo{AttachmentID: id, Size: len(content[id])}}
	}
	d.rows[wrong] = session.StoredAttachment{AttachmentInfo: session.AttachmentInfo{AttachmentID: wrong, Size: 100}}
	readable := func() {
		t.Helper()
		for _, id := range []string{first, second} {
			if data, err := s.Read(t.Context(), id); err != nil || !bytes.Equal(data, content[id]) {
				t.Errorf("read %d bytes, %v", len(data), err)
			}
		}
	}
	readable()
	d.fail = 3 // a server that ends within a file
	if err := s.TakeOver(t.Context()); !errors.Is(err, errFull) {
		t.Fatalf("got %v", err)
	}
	readable()
	s = reopen(t, d, path)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	readable()
	left, err := os.ReadDir(path)
	if err != nil || len(left) != 1 || left[0].Name() != wrong {
		t.Errorf("left: %v, %v; want the damaged file alone", left, err)
	}
}

func TestSweepRemovesUnusedAttachments(t *testing.T) {
	t.Parallel()
	s, d, _ := open(t, nil)
	now := time.Now()
	store := func() string {
		t.Helper()
		a, err := s.Store(t.Context(), "", "u1", "a.txt", []byte("text"))
		if err != nil {
			t.Fatal(err)
		}
		return a.AttachmentID
	}
	sweep := func(at time.Time, want ...string) {
		t.Helper()
		if err := s.Sweep(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		if len(d.chunks) != len(want) {
			t.Errorf("chunks of %d attachments, want %d", len(d.chunks), len(want))
		}
		for _, id := range want {
			if len(d.chunks[id]) == 0 {
				t.Errorf("the chunks of %s are gone", id)
			}
		}
	}
	used, unused, stray := store(), store(), store()
	row := d.rows[used]
	row.Sessions = []string{uuid.NewString()}
	d.rows[used] = row
	delete(d.rows, stray) // it may be on its way
	sweep(now, used, unused, stray)
	sweep(now.Add(2*time.Hour), used, unused)
	sweep(now.Add(8*24*time.Hour), used)
	delete(d.rows, used)
	sweep(now.Add(2 * time.Hour))
}
