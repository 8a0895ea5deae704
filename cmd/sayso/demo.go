package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/scriptedmodel"
	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// demoModel returns the scripted model of the demo. It listens at its previous address if possible,
// because a demo session that outlived the server knows no other.
func demoModel(s settings) (*scriptedmodel.Server, error) {
	model := scriptedmodel.New(scriptedmodel.Options{Default: scriptedmodel.Demo()})
	path := filepath.Join(s.StateDir, "demo", "address")
	if known, err := os.ReadFile(path); err == nil {
		if server, err := scriptedmodel.Listen(string(known), model); err == nil {
			return server, nil
		}
	}
	server, err := scriptedmodel.Listen("127.0.0.1:0", model)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return server, os.WriteFile(path, []byte(server.Addr()), 0o600)
}

// demoOf configures demo sessions. They have a separate folder and home, so that they
// change nothing in the person's account or settings.
func demoOf(s settings, model *scriptedmodel.Server, runAs *claude.RunAs) (*launch.Demo, error) {
	place := filepath.Join(s.StateDir, "demo")
	if runAs != nil { // the other user cannot enter it
		place = filepath.Join(privateIn(s.StateDir), "demo")
		err := runAs.InGroup(func() error {
			if err := os.MkdirAll(place, 0o770); err != nil {
				return err
			}
			return os.Chmod(place, 0o770)
		})
		if err != nil {
			return nil, fmt.Errorf("demo folder: %w", err)
		}
	}
	home, folder := filepath.Join(place, "home"), filepath.Join(place, "work")
	err := runAs.Do(func() error {
		return errors.Join(os.MkdirAll(home, 0o700), os.MkdirAll(folder, 0o700))
	})
	if err != nil {
		return nil, fmt.Errorf("demo folder: %w", err)
	}
	folder, err = filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, fmt.Errorf("demo folder: %w", err)
	}
	environ := map[string]string{
		"HOME": home, "CLAUDE_CONFIG_DIR": filepath.Join(home, ".claude"),
		"ANTHROPIC_BASE_URL": model.URL(), "ANTHROPIC_API_KEY": "demo",
		// Credentials in the server's environment are removed.
		"ANTHROPIC_AUTH_TOKEN": "", "ANTHROPIC_MODEL": "", "CLAUDE_CODE_OAUTH_TOKEN": "",
		"CLAUDE_CODE_USE_BEDROCK": "", "CLAUDE_CODE_USE_VERTEX": "", "CLAUDE_CODE_USE_FOUNDRY": "",
		"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
	}
	for _, e := range scriptedmodel.DemoEnv {
		for i := range e {
			if e[i] == '=' {
				environ[e[:i]] = e[i+1:]
				break
			}
		}
	}
	return &launch.Demo{Environ: environ, Folder: folder, Prompt: scriptedmodel.DemoPrompt}, nil
}
