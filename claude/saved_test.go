package claude_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/claude"
)

const savedID = "81c9036c-0cff-4732-a4a4-9704492b4494"

// save writes a file of the CLI's configuration folder.
func save(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func saidLine(i int, text string) string {
	return fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":%q}]},"uuid":"u%d","timestamp":"2026-11-21T10:00:00.000Z","cwd":"/w"}`, text, i)
}

// A UUID is found wherever a piece that is read ends.
func TestSavedFolderHolds(t *testing.T) {
	t.Parallel()
	const wanted = "3cf289cc-9624-46f6-8006-86bcbd91c16c"
	line := saidLine(1, strings.Repeat("x", 10)) + "\n"
	for _, before := range []int{0, 256<<10 - len(wanted), 256<<10 - 20, 256<<10 - 1, 256 << 10, 512<<10 - 57, 512<<10 - 40} {
		dir := t.TempDir()
		padding := line + strings.Repeat("y", max(0, before-len(line)))
		save(t, dir, "projects/-w/"+savedID+".jsonl", padding+wanted+"\n"+line)
		f := claude.NewSavedFolder(dir)
		s, err := f.Find(savedID)
		if err != nil {
			t.Fatal(err)
		}
		for uuid, want := range map[string]bool{wanted: true, strings.Replace(wanted, "3c", "4c", 1): false} {
			if holds, err := f.Mentions(s, uuid); err != nil || holds != want {
				t.Errorf("%s after %d bytes: %t, %v", uuid, before, holds, err)
			}
		}
	}
}

func TestSavedFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	head := `{"type":"queue-operation","operation":"enqueue"}
{"parentUuid":null,"isSidechain":false,"type":"user","isMeta":true,"message":{"role":"user","content":"Caveat: none of a person"},"uuid":"m","timestamp":"2026-11-21T10:00:00.000Z","cwd":"/work/here"}
{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"<command-name>/clear</command-name>"},"uuid":"c","timestamp":"2026-11-21T10:00:00.000Z","cwd":"/work/here"}
{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"Fix it.\nPlease."},"uuid":"p","timestamp":"2026-11-21T10:00:00.500Z","cwd":"/work/here"}
`
	save(t, dir, "projects/-work-here/"+savedID+".jsonl", head+`{"type":"summary","summary":"A summary"}`+"\n"+`{"cut off`)
	other := strings.Replace(savedID, "81", "99", 1)
	save(t, dir, "projects/-work-here/"+other+".jsonl", head)
	save(t, dir, "projects/-work-here/not-a-session.jsonl", head)
	save(t, dir, "projects/-work-here/"+savedID+"/subagents/agent-1.jsonl", head)
	save(t, dir, "projects/-empty/"+strings.Replace(savedID, "81", "77", 1)+".jsonl", "rubbish\n")
	save(t, dir, "sessions/1.json", fmt.Sprintf(`{"pid":%d,"sessionId":%q,"status":"busy"}`, os.Getpid(), other))
	if err := os.Symlink(filepath.Join(dir, "sessions/1.json"), filepath.Join(dir, "projects/-work-here", strings.Replace(savedID, "81", "55", 1)+".jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "sessions/2.json"), 0o600); err != nil {
		t.Fatal(err)
	}

	f := claude.NewSavedFolder(dir)
	for range 2 { // also from what is remembered
		list, err := f.List(100)
		if err != nil || len(list) != 2 {
			t.Fatalf("got %+v, %v", list, err)
		}
		for _, s := range list {
			want := map[string]string{savedID: "A summary", other: "Fix it."}[s.SessionID]
			if s.CWD != "/work/here" || s.Title != want || s.Running != (s.SessionID == other) {
				t.Errorf("got %+v", s)
			}
		}
	}
	for _, id := range []string{"", "../../x", savedID + "/subagents/agent-1", strings.Replace(savedID, "81", "00", 1), strings.Replace(savedID, "81", "55", 1)} {
		if _, err := f.Find(id); !errors.Is(err, claude.ErrNotSaved) {
			t.Errorf("find %q: %v", id, err)
		}
	}
	if list, err := claude.NewSavedFolder(filepath.Join(dir, "none")).List(5); err != nil || len(list) != 0 {
		t.Errorf("no folder: %v, %v", list, err)
	}
}

// TestSavedIsReadInPieces: whatever the size of a piece, every message comes once,
// and a line that no piece holds is left out.
func TestSavedIsReadInPieces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString(`{"type":"user","message":{"role":"user","content":"Go."},"uuid":"p","cwd":"/w"}` + "\n")
	for i := range 200 {
		text.WriteString(saidLine(i, strings.Repeat("x", i%17)) + "\n")
		if i == 100 {
			text.WriteString(saidLine(1000, strings.Repeat("huge", 64<<10)) + "\n")
		}
	}
	save(t, dir, "projects/-w/"+savedID+".jsonl", strings.TrimSuffix(text.String(), "\n")) // the last line may be half there
	f := claude.NewSavedFolder(dir)
	s, err := f.Find(savedID)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{300, 301, 1000, 4096, 64 << 10} {
		seen := map[string]int{}
		for end := int64(-1); end != 0; {
			begin, err := f.Read(s, end, size, func(line []byte) {
				if m, ok := claude.DecodeSaved(line); ok {
					seen[m.Message.Base().UUID]++
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if end >= 0 && begin >= end {
				t.Fatalf("size %d: no way from %d", size, end)
			}
			end = begin
		}
		for i := range 200 {
			if n := seen[fmt.Sprint("u", i)]; n != 1 {
				t.Errorf("size %d: message %d came %d times", size, i, n)
			}
		}
		if seen["u1000"] != 0 {
			t.Errorf("size %d: a line larger than the piece was read", size)
		}
	}
}
