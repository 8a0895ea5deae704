package statement_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
)

var placeholder = regexp.MustCompile(`\{(\w+)(?::(\w+))?\}`)

// sample returns parameters for a text, each of another value.
func sample(text string) (params []any) {
	for i, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if slices.Contains(params, any(m[1])) {
			continue
		}
		params = append(params, m[1])
		switch m[2] {
		case "span":
			params = append(params, float64(60*(i+1)))
		case "usd":
			params = append(params, 1.5+float64(i))
		default:
			params = append(params, "v("+m[1]+")")
		}
	}
	return params
}

func asMap(params []any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(params); i += 2 {
		m[params[i].(string)] = params[i+1]
	}
	return m
}

// TestFindReversesNew finds what was made of each entry, with all parameters and, where
// that is allowed, without any.
func TestFindReversesNew(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	check := func(reason, text string, params map[string]any) {
		t.Helper()
		found := statement.Find(text)
		if found == nil || found.Reason != reason || !maps.Equal(found.Params, params) {
			t.Errorf("%s: found %+v in %q, want %v", reason, found, text, params)
		}
	}
	for _, e := range statement.Entries() {
		if seen[e.Reason] || !regexp.MustCompile(`^[a-z][a-z_]*$`).MatchString(e.Reason) {
			t.Errorf("the reason %q is in the table twice, or is no word", e.Reason)
		}
		seen[e.Reason] = true
		params := sample(e.Text)
		text := statement.New(e.Reason, params...)
		if strings.ContainsAny(text, "{}[]") {
			t.Errorf("%s: a parameter is left in %q", e.Reason, text)
		}
		check(e.Reason, text, asMap(params))
		bare := regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(e.Text, "")
		params = sample(bare)
		check(e.Reason, statement.New(e.Reason, params...), asMap(params))
	}
}

func TestFindErrors(t *testing.T) {
	t.Parallel()
	e := problem.New("limit_person_cost", "person", "Ada", "max", 5.0, "used", 0.0312)
	found := statement.Find(e.Message)
	if found == nil || found.Reason != e.Reason || !maps.Equal(found.Params, e.Params) {
		t.Errorf("found %+v, want %+v", found, e)
	}
}

func TestFindKeepsWhatPeopleWrote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]statement.Reason{
		"Denied by Ada: Use pnpm: not npm.": {Reason: "denied_why", Params: map[string]any{"by": "Ada", "why": "Use pnpm: not npm."}},
		`Answered by Ada: Blue, "as ever".`: {Reason: "answered", Params: map[string]any{"by": "Ada", "answer": `Blue, "as ever"`}},
		"Denied: [{by}] {why}":              {Reason: "denied_why", Params: map[string]any{"why": "[{by}] {why}"}},
		"Ended by Ben by Ada..":             {Reason: "ended_by", Params: map[string]any{"by": "Ben by Ada."}},
		"The Claude process ended by itself (exit status 1). Output: boom": {
			Reason: "ended_by_itself", Params: map[string]any{"how": "exit status 1", "output": "boom"}},
		"Nobody sent a message for 2 hours.": {Reason: "idle", Params: map[string]any{"limit": 7200.0}},
	} {
		found := statement.Find(text)
		if found == nil || found.Reason != want.Reason || !maps.Equal(found.Params, want.Params) {
			t.Errorf("%q: found %+v, want %+v", text, found, want)
		}
	}
	for _, text := range []string{"", "Something new.", "Approved by .", "Nobody sent a message for some time."} {
		if found := statement.Find(text); found != nil {
			t.Errorf("%q: found %+v", text, found)
		}
	}
	if got := statement.Reasons("error", "", "stuck", "Something new."); got != nil {
		t.Errorf("reasons without any are %v", got)
	}
}

func TestNewLeavesOutWhatIsEmpty(t *testing.T) {
	t.Parallel()
	if got := statement.New("denied_why", "by", "", "why", "[{by}]"); got != "Denied: [{by}]" {
		t.Errorf("got %q", got)
	}
}
