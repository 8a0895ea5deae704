package wsapi

import "net"

// Times that tests wait for.
const (
	WriteDeadline   = writeDeadline
	TranscriptEvery = transcriptEvery
)

// FrameConn is a [frameConn] on any connection.
type FrameConn struct{ *frameConn }

func NewFrameConn(conn net.Conn) FrameConn {
	return FrameConn{&frameConn{Conn: conn, turn: make(chan struct{}, 1)}}
}

func (c FrameConn) WriteText(body []byte) error { return c.writeText(body) }
