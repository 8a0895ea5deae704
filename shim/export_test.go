package shim

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// FullDisk is the name of a file that makes the disk full while it is in the
// folder of a shim.
const FullDisk = "disk-is-full"

// FullFileTable is the name of a file in the folder of a shim. While it is there, the
// shim fails to open each file of the journal for the first time.
const FullFileTable = "file-table-is-full"

func init() {
	openFile = func(name string) (*os.File, error) {
		if _, err := os.Lstat(FullFileTable); err == nil && os.Mkdir("failed."+name, 0o700) == nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENFILE}
		}
		return os.Open(name)
	}
	writeAt = func(f *os.File, b []byte, at int64) (int, error) {
		if _, err := os.Lstat(FullDisk); err == nil {
			n, _ := f.WriteAt(b[:len(b)/2], at) // the half that still fits
			return n, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
		}
		return f.WriteAt(b, at)
	}
}

// Journal encodes lines as the files of a journal hold them, and returns the
// name that the first file has.
func Journal(salt uint32, limit int64, lines ...string) (name string, content []byte, ends []int64) {
	r := recorder{salt: salt, limit: limit}
	for _, line := range lines {
		for len(line) > maxRecord {
			content = r.add(content, []byte(line[:maxRecord]), false, false)
			line = line[maxRecord:]
		}
		content = r.add(content, []byte(line), true, false)
		ends = append(ends, int64(len(content)))
	}
	return segmentName(0, salt), content, ends
}

// SegmentName is the name of a file of a journal.
func SegmentName(start int64, salt uint32) string { return segmentName(start, salt) }

// ReadFrame reads a frame and encodes it again.
func ReadFrame(b []byte, limit int64) (again []byte, err error) {
	f, err := readFrame(bytes.NewReader(b), limit)
	if err != nil {
		return nil, err
	}
	return f.append(nil, 0), nil
}

// Parse feeds bytes of a journal in pieces and returns the lines, what was lost,
// and what was left.
func Parse(salt uint32, limit int64, b []byte, piece int) (lines []string, lost int64, offset int64) {
	p := parser{salt: salt, limit: limit}
	take := func() {
		for {
			line, mark, ok := p.next()
			if !ok {
				return
			}
			if mark.Lost > 0 {
				lost += mark.Lost
			} else {
				lines = append(lines, string(line))
			}
		}
	}
	at := int64(0)
	for len(b) > 0 {
		n := min(piece, len(b))
		p.feed(at, bytes.Clone(b[:n]))
		at += int64(n)
		b = b[n:]
		take()
	}
	lost += p.rest().Lost
	return lines, lost, p.good
}

// AllocatedByLine returns how many bytes are allocated while one line is read, fed in pieces.
// No other test may run.
func AllocatedByLine(salt uint32, limit int64, b []byte, piece int) (line []byte, allocated uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := parser{salt: salt, limit: limit}
	for at := 0; at < len(b); at += piece {
		p.feed(int64(at), b[at:min(at+piece, len(b)):min(at+piece, len(b))])
		if l, _, ok := p.next(); ok {
			line = l
		}
	}
	runtime.ReadMemStats(&after)
	return line, after.TotalAlloc - before.TotalAlloc
}

// WriteBetweenFences attaches a server to the input of a CLI, queues a line of it, has the
// attach of an earlier server come late, and returns the result of the line.
func WriteBetweenFences(dir string) error {
	keys, err := os.Create(filepath.Join(dir, keysName))
	if err != nil {
		return err
	}
	stdin, pipe, err := os.Pipe()
	if err != nil {
		return errors.Join(err, keys.Close())
	}
	defer stdin.Close()
	in := newInput(pipe, keys, window)
	written := make(chan error, 2)
	in.fence(6)
	in.write(6, "queued", []byte("line"), func(_ bool, err error) { written <- err })
	in.fence(5)
	in.write(6, "next", []byte("line"), func(_ bool, err error) { written <- err })
	go in.run()
	defer in.close()
	return errors.Join(<-written, <-written)
}

// Raw is a connection that speaks frames.
type Raw struct{ *net.UnixConn }

// Kinds that tests send themselves.
const (
	KindHello  = kindHello
	KindAttach = kindAttach
	KindWrite  = kindWrite
	KindStat   = kindStat
	KindReply  = kindReply
	KindError  = kindError
	KindData   = kindData
)

// Dial connects to the socket in a folder.
func Dial(dir string) (Raw, error) {
	c, err := dial(context.Background(), dir)
	return Raw{c}, err
}

// Say sends one frame.
func (r Raw) Say(version, kind byte, number uint64, head string, body []byte) error {
	f := frame{version: version, kind: kind, number: number, body: append([]byte(head), body...)}
	b := f.append(nil, 0)
	binary.BigEndian.PutUint32(b[4:], uint32(len(head))) // as it is, whether it is JSON or not
	_, err := r.Write(b)
	return err
}

// Hear returns the next frame.
func (r Raw) Hear() (version, kind byte, number uint64, head string, err error) {
	f, err := readFrame(r, window)
	text, _ := json.Marshal(f.head) // our own type can be encoded
	return f.version, f.kind, f.number, string(text), err
}

// Marked lists the pids of what carries the marker of a shim.
func Marked(dir string) ([]int, error) {
	m, err := readMeta(dir)
	if err != nil {
		return nil, err
	}
	if m.Marker == "" {
		return nil, errors.New("no marker")
	}
	all, err := processes(m.Marker)
	var pids []int
	for _, p := range all {
		if p.marked {
			pids = append(pids, p.pid)
		}
	}
	return pids, err
}
