package blackbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// Client sends requests to a server with the token of one user.
type Client struct {
	URL   string // http://host:port
	Token string
}

// StatusError is a response with a status of 300 or above.
type StatusError struct {
	Status int
	Body   []byte
}

func (r *StatusError) Error() string { return fmt.Sprintf("status %d: %s", r.Status, r.Body) }

// Do sends body as JSON, unless it is nil, and decodes the response into out, unless that
// is nil. For a status of 300 or above it returns a [*StatusError].
func (c Client) Do(ctx context.Context, method, path string, body, out any) error {
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path, text)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.Token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %w", method, path, &StatusError{Status: resp.StatusCode, Body: data})
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// Dial opens a WebSocket. Its read limit is 64 MiB, because a browser has none.
func (c Client) Dial(ctx context.Context) (*websocket.Conn, error) {
	conn, _, err := websocket.Dial(ctx, strings.Replace(c.URL, "http", "ws", 1)+"/ws", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + c.Token}},
	})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(64 << 20)
	return conn, nil
}

// Send writes one frame to a connection of Dial.
func Send(ctx context.Context, conn *websocket.Conn, frame []byte) error {
	return conn.Write(ctx, websocket.MessageText, frame)
}
