// Command anchors contains the servers with which the fan-out of sayso is compared. Each sends one
// message to every WebSocket, in the way that the documentation of its library shows. It is a
// separate module, so that sayso does not depend on these libraries.
//
// It prints its address. Then it reads lines "COUNT TIME" until its input ends and, for each,
// publishes COUNT messages that contain TIME.
package main

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/centrifugal/centrifuge"
	coder "github.com/coder/websocket"
	gorilla "github.com/gorilla/websocket"
	"github.com/lxzan/gws"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "anchors:", err)
		os.Exit(1)
	}
}

func run(library string) error {
	build, known := map[string]func() (http.Handler, func([]byte), error){
		"raw": newRaw, "gorilla": newGorilla, "coder": newCoder, "gws": newGWS, "centrifuge": newCentrifuge,
	}[library]
	if !known {
		return fmt.Errorf("no such library %q", library)
	}
	handler, publish, err := build()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, handler) // ends with the program
	fmt.Println(l.Addr())
	in := bufio.NewReader(os.Stdin)
	for {
		var count int
		var written int64
		if _, err := fmt.Fscanln(in, &count, &written); err != nil {
			return nil // the input ended
		}
		for range count {
			publish(message(written))
		}
	}
}

// message returns a message that is as long as the state of a session, and that tabs count as one.
func message(written int64) []byte {
	head := fmt.Sprintf(`{"type":"process_state","written_at":%d,"text":"`, written)
	return []byte(head + strings.Repeat("x", 1024-len(head)-2) + `"}`)
}

// clients is a set of connections.
type clients[T any] struct {
	mu  sync.Mutex
	all []T
}

func (c *clients[T]) add(one T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, one)
}

func (c *clients[T]) each(do func(T)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		do(one)
	}
}

// newRaw writes a frame, encoded once, to one connection after the other: no library can
// be faster with one message.
func newRaw() (http.Handler, func([]byte), error) {
	var conns clients[net.Conn]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
			fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
				base64.StdEncoding.EncodeToString(sum[:]))
			conns.add(conn)
		}), func(message []byte) {
			frame := binary.BigEndian.AppendUint16([]byte{0x81, 126}, uint16(len(message)))
			frame = append(frame, message...)
			conns.each(func(conn net.Conn) { _, _ = conn.Write(frame) })
		}, nil
}

// queued bounds how many messages wait for one client.
const queued = 256

func newGorilla() (http.Handler, func([]byte), error) {
	var queues clients[chan *gorilla.PreparedMessage]
	var upgrader gorilla.Upgrader
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := upgrader.Upgrade(w, r, nil)
			if err != nil {
				return
			}
			queue := make(chan *gorilla.PreparedMessage, queued)
			go func() {
				for m := range queue {
					_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
					if conn.WritePreparedMessage(m) != nil {
						return
					}
				}
			}()
			queues.add(queue)
			for {
				if _, _, err := conn.ReadMessage(); err != nil {
					return
				}
			}
		}), func(message []byte) {
			prepared, err := gorilla.NewPreparedMessage(gorilla.TextMessage, message)
			if err != nil {
				panic(err)
			}
			queues.each(func(queue chan *gorilla.PreparedMessage) { queue <- prepared })
		}, nil
}

func newCoder() (http.Handler, func([]byte), error) {
	var queues clients[chan []byte]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := coder.Accept(w, r, nil)
			if err != nil {
				return
			}
			queue := make(chan []byte, queued)
			go func() {
				for m := range queue {
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
					err := conn.Write(ctx, coder.MessageText, m)
					cancel()
					if err != nil {
						return
					}
				}
			}()
			queues.add(queue)
			for {
				if _, _, err := conn.Read(context.Background()); err != nil {
					return
				}
			}
		}), func(message []byte) {
			queues.each(func(queue chan []byte) { queue <- message })
		}, nil
}

func newGWS() (http.Handler, func([]byte), error) {
	var conns clients[*gws.Conn]
	upgrader := gws.NewUpgrader(&gws.BuiltinEventHandler{}, &gws.ServerOption{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := upgrader.Upgrade(w, r)
			if err != nil {
				return
			}
			conns.add(conn)
			go conn.ReadLoop()
		}), func(message []byte) {
			broadcaster := gws.NewBroadcaster(gws.OpcodeText, message)
			conns.each(func(conn *gws.Conn) { _ = broadcaster.Broadcast(conn) })
			_ = broadcaster.Close()
		}, nil
}

func newCentrifuge() (http.Handler, func([]byte), error) {
	const channel = "all"
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		return nil, nil, err
	}
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{
			Credentials:   &centrifuge.Credentials{UserID: "user"},
			Subscriptions: map[string]centrifuge.SubscribeOptions{channel: {}},
		}, nil
	})
	if err := node.Run(); err != nil {
		return nil, nil, err
	}
	handler := centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{
		PingPongConfig: centrifuge.PingPongConfig{PingInterval: -1, PongTimeout: -1},
	})
	return handler, func(message []byte) {
		if _, err := node.Publish(channel, message); err != nil {
			panic(err)
		}
	}, nil
}
