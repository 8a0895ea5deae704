package claude

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// manifestTimeout bounds the wait for manifests. It is shorter than the start of a CLI. The CLI itself
// connects to a slower server.
const manifestTimeout = time.Second

// mcpVersion is the version of MCP that the CLI requests. It ignores a manifest of another version.
const mcpVersion = "2025-11-25"

const toolsChanged = "notifications/tools/list_changed"

// manifests connects to the MCP servers in this process as a CLI of that version does, and returns
// their answers, so that the CLI need not ask over the control channel before the first turn. It
// leaves out servers that do not answer in time.
func (c *Client) manifests(ctx context.Context, version string) map[string]SDKMCPServerManifest {
	ctx, cancel := context.WithTimeout(ctx, manifestTimeout)
	defer cancel()
	var mu sync.Mutex
	all := map[string]SDKMCPServerManifest{}
	var asking sync.WaitGroup
	for name, server := range c.options.local {
		asking.Go(func() {
			if m, ok := server.manifest(ctx, version); ok {
				mu.Lock()
				defer mu.Unlock()
				all[name] = m
			}
		})
	}
	asking.Wait()
	return all
}

func (s *localServer) manifest(ctx context.Context, version string) (m SDKMCPServerManifest, ok bool) {
	var hello struct {
		Capabilities struct {
			Tools json.RawMessage `json:"tools"`
		} `json:"capabilities"`
	}
	var err error
	m.InitializeResult, err = s.ask(ctx, "initialize", map[string]any{
		"protocolVersion": mcpVersion, "capabilities": struct{}{},
		"clientInfo": map[string]string{"name": "claude-code", "title": "Claude Code", "version": version},
	})
	if err != nil || json.Unmarshal(m.InitializeResult, &hello) != nil {
		return m, false
	}
	if _, err := s.exchange(ctx, json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		return m, false
	}
	if len(hello.Capabilities.Tools) == 0 || string(hello.Capabilities.Tools) == "null" {
		return m, true
	}
	var list struct {
		NextCursor string `json:"nextCursor"`
	}
	tools, err := s.ask(ctx, "tools/list", struct{}{})
	if err != nil || json.Unmarshal(tools, &list) != nil {
		return m, false
	}
	s.mu.Lock()
	changed := s.conn.changed
	s.mu.Unlock()
	if list.NextCursor == "" && !changed { // otherwise the CLI lists them
		m.ToolsListResult = tools
	}
	return m, true
}

// ask sends a request to the server and returns its result.
func (s *localServer) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	message, err := marshal(map[string]any{"jsonrpc": "2.0", "id": "manifest-" + method, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	answer, err := s.exchange(ctx, message)
	if err != nil {
		return nil, err
	}
	fields, err := appendFields(nil, answer)
	if err != nil {
		return nil, err
	}
	result := lookup(fields, "result")
	if !isObject(result) {
		return nil, ErrMalformed
	}
	return clone(result), nil
}
