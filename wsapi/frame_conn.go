package wsapi

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
)

// The first bytes of a frame; see RFC 6455, section 5.2.
const (
	wholeText   = 0x81 // a text message in one frame
	opcodeBits  = 0x0f
	closeOpcode = 0x08
	length16    = 126 // the length follows in 2 bytes
	length64    = 127 // the length follows in 8 bytes
)

// firstWrite bounds the part of a message that is copied after the header, in bytes. A
// longer message takes a second system call.
const firstWrite = 16 << 10

// A frameConn is the connection of a tab. Messages bypass the library, which would take two
// locks and allocate a context for each; see docs/adr/0050-messages-past-the-library.md. The
// library handles the rest, and writes only control frames.
type frameConn struct {
	net.Conn
	// turn has capacity 1. The goroutine that writes a frame holds it. It is a channel
	// because testing/synctest does not recognize a goroutine that waits for a mutex.
	turn      chan struct{}
	closeSent bool // nothing may follow; protected by turn
}

// Write writes one complete control frame for the library, after the message in progress.
func (c *frameConn) Write(frame []byte) (int, error) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.closeSent = c.closeSent || frame[0]&opcodeBits == closeOpcode
	return c.Conn.Write(frame)
}

// writeText writes a text message and blocks until the kernel has it or the connection is
// closed. It fails with [net.ErrClosed] once a close frame was sent.
func (c *frameConn) writeText(body []byte) error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if c.closeSent {
		return net.ErrClosed
	}
	// The header must not arrive alone: if the server is then killed, a client library
	// takes it for an empty message. Copying the beginning costs less than a system call
	// with two parts, which TLS connections do not support.
	buf := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Reset()
	buf.Write(appendTextHeader(buf.AvailableBuffer(), len(body)))
	copied := min(len(body), firstWrite-buf.Len())
	buf.Write(body[:copied])
	if _, err := c.Conn.Write(buf.Bytes()); err != nil || copied == len(body) {
		return err
	}
	_, err := c.Conn.Write(body[copied:])
	return err
}

// buffers hold messages while they are written.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// appendTextHeader appends the header of a text message with length bytes.
func appendTextHeader(b []byte, length int) []byte {
	switch {
	case length < length16:
		return append(b, wholeText, byte(length))
	case length < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, wholeText, length16), uint16(length))
	}
	return binary.BigEndian.AppendUint64(append(b, wholeText, length64), uint64(length))
}
