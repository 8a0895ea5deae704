package link

import (
	"context"
	"io"
	"net"

	"github.com/coder/websocket"
)

// WebSocket returns the stream of a WebSocket, in binary messages whose borders mean nothing. ctx
// bounds its life. Its Close does not wait for the other side. Let OnPingReceived of the WebSocket
// return false: the library would answer a ping from the goroutine that reads.
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
	_ = s.Conn.Close() // it frees what belongs to the stream; the socket is closed
	return err
}
