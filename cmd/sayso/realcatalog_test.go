package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sayso-dev/sayso/wire"
)

func TestRealClaudeNamesItsCommands(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		h, _ := realHarness(t, version)
		home := filepath.Dir(h.state)
		for name, text := range map[string]string{
			".claude/commands/ship.md":       "---\ndescription: Ship it\nargument-hint: \"[version]\"\n---\nShip $1\n",
			".claude/skills/limits/SKILL.md": "---\nname: limits\ndescription: Checks limits\n---\nLook.\n",
			".claude/agents/reviewer.md":     "---\nname: reviewer\ndescription: Reviews code\n---\nReview.\n",
		} {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700))
			must(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
		}
		s := h.start()
		var models wire.ModelList
		s.do("GET", "/api/models", nil, &models)
		if len(models.Models) != 0 {
			t.Errorf("models before any session: %+v", models)
		}
		id := s.session("```script\n[[{\"text\":\"Hello there.\"}]]\n```")
		s.says(id, "Hello there.")

		var c wire.Catalog
		s.do("GET", "/api/sessions/"+id+"/catalog", nil, &c)
		command := func(name string) wire.CatalogCommand {
			i := slices.IndexFunc(c.Commands, func(v wire.CatalogCommand) bool { return v.Name == name })
			if i < 0 {
				t.Fatalf("no command %s: %+v", name, c)
			}
			return c.Commands[i]
		}
		if v := command("ship"); v.ArgumentHint != "[version]" || v.Description != "Ship it (user)" || v.Builtin {
			t.Errorf("got %+v", v)
		}
		if v := command("limits"); v.Builtin {
			t.Errorf("got %+v", v)
		}
		// Only the newer says which are its own, and which version it is.
		marks := version != older
		if v := command("compact"); v.Builtin != marks || v.Description == "" {
			t.Errorf("got %+v", v)
		}
		if want := map[bool]string{true: version}[marks]; !c.Running || c.CLIVersion != want {
			t.Errorf("running %v, version %q, want %q", c.Running, c.CLIVersion, want)
		}
		// What only a terminal can run is not among them.
		for _, name := range []string{"login", "exit", "vim"} {
			if slices.ContainsFunc(c.Commands, func(v wire.CatalogCommand) bool { return v.Name == name }) {
				t.Errorf("offers %s", name)
			}
		}
		if !slices.Contains(c.Agents, wire.CatalogAgent{Name: "reviewer", Description: "Reviews code"}) {
			t.Errorf("agents %+v", c.Agents)
		}
		s.do("GET", "/api/models", nil, &models)
		if !slices.Equal(models.Models, c.Models) || !slices.ContainsFunc(c.Models, func(m wire.CatalogModel) bool { return m.Value == "sonnet" && m.DisplayName == "Sonnet" }) {
			t.Errorf("models %+v, of the session %+v", models, c.Models)
		}

		s.do("POST", "/api/sessions/"+id+"/kill", map[string]any{"force": true}, nil)
		within(t, realWaitLimit, "no catalog without a CLI", func() bool {
			c = wire.Catalog{}
			s.do("GET", "/api/sessions/"+id+"/catalog", nil, &c)
			return !c.Running && len(c.Commands) == 0
		})
	})
}
