package transcript_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// calling is a call of a tool and its result, as both CLIs print them.
func calling(id, tool, input, result string) []string {
	return []string{
		fmt.Sprintf(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]},"uuid":"a-%s"}`, id, tool, input, id),
		fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","content":"x"}]},"uuid":"u-%s","tool_use_result":%s}`, id, id, result),
	}
}

// TestTasksAreOneList: 2.1.197 changes its to-do list task by task.
func TestTasksAreOneList(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, l := range [][]string{
		calling("t1", "TaskCreate", `{"subject":"Look"}`, `{"task":{"id":"1","subject":"Look"}}`),
		calling("t2", "TaskCreate", `{"subject":"Write"}`, `{"task":{"id":"2","subject":"Write"}}`),
		calling("t3", "TaskUpdate", `{"taskId":"1","status":"completed"}`, `{"success":true,"taskId":"1","updatedFields":["status"],"statusChange":{"from":"pending","to":"completed"}}`),
		calling("t4", "TaskUpdate", `{"taskId":"2","subject":"Write it"}`, `{"success":true,"taskId":"2","updatedFields":["subject"]}`),
		calling("t5", "TaskUpdate", `{"taskId":"9","status":"completed"}`, `{"success":true,"taskId":"9","statusChange":{"to":"completed"}}`),
		calling("t6", "TaskCreate", `{}`, `"Error: no such tool"`),
	} {
		lines = append(lines, l...)
	}
	var lists []string
	for _, it := range build(t, lines...) {
		if it.Kind == session.ItemTodo {
			lists = append(lists, it.Key+" "+string(it.Body))
		}
	}
	want := `tasks:t1 {"todos":[{"content":"Look","status":"completed"},{"content":"Write it","status":"pending"}]}`
	if len(lists) != 4 || lists[3] != want {
		t.Errorf("got %q, want %q last of four", lists, want)
	}
	more := build(t, append(lines,
		append(calling("t7", "TaskList", `{}`, `{"tasks":[{"id":"7","subject":"All","status":"in_progress","blockedBy":[]}]}`),
			calling("t8", "TaskUpdate", `{"taskId":"7","status":"deleted"}`, `{"success":true,"taskId":"7","statusChange":{"to":"deleted"}}`)...)...)...)
	if string(more[len(more)-1].Body) != `{"todos":[]}` {
		t.Errorf("got %s", more[len(more)-1].Body)
	}
}

func TestLimitsOfTheAccountAreNoted(t *testing.T) {
	t.Parallel()
	line := func(status string) string {
		return `{"type":"rate_limit_event","uuid":"x","rate_limit_info":{"status":"` + status + `","resetsAt":1795284812,"rateLimitType":"five_hour","utilization":0.91}}`
	}
	items := build(t, line("allowed"), line("allowed_warning"), line("rejected"), `{"type":"rate_limit_event"}`, `{"type":"rate_limit_event","rate_limit_info":7}`)
	if len(items) != 2 || items[0].Key != items[1].Key {
		t.Fatalf("got %+v", items)
	}
	for i, want := range []string{"91 % of the five-hour limit of the Claude account is used. It resets at 2026-11-21", "The five-hour limit of the Claude account is reached."} {
		if !strings.Contains(string(items[i].Body), want) {
			t.Errorf("got %s, want %q", items[i].Body, want)
		}
	}
}

// TestAThoughtSaysHowLongItTook: from the first that was seen of it; one that nobody
// saw begin says nothing, nor does a subagent's for that of the main thread.
func TestAThoughtSaysHowLongItTook(t *testing.T) {
	t.Parallel()
	begins := `{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}}`
	grows := `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"So"}}}`
	thought := func(id, parent string) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"So."}]},"parent_tool_use_id":%s,"uuid":%q}`, parent, id)
	}
	changes := apply(t, transcript.New(), 1500*time.Millisecond, begins, grows, thought("a", "null"), thought("b", "null"), begins, thought("c", `"toolu_1"`))
	var got []string
	for _, it := range items(changes) {
		got = append(got, string(it.Body))
	}
	if want := []string{`{"text":"So.","took":3}`, `{"text":"So."}`, `{"text":"So."}`}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
