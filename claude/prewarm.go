package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"
)

// Spare is a CLI that has started before the folder of its session is known. [Prewarm] creates it, and
// its owner calls Close.
type Spare struct {
	warm    *WarmQuery
	options Options
	parking string // temporary folder in which the CLI waits, "" for none
	claimed atomic.Bool
}

// Prewarm starts a CLI that waits for its folder, so that a session begins sooner. The CLI has loaded
// everything that does not depend on the folder, and uses about 250 MB of memory. Unlike [Warm], Prewarm
// needs no folder; if o.Dir is set, the CLI waits there. A [Claim] can change only the options that it
// contains. Resume, Continue, Fork and SessionID belong to a session: with them, the error is [ErrLaunch].
//
// Prewarm fails with [ErrTooOld] before 2.1.329. The official SDK calls this feature experimental.
func Prewarm(ctx context.Context, o Options) (*Spare, error) {
	if o.Resume != "" || o.Continue || o.Fork || o.SessionID != "" {
		return nil, fmt.Errorf("%w: a spare CLI has no session yet", ErrLaunch)
	}
	if o.MinVersion == "" || olderThan(o.MinVersion, readsInitialize) {
		o.MinVersion = readsInitialize
	}
	s := &Spare{options: o}
	if o.Dir == "" {
		spares := filepath.Join(ConfigDir(o.environ()), "spares")
		err := os.MkdirAll(spares, 0o700)
		if err == nil {
			s.parking, err = os.MkdirTemp(spares, "spare-")
		}
		if err != nil {
			return nil, fmt.Errorf("claude: prewarm: %w", err)
		}
		o.Dir = s.parking
	}
	o.ExtraArgs = append(slices.Clone(o.ExtraArgs), "--await-claim")
	warm, err := Warm(ctx, o)
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	s.warm = warm
	return s, nil
}

// remove removes the temporary folder in which the CLI has waited.
func (s *Spare) remove() error {
	if s.parking == "" {
		return nil
	}
	return os.RemoveAll(s.parking)
}

// Claim contains the options of a session that takes over a [Spare].
type Claim struct {
	// Dir is the absolute path of the folder to work in.
	Dir string
	// AddDirs are absolute paths of additional folders.
	AddDirs []string
	// PermissionMode is one of [PermissionModes]; "" keeps that of the options.
	PermissionMode string
	// Model is a name or an alias; "" keeps that of the options.
	Model              string
	AppendSystemPrompt string
	Title              string
	Agents             map[string]Agent
	// Env are environment variables. The CLI accepts only tokens.
	Env map[string]string
}

// Claimed describes the session of a claimed CLI.
type Claimed struct {
	Dir       string        `json:"cwd"` // without symbolic links
	SessionID string        `json:"session_id"`
	Waited    time.Duration `json:"-"` // how long the CLI waited for the claim
}

// Claim gives the CLI its folder and returns the CLI for the query. The CLI refuses a folder whose
// settings change what it has already loaded, such as the environment or the model: the error is then a
// *[RequestError], and the caller starts another CLI with [Query]. A failed claim ends the CLI. A Spare
// can be claimed only once.
func (s *Spare) Claim(ctx context.Context, c Claim) (*WarmQuery, Claimed, error) {
	if s.claimed.Swap(true) {
		return nil, Claimed{}, errors.New("claude: a spare CLI is claimed once")
	}
	claimed, err := s.claim(ctx, c)
	if err != nil {
		return nil, Claimed{}, errors.Join(err, s.Close())
	}
	return s.warm, claimed, s.remove()
}

func (s *Spare) claim(ctx context.Context, c Claim) (Claimed, error) {
	session := s.options
	session.Dir, session.AddDirs, session.PermissionMode, session.Model, session.Agents = c.Dir, c.AddDirs, c.PermissionMode, c.Model, c.Agents
	if _, err := session.Args(); err != nil {
		return Claimed{}, err
	}
	if !isPath(c.Dir) {
		return Claimed{}, fmt.Errorf("%w: folder %q is no absolute path", ErrLaunch, c.Dir)
	}
	local := []string{} // the CLI does not accept null
	for name, server := range s.options.MCPServers {
		if _, ok := server.(LocalServer); ok {
			local = append(local, name)
		}
	}
	slices.Sort(local)
	fields := map[string]any{"cwd": c.Dir, "include_initialize": true, "sdk_mcp_servers": local}
	for name, value := range map[string]string{"permission_mode": c.PermissionMode, "append_system_prompt": c.AppendSystemPrompt, "title": c.Title} {
		if value != "" {
			fields[name] = value
		}
	}
	if len(c.AddDirs) > 0 {
		fields["additional_directories"] = c.AddDirs
	}
	if len(c.Agents) > 0 {
		fields["agents"] = c.Agents
	}
	if len(c.Env) > 0 {
		fields["env"] = c.Env
	}
	var answer struct {
		Claimed
		ParkedMS   int64           `json:"parked_ms"`
		Initialize json.RawMessage `json:"initialize"`
	}
	client := s.warm.client
	if err := client.report(ctx, "claim_session", fields, &answer); err != nil {
		return Claimed{}, client.failure(err)
	}
	if isObject(answer.Initialize) {
		hello := &InitializeResponse{Raw: answer.Initialize}
		if err := lenient(answer.Initialize, hello); err != nil {
			return Claimed{}, err
		}
		client.started.mu.Lock()
		client.started.answer = hello
		client.started.mu.Unlock()
	}
	if c.Model != "" {
		if err := client.SetModel(ctx, c.Model); err != nil {
			return Claimed{}, err
		}
	}
	answer.Waited = time.Duration(answer.ParkedMS) * time.Millisecond
	return answer.Claimed, nil
}

// Client returns the client of the CLI, see [WarmQuery.Client].
func (s *Spare) Client() *Client { return s.warm.Client() }

// Close ends the CLI and returns when it has exited. It may be called more than once, and is not needed
// after the query of a claimed CLI.
func (s *Spare) Close() error {
	s.warm.Close()
	return s.remove()
}
