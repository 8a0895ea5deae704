package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/claude/config"
	"github.com/sayso-dev/sayso/session"
)

// registration is our entry among the MCP servers of one project in a person's .claude.json.
// Before it changes that file, it stores the entry that it found, so that it can restore it, even
// after an interruption.
type registration struct {
	home    agentHome
	file    string // .claude.json
	project string // key of the project in it
	name    string // of the entry

	connect, record string // our files
}

// registered is the stored record of a registration.
type registered struct {
	File    string `json:"file"`
	Project string `json:"project"`
	Name    string `json:"name"`
	// Found is the previous entry, nil for none.
	Found json.RawMessage `json:"found,omitempty"`
	// Made are the parent objects that were created, outermost first.
	Made [][]string `json:"made,omitempty"`
}

// registerFlags are the flags of sayso mcp register and unregister.
type registerFlags struct {
	project, name string
	serverFlags
}

func (f *registerFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.project, "project", ".", "`folder` of the project")
	flags.StringVar(&f.name, "name", "sayso", "`name` of the MCP server, by which Claude knows it")
	f.serverFlags.define(flags)
}

// registerVerb runs sayso mcp register and sayso mcp unregister.
func registerVerb(ctx context.Context, verb string, args []string, stdout io.Writer) error {
	var f registerFlags
	rest, err := parseFlags(newFlags("mcp "+verb, f.define), args)
	if err == nil {
		err = noArguments(rest)
	}
	if err != nil {
		return err
	}
	if f.name == "" || strings.Trim(f.name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
		return errors.New("--name: use letters, digits, - and _")
	}
	r := &registration{name: f.name, home: agentHome{serverFlags: f.serverFlags}}
	if err := r.home.read("mcp " + verb); err != nil {
		return err
	}
	person, err := os.UserHomeDir()
	if err != nil {
		return fmt.Errorf("there is no home folder: %w", err)
	}
	r.file = config.File(os.Getenv, person)
	if r.project, err = config.Project(f.project); err != nil {
		return fmt.Errorf("project folder: %w", err)
	}
	sum := sha256.Sum256([]byte(r.file + "\x00" + r.project + "\x00" + r.name))
	id := hex.EncodeToString(sum[:8])
	r.connect, r.record = r.home.agentFile("mcp-"+id+".json"), r.home.agentFile("mcp-"+id+".found")
	if verb == "register" {
		return r.register(ctx, stdout)
	}
	return r.unregister(ctx, stdout)
}

func (r *registration) sessionID() string {
	return outsideID("mcp", r.home.settings.StateDir, r.file, r.project, r.name)
}

func (r *registration) path() []string { return []string{"projects", r.project, "mcpServers", r.name} }

func (r *registration) register(ctx context.Context, stdout io.Writer) error {
	who := "Claude in " + filepath.Base(r.project)
	err := r.home.mint(ctx, r.connect, session.Session{
		SessionID: r.sessionID(), Title: who, CWD: r.project, Kind: session.Agent,
	}, who)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	entry, err := json.Marshal(map[string]any{"type": "stdio", "command": exe, "args": []string{"mcp", "--connect", r.connect}, "env": map[string]string{}})
	if err != nil {
		return err
	}
	err = config.Update(ctx, r.file, func(data []byte) ([]byte, error) {
		note, err := r.note(data)
		if err != nil {
			return nil, err
		}
		if err := writeNote(r.record, note); err != nil {
			return nil, err
		}
		return config.Set(data, entry, r.path()...)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s is registered as an MCP server for %s in %s.\nRestart Claude there to use it. To remove it, run: sayso mcp unregister\n", r.name, r.project, r.file)
	return nil
}

// note returns the record to store: what data contains now or, if the entry is ours, the record of
// the earlier registration.
func (r *registration) note(data []byte) (registered, error) {
	found, err := config.Get(data, r.path()...)
	if err != nil {
		return registered{}, err
	}
	if r.ours(found) {
		note, err := r.readNote()
		if !errors.Is(err, fs.ErrNotExist) {
			return note, err
		}
		found = nil
	}
	note := registered{File: r.file, Project: r.project, Name: r.name, Found: found}
	for i := range r.path()[:3] {
		above, err := config.Get(data, r.path()[:i+1]...)
		if err != nil {
			return registered{}, err
		}
		if above == nil {
			note.Made = append(note.Made, r.path()[:i+1])
		}
	}
	return note, nil
}

// ours reports whether an entry starts sayso mcp with our connection file.
func (r *registration) ours(entry json.RawMessage) bool {
	var e struct {
		Args []string `json:"args"`
	}
	return json.Unmarshal(entry, &e) == nil && slices.Equal(e.Args, []string{"mcp", "--connect", r.connect})
}

func (r *registration) readNote() (note registered, err error) {
	data, err := os.ReadFile(r.record)
	if err != nil {
		return note, err
	}
	if err := json.Unmarshal(data, &note); err != nil {
		return note, fmt.Errorf("cannot read the record of the registration, %s: %w", r.record, err)
	}
	return note, nil
}

func writeNote(path string, note registered) error {
	data, err := json.Marshal(note)
	if err != nil {
		return err
	}
	return config.Write(path, append(data, '\n'))
}

func (r *registration) unregister(ctx context.Context, stdout io.Writer) error {
	note, err := r.readNote()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	there := false
	if _, err := os.Stat(r.file); err == nil {
		err := config.Update(ctx, r.file, func(data []byte) ([]byte, error) {
			entry, err := config.Get(data, r.path()...)
			if there = r.ours(entry); err != nil || !there {
				return data, err // it is somebody else's now, or gone
			}
			if data, err = config.Set(data, note.Found, r.path()...); err != nil {
				return nil, err
			}
			for _, path := range slices.Backward(note.Made) {
				if above, err := config.Get(data, path...); err != nil || string(bytes.Join(bytes.Fields(above), nil)) != "{}" {
					return data, err
				}
				if data, err = config.Set(data, nil, path...); err != nil {
					return nil, err
				}
			}
			return data, nil
		})
		if err != nil {
			return err
		}
	}
	if err := r.home.revoke(ctx, r.connect, r.sessionID()); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(r.record)); err == nil {
		if err := config.Remove(r.record); err != nil {
			return err
		}
	}
	switch {
	case !there:
		fmt.Fprintf(stdout, "%s is not registered for %s. %s was not changed.\n", r.name, r.project, r.file)
	case note.Found != nil:
		fmt.Fprintf(stdout, "%s is no longer registered for %s. The previous entry is restored.\n", r.name, r.project)
	default:
		fmt.Fprintf(stdout, "%s is no longer registered for %s.\n", r.name, r.project)
	}
	return nil
}
