package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/internal/ssrf"
	"github.com/sayso-dev/sayso/internal/visible"
	"github.com/sayso-dev/sayso/shim"
	"github.com/sayso-dev/sayso/wire"
)

// remoteAbout is the part of the help that the commands for a running server share.
const remoteAbout = "As the user that runs the server, you need no token: the command uses a socket in the state folder. For a server elsewhere, give --server and a token in SAYSO_TOKEN or --token-file."

// Variables of the commands for a running server.
const (
	serverVariable = "SAYSO_SERVER"
	tokenVariable  = "SAYSO_TOKEN"
)

// maxReply bounds the body of a response, in bytes.
const maxReply = 256 << 20

// remoteTimeout bounds a call. Killing a process takes longest.
const remoteTimeout = time.Minute

// remoteFlags name a running server and the format of the output.
type remoteFlags struct {
	server, tokenFile, stateDir string
	json                        bool
}

func (f *remoteFlags) define(flags *flag.FlagSet) {
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.StringVar(&f.stateDir, "state-dir", "", "state `folder` of the server")
	flags.StringVar(&f.server, "server", "", "`address` of a server elsewhere, such as https://sayso.example.org; or "+serverVariable)
	flags.StringVar(&f.tokenFile, "token-file", "", "`file` with an API token; or "+tokenVariable)
}

// remote is a running server, reached by its REST API.
type remote struct {
	name   string // for people
	base   string // scheme and host
	token  string // "" at the socket
	client *http.Client
	free   func()
}

// connect returns the server that the flags name. It sends nothing yet.
func (f remoteFlags) connect() (*remote, error) {
	token := os.Getenv(tokenVariable)
	if f.tokenFile != "" {
		text, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		token = strings.TrimSpace(string(text))
	}
	server := f.server
	if server == "" && f.stateDir == "" {
		server = os.Getenv(serverVariable)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	// A redirect could lead the token elsewhere.
	client := &http.Client{Transport: transport, Timeout: remoteTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if server != "" {
		u, err := url.Parse(server)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
			return nil, usageError("--server: give an address such as https://sayso.example.org")
		case u.Scheme == "http" && !ssrf.IsLoopback(u.Hostname()):
			return nil, usageError("--server: " + u.Host + " would get your token without encryption; use https")
		case token == "":
			return nil, fmt.Errorf("%s needs a token in %s or --token-file; create one in your account, or there with: sayso token --name NAME", u.Host, tokenVariable)
		}
		return &remote{name: u.Scheme + "://" + u.Host, base: u.Scheme + "://" + u.Host, token: token, client: client, free: func() {}}, nil
	}
	// Programs that Claude runs have this variable. They must not answer requests by mistake.
	if os.Getenv(shim.Marker) != "" {
		return nil, errors.New("this command is for people, and you are in a session of Claude")
	}
	s, err := serverFlags{stateDir: f.stateDir}.settings("status")
	if err != nil {
		return nil, err
	}
	path, free, err := socketPath(s.StateDir)
	if err != nil {
		return nil, fmt.Errorf("the server cannot be reached: %w", err)
	}
	transport.Proxy = nil
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &remote{name: s.StateDir, base: "http://localhost", token: token, client: client, free: free}, nil
}

// Close closes the connections to the server.
func (r *remote) Close() {
	r.client.CloseIdleConnections()
	r.free()
}

// replyError is a refusal of the server.
type replyError struct {
	status int
	wire.Outcome
}

func (e *replyError) Error() string {
	if e.Outcome.Error == nil || e.Outcome.Error.Message == "" {
		return fmt.Sprintf("the server refuses this: %s", http.StatusText(e.status))
	}
	return visible.Line(e.Outcome.Error.Message)
}

// isStatus reports whether err is a refusal of this status.
func isStatus(err error, status int) bool {
	var refused *replyError
	return errors.As(err, &refused) && refused.status == status
}

// do calls the REST API with a body, nil for none, and decodes the response into reply, unless
// that is nil. A refusal is a [replyError].
func (r *remote) do(ctx context.Context, method, path string, body, reply any) error {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, content)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return r.explain(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return fmt.Errorf("connection lost while reading the response: %w", err)
	}
	if resp.StatusCode >= 300 {
		refused := &replyError{status: resp.StatusCode}
		_ = json.Unmarshal(data, &refused.Outcome) // a proxy may answer with something else
		if resp.StatusCode == http.StatusUnauthorized {
			return fmt.Errorf("the token is not valid at %s; create another with: sayso token --name NAME (%w)", r.name, refused)
		}
		return refused
	}
	if reply == nil || len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, reply); err != nil {
		return fmt.Errorf("%s is not a sayso server: %w", r.name, err)
	}
	return nil
}

// explain returns an error that says what to do when the server cannot be reached.
func (r *remote) explain(err error) error {
	var unreachable *net.OpError
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("only the user that runs the server may use its state folder %s; use that user, or --server and %s", r.name, tokenVariable)
	case !errors.As(err, &unreachable) || unreachable.Op != "dial":
		return err
	case r.base != "http://localhost":
		return fmt.Errorf("%s cannot be reached: %w", r.name, unreachable.Err)
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no server runs on the state folder %s. Start it with: sayso serve. If it runs on another folder, name that with --state-dir", r.name)
	}
	return fmt.Errorf("the server of %s cannot be reached: %w", r.name, unreachable.Err)
}

// get calls the REST API and decodes the response.
func get[T any](ctx context.Context, r *remote, path string) (reply T, err error) {
	err = r.do(ctx, http.MethodGet, path, nil, &reply)
	return reply, err
}
