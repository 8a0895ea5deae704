package shim

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
)

// Mark describes an exceptional line of the journal; the zero Mark is a normal line.
type Mark struct {
	Unfinished bool  // the CLI ended within this line
	Size       int64 // bytes of a line that exceeds the limit and is truncated; else 0
	Lost       int64 // unreadable bytes of the journal, in place of a line; else 0
}

// A Shortener omits parts of a long line while the line is read, so that the whole line is never
// in memory.
type Shortener interface {
	// Add appends to dst what is kept of the next part of the line.
	Add(dst, part []byte) []byte
	// End completes the line. dst is the last result of Add.
	End(dst []byte) []byte
}

// A parser converts records to lines.
type parser struct {
	salt  uint32
	limit int64 // bytes of a line; a longer line is truncated
	// shorten returns a Shortener for the next line that spans several records; it may be nil.
	shorten   func() Shortener
	shortener Shortener

	good     int64  // offset after the last returned line
	at       int64  // offset of buf[0]
	buf      []byte // fed, but not parsed yet
	memory   []byte // reused to join fed data with the rest
	sequence uint64
	line     []byte   // text of an incomplete line; of a huge line the last part
	parts    [][]byte // of a huge line, the parts before line
	size     int64    // bytes of the line so far, before shortening
	open     bool     // a line is incomplete
}

// feed adds bytes of the journal at an offset: the previous end, or a later one if there is a gap.
// The parser owns the bytes from then on.
func (p *parser) feed(offset int64, b []byte) {
	if end := p.at + int64(len(p.buf)); offset != end {
		p.at, p.buf, p.open = offset, nil, false
	}
	if len(p.buf) > 0 {
		b = p.join(p.buf, b)
	}
	p.buf = b
}

// join returns left and b in one slice. left may be part of the reused memory.
func (p *parser) join(left, b []byte) []byte {
	n := len(left) + len(b)
	if cap(p.memory) < n {
		memory := make([]byte, n, n+maxRecord) // spare capacity, because the size of left varies
		copy(memory, left)
		p.memory = memory
	} else {
		p.memory = p.memory[:n]
		copy(p.memory, left) // from further back in the same memory, or from another
	}
	copy(p.memory[len(left):], b)
	return p.memory
}

// hugeLineBytes is the size from which a line is collected in parts, and above which its memory is
// not reused.
const hugeLineBytes = 1 << 20

// appendToLine adds a part to the line. The parts of a huge line are joined when it is complete,
// because a slice that grows with the line would need up to four times its size for a moment.
func (p *parser) appendToLine(part []byte) {
	if n := len(p.line) + len(part); n > cap(p.line) && n > hugeLineBytes {
		p.parts = append(p.parts, p.line)
		p.line = make([]byte, 0, hugeLineBytes)
	}
	if p.shortener != nil {
		p.line = p.shortener.Add(p.line, part)
		return
	}
	p.line = append(p.line, part...)
}

// joinLine joins the parts of a huge line to one slice.
func (p *parser) joinLine() {
	if len(p.parts) == 0 {
		return
	}
	const spare = 64 // for what a Shortener adds
	size := len(p.line)
	for _, part := range p.parts {
		size += len(part)
	}
	whole := make([]byte, 0, size+spare)
	for _, part := range append(p.parts, p.line) {
		whole = append(whole, part...)
	}
	p.line, p.parts = whole, nil
	// Decoding the line needs as much memory again, which a collection can free now.
	runtime.GC()
}

// end returns the offset after the fed data.
func (p *parser) end() int64 { return p.at + int64(len(p.buf)) }

// next returns the next line, which is valid until the next call of feed or next. ok is false if
// more bytes must be fed.
func (p *parser) next() (line []byte, mark Mark, ok bool) {
	if !p.open && cap(p.line) > hugeLineBytes {
		p.line = nil // freed now, because the next line may take long to arrive
	}
	for len(p.buf) >= recordHeader {
		h := p.buf[:recordHeader]
		sequence, length, flags := binary.BigEndian.Uint64(h[8:]), int(binary.BigEndian.Uint32(h[16:])), binary.BigEndian.Uint32(h[20:])
		if !bytes.HasPrefix(h, recordMagic) || length > maxRecord || sequence <= p.sequence ||
			binary.BigEndian.Uint32(h[4:]) != crc32.Update(p.salt, castagnoli, h[8:]) {
			skip := bytes.Index(p.buf[1:], recordMagic) + 1
			if skip == 0 {
				skip = len(p.buf) - (len(recordMagic) - 1)
			}
			p.skip(skip)
			p.open = false
			continue
		}
		if len(p.buf) < recordHeader+length {
			return nil, Mark{}, false
		}
		payload := p.buf[recordHeader:][:length:length]
		if binary.BigEndian.Uint32(h[24:]) != crc32.Update(p.salt, castagnoli, payload) ||
			flags&recordFirst == 0 && !p.open {
			p.skip(recordHeader + length)
			p.open = false
			continue
		}
		if flags&recordFirst != 0 {
			if p.at != p.good { // unreadable bytes or an incomplete line precede this record
				lost := p.at - p.good
				p.good, p.open = p.at, false
				return nil, Mark{Lost: lost}, true
			}
			p.open, p.size, p.line, p.parts, p.shortener = true, 0, p.line[:0], nil, nil
			if p.shorten != nil && flags&recordLast == 0 {
				p.shortener = p.shorten()
			}
		}
		p.sequence = sequence
		p.skip(recordHeader + length)
		if flags&recordOversize != 0 && length == 8 {
			p.size = int64(binary.BigEndian.Uint64(payload))
			mark.Size = p.size
			payload = nil
		} else if p.size += int64(length); p.size > p.limit {
			mark.Size = p.size
			payload = payload[:max(0, int64(length)-(p.size-p.limit))]
		}
		if flags&recordLast == 0 {
			p.appendToLine(payload)
			continue
		}
		if line = payload; flags&recordFirst == 0 {
			p.appendToLine(payload)
			p.joinLine()
			if p.shortener != nil {
				p.line = p.shortener.End(p.line)
			}
			line = p.line
		}
		p.good, p.open = p.at, false
		mark.Unfinished = flags&recordUnfinished != 0
		return line, mark, true
	}
	if len(p.buf) == 0 {
		p.buf, p.memory = nil, nil // so that an idle session holds no memory
	}
	return nil, Mark{}, false
}

func (p *parser) skip(n int) {
	p.buf = p.buf[n:]
	p.at += int64(n)
}

// rest returns the size of what is left unparsed at the end of the journal, and skips it. Call it
// when nothing more can be fed.
func (p *parser) rest() Mark {
	lost := p.end() - p.good
	p.good, p.at, p.buf, p.open = p.end(), p.end(), nil, false
	return Mark{Lost: lost}
}

// segment is a file of a journal.
type segment struct {
	path  string
	start int64
	salt  uint32
}

// segments lists the files of the journal in a folder, the oldest first.
func segments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir) // sorted by name, which is the order of the offsets
	if err != nil {
		return nil, err
	}
	var all []segment
	for _, e := range entries {
		s := segment{path: filepath.Join(dir, e.Name())}
		if n, _ := fmt.Sscanf(e.Name(), "out.%16x.%8x", &s.start, &s.salt); n == 2 && e.Name() == segmentName(s.start, s.salt) {
			all = append(all, s)
		}
	}
	return all, nil
}

// JournalStart returns the offset where the remaining journal in the folder of a shim starts.
func JournalStart(dir string) (int64, error) {
	all, err := segments(dir)
	if err != nil {
		return 0, fmt.Errorf("shim: read journal: %w", err)
	}
	if len(all) == 0 {
		return 0, nil
	}
	return all[0].start, nil
}

// ReadJournal calls line for every line that starts at the offset from or later in the journal of
// a shim's folder. offset is the position after the line. The slice is valid during the call. An
// unreadable part, or an incomplete line at the end, results in one call with [Mark.Lost] set. An
// error of line ends ReadJournal, which returns it.
func ReadJournal(dir string, from int64, line func(offset int64, line []byte, mark Mark) error) error {
	all, err := segments(dir)
	if err != nil {
		return fmt.Errorf("shim: read journal: %w", err)
	}
	p := parser{good: from, at: from, limit: Limits{}.orDefault().Line}
	if meta, err := readMeta(dir); err == nil {
		p.limit = meta.Limits.orDefault().Line
	}
	for i, s := range all {
		if i+1 < len(all) && all[i+1].start <= from {
			continue
		}
		p.salt = s.salt
		if err := s.read(&p, from, line); err != nil {
			return err
		}
	}
	if mark := p.rest(); mark.Lost > 0 {
		return line(p.good, nil, mark)
	}
	return nil
}

func (s segment) read(p *parser, from int64, each func(int64, []byte, Mark) error) error {
	f, err := os.Open(s.path)
	if err != nil {
		return fmt.Errorf("shim: read journal: %w", err)
	}
	defer f.Close()
	for at := max(s.start, from); ; {
		b := make([]byte, chunkSize)    // the parser owns it
		n, _ := f.ReadAt(b, at-s.start) // a read error results in a gap
		if n == 0 {
			return nil
		}
		p.feed(at, b[:n])
		at += int64(n)
		for {
			text, mark, ok := p.next()
			if !ok {
				break
			}
			if err := each(p.good, text, mark); err != nil {
				return err
			}
		}
	}
}
