package transcript_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// bodies are those of the items of one kind.
func bodies[B any](t *testing.T, items []session.Item, kind session.ItemKind) []B {
	t.Helper()
	var list []B
	for _, it := range items {
		if it.Kind != kind {
			continue
		}
		var b B
		if err := json.Unmarshal(it.Body, &b); err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// TestTurnsTellTheirCosts: each end of a turn says what that turn has cost, also where
// the total of a CLI that was resumed began anew and has passed the one before.
func TestTurnsTellTheirCosts(t *testing.T) {
	t.Parallel()
	result := func(cost string) string {
		return fmt.Sprintf(`{"type":"result","subtype":"success","uuid":"%s"%s}`, uuid.NewString(), cost)
	}
	costs := func(from *int64, lines ...string) string {
		t.Helper()
		b := transcript.New()
		b.Cost = from
		var list []*float64
		for _, b := range bodies[session.ResultBody](t, items(apply(t, b, 0, lines...)), session.ItemResult) {
			list = append(list, b.SpentUSD)
		}
		text, _ := json.Marshal(list)
		return string(text)
	}
	if got := costs(new(int64), result(`,"total_cost_usd":0.3`), result(`,"total_cost_usd":0.4`), result(`,"total_cost_usd":0.4`), result(``)); got != `[0.3,0.1,0,null]` {
		t.Errorf("got %s", got)
	}
	if got := costs(nil, result(`,"total_cost_usd":0.3`), result(`,"total_cost_usd":0.4`)); got != `[null,0.1]` {
		t.Errorf("where nobody knows what it began with: got %s", got)
	}
}

// TestResultsTellCosts: what is spent is what a total has grown by.
func TestResultsTellCosts(t *testing.T) {
	t.Parallel()
	line := func(cost string) string {
		return fmt.Sprintf(`{"type":"result","subtype":"success","uuid":"%s","is_error":false%s}`, uuid.NewString(), cost)
	}
	lines := []string{}
	for _, cost := range []string{`,"total_cost_usd":0.1`, `,"total_cost_usd":0.3`, ``, `,"total_cost_usd":0.3`, `,"total_cost_usd":0.298`, `,"total_cost_usd":0`, `,"total_cost_usd":0.05`} {
		lines = append(lines, line(cost))
	}
	b := transcript.New()
	b.Cost = new(int64)
	var got []int64
	for _, change := range apply(t, b, 0, lines...) {
		got = append(got, change.Cost)
	}
	text, _ := json.Marshal(got)
	if string(text) != `[100000,200000,0,0,0,0,50000]` {
		t.Errorf("got %s", text)
	}
}

// TestTurnsTellHowFullTheContextIs: it is what the last answer of the main thread was
// given, out of the window of the model that gave it.
func TestTurnsTellHowFullTheContextIs(t *testing.T) {
	t.Parallel()
	begin := func(model string) string {
		return fmt.Sprintf(`{"type":"system","subtype":"init","model":%q}`, model)
	}
	said := func(model, parent string, in, written, read int) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":"%s","parent_tool_use_id":%s,"message":{"role":"assistant","model":%q,"content":[{"type":"text","text":"x"}],
			"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":1}}}`, uuid.NewString(), parent, model, in, written, read)
	}
	end := func(models string) string {
		return fmt.Sprintf(`{"type":"result","subtype":"success","uuid":"%s","usage":{"input_tokens":9},"modelUsage":{%s}}`, uuid.NewString(), models)
	}
	const small, large = `"claude-a":{"contextWindow":200000}`, `"claude-a[1m]":{"contextWindow":1000000}`
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"the last answer, not the sum":  {[]string{begin("claude-a"), said("claude-a", "null", 5, 10, 20), said("claude-a", "null", 1000, 200, 30), end(small)}, "1230 of 200000"},
		"not a subagent's":              {[]string{begin("claude-a"), said("claude-a", "null", 1000, 0, 0), said("claude-b", `"toolu_1"`, 7, 0, 0), end(small + `,"claude-b":{"contextWindow":1}`)}, "1000 of 200000"},
		"a model named with its window": {[]string{begin("claude-a[1m]"), said("claude-a", "null", 1000, 0, 0), end(large)}, "1000 of 1000000"},
		"both were used":                {[]string{begin("claude-a[1m]"), said("claude-a", "null", 1000, 0, 0), end(small + "," + large)}, "1000 of 1000000"},
		"and the small one last":        {[]string{begin("claude-a"), said("claude-a", "null", 1000, 0, 0), end(large + "," + small)}, "1000 of 200000"},
		"no model has answered": {[]string{begin("claude-a"), said("claude-a", "null", 1000, 0, 0), end(small),
			begin("claude-a"), said("<synthetic>", "null", 0, 0, 0), end(small)}, "0 of 0"},
		"it was compacted since":    {[]string{begin("claude-a"), said("claude-a", "null", 1000, 0, 0), `{"type":"system","subtype":"compact_boundary"}`, end(small)}, "0 of 0"},
		"a window that is not told": {[]string{begin("claude-a"), said("claude-a", "null", 1000, 0, 0), end(`"claude-a":{}`)}, "0 of 0"},
		"a model that is not told":  {[]string{begin("claude-b"), said("claude-b", "null", 1000, 0, 0), end(small)}, "0 of 0"},
	} {
		results := bodies[session.ResultBody](t, build(t, c.lines...), session.ItemResult)
		last := results[len(results)-1]
		if got := fmt.Sprintf("%d of %d", last.ContextTokens, last.ContextWindow); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// TestCallsTellWhatTheyChanged: what became of the file, not what Claude proposed: a
// person may have made something else of it.
func TestCallsTellWhatTheyChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, input, result string
		want                string
	}{
		"edited by a person": {"Edit", `{"file_path":"/p/a","old_string":"new","new_string":"x"}`,
			`{"filePath":"/p/a","oldString":"new","newString":"edited\nby\nme","originalFile":"one\nnew\n","structuredPatch":[{"lines":[" one","-new","+edited","+by","+me"]}]}`, `{"path":"/p/a","added":3,"removed":1}`},
		"into another file": {"Write", `{"file_path":"/p/a","content":"x"}`,
			`{"type":"create","filePath":"/p/b","content":"p\np\n","structuredPatch":[],"originalFile":null}`, `{"path":"/p/b","added":2,"removed":0}`},
		"everywhere": {"Edit", `{"file_path":"/p/a","replace_all":true}`,
			`{"filePath":"/p/a","structuredPatch":[{"lines":["-two","+2"]},{"lines":["-two","+2","\\ No newline at end of file"]}]}`, `{"path":"/p/a","added":2,"removed":2}`},
		"written over": {"Write", `{"file_path":"/p/a"}`,
			`{"type":"update","filePath":"/p/a","content":"b\n","structuredPatch":[{"lines":["-a","+b"]}],"originalFile":"a\n"}`, `{"path":"/p/a","added":1,"removed":1}`},
		"the same again":        {"Write", `{"file_path":"/p/a"}`, `{"type":"update","filePath":"/p/a","content":"b\n","structuredPatch":[],"originalFile":"b\n"}`, `{"path":"/p/a","added":0,"removed":0}`},
		"an empty new file":     {"Write", `{"file_path":"/p/a"}`, `{"type":"create","filePath":"/p/a","content":"","structuredPatch":[]}`, `{"path":"/p/a","added":0,"removed":0}`},
		"no patch, and another": {"Write", `{"file_path":"/p/a"}`, `{"type":"update","filePath":"/p/a","content":"c\n","structuredPatch":[],"originalFile":"b\n"}`, `null`},
		"nothing is told":       {"Edit", `{"file_path":"/p/a"}`, `{"filePath":"/p/a"}`, `null`},
		"a cell more":           {"NotebookEdit", `{"notebook_path":"/p/n"}`, `{"new_source":"a\nb","edit_mode":"insert","notebook_path":"/p/n"}`, `{"path":"/p/n","added":2,"removed":0}`},
		"a cell anew":           {"NotebookEdit", `{"notebook_path":"/p/n"}`, `{"new_source":"a\nb","old_source":"a","edit_mode":"replace","notebook_path":"/p/n"}`, `null`},
		"of another tool":       {"Read", `{"file_path":"/p/a"}`, `{"type":"text","filePath":"/p/a","structuredPatch":[{"lines":["+x"]}]}`, `null`},
		"of another shape":      {"Edit", `{"file_path":"/p/a"}`, `"Error: no"`, `null`},
	} {
		items := build(t,
			fmt.Sprintf(`{"type":"assistant","uuid":"a","message":{"content":[{"type":"tool_use","id":"t1","name":%q,"input":%s}]}}`, c.tool, c.input),
			fmt.Sprintf(`{"type":"user","uuid":"b","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]},"tool_use_result":%s}`, c.result))
		calls := bodies[session.ToolCallBody](t, items, session.ItemToolCall)
		if got, _ := json.Marshal(calls[len(calls)-1].Change); string(got) != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// TestCallsShowExactNames: the CLI runs the fields of exact names, so those are shown.
func TestCallsShowExactNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, input string
		kind        session.ItemKind
		want        string
	}{
		{"ExitPlanMode", `{"plan":"real","Plan":"false"}`, session.ItemPlan, "real"},
		{"TodoWrite", `{"todos":[{"content":"real","status":"pending"}],"Todos":[{"content":"false","status":"pending"}]}`, session.ItemTodo, "real"},
		{"Task", `{"description":"real","Description":"false","subagent_type":"x","Subagent_Type":"false"}`, session.ItemSubagent, "real"},
	} {
		items := build(t, fmt.Sprintf(`{"type":"assistant","uuid":"a","message":{"content":[{"type":"tool_use","id":"t1","name":%q,"input":%s}]}}`, c.tool, c.input))
		if len(items) != 1 || items[0].Kind != c.kind || !strings.Contains(string(items[0].Body), c.want) || strings.Contains(string(items[0].Body), `"false"`) {
			t.Errorf("%s: got %+v", c.tool, items)
		}
	}
}

// What Claude stopped in may have been approved, and even have run: it did not fail.
func TestCallsThatWereCutOffHaveNoResult(t *testing.T) {
	t.Parallel()
	b := transcript.New()
	apply(t, b, 0, calling("t1", "Bash", `{"command":"touch a"}`, `{}`)[0], calling("t2", "Bash", `{"command":"touch b"}`, `{}`)[0])
	for _, call := range bodies[session.ToolCallBody](t, b.CloseCalls(true), session.ItemToolCall) {
		if call.Status != session.ToolFailed || !call.NoResult {
			t.Errorf("%s: %s, no result %v", call.ToolUseID, call.Status, call.NoResult)
		}
	}
	ended := items(apply(t, b, 0, calling("t3", "Bash", `{}`, `{}`)...))
	if call := bodies[session.ToolCallBody](t, ended, session.ItemToolCall); call[len(call)-1].NoResult {
		t.Errorf("a call with a result: %+v", call[len(call)-1])
	}
}

func TestCompactionTellsTheTokens(t *testing.T) {
	t.Parallel()
	const known = `{"type":"system","subtype":"compact_boundary","uuid":"u1","compact_metadata":{"trigger":"manual","pre_tokens":150000,"post_tokens":12000.5}}`
	const hostile = `{"type":"system","subtype":"compact_boundary","uuid":"u2","compact_metadata":{"trigger":7,"pre_tokens":-1,"post_tokens":1e300}}`
	notes := bodies[session.NoteBody](t, build(t, known, hostile), session.ItemNote)
	if *notes[0].Compaction != (session.Compaction{Before: 150_000, After: 12_000, Manual: true}) || *notes[1].Compaction != (session.Compaction{After: 1e12}) {
		t.Errorf("got %+v and %+v", notes[0].Compaction, notes[1].Compaction)
	}
}

// The model of a demo has prices, but nobody pays them.
func TestFreeTurnsCostNothing(t *testing.T) {
	t.Parallel()
	b := transcript.New()
	b.Free = true
	const line = `{"type":"result","subtype":"success","uuid":"r1","total_cost_usd":0.5,"usage":{"input_tokens":9}}`
	changes := apply(t, b, 0, line, line)
	for _, c := range changes {
		body := bodies[session.ResultBody](t, c.Items, session.ItemResult)[0]
		if c.Cost != 0 || body.CostUSD != 0 || body.SpentUSD != nil || body.InputTokens != 9 {
			t.Errorf("got %d, %+v", c.Cost, body)
		}
	}
}

func TestLimitsOfTheAccountAreRemembered(t *testing.T) {
	t.Parallel()
	b := transcript.New()
	limit := func(name, status string) string {
		return fmt.Sprintf(`{"type":"rate_limit_event","rate_limit_info":{"status":"%s","rateLimitType":"%s","utilization":0.5,"resetsAt":100}}`, status, name)
	}
	apply(t, b, 0, limit("five_hour", "allowed"), limit("five_hour", "rejected"), limit("", "allowed"), limit(strings.Repeat("x", 100), "allowed"))
	for n := range 100 {
		apply(t, b, 0, limit(fmt.Sprint("limit", n), "allowed"))
	}
	if got := b.Limits["five_hour"]; got != (transcript.RateLimit{Status: "rejected", Used: 0.5, ResetsAt: 100}) || len(b.Limits) != 16 {
		t.Errorf("got %+v of %d", got, len(b.Limits))
	}
}
