package link

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A frame is one unit on the stream: a header, a JSON head for small values, and a raw body. Its
// header is that of the shim, with the channel in the two bytes that the shim does not use.
type frame struct {
	version, kind byte
	channel       uint16 // 0 is the connection
	number        uint64 // of the call, the application's offset of data, or a limit
	head          head
	body          []byte
}

// Kinds of frames. The numbers never change; those below 12 and the replies are the shim's.
const (
	kindHello  = 1  // Versions, body: the hello → Version, body: the welcome
	kindCredit = 11 // number: how many bytes of data the channel may have carried in all
	kindCall   = 12 // Name, DeadlineMS, Long; body: the arguments → the result, on the same channel
	kindCancel = 13 // from the caller; the reply still comes
	kindEnd    = 14 // from the caller: no more data
	kindPing   = 15 // number → pong
	kindPong   = 16 // number of the ping

	kindReply = 64 // number of the call; Long; body: the result
	kindError = 65 // number of the frame; Code, Message; body: the detail
	kindData  = 66 // number: the application's offset of the body
)

// head holds the members of all heads. Unknown members are ignored.
type head struct {
	Versions   [2]int `json:"versions,omitzero"` // oldest and newest that the sender speaks
	Version    int    `json:"version,omitempty"` // in the reply: the lower of both newest
	Name       string `json:"name,omitempty"`
	DeadlineMS int64  `json:"deadline_ms,omitempty"` // from now; a call without one has none
	Long       bool   `json:"long,omitempty"`        // arguments or result come as data
	Code       string `json:"code,omitempty"`
	Message    string `json:"message,omitempty"`
}

const (
	// length of head and body (4), of head (4), number (8), version, kind, channel (2)
	headerSize = 20
	// maxFrame bounds head and body of a frame, in bytes, so that no frame delays another for long.
	maxFrame = 64 << 10
)

// appendFrame encodes a frame of at most maxFrame bytes.
func appendFrame(b []byte, f frame) []byte {
	var text []byte
	if f.head != (head{}) {
		text, _ = json.Marshal(f.head) // our own type can be encoded
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)+len(f.body)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	b = binary.BigEndian.AppendUint64(b, f.number)
	b = append(b, f.version, f.kind)
	b = binary.BigEndian.AppendUint16(b, f.channel)
	return append(append(b, text...), f.body...)
}

// readFrame reads one frame into buf, which has maxFrame bytes; the body is valid until the next
// use of buf. An error that is [ErrProtocol] means that no more can be read.
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
