package httpapi_test

import (
	"reflect"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/wire"
)

func TestCatalogIsForThoseWhoWrite(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id, folder := h.repository()
	offered := &orchestrator.Catalog{
		CLIVersion: "2.1.329",
		Commands:   []claude.CommandInfo{{Name: "ship", Description: "Ship it", ArgumentHint: "[version]"}, {Name: "compact", Aliases: []string{"c"}, Builtin: true}},
		Agents:     []claude.AgentInfo{{Name: "reviewer", Description: "Reviews code"}},
		Models:     []claude.ModelInfo{{Value: "opus", ResolvedModel: "claude-opus-5-5", DisplayName: "Opus", Description: "Capable"}},
	}
	h.Driver.Offered = map[string]*orchestrator.Catalog{id: offered, "": offered}
	models := []wire.CatalogModel{{Value: "opus", ResolvedModel: "claude-opus-5-5", DisplayName: "Opus", Description: "Capable"}}

	path := "/api/sessions/" + id + "/catalog"
	var got wire.Catalog
	h.CallAs(account.Member, "GET", path, nil).Decode(t, &got)
	want := wire.Catalog{
		Running: true, CLIVersion: "2.1.329",
		Commands: []wire.CatalogCommand{{Name: "ship", Description: "Ship it", ArgumentHint: "[version]", Aliases: []string{}}, {Name: "compact", Aliases: []string{"c"}, Builtin: true}},
		Agents:   []wire.CatalogAgent{{Name: "reviewer", Description: "Reviews code"}}, Models: models,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	var list wire.ModelList
	h.CallAs(account.Member, "GET", "/api/models", nil).Decode(t, &list)
	if !reflect.DeepEqual(list, wire.ModelList{CLIVersion: "2.1.329", Models: models}) {
		t.Errorf("got %+v", list)
	}

	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", path, nil), 403, "forbidden")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "GET", "/api/sessions/nothing/catalog", nil), 404, "not_found")
	h.project("hidden", folder)
	apitest.CheckRefusal(t, h.CallAs(account.Member, "GET", path, nil), 404, "not_found")
}
