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

// Client speaks to a server with the token of one user.
type Client struct {
	URL   string // http://host:port
	Token string
}

// Refused is an answer that says no.
type Refused struct {
	Status int
	Body   []byte
}

func (r *Refused) Error() string { return fmt.Sprintf("status %d: %s", r.Status, r.Body) }

// Do sends body as JSON, unless it is nil, and decodes the answer into out,
// unless that is nil. A status of 300 and above is a [Refused].
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
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %w", method, path, &Refused{Status: answer.StatusCode, Body: said})
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(said, out)
}

// Dial opens a WebSocket as a tab does. Messages may be large: a tab has no
// limit either.
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

// Say sends one frame over a connection that Dial made.
func Say(ctx context.Context, conn *websocket.Conn, frame []byte) error {
	return conn.Write(ctx, websocket.MessageText, frame)
}
