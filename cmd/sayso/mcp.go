package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/mcpapi"
)

// mcpFlags are the flags of sayso mcp.
type mcpFlags struct{ connect, config string }

func (f *mcpFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.connect, "connect", "", "`file` with the address of the server and the token, as {\"url\":\"http://127.0.0.1:8787/mcp\",\"token\":\"…\"}")
	flags.StringVar(&f.config, "config", "", "instead: configuration `file` of PromptManager's MCP server; without it, ASK_USER_CONFIG")
}

// mcpVerb speaks MCP on stdin and stdout until stdin has ended and everything read is
// answered, or stdout has no reader. It forwards what it reads to the server; while the
// server is unreachable, it waits and sends the same again.
func mcpVerb(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	var f mcpFlags
	rest, err := parseFlags(newFlags("mcp", f.define), args)
	if err != nil {
		return err
	}
	if f.connect == "" && f.config == "" {
		f.config = os.Getenv("ASK_USER_CONFIG")
	}
	if len(rest) > 0 || (f.connect == "") == (f.config == "") {
		return usageError("it needs either --connect FILE or --config FILE, or one of: register, unregister, stream")
	}
	// Without a reader of stdout, answers are not needed.
	ctx, stop := whileRead(ctx, stdout)
	defer stop()
	if f.config != "" {
		return relay(ctx, f.config, stdin, stdout)
	}
	// An invalid file is reported at once; later it may be in the middle of a change.
	if _, err := readConnection(f.connect); err != nil {
		return err
	}
	forward := &forwarder{
		path: f.connect, out: stdout, processID: uuid.NewString(),
		client: &http.Client{Transport: &http.Transport{Proxy: nil}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		calls:  map[string]*forwardedCall{},
	}
	defer forward.client.CloseIdleConnections()
	return forward.run(ctx, stdin)
}

// connection is the destination of a forwarder. The file is rewritten when the address of the
// server changes, so it is read for every request.
type connection struct {
	URL   string `json:"url"`   // of the MCP endpoint, such as http://127.0.0.1:8787/mcp
	Token string `json:"token"` // of the agent
}

func readConnection(path string) (connection, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return connection{}, fmt.Errorf("cannot read the connection file: %w", err)
	}
	var c connection
	if err := json.Unmarshal(text, &c); err != nil {
		return connection{}, fmt.Errorf("the connection file %s is not JSON", path) // its text may contain the token
	}
	at, err := url.Parse(c.URL)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil {
		return connection{}, fmt.Errorf("the connection file %s needs a url such as http://127.0.0.1:8787/mcp", path)
	}
	if c.Token == "" {
		return connection{}, fmt.Errorf("the connection file %s needs a token", path)
	}
	return c, nil
}

const (
	maxLine             = 16 << 20 // of a message, in bytes
	retryPause          = 100 * time.Millisecond
	maxRetryPause       = 2 * time.Second
	notificationTimeout = 5 * time.Second // for a notification, which has no response
)

// forwarder forwards JSON-RPC messages between a pipe and the server.
type forwarder struct {
	path      string
	client    *http.Client
	processID string // distinguishes the calls of this process from those of another

	outMu sync.Mutex
	out   io.Writer

	mu      sync.Mutex
	version string // of the protocol, as initialize agreed; "" before
	calls   map[string]*forwardedCall
}

// forwardedCall is a request in flight.
type forwardedCall struct {
	cancel    context.CancelFunc
	cancelled atomic.Bool // its sender has cancelled it and wants no response
}

// envelope is the part of a message that a forwarder reads.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string                     `json:"name"`
		URI       string                     `json:"uri"`
		RequestID json.RawMessage            `json:"requestId"`
		Meta      map[string]json.RawMessage `json:"_meta"`
	} `json:"params"`
	Result struct {
		ProtocolVersion string `json:"protocolVersion"`
	} `json:"result"`
}

// run forwards until stdin has ended and everything read is answered, or ctx ends.
func (f *forwarder) run(ctx context.Context, stdin io.Reader) error {
	ctx, stop := context.WithCancel(ctx)
	var under sync.WaitGroup
	defer under.Wait()
	defer stop()

	// Reading a pipe cannot be interrupted; it ends with this process.
	lines := make(chan []byte)
	failed := make(chan error, 1)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(stdin)
		scanner.Buffer(make([]byte, 0, 64<<10), maxLine)
		for scanner.Scan() {
			select {
			case lines <- bytes.Clone(scanner.Bytes()):
			case <-ctx.Done():
				return
			}
		}
		failed <- scanner.Err()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, more := <-lines:
			if !more {
				answered := make(chan struct{})
				go func() {
					defer close(answered)
					under.Wait()
				}()
				select {
				case <-answered:
				case <-ctx.Done():
				}
				select {
				case err := <-failed:
					return err
				default:
					return nil
				}
			}
			if line = bytes.TrimSpace(line); len(line) > 0 {
				f.forward(ctx, &under, line)
			}
		}
	}
}

// forward forwards one message. It does not wait for the responses to requests, except initialize.
func (f *forwarder) forward(ctx context.Context, under *sync.WaitGroup, line []byte) {
	var m envelope
	if err := json.Unmarshal(line, &m); err != nil {
		f.refuse(json.RawMessage("null"), -32700, "Parse error")
		return
	}
	id := string(m.ID)
	switch {
	case m.Method == "":
		return // a response, although the server sends no requests
	case id == "" || id == "null":
		var cancelled *forwardedCall
		if m.Method == "notifications/cancelled" {
			f.mu.Lock()
			cancelled = f.calls[string(m.Params.RequestID)]
			f.mu.Unlock()
		}
		if cancelled != nil {
			cancelled.cancelled.Store(true)
		}
		// Sent in order, and before the cancelled call is disconnected, so that the server knows
		// that the call was cancelled on purpose.
		brief, done := context.WithTimeout(ctx, notificationTimeout)
		defer done()
		_, _ = f.sendOnce(brief, line, m, &forwardedCall{})
		if cancelled != nil {
			cancelled.cancel()
		}
		return
	}
	call, cut := context.WithCancel(ctx)
	c := &forwardedCall{cancel: cut}
	f.mu.Lock()
	f.calls[id] = c
	f.mu.Unlock()
	carry := func() {
		defer func() {
			cut()
			f.mu.Lock()
			delete(f.calls, id)
			f.mu.Unlock()
		}()
		f.sendUntilAnswered(call, line, m, c)
	}
	if m.Method == "initialize" {
		carry() // the next messages need its protocol version
		return
	}
	under.Go(carry)
}

// sendUntilAnswered sends a request until it is answered, refused or cancelled.
func (f *forwarder) sendUntilAnswered(ctx context.Context, line []byte, m envelope, c *forwardedCall) {
	for pause := retryPause; ; pause = min(2*pause, maxRetryPause) {
		answered, err := f.sendOnce(ctx, line, m, c)
		if answered || ctx.Err() != nil || c.cancelled.Load() {
			return
		}
		var final refusedError
		if errors.As(err, &final) {
			f.refuse(m.ID, -32603, final.Error())
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// refusedError is a permanent error of the server.
type refusedError struct{ message string }

func (e refusedError) Error() string { return e.message }

// sendOnce sends a message once. answered is true when its response was written to stdout.
func (f *forwarder) sendOnce(ctx context.Context, line []byte, m envelope, c *forwardedCall) (answered bool, err error) {
	to, err := readConnection(f.path)
	if err != nil {
		return false, err // it may be rewritten at this moment
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(line))
	if err != nil {
		return false, err
	}
	req.Header.Set("Authorization", "Bearer "+to.Token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set(mcpapi.WaitsHeader, "yes")
	f.setHeaders(req.Header, m)
	resp, err := f.client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode == http.StatusOK && media == "text/event-stream":
		return f.stream(resp.Body, m, c)
	case resp.StatusCode == http.StatusAccepted:
		return true, nil
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return false, fmt.Errorf("the server answered %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxLine))
	if err != nil {
		return false, err
	}
	var reply struct {
		ID    json.RawMessage `json:"id"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	decoded := json.Unmarshal(body, &reply) == nil
	if decoded && len(reply.ID) > 0 && string(reply.ID) != "null" {
		f.noteVersion(body, m)
		f.write(body)
		return true, nil
	}
	message := reply.Error.Message
	if message == "" {
		message = strings.TrimSpace(string(body))
	}
	if resp.StatusCode == http.StatusUnauthorized {
		if now, err := readConnection(f.path); err == nil && now != to {
			return false, errors.New("the token has changed")
		}
	}
	return false, refusedError{fmt.Sprintf("sayso refused this with %s: %s", resp.Status, message)}
}

// setHeaders sets the headers that the protocol derives from the message.
func (f *forwarder) setHeaders(h http.Header, m envelope) {
	f.mu.Lock()
	version := f.version
	f.mu.Unlock()
	var own string
	if json.Unmarshal(m.Params.Meta["io.modelcontextprotocol/protocolVersion"], &own) == nil && own != "" {
		version = own
		h.Set("Mcp-Method", m.Method)
		switch m.Method {
		case "tools/call", "prompts/get":
			h.Set("Mcp-Name", m.Params.Name)
		case "resources/read":
			h.Set("Mcp-Name", m.Params.URI)
		}
	}
	if version != "" && m.Method != "initialize" {
		h.Set("Mcp-Protocol-Version", version)
	}
	if m.Method == "tools/call" {
		h.Set(mcpapi.KeyHeader, f.processID+"/"+digestOf(m.ID))
	}
}

// digestOf hashes an id for a header.
func digestOf(id json.RawMessage) string { return uuid.NewSHA1(uuid.Nil, id).String() }

// stream writes the messages of an event stream to stdout, up to the response.
func (f *forwarder) stream(body io.Reader, m envelope, c *forwardedCall) (answered bool, err error) {
	reader := bufio.NewReader(body)
	var data []byte
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return false, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > 0 {
			if rest, is := bytes.CutPrefix(line, []byte("data:")); is {
				data = append(append(data, bytes.TrimPrefix(rest, []byte(" "))...), '\n')
			}
			if len(data) > maxLine {
				return false, errors.New("a message from the server is too long")
			}
			continue
		}
		if len(data) == 0 {
			continue
		}
		message := bytes.TrimSpace(data)
		data = nil
		var reply envelope
		if json.Unmarshal(message, &reply) != nil {
			continue
		}
		over := reply.Method == "" && bytes.Equal(bytes.TrimSpace(reply.ID), bytes.TrimSpace(m.ID))
		if over {
			f.noteVersion(message, m)
		}
		if !c.cancelled.Load() {
			f.write(message)
		}
		if over {
			return true, nil
		}
	}
}

// noteVersion stores the version that initialize agreed on.
func (f *forwarder) noteVersion(message []byte, m envelope) {
	var reply envelope
	if m.Method != "initialize" || json.Unmarshal(message, &reply) != nil {
		return
	}
	f.mu.Lock()
	f.version = reply.Result.ProtocolVersion
	f.mu.Unlock()
}

// refuse answers a request with an error, in place of the server.
func (f *forwarder) refuse(id json.RawMessage, code int, message string) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message}})
	if err != nil {
		return // impossible: id was decoded from JSON
	}
	f.write(body)
}

// write writes one message as a line to stdout. It ignores errors: if the reader is gone, the end
// of stdin ends the process.
func (f *forwarder) write(message []byte) {
	var line bytes.Buffer
	if json.Compact(&line, message) != nil {
		return
	}
	line.WriteByte('\n')
	f.outMu.Lock()
	defer f.outMu.Unlock()
	_, _ = f.out.Write(line.Bytes())
}
