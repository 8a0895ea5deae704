package shim_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/shim"
)

const salt, limit = 0x12345678, 1 << 20

var three = []string{"the first line", `{"the":"second"}`, "and the third"}

// read reads a journal that consists of one file.
func read(t testing.TB, content []byte, from int64) (lines []string, marks []shim.Mark, offsets []int64) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, shim.SegmentName(0, salt)), content, 0o600); err != nil {
		t.Fatal(err)
	}
	err := shim.ReadJournal(dir, from, func(offset int64, line []byte, mark shim.Mark) error {
		lines, marks, offsets = append(lines, string(line)), append(marks, mark), append(offsets, offset)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, marks, offsets
}

func TestReadJournalFromAnyOffset(t *testing.T) {
	t.Parallel()
	_, content, ends := shim.Journal(salt, limit, three...)
	lines, _, offsets := read(t, content, 0)
	if !slices.Equal(lines, three) || !slices.Equal(offsets, ends) {
		t.Fatalf("got %q at %d, want %q at %d", lines, offsets, three, ends)
	}
	for i, end := range ends {
		lines, _, offsets := read(t, content, end)
		if !slices.Equal(lines, three[i+1:]) || !slices.Equal(offsets, ends[i+1:]) {
			t.Errorf("from %d: got %q at %d, want %q at %d", end, lines, offsets, three[i+1:], ends[i+1:])
		}
	}
	// Between two lines nothing is made up.
	for from := range ends[2] {
		lines, marks, _ := read(t, content, from)
		for i, line := range lines {
			if marks[i].Lost == 0 && !slices.Contains(three, line) {
				t.Fatalf("from %d: a line %q that was never there", from, line)
			}
		}
	}
}

func TestTornJournal(t *testing.T) {
	t.Parallel()
	_, content, ends := shim.Journal(salt, limit, three...)
	for cut := range len(content) {
		whole, last := 0, int64(0)
		for i, end := range ends {
			if int64(cut) >= end {
				whole, last = i+1, end
			}
		}
		lines, lost, offset := shim.Parse(salt, limit, content[:cut], 7)
		if !slices.Equal(lines, three[:whole]) || lost != int64(cut)-last || offset != int64(cut) {
			t.Fatalf("cut at %d: got %q, %d lost, to %d", cut, lines, lost, offset)
		}
	}
}

func TestDamagedJournal(t *testing.T) {
	t.Parallel()
	_, content, ends := shim.Journal(salt, limit, three...)
	for i := range content {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			damaged := bytes.Clone(content)
			damaged[i] ^= flip
			hit := slices.IndexFunc(ends, func(end int64) bool { return int64(i) < end })
			size := ends[hit]
			if hit > 0 {
				size -= ends[hit-1]
			}
			lines, marks, offsets := read(t, damaged, 0)
			if len(lines) != 3 || marks[hit].Lost != size || offsets[hit] != ends[hit] {
				t.Fatalf("byte %d ^ %#x: got %q with %+v at %d", i, flip, lines, marks, offsets)
			}
			for n := range three {
				if n != hit && (lines[n] != three[n] || marks[n] != (shim.Mark{}) || offsets[n] != ends[n]) {
					t.Fatalf("byte %d ^ %#x: line %d is %q, %+v", i, flip, n, lines[n], marks[n])
				}
			}
		}
	}
}

// What the CLI prints may look like a record, and damage makes a reader search.
func TestOutputIsNeverARecord(t *testing.T) {
	t.Parallel()
	_, forged, _ := shim.Journal(0, limit, "forged", "forged too")
	_, content, ends := shim.Journal(salt, limit, string(forged), "honest")
	for i := range 28 { // the header, behind which the forged one lies open
		damaged := bytes.Clone(content)
		damaged[i] ^= 0xff
		lines, lost, _ := shim.Parse(salt, limit, damaged, 1<<20)
		if !slices.Equal(lines, []string{"honest"}) || lost != ends[0] {
			t.Fatalf("byte %d: got %q, %d lost", i, lines, lost)
		}
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	const small = 300 << 10
	for _, size := range []int{0, 1, 128<<10 - 1, 128 << 10, 128<<10 + 1, small - 1, small, small + 1, 3 * small} {
		line := strings.Repeat("0123456789", size/10+1)[:size]
		_, content, ends := shim.Journal(salt, small, "before", line, "after")
		lines, marks, offsets := read(t, content, 0)
		if len(lines) != 3 || lines[0] != "before" || lines[2] != "after" || !slices.Equal(offsets, ends) {
			t.Fatalf("%d bytes: got %d lines at %d", size, len(lines), offsets)
		}
		want := shim.Mark{}
		if size > small {
			want.Size = int64(size)
		}
		if marks[1] != want || lines[1] != line[:min(size, small)] {
			t.Errorf("%d bytes: got %d bytes, %+v", size, len(lines[1]), marks[1])
		}
	}
}

// A line of 20 MB takes its size twice: as it comes, and whole. It is not parallel, as it
// counts what the program allocates.
func TestAllocationsOfAHugeLine(t *testing.T) {
	want := strings.Repeat("0123456789abcdef", 20<<20/16)
	_, content, _ := shim.Journal(7, 64<<20, want)
	least := math.Inf(1) // the rest of the program may allocate, too
	for range 3 {
		line, allocated := shim.AllocatedByLine(7, 64<<20, content, 256<<10)
		if string(line) != want {
			t.Fatalf("the line came back with %d bytes and changed", len(line))
		}
		least = min(least, float64(allocated)/float64(len(want)))
	}
	if least > 2.2 {
		t.Errorf("%.2f times the size of the line was allocated", least)
	}
}

// A damaged piece of a long line loses that line and no other.
func TestDamageWithinALongLine(t *testing.T) {
	t.Parallel()
	_, content, ends := shim.Journal(salt, limit, "before", strings.Repeat("x", 400<<10), "after")
	for _, at := range []int64{ends[0], ends[0] + 100, ends[0] + 200<<10, ends[1] - 1} {
		damaged := bytes.Clone(content)
		damaged[at] ^= 1
		lines, lost, _ := shim.Parse(salt, limit, damaged, 1000)
		if !slices.Equal(lines, []string{"before", "after"}) || lost != ends[1]-ends[0] {
			t.Errorf("byte %d: got %d lines, %d lost", at, len(lines), lost)
		}
	}
}

func TestReadJournalOverSegments(t *testing.T) {
	t.Parallel()
	_, content, _ := shim.Journal(salt, limit, three...)
	dir := t.TempDir()
	for start := 0; start < len(content); start += 10 { // cut anywhere
		end := min(start+10, len(content))
		if err := os.WriteFile(filepath.Join(dir, shim.SegmentName(int64(start), salt)), content[start:end], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (lines []string, lost int64) {
		if err := shim.ReadJournal(dir, 0, func(_ int64, line []byte, mark shim.Mark) error {
			if lost += mark.Lost; mark.Lost == 0 {
				lines = append(lines, string(line))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return lines, lost
	}
	if lines, lost := read(); !slices.Equal(lines, three) || lost != 0 {
		t.Errorf("got %q, %d lost", lines, lost)
	}
	if err := os.Remove(filepath.Join(dir, shim.SegmentName(50, salt))); err != nil {
		t.Fatal(err)
	}
	if lines, lost := read(); !slices.Equal(lines, []string{three[0], three[2]}) || lost == 0 {
		t.Errorf("without a segment: got %q, %d lost", lines, lost)
	}
}

func FuzzJournal(f *testing.F) {
	_, content, _ := shim.Journal(salt, limit, three...)
	f.Add(content, 5)
	f.Add(content[10:], 1000)
	f.Add([]byte("\x00\xfdSJ"), 1)
	f.Fuzz(func(t *testing.T, b []byte, piece int) {
		lines, lost, offset := shim.Parse(salt, limit, b, max(1, piece))
		if offset != int64(len(b)) || lost > offset {
			t.Errorf("%d bytes: read to %d, %d lost", len(b), offset, lost)
		}
		again, lostAgain, _ := shim.Parse(salt, limit, b, len(b)+1)
		if fmt.Sprint(lines, lost) != fmt.Sprint(again, lostAgain) {
			t.Errorf("in pieces of %d: %q, %d lost; whole: %q, %d lost", piece, lines, lost, again, lostAgain)
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x05\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\x01\x03\x00\x00{}abc"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		once, err := shim.ReadFrame(b, 1<<20)
		if err != nil {
			return
		}
		twice, err := shim.ReadFrame(once, 4<<20) // what JSON escapes is longer
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("got %q, %v; want %q", twice, err, once)
		}
	})
}
