package shim

import (
	"encoding/binary"
	"hash/crc32"
)

// A journal is a stream of records, split into segments at any byte. A line is one record, or
// several if it is long, so that no process needs to hold all of it in memory. An offset is a
// position in the stream; it only grows.
//
// The checksums start with a salt, so that a reader that searches for the next record is not
// misled by output of the CLI that looks like one.
const (
	recordFirst      = 1 << iota // a line starts here
	recordLast                   // and ends here
	recordUnfinished             // with recordLast: the CLI ended within the line
	recordOversize               // with recordLast: the payload is the true size of the line (8), without text
)

// recordHeader is the size of a record's header in bytes: magic (4), checksum of the rest of the
// header (4), sequence number (8), length of the payload (4), flags (4), checksum of the payload (4).
const recordHeader = 28

// maxRecord bounds the payload of a record, in bytes.
const maxRecord = 128 << 10

var (
	recordMagic = []byte("\x00\xfdSJ")
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
)

func appendRecord(b []byte, salt uint32, sequence uint64, flags uint32, payload []byte) []byte {
	n := len(b)
	b = append(append(b, recordMagic...), 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint64(b, sequence)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.BigEndian.AppendUint32(b, flags)
	b = binary.BigEndian.AppendUint32(b, crc32.Update(salt, castagnoli, payload))
	binary.BigEndian.PutUint32(b[n+4:], crc32.Update(salt, castagnoli, b[n+8:]))
	return append(b, payload...)
}

// A recorder converts lines to records.
type recorder struct {
	salt     uint32
	limit    int64 // bytes of a line that are kept
	sequence uint64
	begun    bool  // a line has started
	size     int64 // bytes of the line so far
}

// add appends the next part of a line to b; last ends the line.
func (r *recorder) add(b, text []byte, last, unfinished bool) []byte {
	kept := text[:min(int64(len(text)), max(0, r.limit-r.size))]
	r.size += int64(len(text))
	var flags uint32
	if last {
		flags = recordLast
	}
	if unfinished {
		flags |= recordUnfinished
	}
	put := func(flags uint32, payload []byte) {
		if !r.begun {
			flags |= recordFirst
		}
		r.begun = true
		r.sequence++
		b = appendRecord(b, r.salt, r.sequence, flags, payload)
	}
	if r.size <= r.limit {
		put(flags, text)
	} else {
		if len(kept) > 0 {
			put(0, kept)
		}
		if last {
			put(flags|recordOversize, binary.BigEndian.AppendUint64(nil, uint64(r.size)))
		}
	}
	if last {
		r.begun, r.size = false, 0
	}
	return b
}
