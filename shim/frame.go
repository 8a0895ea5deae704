package shim

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A frame is one message on the socket: a header, a JSON head for small values, and a raw
// body.
type frame struct {
	version, kind byte
	number        uint64 // of the call, or an offset in the journal
	head          head
	body          []byte
}

// Kinds of frames: what a request contains → what its reply contains. The numbers never change.
const (
	kindHello      = 1  // Version, Token → Version, SessionID, ProcessID
	kindAttach     = 2  // Epoch, From, Window → Salt; kindData frames follow
	kindWrite      = 3  // Epoch, Key, body: the line → Dup, once the line is written
	kindCloseInput = 4  // → an empty reply, once the input is closed
	kindSignal     = 5  // Signal → an empty reply
	kindKill       = 6  // GraceMS, Force → an empty reply, once the tree is gone
	kindStat       = 7  // → Stat; also before attach
	kindStderr     = 8  // → body: the end of stderr
	kindAckExit    = 9  // → an empty reply; then the shim ends
	kindCommit     = 10 // number: an offset; no reply
	kindConsumed   = 11 // number: the offset up to which data may be sent; no reply

	kindReply  = 64 // number of the call
	kindError  = 65 // number of the call; Code, Message
	kindData   = 66 // number: offset of the body, body: bytes of the journal
	kindExit   = 67 // Exit; the rest of the journal may still follow
	kindFenced = 68 // a server with a higher epoch has attached; the connection ends

	kindBlocked = 69 // Message: why the journal cannot be written, "" when it can again
)

// head has the fields of the heads of all kinds.
type head struct {
	Version   int         `json:"version,omitempty"` // in a reply: the lower version of both sides
	Token     string      `json:"token,omitempty"`
	SessionID string      `json:"session_id,omitempty"`
	ProcessID string      `json:"process_id,omitempty"`
	Epoch     uint64      `json:"epoch,omitempty"`
	From      int64       `json:"from,omitempty"`
	Window    int64       `json:"window,omitempty"` // limit of unacknowledged bytes of the journal
	Salt      uint32      `json:"salt,omitempty"`
	Key       string      `json:"key,omitempty"`
	Dup       bool        `json:"dup,omitempty"` // a line with this key was written before
	Signal    int         `json:"signal,omitempty"`
	GraceMS   int64       `json:"grace_ms,omitempty"`
	Force     bool        `json:"force,omitempty"`
	Code      string      `json:"code,omitempty"`
	Message   string      `json:"message,omitempty"`
	Stat      *Stat       `json:"stat,omitempty"`
	Exit      *ExitRecord `json:"exit,omitempty"`
}

// frameHeader is the size of a frame's header in bytes: length of head and body (4), length of the
// head (4), number (8), version (1), kind (1), unused (2).
const frameHeader = 20

// append appends the encoded frame to b. The caller appends more further bytes of the body.
func (f frame) append(b []byte, more int) []byte {
	var text []byte
	if f.head != (head{}) {
		text, _ = json.Marshal(f.head) // our own type can be encoded
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)+len(f.body)+more))
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	b = binary.BigEndian.AppendUint64(b, f.number)
	b = append(b, f.version, f.kind, 0, 0)
	return append(append(b, text...), f.body...)
}

// readFrame reads one frame. It returns an error if head and body together exceed limit bytes.
func readFrame(r io.Reader, limit int64) (f frame, err error) {
	var h [frameHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return f, err
	}
	size, text := binary.BigEndian.Uint32(h[:]), binary.BigEndian.Uint32(h[4:])
	if int64(size) > limit || text > size {
		return f, fmt.Errorf("shim: a frame of %d bytes, of which %d head, over %d", size, text, limit)
	}
	all := make([]byte, size)
	if _, err := io.ReadFull(r, all); err != nil {
		return f, fmt.Errorf("shim: half a frame: %w", err)
	}
	f = frame{version: h[16], kind: h[17], number: binary.BigEndian.Uint64(h[8:]), body: all[text:]}
	if text > 0 {
		err = json.Unmarshal(all[:text], &f.head)
	}
	return f, err
}
