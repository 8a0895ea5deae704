package link

import (
	"context"
	"io"
	"net"

	"github.com/coder/websocket"
)

// WebSocket returns a WebSocket as a stream of bytes, in binary messages whose boundaries have no
// meaning. The stream ends with ctx. Its Close does not wait for the other side. OnPingReceived of
// the WebSocket must return false: otherwise the library writes the pong from the reading goroutine.
func WebSocket(ctx context.Context, c *websocket.Conn) io.ReadWriteCloser {
	return webSocket{websocket.NetConn(ctx, c, websocket.MessageBinary), c}
}

type webSocket struct {
	net.Conn
	socket *websocket.Conn
}

// Close implements [io.Closer].
func (s webSocket) Close() error {
	err := s.socket.CloseNow()
	_ = s.Conn.Close() // frees the resources of the stream; the socket is already closed
	return err
}
