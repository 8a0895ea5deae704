package link

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A frame is one unit on the stream: a header, a JSON head for small values, and a raw body. The
// header is the one of the shim's protocol, with the channel in two bytes that the shim leaves unused.
type frame struct {
	version, kind byte
	channel       uint16 // 0 is the connection
	number        uint64 // the number of a call, the application's offset of data, or a limit in bytes
	head          head
	body          []byte
}

// Kinds of frames. The numbers never change. Those below 12 and those of the replies are the same as
// in the shim's protocol.
const (
	kindHello  = 1  // Versions, body: the hello → Version, body: the welcome
	kindCredit = 11 // number: bytes of data that the channel may carry in total
	kindCall   = 12 // Name, DeadlineMS, Long; body: the arguments → the result, on the same channel
	kindCancel = 13 // from the caller; a reply still follows
	kindEnd    = 14 // from the caller: no more data
	kindPing   = 15 // number → pong
	kindPong   = 16 // number of the ping

	kindReply = 64 // number of the call; Long; body: the result
	kindError = 65 // number of the frame; Code, Message; body: the detail
	kindData  = 66 // number: the application's offset of the body
)

// head holds the members of the heads of all kinds. Unknown members are ignored.
type head struct {
	Versions   [2]int `json:"versions,omitzero"` // oldest and newest that the sender speaks
	Version    int    `json:"version,omitempty"` // in the reply: the lower of the two newest
	Name       string `json:"name,omitempty"`
	DeadlineMS int64  `json:"deadline_ms,omitempty"` // milliseconds from now; 0 for no deadline
	Long       bool   `json:"long,omitempty"`        // arguments or result are sent as data
	Code       string `json:"code,omitempty"`
	Message    string `json:"message,omitempty"`
}

const (
	// headerSize is the length of head and body (4), length of head (4), number (8), version (1), kind
	// (1) and channel (2), in bytes.
	headerSize = 20
	// maxFrame bounds head and body of a frame together, in bytes, so that no frame delays others for
	// long.
	maxFrame = 64 << 10
)

// appendFrame encodes a frame of at most maxFrame bytes.
func appendFrame(b []byte, f frame) []byte {
	var text []byte
	if f.head != (head{}) {
		text, _ = json.Marshal(f.head) // cannot fail for this type
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)+len(f.body)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	b = binary.BigEndian.AppendUint64(b, f.number)
	b = append(b, f.version, f.kind)
	b = binary.BigEndian.AppendUint16(b, f.channel)
	return append(append(b, text...), f.body...)
}

// readFrame reads one frame into buf, which has maxFrame bytes. The body is valid until the next use
// of buf. After an error, including [ErrProtocol], no more frames can be read.
func readFrame(r io.Reader, buf []byte) (f frame, err error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return f, err
	}
	size, text := binary.BigEndian.Uint32(h[:]), binary.BigEndian.Uint32(h[4:])
	if size > maxFrame || text > size {
		return f, fmt.Errorf("%w: a frame of %d bytes, of which %d head", ErrProtocol, size, text)
	}
	f = frame{number: binary.BigEndian.Uint64(h[8:]), version: h[16], kind: h[17], channel: binary.BigEndian.Uint16(h[18:])}
	if _, err := io.ReadFull(r, buf[:size]); err != nil {
		return f, err
	}
	if text > 0 {
		if err := json.Unmarshal(buf[:text], &f.head); err != nil {
			return f, fmt.Errorf("%w: head of a frame: %w", ErrProtocol, err)
		}
	}
	f.body = buf[text:size]
	return f, nil
}
