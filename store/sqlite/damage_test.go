package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/store/sqlite"
)

const page = 4096

// flip inverts all bits of a range of a file.
func flip(t *testing.T, path string, at, length int) {
	t.Helper()
	text := bytesOf(t, path)
	for i := at; i < at+length; i++ {
		text[i] ^= 0xff
	}
	write(t, path, text)
}

func bytesOf(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// write replaces the content of a file, also for programs that have it open.
func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, st *sqlite.Store, count int) {
	t.Helper()
	items := make([]session.Item, count)
	for i := range items {
		items[i] = session.Item{Key: fmt.Sprint(i), Kind: session.ItemText, Body: []byte(`"` + strings.Repeat("x", 6000) + `"`)}
	}
	if err := st.PutItems(ctx, "s1", items); err != nil {
		t.Fatal(err)
	}
}

// TestEveryDamagedPage damages each page of a closed database. It must not open, the error must say
// what to do, and the files must stay as evidence.
func TestEveryDamagedPage(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "whole.db")
	st := open(t, whole)
	create(t, st, "s1")
	put(t, st, 10)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	good := bytesOf(t, whole)
	path := filepath.Join(t.TempDir(), "sayso.db")
	silent := 0
	for at := 0; at < len(good); at += page {
		write(t, path, good)
		flip(t, path, at, page)
		st, err := sqlite.Open(ctx, path)
		if err == nil {
			silent++ // the damage is in a text, which no check detects
			if err := st.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "restore a backup") || !strings.Contains(err.Error(), path) {
			t.Errorf("page %d: %v", at/page+1, err)
		}
		if now := bytesOf(t, path); !bytes.Equal(now[:at], good[:at]) || !bytes.Equal(now[at+page:], good[at+page:]) {
			t.Errorf("page %d: the evidence was changed", at/page+1)
		}
	}
	if silent > 0 {
		t.Errorf("%d of %d pages could be damaged without a word", silent, len(good)/page)
	}
}

// TestDamagedWhileOpen damages pages of an open database. Writes must fail with an error that says
// what to do, and nothing that was reported as stored may be lost.
func TestDamagedWhileOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sayso.db")
	st := open(t, path)
	create(t, st, "s1")
	put(t, st, 20)
	if _, err := outside(t, path).ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	good := bytesOf(t, path)
	flip(t, path, page, len(good)-page)
	_, err := st.Transcript(ctx, "s1", 0, 100)
	for what, err := range map[string]error{
		"a read":           err,
		"a write":          st.CreateSession(ctx, session.Session{SessionID: "s2"}),
		"whether it works": st.Ping(ctx),
	} {
		if !errors.Is(err, store.ErrCorrupt) || !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "stop sayso") {
			t.Errorf("%s: %v", what, err)
		}
	}
	write(t, path, good)
	if err := st.CreateSession(ctx, session.Session{SessionID: "s3"}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("what was damaged once is trusted again: %v", err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	again := open(t, path)
	if found, err := again.Transcript(ctx, "s1", 0, 100); err != nil || found.Total != 20 {
		t.Errorf("afterwards: %d items, %v", found.Total, err)
	}
}

// TestVerifyFindsDamage opens a large database, which is not read as a whole. Verify must find
// damage in pages that nobody has read yet, and end all writes.
func TestVerifyFindsDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sayso.db")
	st := open(t, path)
	create(t, st, "s1")
	put(t, st, 1000)
	if err := st.Verify(ctx); err != nil {
		t.Errorf("intact: %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if !sqlite.EndedCleanly(path) {
		t.Error("a database that was closed did not end cleanly")
	}
	good := bytesOf(t, path)
	flip(t, path, len(good)/2/page*page, page)
	st = open(t, path)
	defer st.Close()
	create(t, st, "s2")
	if sqlite.EndedCleanly(path) {
		t.Error("a database that is open ended cleanly")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := st.Verify(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	create(t, st, "s3")
	for what, err := range map[string]error{
		"verify":           st.Verify(ctx),
		"a write":          st.CreateSession(ctx, session.Session{SessionID: "s4"}),
		"whether it works": st.Ping(ctx),
	} {
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "stop sayso") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestCheckLog removes or damages the WAL, which SQLite does not report.
func TestCheckLog(t *testing.T) {
	t.Parallel()
	running := filepath.Join(t.TempDir(), "sayso.db")
	if err := sqlite.CheckLog(running); err != nil {
		t.Errorf("of a database that does not exist yet: %v", err)
	}
	st := open(t, running)
	if _, err := outside(t, running).ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		create(t, st, fmt.Sprint("s", i))
	}
	data, log := bytesOf(t, running), bytesOf(t, running+"-wal")
	const frame = page + 24
	frames := (len(log) - 32) / frame
	for name, c := range map[string]struct {
		spoil func(t *testing.T, wal string)
		says  string // "" for no error
		kept  bool   // whether a copy is kept
	}{
		"Whole":        {func(*testing.T, string) {}, "", false},
		"Missing":      {func(t *testing.T, wal string) { remove(t, wal) }, "put it back", false},
		"MiddleFrame":  {func(t *testing.T, wal string) { flip(t, wal, 32+frames/2*frame+100, 1) }, "left out", true},
		"MiddleHeader": {func(t *testing.T, wal string) { flip(t, wal, 32+frames/2*frame, 24) }, "left out", true},
		"FirstFrame":   {func(t *testing.T, wal string) { flip(t, wal, 32+24, page) }, "left out", true},
		"Header":       {func(t *testing.T, wal string) { flip(t, wal, 0, 32) }, "left out", true},
		"Salt":         {func(t *testing.T, wal string) { flip(t, wal, 16, 4) }, "left out", true},
		"LastFrame":    {func(t *testing.T, wal string) { flip(t, wal, 32+(frames-1)*frame+24, page) }, "", false}, // a crash leaves a log in this state
		"CutOff":       {func(t *testing.T, wal string) { write(t, wal, log[:len(log)-frame/2]) }, "", false},
		"Zeros":        {func(t *testing.T, wal string) { write(t, wal, append(bytes.Clone(log), make([]byte, 4*frame)...)) }, "", false},
		"OnlyZeros":    {func(t *testing.T, wal string) { write(t, wal, make([]byte, 4*frame)) }, "", false},
		"Empty":        {func(t *testing.T, wal string) { write(t, wal, nil) }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "sayso.db")
			write(t, path, data)
			write(t, path+"-wal", log)
			c.spoil(t, path+"-wal")
			err := sqlite.CheckLog(path)
			switch {
			case c.says == "" && err != nil:
				t.Errorf("it says %v", err)
			case c.says != "" && (!errors.Is(err, store.ErrLogLost) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path+"-wal")):
				t.Errorf("it says %v", err)
			}
			kept, err := filepath.Glob(path + "-wal-damaged-*")
			if err != nil || len(kept) > 0 != c.kept {
				t.Fatalf("kept %s, %v", kept, err)
			}
			if c.kept && !bytes.Equal(bytesOf(t, kept[0]), bytesOf(t, path+"-wal")) {
				t.Error("the copy is another")
			}
			again := open(t, path)
			if _, err := again.Session(ctx, "s19"); (err == nil) != (c.says == "" && name != "LastFrame" && name != "CutOff" && name != "OnlyZeros" && name != "Empty") {
				t.Errorf("the last session: %v", err)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			if err := sqlite.CheckLog(path); err != nil {
				t.Errorf("after an end in order it says %v", err)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
