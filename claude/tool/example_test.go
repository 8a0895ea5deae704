package tool_test

import (
	"context"
	"fmt"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/tool"
)

func ExampleNew() {
	type in struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	type out struct {
		Celsius float64 `json:"celsius"`
	}
	weather := tool.New("weather", "Returns the weather of a city.", func(ctx context.Context, in in) (out, error) {
		return out{21.5}, nil
	}).ReadOnly()

	o := claude.Options{
		MCPServers:   map[string]claude.MCPServerConfig{"local": tool.Server("local", weather)},
		AllowedTools: []string{"mcp__local__weather"}, // otherwise CanUseTool is called
	}
	fmt.Println(len(o.MCPServers))
	// Output: 1
}

func ExampleAsk() {
	type review struct {
		Approve  bool     `json:"approve"`
		Problems []string `json:"problems"`
	}
	r, _, err := tool.Ask[review](context.Background(), "Review the last commit.", claude.Options{})
	if err != nil {
		return
	}
	fmt.Println(r.Approve, r.Problems)
}
