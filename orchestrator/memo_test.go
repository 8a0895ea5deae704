package orchestrator

import (
	"encoding/json"
	"testing"
)

// A server adopts processes of the release before it, so the stored form stays.
func TestMemoKeepsItsStoredForm(t *testing.T) {
	t.Parallel()
	const stored = `{"calls":{"t1":{"item":{"Key":"tool:t1","Seq":0,"Rev":0,"At":"2026-01-02T03:04:05Z","Kind":"tool_call","AgentID":"","Body":null},"tool":{"tool_use_id":"t1","tool_name":"Bash","status":"running"}}},` +
		`"agents":{"a1":{"tool_use_id":"t2","name":"Explore: look"}},"answered":{"t1":{"request_id":"r1","tool_name":"Bash","at":"2026-01-02T03:04:05Z"}},` +
		`"elicited":{"e1":{"body":{},"calls":["t1"]}},"begun":true,"tasks":{"key":"tasks:t3","tasks":[{"id":"1","subject":"Look","status":"pending"}]},` +
		`"touched":{"/a":"2026-01-02T03:04:05Z"},"sending":"m1","spoke":true,"ended":"m0","cost":7,"context":8,"context_model":"x","model":"y","interrupt":{"by":"Ada","key":"interrupt:1","early":true},"ended_by_limit":true,"spared_by":"u1"}`
	m, err := decodeMemo([]byte(stored))
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var before, after map[string]any
	if err := json.Unmarshal([]byte(stored), &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &after); err != nil {
		t.Fatal(err)
	}
	for name := range before {
		if after[name] == nil {
			t.Errorf("%s is lost", name)
		}
	}
	if len(after) != len(before) || m.Calls["t1"].Tool.ToolName != "Bash" || m.Answered[0].ToolUseID != "t1" || m.Answered[0].RequestID != "r1" || m.Elicited["e1"].abandoned == nil || *m.Cost != 7 {
		t.Errorf("got %s", again)
	}
}
