package orchestrator_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/session"
)

func TestCatalogFollowsTheCLIWithinBounds(t *testing.T) {
	hostile := []any{
		map[string]any{"name": "ship", "description": "Ship\nit\x1b[31m " + strings.Repeat("é", 400), "argumentHint": "[version]", "aliases": slices.Repeat([]string{"s"}, 50)},
		map[string]any{"name": "two\u202elines", "description": "hidden"},
		map[string]any{"name": strings.Repeat("x", 129), "description": "long"},
		map[string]any{"name": "", "description": "none"},
		map[string]any{"name": "__internal", "description": "of the CLI"},
		map[string]any{"name": 7},
	}
	for i := range 1_000 {
		hostile = append(hostile, map[string]any{"name": fmt.Sprintf("many-%d", i)})
	}
	line, err := json.Marshal(map[string]any{"type": "system", "subtype": "commands_changed", "commands": hostile})
	if err != nil {
		t.Fatal(err)
	}
	names := func(commands []claude.CommandInfo) (list []string) {
		for _, c := range commands {
			list = append(list, c.Name)
		}
		return list
	}
	script := claudetest.Script{Turn: []claudetest.Step{bash, {Raw: string(line)}, bash}}
	withBench(t, script, nil, func(b *bench) {
		if c := b.LastCatalog(); c != nil {
			t.Errorf("before any CLI: %+v", c)
		}
		id := b.start("hello")
		s := b.wait(id, asking(1))
		c, err := b.Catalog(t.Context(), id)
		if err != nil || c.CLIVersion != claudetest.Version || !slices.Equal(names(c.Commands), []string{"compact", "ship"}) || len(c.Agents) != 1 || len(c.Models) != 2 {
			t.Fatalf("got %+v, %v", c, err)
		}
		b.answer(s.Requests[0], nil)
		b.wait(id, func(now session.ProcessState) bool {
			return len(now.Requests) == 1 && now.Requests[0].RequestID != s.Requests[0].RequestID
		})
		c, err = b.Catalog(t.Context(), id)
		if err != nil || len(c.Commands) != 300 || !slices.Equal(names(c.Commands)[:3], []string{"ship", "many-0", "many-1"}) || len(c.Models) != 2 {
			t.Fatalf("got %d %v, %v", len(c.Commands), names(c.Commands)[:3], err)
		}
		if ship := c.Commands[0]; !strings.HasPrefix(ship.Description, "Ship it [31m éé") || len(ship.Description) > 310 || !strings.HasSuffix(ship.Description, "é…") || len(ship.Aliases) != 8 {
			t.Errorf("got %+v", ship)
		}
		if b.LastCatalog() != c {
			t.Error("the last catalog is another")
		}
	})
}

// The CLI may report other commands before the server has kept those of its answer to initialize.
func TestCatalogKeepsCommandsThatChangeRightAfterTheStart(t *testing.T) {
	script := claudetest.Script{
		Initialized: []string{`{"type":"system","subtype":"commands_changed","commands":[{"name":"newer"}]}`},
		Turn:        []claudetest.Step{{Text: "ok"}},
	}
	withBench(t, script, nil, func(b *bench) {
		for range 8 { // two goroutines of the server race without it
			id := b.start("hello")
			b.wait(id, in(session.UserTurn))
			c, err := b.Catalog(b.t.Context(), id)
			if err != nil || len(c.Commands) != 1 || c.Commands[0].Name != "newer" || len(c.Models) != 2 {
				b.t.Fatalf("got %+v, %v", c, err)
			}
		}
	})
}
