package mcpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// errorMessage is an error whose text people or agents read.
type errorMessage string

func (m errorMessage) Error() string { return string(m) }

// ending is the reason why a question is withdrawn, from the table of statements.
type ending string

func (e ending) Error() string { return statement.New(string(e)) }

// errCancelled ends a call that its client cancelled.
const errCancelled = ending("agent_canceled")

// callKey is the key of the [call] in the context of a tool.
type callKey struct{}

// call is one HTTP request.
type call struct {
	token     account.AgentToken
	secret    string // of the token
	session   session.Session
	unlimited bool // its client waits without limit

	// Fields of the message in its body.
	method    string
	id        string // the JSON-RPC id as written, "" for a notification
	cancelled string // the id that a cancellation names
	idemKey   string // the client's own key of the call
	toolUseID string // the tool_use block of Claude's call

	ctx  context.Context // of the HTTP request
	end  context.CancelCauseFunc
	gate *gatedWriter
	// cancelledByClient is set when the client cancelled the call.
	cancelledByClient atomic.Bool
	// answered is the id of the request whose answer is in the response.
	answered string
}

// read parses the parts of a message that the SDK does not pass to tools. It ignores errors,
// because the SDK reports them.
func (c *call) read(h http.Header, body []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			RequestID json.RawMessage            `json:"requestId"`
			Meta      map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &m) != nil {
		return
	}
	c.method, c.id, c.cancelled = m.Method, string(bytes.TrimSpace(m.ID)), string(bytes.TrimSpace(m.Params.RequestID))
	text := func(key string) (s string) {
		_ = json.Unmarshal(m.Params.Meta[key], &s) // any other type counts as absent
		return s
	}
	c.toolUseID = text("claudecode/toolUseId")
	if c.idemKey = h.Get(KeyHeader); c.idemKey == "" {
		c.idemKey = text("sayso/idempotencyKey")
	}
}

// key returns the key of this call's question, which stays the same when the call is repeated.
// exact is true if no other question can have that key.
func (c *call) key(tool string, arguments []byte) (key string, exact bool) {
	switch {
	case c.toolUseID != "":
		return digest("tool use", c.toolUseID, tool), true
	case c.idemKey != "":
		return digest("key", c.token.TokenID, c.idemKey, tool), true
	}
	return digest("call", c.token.TokenID, c.id, tool, string(arguments)), false
}

// digest returns a hash of a list of texts.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// requestID derives the id of the nth request of a key.
func (c *call) requestID(key, nth string) string {
	return pending.NewRequestID(c.session.SessionID, "", "mcp/"+key+"/"+nth)
}

// idSurvivesSDK reports whether the SDK returns an id unchanged. It stores numbers as
// floating-point numbers and truncates them.
func idSurvivesSDK(id string) bool {
	if id == "" || id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return true // absent, a string, or refused by the SDK
	}
	n, err := strconv.ParseInt(id, 10, 64)
	return err == nil && -1<<53 <= n && n <= 1<<53
}

// name identifies a call as its client does: by token and JSON-RPC id.
func (c *call) name() string { return nameOf(c.token.TokenID, c.id) }

func nameOf(tokenID, id string) string { return tokenID + " " + id }

// asker returns the name of the asker for people.
func (c *call) asker() string {
	if c.token.Name == "" && c.session.Kind == session.Ours {
		return ""
	}
	if c.session.Kind == session.Terminal {
		return "terminal on " + c.token.Name
	}
	return "agent " + c.token.Name + " over MCP"
}

// calls are the calls in flight, by name, so that a cancellation, which is a separate
// request, finds its call.
type calls struct {
	mu   sync.Mutex
	all  map[*call]struct{}
	byID map[string]map[*call]struct{} // by name
}

func newCalls() *calls {
	return &calls{all: map[*call]struct{}{}, byID: map[string]map[*call]struct{}{}}
}

// add adds a call and returns a function that removes it.
func (l *calls) add(c *call) (remove func()) {
	key := c.name()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[c] = struct{}{}
	if l.byID[key] == nil {
		l.byID[key] = map[*call]struct{}{}
	}
	l.byID[key][c] = struct{}{}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.all, c)
		delete(l.byID[key], c)
		if len(l.byID[key]) == 0 {
			delete(l.byID, key)
		}
	}
}

// cancel cancels the call with a name. If two clients share a token and an id, it cancels
// none and returns false: an unneeded form is better than a lost answer.
func (l *calls) cancel(name string) (clear bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	same := l.byID[name]
	if len(same) == 1 {
		for c := range same {
			c.cancelledByClient.Store(true)
			c.end(errCancelled)
		}
	}
	return len(same) <= 1
}

// abortAll ends every call without an answer.
func (l *calls) abortAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.all {
		c.abort()
	}
}

// abort ends the call without an answer, because the server stops.
func (c *call) abort() {
	c.gate.closed.Store(true)
	c.end(errStopping)
}

// errSlowClient ends a call whose client does not read the response.
var errSlowClient = errors.New("the client does not read what it is sent")

// gatedWriter is a response that can be closed, after which it sends nothing more. A client
// that does not read ends its call. Only one goroutine may write at a time.
type gatedWriter struct {
	http.ResponseWriter
	ctx     context.Context // of the call
	end     context.CancelCauseFunc
	closed  atomic.Bool
	flushed atomic.Bool // the last write was flushed to a connected client
}

var errGateClosed = errors.New("the response is over")

func (g *gatedWriter) Write(b []byte) (int, error) {
	g.flushed.Store(false)
	if g.closed.Load() {
		return 0, errGateClosed
	}
	control := http.NewResponseController(g.ResponseWriter)
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // only test transports lack deadlines
	n, err := g.ResponseWriter.Write(b)
	if err != nil {
		g.end(errSlowClient)
	}
	return n, err
}

func (g *gatedWriter) WriteHeader(status int) {
	if !g.closed.Load() {
		g.ResponseWriter.WriteHeader(status)
	}
}

// Flush implements http.Flusher.
func (g *gatedWriter) Flush() {
	if g.closed.Load() {
		return
	}
	control := http.NewResponseController(g.ResponseWriter)
	err := control.Flush()
	_ = control.SetWriteDeadline(time.Time{})
	if err != nil {
		g.end(errSlowClient)
	}
	g.flushed.Store(g.ctx.Err() == nil)
}
