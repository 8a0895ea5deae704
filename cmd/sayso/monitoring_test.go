package main_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// Each expression of the alert rules and of the dashboard in contrib/monitoring is one of Prometheus,
// and names only metrics that docs/operating/metrics.md lists.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operating/metrics.md")
	must(t, err)
	check := func(expression string) {
		t.Helper()
		parsed, err := parser.NewParser(parser.Options{}).ParseExpr(strings.ReplaceAll(expression, "$__rate_interval", "5m"))
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			return
		}
		parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
			if selected, ok := node.(*parser.VectorSelector); ok && selected.Name != "up" {
				name := regexp.MustCompile("_(bucket|count|sum)$").ReplaceAllString(selected.Name, "")
				if !regexp.MustCompile("`" + name + "[`{]").Match(page) {
					t.Errorf("%s: docs/operating/metrics.md has no %s", expression, name)
				}
			}
			return nil
		})
	}

	rules, err := os.ReadFile("../../contrib/monitoring/sayso-alerts.yml")
	must(t, err)
	expressions := regexp.MustCompile(`(?m)^        expr: (.*)$`).FindAllSubmatch(rules, -1)
	if n := strings.Count(string(rules), "- alert: "); n != len(expressions) || n < 5 || n != strings.Count(string(rules), "          summary: ") {
		t.Errorf("%d rules with %d expressions, and each needs a summary", n, len(expressions))
	}
	for _, e := range expressions {
		if strings.Contains(string(e[1]), ": ") || strings.Contains(string(e[1]), " #") {
			t.Errorf("%s would have to be quoted in YAML", e[1])
		}
		check(string(e[1]))
	}

	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	text, err := os.ReadFile("../../contrib/monitoring/sayso-dashboard.json")
	must(t, err)
	must(t, json.Unmarshal(text, &dashboard))
	for _, panel := range dashboard.Panels {
		if len(panel.Targets) == 0 {
			t.Errorf("the panel %q shows nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			check(target.Expr)
		}
	}
	if len(dashboard.Panels) < 10 {
		t.Errorf("only %d panels", len(dashboard.Panels))
	}
}
