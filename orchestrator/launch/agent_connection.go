package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// MCPServer is the name by which a CLI knows the MCP server through which it asks.
const MCPServer = "sayso"

// MCPToolPrefix starts the names of the tools of that server.
const MCPToolPrefix = "mcp__" + MCPServer + "__"

// MCP configures how the CLIs of this node ask over MCP. Each runs a program that
// speaks MCP over stdio and reads at each connect where the server is and with which
// token.
type MCP struct {
	Exe    string // of sayso, absolute: `sayso mcp --connect FILE`
	URL    string // of the MCP endpoint, as this machine reaches it
	Tools  []string
	Tokens Tokens
}

// Tokens let the CLI of one session ask, and do nothing else.
type Tokens interface {
	// MintAgent makes a token for a session. The name is for people, "" for the
	// session's own Claude; ttl 0 never expires.
	MintAgent(ctx context.Context, sessionID, name string, ttl time.Duration) (secret string, err error)
	// RevokeAgents revokes all tokens of a session. There may be none.
	RevokeAgents(ctx context.Context, sessionID string) error
}

// The files in the folder of a process.
const (
	configFile     = "mcp.json"     // for the CLI
	connectionFile = "connect.json" // for its sayso mcp
)

// connection is the content of connectionFile.
type connection struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// askPrompt is added to the system prompt. It says how Claude can ask, and when.
const askPrompt = "A person watches this session from elsewhere and can answer questions asked with AskUserQuestion or mcp__" + MCPServer + "__ask_user. Ask only when a wrong guess would be costly or irreversible, and then wait for the answer, which may take hours; otherwise proceed."

// toolTimeout is how long a CLI waits for an answer, in milliseconds: 23 days. A
// JavaScript timer set to more than 2^31-1 fires at once. It applies to our server
// alone, where it overrides MCP_TOOL_TIMEOUT: other servers are cut off as usual.
const toolTimeout = 2_000_000_000

// AgentConnection is what lets a CLI ask over MCP. The zero AgentConnection is of a
// CLI that does not.
type AgentConnection struct {
	configPath string
	tools      []string // permission rules, so that asking needs no permission
	prompt     string
	files      map[string][]byte // of the folder of the process, by name
}

// ConnectAgent mints the token of a process that will be started and makes its files.
func (s *Starter) ConnectAgent(ctx context.Context, id ID) (AgentConnection, error) {
	folder := s.Launcher.Folder(id)
	if s.MCP == nil || folder == "" {
		return AgentConnection{}, nil
	}
	token, err := s.MCP.Tokens.MintAgent(ctx, id.SessionID, "", 0)
	if err != nil {
		return AgentConnection{}, fmt.Errorf("launch: token to ask with: %w", err)
	}
	config := map[string]any{"mcpServers": map[string]any{MCPServer: map[string]any{
		"type": "stdio", "command": s.MCP.Exe, "args": []string{"mcp", "--connect", filepath.Join(folder, connectionFile)},
		"timeout": toolTimeout,
	}}}
	a := AgentConnection{configPath: filepath.Join(folder, configFile), prompt: askPrompt, files: map[string][]byte{}}
	if a.files[configFile], err = json.Marshal(config); err == nil {
		a.files[connectionFile], err = json.Marshal(connection{URL: s.MCP.URL, Token: token})
	}
	if err != nil {
		return AgentConnection{}, fmt.Errorf("launch: files of a process: %w", err)
	}
	for _, tool := range s.MCP.Tools {
		a.tools = append(a.tools, MCPToolPrefix+tool)
	}
	return a, nil
}

// ReconnectAgent tells an adopted process where this server is, if that has changed.
func (s *Starter) ReconnectAgent(id ID) error {
	return s.changeConnection(id, func(c *connection) error {
		c.URL = s.MCP.URL
		return nil
	})
}

// RenewAgent gives a running process a new token, for its own is unknown to the database.
func (s *Starter) RenewAgent(ctx context.Context, id ID) error {
	return s.changeConnection(id, func(c *connection) (err error) {
		c.Token, err = s.MCP.Tokens.MintAgent(ctx, id.SessionID, "", 0)
		return err
	})
}

// changeConnection changes how a process finds its server, if it was started with MCP.
func (s *Starter) changeConnection(id ID, change func(*connection) error) error {
	folder := s.Launcher.Folder(id)
	if s.MCP == nil || folder == "" {
		return nil
	}
	path := filepath.Join(folder, connectionFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it was started without
	}
	var c connection
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	before := c
	if err == nil {
		err = change(&c)
	}
	if err == nil && c != before {
		if text, err = json.Marshal(c); err == nil {
			err = s.replaceFile(path, text)
		}
	}
	if err != nil {
		return fmt.Errorf("launch: where a process finds its server: %w", err)
	}
	return nil
}

// replaceFile replaces a file so that readers find the old or the new content, whole.
// A sandbox keeps the old file open, which is then overwritten for it alone.
func (s *Starter) replaceFile(path string, content []byte) error {
	old, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer old.Close()
	next := path + ".next"
	write := func() error { return os.WriteFile(next, content, 0o600) }
	if s.CLI != nil {
		err = s.CLI.RunAs.InGroup(write)
	} else {
		err = write()
	}
	if err == nil {
		err = copyAccess(old, next)
	}
	if err == nil {
		err = os.Rename(next, path)
	}
	if err == nil {
		if _, err = old.WriteAt(content, 0); err == nil {
			err = old.Truncate(int64(len(content)))
		}
	}
	return err
}

// copyAccess gives the file at path the group and the permissions of another.
func copyAccess(from *os.File, path string) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	made, err := os.Stat(path)
	if err != nil {
		return err
	}
	want, known := info.Sys().(*syscall.Stat_t)
	has, also := made.Sys().(*syscall.Stat_t)
	if known && also && want.Gid != has.Gid { // CLIs now run as another user
		if err := os.Chown(path, -1, int(want.Gid)); err != nil {
			return err
		}
	}
	return os.Chmod(path, info.Mode().Perm())
}

// RevokeTokens revokes the tokens of a session whose process is dead.
func (s *Starter) RevokeTokens(ctx context.Context, sessionID string) error {
	if s.MCP == nil {
		return nil
	}
	return s.MCP.Tokens.RevokeAgents(ctx, sessionID)
}
