package session_test

import (
	"testing"

	"github.com/sayso-dev/sayso/session"
)

func TestCatchUpCountsWhatPeopleAskFor(t *testing.T) {
	t.Parallel()
	call := func(seq int64, body string) session.Item {
		return session.Item{Seq: seq, Key: "k" + string(rune('0'+seq)), Kind: session.ItemToolCall, Body: []byte(body)}
	}
	l := session.CatchUp{SessionID: "s"}
	if l.HasActivity() {
		t.Error("nothing happened, and yet it did")
	}
	for _, it := range []session.Item{
		call(5, `{"tool_name":"Edit","input":{"file_path":"a.go"},"status":"done"}`),
		call(4, `{"tool_name":"Write","input":{"file_path":"b.go"},"status":"failed"}`),
		call(6, `{"tool_name":"Edit","input":{"file_path":"else.go"},"status":"done","change":{"path":"a.go","added":1,"removed":0}}`),
		call(7, `{"tool_name":"Bash","input":{"command":"go test ./..."},"status":"done"}`),
		call(8, `{"tool_name":"Bash","input":{"command":"ls"},"status":"done"}`),
		call(9, `{"tool_name":"Read","input":"no object","status":"done"}`),
		{Seq: 3, Key: "record", Kind: session.ItemResolved},
		{Seq: 9, Key: "end", Kind: session.ItemResult},
		{Seq: 1, Key: "said", Kind: session.ItemText},
	} {
		l.Add(it)
	}
	got := []int{l.Edits, l.Files, l.Tests, l.Commands, l.Failed, l.Answered, l.Turns}
	for i, want := range []int{3, 2, 1, 1, 1, 1, 1} {
		if got[i] != want {
			t.Errorf("count %d is %d, want %d (%v)", i, got[i], want, got)
		}
	}
	if l.First != "record" {
		t.Errorf("the first is %q, want the record", l.First)
	}
}
