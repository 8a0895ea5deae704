package orchestrator

import (
	"context"
	"reflect"
	"strings"
	"unicode"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/ellipsis"
)

// Bounds of a catalog, part of which comes from the folder in which the CLI runs.
const (
	maxCatalogEntries     = 300 // in each list
	maxCatalogAliases     = 8
	maxCatalogName        = 128 // bytes; longer names are left out
	maxCatalogDescription = 300 // bytes; longer ones are truncated
)

// Catalog lists what a CLI offers to people who write messages to it: slash commands and skills,
// subagents and models.
type Catalog struct {
	CLIVersion string // "" when the CLI does not report it
	Commands   []claude.CommandInfo
	Agents     []claude.AgentInfo
	Models     []claude.ModelInfo
}

// Catalog returns what the CLI of a session offers, or nil if no CLI runs or it has not reported
// that yet. It does not block on the CLI.
func (o *Orchestrator) Catalog(ctx context.Context, sessionID string) (*Catalog, error) {
	if p := o.find(sessionID); p != nil {
		return p.catalog.Load(), nil
	}
	_, err := o.ownSession(ctx, sessionID)
	return nil, err
}

// LastCatalog returns what the CLI that reported last on this runner offers, demo sessions aside;
// nil before any has.
func (o *Orchestrator) LastCatalog() *Catalog { return o.lastCatalog.Load() }

// setCatalog stores what the CLI offers.
func (p *process) setCatalog(c *Catalog) {
	// Most CLIs offer the same; their processes share one copy.
	if last := p.o.lastCatalog.Load(); last != nil && reflect.DeepEqual(last, c) {
		c = last
	}
	p.catalog.Store(c)
	if !p.session.Demo {
		p.o.lastCatalog.Store(c)
	}
}

// replaceCommands stores the commands that the CLI offers from now on. A CLI reports changes only
// after its answer to initialize. Changes that a replayed journal repeats from before are part of
// that answer.
func (p *process) replaceCommands(commands []claude.CommandInfo) {
	if last := p.catalog.Load(); last != nil {
		c := *last
		c.Commands = catalogCommands(commands)
		p.setCatalog(&c)
	}
}

// catalogOf returns what the CLI offers according to its answer to initialize, within bounds.
func catalogOf(hello *claude.InitializeResponse) *Catalog {
	c := &Catalog{CLIVersion: catalogName(hello.ClaudeCodeVersion), Commands: catalogCommands(hello.Commands)}
	for _, a := range hello.Agents {
		if a.Name = catalogName(a.Name); a.Name != "" && len(c.Agents) < maxCatalogEntries {
			a.Description = catalogDescription(a.Description)
			c.Agents = append(c.Agents, a)
		}
	}
	for _, m := range hello.Models {
		if m.Value = catalogName(m.Value); m.Value != "" && len(c.Models) < maxCatalogEntries {
			m.ResolvedModel, m.DisplayName = catalogName(m.ResolvedModel), catalogName(m.DisplayName)
			m.Description = catalogDescription(m.Description)
			c.Models = append(c.Models, m)
		}
	}
	return c
}

func catalogCommands(all []claude.CommandInfo) (commands []claude.CommandInfo) {
	for _, in := range all {
		out := claude.CommandInfo{
			Name: catalogName(in.Name), Builtin: in.Builtin,
			Description: catalogDescription(in.Description), ArgumentHint: catalogDescription(in.ArgumentHint),
		}
		// Names like __remote-workflow are for programs around the CLI.
		if out.Name == "" || strings.HasPrefix(out.Name, "_") || len(commands) == maxCatalogEntries {
			continue
		}
		for _, alias := range in.Aliases {
			if alias = catalogName(alias); alias != "" && len(out.Aliases) < maxCatalogAliases {
				out.Aliases = append(out.Aliases, alias)
			}
		}
		commands = append(commands, out)
	}
	return commands
}

// catalogName returns a name without surrounding spaces, or "" if it is too long, or has characters
// that a person cannot see or type.
func catalogName(name string) string {
	if len(name) > maxCatalogName || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return strings.TrimSpace(name)
}

// catalogDescription returns a text on one line, truncated.
func catalogDescription(text string) string {
	return strings.Join(strings.FieldsFunc(ellipsis.Bytes(text, maxCatalogDescription), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
