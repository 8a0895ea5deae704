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

// MCPServer is the name by which a CLI knows the MCP server through which it asks.
const MCPServer = "sayso"

// MCPToolPrefix starts the names of the tools of that server.
const MCPToolPrefix = "mcp__" + MCPServer + "__"

// MCP configures how the CLIs of this runner ask over MCP. Each runs a program that
// speaks MCP over stdio and reads at each connect where the server is and with which
// token.
type MCP struct {
	Exe string // of sayso, absolute: `sayso mcp --connect FILE`
	URL string // of the MCP endpoint, as this machine reaches it
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

// Agent lets a CLI ask over MCP. The zero Agent is of a CLI that does not.
type Agent struct {
	Token string   `json:"token,omitempty"`
	Tools []string `json:"tools,omitempty"` // of the server, by name; asking with them needs no permission
}

// agentFiles is what makes a CLI ask over MCP. The zero agentFiles is of a CLI that does not.
type agentFiles struct {
	configPath string
	tools      []string // permission rules
	prompt     string
	files      map[string][]byte // of the folder of the process, by name
}

// agentFiles makes the files of a process that will be started.
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
		return nil // it was started without
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

// replaceFile replaces a file so that readers find the old or the new content, whole.
// A sandbox keeps the old file open, which is then overwritten for it alone.
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
