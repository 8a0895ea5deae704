package review_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/review"
)

func TestChange(t *testing.T) {
	t.Parallel()
	type in map[string]any
	disk := func(text string) review.OnDisk { return review.OnDisk{State: "read", Data: []byte(text)} }
	lines := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	for name, c := range map[string]struct {
		tool  string
		input in
		disk  review.OnDisk
		want  review.Change
	}{
		"a new file":             {"Write", in{"content": "a\n"}, review.OnDisk{State: "missing"}, review.Change{State: review.NewFile, Line: 1, After: "a\n"}},
		"an empty new file":      {"Write", in{"content": ""}, review.OnDisk{State: "missing"}, review.Change{State: review.NewFile, Line: 1}},
		"over a file":            {"Write", in{"content": strings.Replace(lines, "6", "six", 1)}, disk(lines), review.Change{State: review.Changes, Line: 3, Before: "3\n4\n5\n6\n7\n8\n9\n", After: "3\n4\n5\nsix\n7\n8\n9\n"}},
		"over the same":          {"Write", in{"content": lines}, disk(lines), review.Change{State: review.Unchanged}},
		"CR LF stays":            {"Write", in{"content": "a\nb\n"}, disk("a\r\nc\r\n"), review.Change{State: review.Changes, Line: 1, Before: "a\nc\n", After: "a\nb\n", CRLF: true}},
		"no end of line":         {"Write", in{"content": "a"}, disk("b"), review.Change{State: review.Changes, Line: 1, Before: "b", After: "a", NoNewlineBefore: true, NoNewlineAfter: true}},
		"only the end of line":   {"Write", in{"content": "a\n"}, disk("a"), review.Change{State: review.Changes, Line: 1, Before: "a", After: "a\n", NoNewlineBefore: true}},
		"an edit":                {"Edit", in{"old_string": "5", "new_string": "five"}, disk(lines), review.Change{State: review.Changes, Line: 2, Before: "2\n3\n4\n5\n6\n7\n8\n", After: "2\n3\n4\nfive\n6\n7\n8\n"}},
		"of the first line":      {"Edit", in{"old_string": "1", "new_string": "one"}, disk("1\n2"), review.Change{State: review.Changes, Line: 1, Before: "1\n2", After: "one\n2", NoNewlineBefore: true, NoNewlineAfter: true}},
		"in a file with CR LF":   {"Edit", in{"old_string": "a\nb", "new_string": "c"}, disk("a\r\nb\r\n"), review.Change{State: review.Changes, Line: 1, Before: "a\nb\n", After: "c\n", CRLF: true}},
		"of what is not there":   {"Edit", in{"old_string": "x", "new_string": "y"}, disk(lines), review.Change{State: review.Unchanged, Failing: []review.Failing{{Problem: review.TextNotFound}}}},
		"of what is there often": {"Edit", in{"old_string": "a", "new_string": "b"}, disk("a\na\na\n"), review.Change{State: review.Unchanged, Failing: []review.Failing{{Problem: review.FoundMany, Found: 3}}}},
		"of every place":         {"Edit", in{"old_string": "a", "new_string": "b", "replace_all": true}, disk("a\na\n"), review.Change{State: review.Changes, Line: 1, Before: "a\na\n", After: "b\nb\n"}},
		"to the same":            {"Edit", in{"old_string": "1", "new_string": "1"}, disk(lines), review.Change{State: review.Unchanged, Failing: []review.Failing{{Problem: review.SameText}}}},
		"of nothing":             {"Edit", in{"old_string": "", "new_string": "1"}, disk(lines), review.Change{State: review.Unchanged, Failing: []review.Failing{{Problem: review.EmptyText}}}},
		"that makes a file":      {"Edit", in{"old_string": "", "new_string": "1\n"}, review.OnDisk{State: "missing"}, review.Change{State: review.NewFile, Line: 1, After: "1\n"}},
		"without a file":         {"Edit", in{"old_string": "a", "new_string": "b"}, review.OnDisk{State: "missing"}, review.Change{State: review.NoFile}},
		"typographic quotes":     {"Edit", in{"old_string": `say "no"`, "new_string": "yes"}, disk("say “no”\n"), review.Change{State: review.Changes, Line: 1, Before: "say “no”\n", After: "yes\n"}},
		"several, in turn":       {"MultiEdit", in{"edits": []in{{"old_string": "1", "new_string": "one"}, {"old_string": "one", "new_string": "eins"}, {"old_string": "x", "new_string": "y"}}}, disk("1\n"), review.Change{State: review.Changes, Line: 1, Before: "1\n", After: "eins\n", Failing: []review.Failing{{Edit: 2, Problem: review.TextNotFound}}}},
		"outside":                {"Edit", in{"old_string": "a", "new_string": "b"}, review.OnDisk{State: "outside"}, review.Change{State: review.NotShown}},
		"a folder":               {"Write", in{"content": "a"}, review.OnDisk{State: "other"}, review.Change{State: review.NotAFile}},
		"too large":              {"Write", in{"content": "a"}, review.OnDisk{State: "large"}, review.Change{State: review.TooLarge}},
		"no text":                {"Edit", in{"old_string": "a", "new_string": "b"}, disk("a\x00b"), review.Change{State: review.Binary}},
		"no UTF-8":               {"Write", in{"content": "a"}, disk("\xff\xfe"), review.Change{State: review.Binary}},
		"drifted":                {"Write", in{"content": "b"}, review.OnDisk{State: "read", Data: []byte("a"), ModTime: time.Unix(9, 0), TouchedAt: time.Unix(8, 0)}, review.Change{State: review.Changes, Drifted: true, Line: 1, Before: "a", After: "b", NoNewlineBefore: true, NoNewlineAfter: true}},
		"not drifted":            {"Write", in{"content": "a"}, review.OnDisk{State: "read", Data: []byte("a"), ModTime: time.Unix(8, 0), TouchedAt: time.Unix(8, 1)}, review.Change{State: review.Unchanged, NoNewlineBefore: true, NoNewlineAfter: true}},
		"a cell":                 {"NotebookEdit", in{"cell_id": "x", "new_source": "b"}, disk(`{"cells":[{"id":"x","source":["a\n","c"]}]}`), review.Change{State: review.Changes, Line: 1, Before: "a\nc", After: "b"}},
		"a cell by number":       {"NotebookEdit", in{"cell_id": "cell-0", "edit_mode": "delete"}, disk(`{"cells":[{"source":"a"}]}`), review.Change{State: review.Changes, Line: 1, Before: "a"}},
		"a new cell":             {"NotebookEdit", in{"edit_mode": "insert", "new_source": "b"}, disk(`{"cells":[]}`), review.Change{State: review.Changes, Line: 1, After: "b"}},
		"a cell that is not":     {"NotebookEdit", in{"cell_id": "y", "new_source": "b"}, disk(`{"cells":[]}`), review.Change{State: review.Changes, Failing: []review.Failing{{Problem: review.CellNotFound}}}},
		"no notebook":            {"NotebookEdit", in{"cell_id": "y", "new_source": "b"}, disk(`x`), review.Change{State: review.Binary}},
	} {
		input, err := json.Marshal(c.input)
		if err != nil {
			t.Fatal(err)
		}
		if got := review.ReadChange(c.tool, input, c.disk); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, c.want)
		}
	}
}

func FuzzChange(f *testing.F) {
	f.Add("Edit", `{"old_string":"a","new_string":"b"}`, []byte("a\r\n“x”"))
	f.Add("MultiEdit", `{"edits":[{"old_string":"","new_string":"b","replace_all":true}]}`, []byte("a"))
	f.Add("NotebookEdit", `{"cell_id":"x"}`, []byte(`{"cells":[{"id":"x","source":[1]}]}`))
	f.Fuzz(func(t *testing.T, tool, input string, data []byte) {
		got := review.ReadChange(tool, json.RawMessage(input), review.OnDisk{State: "read", Data: data})
		if got.State == "" {
			t.Errorf("no state: %+v", got)
		}
	})
}
