package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/claude/config"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/ssrf"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// agentHome manages the connection files of external agents, one for each, in the state folder of
// a person's server. The server may be running.
type agentHome struct {
	serverFlags
	settings settings // after read
}

// read reads the settings of the server.
func (h *agentHome) read(verb string) error {
	var err error
	h.settings, err = h.serverFlags.settings(verb)
	return err
}

func (h *agentHome) agentFile(name string) string {
	return filepath.Join(agentsFolder(h.settings.StateDir), name)
}

// agentsFolder returns the folder of the connection files.
func agentsFolder(stateDir string) string { return filepath.Join(stateDir, "agents") }

// addressFile returns the file in which a server stores its address for external agents that are
// set up later.
func addressFile(stateDir string) string { return filepath.Join(stateDir, "address") }

// url returns the MCP address of the server: the last one that it stored, or else that of its
// settings.
func (h *agentHome) url() string {
	if known, err := os.ReadFile(addressFile(h.settings.StateDir)); err == nil && len(known) > 0 {
		return strings.TrimSpace(string(known)) + "/mcp"
	}
	return localAddress(h.settings) + "/mcp"
}

// agentAddress returns the address at which external agents on this machine reach the server. local
// is that of its listener for agents. They cannot use the public one if it has a certificate, which
// may be for other names, or an address of this machine that is not loopback, where only the proxy
// may connect.
func agentAddress(s settings, local string) string {
	if at := localAddress(s); isPlainLoopback(at) {
		return at
	}
	return local
}

// isPlainLoopback reports whether an address is on this machine and without TLS.
func isPlainLoopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "http" && ssrf.IsLoopback(u.Hostname())
}

// mint writes a connection file with a token for session s, and creates the session if it is
// missing. It keeps the token that the file has if that is still valid for s.
func (h *agentHome) mint(ctx context.Context, file string, s session.Session, name string) error {
	opened, err := store.OpenMigrated(ctx, h.settings.Database)
	if err != nil {
		return err
	}
	defer opened.Close()
	directory := account.NewDirectory(opened)
	c, err := readConnection(file)
	if err == nil {
		t, err := directory.Agent(ctx, c.Token)
		if err != nil && !errors.Is(err, account.ErrRefused) {
			return err
		}
		if err != nil || t.SessionID != s.SessionID {
			c.Token = ""
		}
	}
	if c.Token == "" {
		admin, err := directory.FirstAdmin(ctx)
		if err != nil {
			return err
		}
		s.ProjectID, s.OwnerID, s.PermissionMode, s.CreatedAt = session.ProjectOf(s.CWD), admin.UserID, "default", time.Now()
		if err := opened.CreateSession(ctx, s); err != nil && !errors.Is(err, session.ErrExists) {
			return err
		}
		// No file contains the older tokens.
		if err := directory.RevokeAgents(ctx, s.SessionID); err != nil {
			return err
		}
		if c.Token, err = directory.MintAgent(ctx, s.SessionID, name, 0); err != nil {
			return err
		}
	}
	c.URL = h.url()
	return writeConnection(file, c)
}

// revoke revokes the tokens of a session and deletes their file.
func (h *agentHome) revoke(ctx context.Context, file, sessionID string) error {
	opened, err := store.OpenMigrated(ctx, h.settings.Database)
	if err != nil {
		return err
	}
	defer opened.Close()
	if err := account.NewDirectory(opened).RevokeAgents(ctx, sessionID); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(file)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return config.Remove(file)
}

func writeConnection(file string, c connection) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return config.Write(file, append(data, '\n'))
}

// updateConnections stores the address of this server, and updates the connection files of
// external agents, which read them at each connection.
func updateConnections(stateDir, address string) error {
	if err := config.Write(addressFile(stateDir), []byte(address+"\n")); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(agentsFolder(stateDir), "*.json"))
	if err != nil {
		return err
	}
	var failed []error
	for _, file := range files {
		c, err := readConnection(file)
		if err != nil || c.URL == address+"/mcp" {
			continue // another kind of file, or up to date
		}
		c.URL = address + "/mcp"
		if err := writeConnection(file, c); err != nil {
			failed = append(failed, fmt.Errorf("the connection file of an agent: %w", err))
		}
	}
	return errors.Join(failed...)
}
