package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// MCPServer is the name under which a CLI knows the MCP server through which it asks people.
const MCPServer = "sayso"

// MCPToolPrefix begins the names of the tools of that server.
const MCPToolPrefix = "mcp__" + MCPServer + "__"

// MCP configures how the CLIs of this runner ask over MCP. Each CLI runs a program that speaks
// MCP over stdio, and reads the URL of the server and its token each time it connects.
type MCP struct {
	Exe string // path of sayso, absolute; CLIs run `sayso mcp --connect FILE`
	URL string // of the MCP endpoint, as this machine reaches it
}

// The files in the folder of a process.
const (
	configFile     = "mcp.json"     // read by the CLI
	connectionFile = "connect.json" // read by `sayso mcp`
)

// connection is the content of connectionFile.
type connection struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// askPrompt is appended to the system prompt. It tells Claude how and when to ask.
const askPrompt = "A person watches this session from elsewhere and can answer questions asked with AskUserQuestion or mcp__" + MCPServer + "__ask_user. Ask only when a wrong guess would be costly or irreversible, and then wait for the answer, which may take hours; otherwise proceed."

// toolTimeout is how long a CLI waits for an answer, in milliseconds: 23 days. A JavaScript timer
// of more than 2^31-1 ms fires at once. The timeout applies only to sayso's own MCP server, where
// it overrides MCP_TOOL_TIMEOUT; other servers time out as usual.
const toolTimeout = 2_000_000_000

// Agent lets a CLI ask over MCP. The zero Agent is for a CLI that does not ask.
type Agent struct {
	Token string   `json:"token,omitempty"`
	Tools []string `json:"tools,omitempty"` // names of the server's tools; calling them needs no permission
}

// agentFiles makes a CLI ask over MCP. The zero agentFiles is for a CLI that does not ask.
type agentFiles struct {
	configPath string
	tools      []string // permission rules
	prompt     string
	files      map[string][]byte // in the folder of the process, by name
}

// agentFiles returns the content of the files for a process that will be started.
func (s *Starter) agentFiles(p Process) (agentFiles, error) {
	folder := s.Folder(p.ID)
	if s.MCP == nil || folder == "" || p.Agent.Token == "" {
		return agentFiles{}, nil
	}
	config := map[string]any{"mcpServers": map[string]any{MCPServer: map[string]any{
		"type": "stdio", "command": s.MCP.Exe, "args": []string{"mcp", "--connect", filepath.Join(folder, connectionFile)},
		"timeout": toolTimeout,
	}}}
	a := agentFiles{configPath: filepath.Join(folder, configFile), prompt: askPrompt, files: map[string][]byte{}}
	var err error
	if a.files[configFile], err = json.Marshal(config); err == nil {
		a.files[connectionFile], err = json.Marshal(connection{URL: s.MCP.URL, Token: p.Agent.Token})
	}
	if err != nil {
		return agentFiles{}, fmt.Errorf("launch: files of a process: %w", err)
	}
	for _, tool := range p.Agent.Tools {
		a.tools = append(a.tools, MCPToolPrefix+tool)
	}
	return a, nil
}

// ConnectAgent implements [Launcher].
func (s *Starter) ConnectAgent(_ context.Context, id ID, token string) error {
	folder := s.Folder(id)
	if s.MCP == nil || folder == "" {
		return nil
	}
	path := filepath.Join(folder, connectionFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the process does not ask over MCP
	}
	var before connection
	if err == nil {
		err = json.Unmarshal(text, &before)
	}
	now := connection{URL: s.MCP.URL, Token: cmp.Or(token, before.Token)}
	if err == nil && now != before {
		if text, err = json.Marshal(now); err == nil {
			err = s.replaceFile(path, text)
		}
	}
	if err != nil {
		return fmt.Errorf("launch: where a process finds its server: %w", err)
	}
	return nil
}

// replaceFile replaces a file atomically: readers find the whole old or the whole new content. A
// sandbox has the old file mounted, so replaceFile then overwrites that one too.
func (s *Starter) replaceFile(path string, content []byte) error {
	old, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer old.Close()
	next := path + ".next"
	err = s.CLI.RunAs.InGroup(func() error { return os.WriteFile(next, content, 0o600) })
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

// copyAccess gives the file at path the group and the permissions of from.
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
