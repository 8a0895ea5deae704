package httpapi

import (
	"context"
	"net/http"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/wire"
)

// catalogDriver is what catalogHandlers needs from the orchestrator.
type catalogDriver interface {
	Catalog(ctx context.Context, sessionID string) (*orchestrator.Catalog, error)
	LastCatalog(ctx context.Context, runnerID string) (*orchestrator.Catalog, error)
}

// catalogHandlers serves the commands, agents and models that CLIs offer.
type catalogHandlers struct {
	driver catalogDriver
	guard  *access.Guard
}

// getCatalog sends what the CLI of a session offers to a person who may write to the session.
func (s *catalogHandlers) getCatalog(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ses, _, err := s.guard.Session(r.Context(), who, project.Run, r.PathValue("id"))
	if err != nil {
		return err
	}
	c, err := s.driver.Catalog(r.Context(), ses.SessionID)
	if err != nil {
		return err
	}
	out := wire.Catalog{Running: c != nil, Commands: []wire.CatalogCommand{}, Agents: []wire.CatalogAgent{}, Models: catalogModels(c)}
	if c != nil {
		out.CLIVersion = c.CLIVersion
		for _, v := range c.Commands {
			out.Commands = append(out.Commands, wire.CatalogCommand{
				Name: v.Name, Description: v.Description, ArgumentHint: v.ArgumentHint, Aliases: append([]string{}, v.Aliases...), Builtin: v.Builtin,
			})
		}
		for _, v := range c.Agents {
			out.Agents = append(out.Agents, wire.CatalogAgent{Name: v.Name, Description: v.Description})
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// getModels sends the models that the last CLI on a machine offered, for a session that has not
// started.
func (s *catalogHandlers) getModels(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	c, err := s.driver.LastCatalog(r.Context(), r.URL.Query().Get("runner_id"))
	if err != nil {
		return err
	}
	out := wire.ModelList{Models: catalogModels(c)}
	if c != nil {
		out.CLIVersion = c.CLIVersion
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func catalogModels(c *orchestrator.Catalog) []wire.CatalogModel {
	list := []wire.CatalogModel{}
	if c == nil {
		return list
	}
	for _, m := range c.Models {
		list = append(list, wire.CatalogModel{Value: m.Value, ResolvedModel: m.ResolvedModel, DisplayName: m.DisplayName, Description: m.Description})
	}
	return list
}
