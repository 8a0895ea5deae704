package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// MCPServer is the name by which a CLI knows the server through which it asks.
const MCPServer = "sayso"

// MCP says how the CLIs of this node ask over MCP. Each is given a program of its
// own that speaks with it over stdio, and that reads at each connect where the
// server is and with which token.
type MCP struct {
	Exe    string // of sayso, absolute: `sayso mcp --connect FILE`
	URL    string // of the server's door for agents, as this machine reaches it
	Tools  []string
	Tokens Tokens
}

// Tokens let the CLI of one session ask, and do nothing else.
type Tokens interface {
	// MintAgent makes a token for a session. The name is for people, "" for the
	// session's own Claude; ttl 0 is for ever.
	MintAgent(ctx context.Context, sessionID, name string, ttl time.Duration) (secret string, err error)
	// RevokeAgents ends all tokens of a session. There may be none.
	RevokeAgents(ctx context.Context, sessionID string) error
}

// The files in the folder of a process.
const (
	mcpConfigName  = "mcp.json"     // for the CLI
	mcpConnectName = "connect.json" // for its sayso mcp
)

// connection is the content of mcpConnectName.
type connection struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// whenToAsk is the line of system prompt that says how Claude can ask, and when.
const whenToAsk = "A person watches this session from elsewhere and can answer questions asked with AskUserQuestion or mcp__" + MCPServer + "__ask_user. Ask only when a wrong guess would be costly or irreversible, and then wait for the answer, which may take hours; otherwise proceed."

// longestWait is how long a CLI waits for an answer, in milliseconds: 23 days. A
// timer of JavaScript that is set to more than 2^31-1 ends at once. It stands with
// our server alone, where it wins over MCP_TOOL_TIMEOUT: other servers of the person
// are cut off when they hang, as ever.
const longestWait = 2_000_000_000

// wiring is what makes a CLI ask over MCP.
type wiring struct {
	configFile string
	tools      []string // permission rules, so that nobody is asked for permission to be asked
	prompt     string
	files      map[string][]byte
}

// wire mints the token of a process that is to be started. The zero wiring is of
// one that does not ask over MCP.
func (p *process) wire(ctx context.Context, id Incarnation) (wiring, error) {
	m := p.o.o.MCP
	folder := p.o.o.Launcher.Folder(id)
	if m == nil || folder == "" || !p.o.rules().asksIn(p.session.CWD) {
		return wiring{}, nil
	}
	token, err := m.Tokens.MintAgent(ctx, id.SessionID, "", 0)
	if err != nil {
		return wiring{}, fmt.Errorf("orchestrator: token to ask with: %w", err)
	}
	w := wiring{
		configFile: filepath.Join(folder, mcpConfigName), prompt: whenToAsk,
		files: map[string][]byte{
			mcpConfigName: transcript.Encode(map[string]any{"mcpServers": map[string]any{MCPServer: map[string]any{
				"type": "stdio", "command": m.Exe, "args": []string{"mcp", "--connect", filepath.Join(folder, mcpConnectName)},
				"timeout": longestWait,
			}}}),
			mcpConnectName: transcript.Encode(connection{URL: m.URL, Token: token}),
		},
	}
	for _, tool := range m.Tools {
		w.tools = append(w.tools, "mcp__"+MCPServer+"__"+tool)
	}
	return w, nil
}

// rewire tells the MCP server of an adopted process where this server is, when
// that has changed.
func (p *process) rewire(id Incarnation) error {
	folder := p.o.o.Launcher.Folder(id)
	if p.o.o.MCP == nil || folder == "" {
		return nil
	}
	path := filepath.Join(folder, mcpConnectName)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it was started without
	}
	var c connection
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return fmt.Errorf("orchestrator: where a process finds its server: %w", err)
	}
	if c.URL == p.o.o.MCP.URL {
		return nil
	}
	c.URL = p.o.o.MCP.URL
	// Whoever reads it finds the old or the new one, whole. A sandbox holds on to the
	// old one, which nobody else sees any more when it is written over.
	held, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("orchestrator: where a process finds its server: %w", err)
	}
	defer held.Close()
	next := path + ".next"
	write := func() error { return os.WriteFile(next, transcript.Encode(c), 0o600) }
	if user := p.o.o.CLI; user != nil {
		err = user.RunAs.InGroup(write)
	} else {
		err = write()
	}
	if err == nil {
		err = likewise(held, next)
	}
	if err == nil {
		err = os.Rename(next, path)
	}
	if err == nil {
		if _, err = held.WriteAt(transcript.Encode(c), 0); err == nil {
			err = held.Truncate(int64(len(transcript.Encode(c))))
		}
	}
	if err != nil {
		return fmt.Errorf("orchestrator: where a process finds its server: %w", err)
	}
	return nil
}

// likewise lets those read a file of ours who may read another.
func likewise(as *os.File, path string) error {
	info, err := as.Stat()
	if err != nil {
		return err
	}
	made, err := os.Stat(path)
	if err != nil {
		return err
	}
	want, known := info.Sys().(*syscall.Stat_t)
	has, also := made.Sys().(*syscall.Stat_t)
	if known && also && want.Gid != has.Gid { // the server runs CLIs as somebody else than before
		if err := os.Chown(path, -1, int(want.Gid)); err != nil {
			return err
		}
	}
	return os.Chmod(path, info.Mode().Perm())
}

// unwire ends the token of a session whose process is dead.
func (o *Orchestrator) unwire(ctx context.Context, sessionID string) error {
	if o.o.MCP == nil {
		return nil
	}
	return o.o.MCP.Tokens.RevokeAgents(ctx, sessionID)
}

// overMCP reports whether a request came from a CLI of ours by MCP: it waits in a
// tool call of the CLI, and its asker is the door.
func overMCP(r pending.Request) bool { return r.Source == pending.SourceMCP }

// ofTheCLI reports whether a request came from a CLI's control protocol, so that
// the orchestrator is its asker.
func ofTheCLI(r pending.Request) bool {
	return r.Source == pending.SourceClaude || r.Source == pending.SourceElicitation
}

// undelivered are the answers to the CLI of a session that it never heard.
func (o *Orchestrator) undelivered(ctx context.Context, sessionID string) ([]pending.Request, error) {
	given, err := o.o.Store.UndeliveredRequests(ctx, sessionID)
	return slices.DeleteFunc(given, func(r pending.Request) bool { return !ofTheCLI(r) }), err
}

// unconsumed are the answers to the CLI of a session on which it was not seen to
// act.
func (o *Orchestrator) unconsumed(ctx context.Context, sessionID string) ([]pending.Request, error) {
	given, err := o.o.Store.UnconsumedRequests(ctx, sessionID)
	return slices.DeleteFunc(given, func(r pending.Request) bool { return !ofTheCLI(r) }), err
}

// asksOverMCP reports whether a tool call of the process waits for a person.
func (p *process) asksOverMCP(ctx context.Context) bool {
	if p.o.o.MCP == nil {
		return false
	}
	open, err := p.o.o.Registry.Open(ctx, p.session.SessionID)
	if err != nil {
		return true // who cannot be looked at is not ended for it
	}
	return slices.ContainsFunc(open, func(r pending.Request) bool { return overMCP(r) && r.Status == pending.Open })
}

// cut takes note that a tool call has its result, on the read loop. A question
// that it asked over MCP has nobody who waits any more: the CLI cuts calls off by
// itself and tells nobody.
func (p *process) cut(c transcript.FinishedCall) {
	if p.o.o.MCP == nil || !strings.HasPrefix(c.ToolName, "mcp__"+MCPServer+"__") {
		return
	}
	p.mu.Lock()
	p.cuts = append(p.cuts, c)
	p.mu.Unlock()
	poke(p.cutting)
}

// endCuts withdraws what was asked by calls that are over, until ctx ends with the
// CLI.
func (p *process) endCuts(ctx context.Context) {
	for {
		select {
		case <-p.cutting:
		case <-ctx.Done():
			return // what is left goes with the process
		}
		p.mu.Lock()
		cuts := p.cuts
		p.cuts = nil
		p.mu.Unlock()
		p.withdrawMCP(ctx, stoppedWaiting, func(r pending.Request) bool { return callOf(cuts, r) >= 0 })
		p.recordMCP(ctx, cuts)
	}
}

// callOf is the place of the call that asked, -1 when it is none of them.
func callOf(calls []transcript.FinishedCall, r pending.Request) int {
	return slices.IndexFunc(calls, func(c transcript.FinishedCall) bool { return c.ToolUseID == r.AskerToolUseID })
}

// recordMCP writes the records of what was asked over MCP and has ended, whose
// asker knows no transcript, and notes that the answers to calls that are over
// were heard.
func (p *process) recordMCP(ctx context.Context, over []transcript.FinishedCall) {
	ended, err := p.o.o.Store.UnrecordedRequests(ctx, p.session.SessionID)
	if err != nil && ctx.Err() == nil {
		p.log.ErrorContext(ctx, "cannot read the requests without a record", "error", err)
	}
	for _, r := range ended {
		if !overMCP(r) {
			continue
		}
		i, agentID := callOf(over, r), ""
		if i >= 0 {
			agentID = over[i].AgentID
		}
		p.put(session.ResolvedItem(r, agentID, r.Resolution.At))
		if i < 0 || r.Resolution.Answer == nil {
			continue
		}
		if err := p.o.o.Store.SetDelivery(ctx, r.RequestID, pending.Consumed); err != nil && ctx.Err() == nil {
			p.log.ErrorContext(ctx, "cannot note that an answer was consumed", "error", err)
		}
	}
}

// withdrawMCP withdraws what the process asked over MCP, as far as it is meant.
func (p *process) withdrawMCP(ctx context.Context, reason string, meant func(pending.Request) bool) {
	err := p.insist(ctx, "the end of questions over MCP", func() error {
		return p.o.withdrawMCP(ctx, p.session.SessionID, reason, meant)
	})
	if err != nil && ctx.Err() == nil {
		p.log.ErrorContext(ctx, "cannot withdraw what was asked over MCP", "error", err)
	}
}

func (o *Orchestrator) withdrawMCP(ctx context.Context, sessionID, reason string, meant func(pending.Request) bool) error {
	if o.o.MCP == nil {
		return nil
	}
	open, err := o.o.Registry.Open(ctx, sessionID)
	if err != nil {
		return err
	}
	for _, r := range open {
		if !overMCP(r) || !meant(r) {
			continue
		}
		if err := o.o.Registry.Withdraw(ctx, r.RequestID, reason); err != nil && !errors.Is(err, pending.ErrNotOpen) {
			return err
		}
	}
	return nil
}

// endMCP withdraws all that a session asked over MCP: with its process died who
// waited, and nobody can give the answer to the next.
func (o *Orchestrator) endMCP(ctx context.Context, sessionID, reason string) error {
	return o.withdrawMCP(ctx, sessionID, reason, func(pending.Request) bool { return true })
}

// settleMCP withdraws what an adopted process asked over MCP in calls that were
// over before this server heard of them. A question of the last moment is left
// alone: its call may be about to come out.
func (p *process) settleMCP(ctx context.Context, asked time.Time) {
	const lastMoment = 5 * time.Second
	p.mu.Lock()
	running := map[string]bool{}
	for id := range p.transcript.RunningCalls() {
		running[id] = true
	}
	p.mu.Unlock()
	p.withdrawMCP(ctx, stoppedWaiting, func(r pending.Request) bool {
		return r.AskerToolUseID != "" && !running[r.AskerToolUseID] && r.CreatedAt.Before(asked.Add(-lastMoment))
	})
}
