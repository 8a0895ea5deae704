package mcpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// RelayConfig is the configuration file of PromptManager's MCP server, which [RunRelay]
// replaces. The file contains a secret.
type RelayConfig struct {
	APIURL      string `json:"apiUrl"`      // on this machine, such as http://localhost:8080
	StreamToken string `json:"streamToken"` // UUID
	UserID      int    `json:"userId"`
	ProjectID   int    `json:"projectId"`
	CSRFToken   string `json:"csrfToken"`
	Timeout     int    `json:"timeout"` // seconds until a question times out; 300 by default
}

// Times of a relay.
const (
	relayTimeout    = 300     // seconds, the default
	maxRelayTimeout = 30 * 60 // seconds
	relayRetryDelay = 2 * time.Second
	relayPoll       = 25 * time.Second
)

// relayTimedOut is the text for Claude when a question times out.
const relayTimedOut = "User did not respond within the timeout period. Proceeding with your best judgment."

// ReadRelayConfig reads the file. It refuses a file that other users can read, or whose URL leads
// to another machine.
func ReadRelayConfig(path string) (RelayConfig, error) {
	info, err := os.Stat(path)
	if err != nil {
		return RelayConfig{}, fmt.Errorf("cannot read the configuration file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return RelayConfig{}, fmt.Errorf("others can read the configuration file %s, which holds a secret; chmod 600 it", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return RelayConfig{}, fmt.Errorf("cannot read the configuration file: %w", err)
	}
	c := RelayConfig{Timeout: relayTimeout}
	if err := json.Unmarshal(data, &c); err != nil {
		return RelayConfig{}, fmt.Errorf("the configuration file %s is not the JSON that is expected", path) // the error could contain the secret
	}
	at, err := url.Parse(c.APIURL)
	switch {
	case err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "":
		return RelayConfig{}, fmt.Errorf("the configuration file %s needs an apiUrl such as http://localhost:8080", path)
	case !loopback(at.Hostname()):
		return RelayConfig{}, fmt.Errorf("the apiUrl of the configuration file %s leads to another machine; it must be 127.0.0.1, ::1 or localhost", path)
	case !streamToken.MatchString(c.StreamToken):
		return RelayConfig{}, fmt.Errorf("the configuration file %s needs a streamToken that is a UUID", path)
	case c.ProjectID < 0 || c.UserID < 0:
		return RelayConfig{}, fmt.Errorf("the configuration file %s needs a userId and a projectId that are not negative", path)
	case c.Timeout < 1 || c.Timeout > maxRelayTimeout:
		return RelayConfig{}, fmt.Errorf("the timeout of the configuration file %s must be 1 to %d seconds", path, maxRelayTimeout)
	}
	return c, nil
}

// loopback reports whether all addresses of a host are on this machine.
func loopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	addresses, err := net.LookupIP(host)
	for _, ip := range addresses {
		if !ip.IsLoopback() {
			return false
		}
	}
	return err == nil && len(addresses) > 0
}

// RunRelay runs PromptManager's MCP server: the tool ask_user on stdin and stdout. It returns
// when stdin has ended and everything is answered, or when ctx ends. It asks over PromptManager's
// routes, which PromptManager itself or sayso serves.
func RunRelay(ctx context.Context, c RelayConfig, in io.Reader, out io.Writer, version string) error {
	r := newRelayClient(c)
	defer r.client.CloseIdleConnections()
	server := mcp.NewServer(&mcp.Implementation{Name: "ask-user", Version: version}, nil)
	server.AddTool(&mcp.Tool{
		Name: relayTool,
		Description: "Ask the user a question and wait for their response. Use this when you need clarification, " +
			"a choice between options, or confirmation before proceeding.",
		InputSchema: json.RawMessage(relaySchema),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}, // otherwise Claude asks one question at a time
	}, func(call context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		call, end := context.WithCancel(call)
		defer end()
		defer context.AfterFunc(ctx, end)() // the server waits for its calls before it ends
		key, _ := req.Params.Meta["claudecode/toolUseId"].(string)
		if key == "" {
			key = uuid.NewString()
		}
		text, failed := r.ask(call, key, req.Params.Arguments)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: failed}, nil
	})
	err := server.Run(ctx, &stdio{in: in, out: out})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

const relaySchema = `{"type":"object","required":["question"],"properties":{
"question":{"type":"string","description":"The question to ask the user"},
"options":{"type":"array","description":"Optional list of choices for the user","items":{"type":"object","required":["label"],"properties":{
	"label":{"type":"string","description":"Short label for the option"},
	"description":{"type":"string","description":"Longer explanation of what this option means"}}}},
"multiSelect":{"type":"boolean","default":false,"description":"Whether the user can select multiple options"}}}`

// relayClient asks through PromptManager's routes.
type relayClient struct {
	c      RelayConfig
	client *http.Client
}

func newRelayClient(c RelayConfig) *relayClient {
	dialer := &net.Dialer{Timeout: relayRetryDelay, Control: func(_, address string, _ syscall.RawConn) error {
		// The name may now resolve to another address.
		if host, _, err := net.SplitHostPort(address); err != nil || !loopback(host) {
			return fmt.Errorf("%s is not of this machine", address)
		}
		return nil
	}}
	return &relayClient{c: c, client: &http.Client{
		Transport:     &http.Transport{Proxy: nil, DialContext: dialer.DialContext},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// ask asks one question and returns the text for Claude and whether it failed. It retries
// while a server is unreachable, until the timeout.
func (r *relayClient) ask(ctx context.Context, key string, arguments json.RawMessage) (text string, failed bool) {
	q := RelayQuestion{}
	if err := json.Unmarshal(arguments, &q); err != nil {
		return "The question could not be understood: " + err.Error(), true
	}
	q.StreamToken, q.QuestionID, q.Timeout = r.c.StreamToken, key, float64(r.c.Timeout)
	if _, err := relayForm(q); err != nil {
		return err.Error(), true
	}
	asked := ctx
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.c.Timeout)*time.Second)
	defer cancel()
	over := func() (string, bool) {
		if asked.Err() != nil {
			return "The question was cancelled.", true
		}
		return relayTimedOut, true
	}
	project := url.Values{"p": {strconv.Itoa(r.c.ProjectID)}}
	for {
		status, _, err := r.send(ctx, http.MethodPost, "/claude/relay-question", project, q)
		switch {
		case ctx.Err() != nil:
			return over()
		case err == nil && status == http.StatusOK:
		case err == nil && status == http.StatusForbidden:
			return "The question could not be asked: this stream is unknown or has ended.", true
		case err == nil && status >= 400 && status < 500:
			return "The question could not be asked: " + http.StatusText(status) + ".", true
		default:
			sleep(ctx, relayRetryDelay)
			continue
		}
		break
	}
	query := url.Values{"p": project["p"], "streamToken": {r.c.StreamToken}, "questionId": {key}, "wait": {strconv.Itoa(int(relayPoll.Seconds()))}}
	for {
		began := time.Now()
		status, answer, err := r.send(ctx, http.MethodGet, "/claude/poll-answer", query, nil)
		switch {
		case ctx.Err() != nil:
			return over()
		case err == nil && status == http.StatusOK && answer.Status == RelayAnswered:
			return "User selected: " + answer.Answer, false
		case err == nil && status == http.StatusOK && answer.Status == RelayDeclined:
			return strings.TrimSuffix("The user declined to answer: "+answer.Reason, ": "), true
		case err == nil && status == http.StatusGone:
			return relayTimedOut, true
		case err == nil && status == http.StatusForbidden:
			return "The question was not answered: this stream has ended.", true
		}
		// A server that supports long polls needs no pause between them.
		if time.Since(began) < relayPoll/2 {
			sleep(ctx, relayRetryDelay-time.Since(began))
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (r *relayClient) send(ctx context.Context, method, path string, query url.Values, body any) (status int, answer RelayAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*relayPoll)
	defer cancel()
	var data io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return 0, answer, err
		}
		data = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(r.c.APIURL, "/")+path+"?"+query.Encode(), data)
	if err != nil {
		return 0, answer, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		if r.c.CSRFToken != "" {
			req.Header.Set("X-CSRF-Token", r.c.CSRFToken)
		}
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, answer, err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return 0, answer, err
	}
	_ = json.Unmarshal(said, &answer) // an invalid body is no answer
	return resp.StatusCode, answer, nil
}
