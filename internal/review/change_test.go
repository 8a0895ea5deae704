package review_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/review"
)

func TestChange(t *testing.T) {
	t.Parallel()
	type in map[string]any
	disk := func(text string) review.FileOnDisk { return review.FileOnDisk{State: "read", Data: []byte(text)} }
	lines := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	for name, c := range map[string]struct {
		tool  string
		input in
		disk  review.FileOnDisk
		want  review.Change
	}{
		"a new file":             {"Write", in{"content": "a\n"}, review.FileOnDisk{State: "missing"}, review.Change{State: review.NewFile, Line: 1, After: "a\n"}},
		"an empty new file":      {"Write", in{"content": ""}, review.FileOnDisk{State: "missing"}, review.Change{State: review.NewFile, Line: 1}},
		"over a file":            {"Write", in{"content": strings.Replace(lines, "6", "six", 1)}, disk(lines), review.Change{State: review.Changes, Line: 3, Before: "3\n4\n5\n6\n7\n8\n9\n", After: "3\n4\n5\nsix\n7\n8\n9\n"}},
		"over the same":          {"Write", in{"content": lines}, disk(lines), review.Change{State: review.Unchanged}},
		"no end of line":         {"Write", in{"content": "a"}, disk("b"), review.Change{State: review.Changes, Line: 1, Before: "b", After: "a", NoNewlineBefore: true, NoNewlineAfter: true}},
		"only the end of line":   {"Write", in{"content": "a\n"}, disk("a"), review.Change{State: review.Changes, Line: 1, Before: "a", After: "a\n", NoNewlineBefore: true}},
		"an edit":                {"Edit", in{"old_string": "5", "new_string": "five"}, disk(lines), review.Change{State: review.Changes, Line: 2, Before: "2\n3\n4\n5\n6\n7\n8\n", After: "2\n3\n4\nfive\n6\n7\n8\n"}},
		"of the first line":      {"Edit", in{"old_string": "1", "new_string": "one"}, disk("1\n2"), review.Change{State: review.Changes, Line: 1, Before: "1\n2", After: "one\n2", NoNewlineBefore: true, NoNewlineAfter: true}},
		"in a file with CR LF":   {"Edit", in{"old_string": "a\nb", "new_string": "c"}, disk("a\r\nb\r\n"), review.Change{State: review.Changes, Line: 1, Before: "a\nb\n", After: "c\n", EndsBefore: review.CRLF, EndsAfter: review.CRLF}},
		"of what is not there":   {"Edit", in{"old_string": "x", "new_string": "y"}, disk(lines), review.Change{State: review.Unchanged, Failing: []review.Failing{{Problem: review.TextNotFound}}}},
		"of what is there often": {"Edit", in{"old_string": "a", "new_string": "b"}, disk("a\na\na\n"), review.Change{State: review.Unchanged, Failing: []review.Failing{{Problem: review.FoundMany, Found: 3}}}},
		"of every place":         {"Edit", in{"old_string": "a", "new_string": "b", "replace_all": true}, disk("a\na\n"), review.Change{State: review.Changes, Line: 1, Before: "a\na\n", After: "b\nb\n"}},
		"to the same":            {"Edit", in{"old_string": "1", "new_string": "1"}, disk(lines), review.Change{State: review.Unchanged, Failing: []review.Failing{{Problem: review.SameText}}}},
		"of nothing":             {"Edit", in{"old_string": "", "new_string": "1"}, disk(lines), review.Change{State: review.Unchanged, Failing: []review.Failing{{Problem: review.EmptyText}}}},
		"that makes a file":      {"Edit", in{"old_string": "", "new_string": "1\n"}, review.FileOnDisk{State: "missing"}, review.Change{State: review.NewFile, Line: 1, After: "1\n"}},
		"without a file":         {"Edit", in{"old_string": "a", "new_string": "b"}, review.FileOnDisk{State: "missing"}, review.Change{State: review.NoFile}},
		"typographic quotes":     {"Edit", in{"old_string": `say "no"`, "new_string": "yes"}, disk("say “no”\n"), review.Change{State: review.Changes, Line: 1, Before: "say “no”\n", After: "yes\n"}},
		"several, in turn":       {"MultiEdit", in{"edits": []in{{"old_string": "1", "new_string": "one"}, {"old_string": "one", "new_string": "eins"}, {"old_string": "x", "new_string": "y"}}}, disk("1\n"), review.Change{State: review.Changes, Line: 1, Before: "1\n", After: "eins\n", Failing: []review.Failing{{Edit: 2, Problem: review.TextNotFound}}}},
		"outside":                {"Edit", in{"old_string": "a", "new_string": "b"}, review.FileOnDisk{State: "outside"}, review.Change{State: review.NotShown}},
		"a folder":               {"Write", in{"content": "a"}, review.FileOnDisk{State: "other"}, review.Change{State: review.NotAFile}},
		"too large":              {"Write", in{"content": "a"}, review.FileOnDisk{State: "large"}, review.Change{State: review.TooLarge}},
		"no text":                {"Edit", in{"old_string": "a", "new_string": "b"}, disk("a\x00b"), review.Change{State: review.Binary}},
		"no UTF-8":               {"Write", in{"content": "a"}, disk("\xff\xfe"), review.Change{State: review.Binary}},
		"drifted":                {"Write", in{"content": "b"}, review.FileOnDisk{State: "read", Data: []byte("a"), ModTime: time.Unix(9, 0), TouchedAt: time.Unix(8, 0)}, review.Change{State: review.Changes, Drifted: true, Line: 1, Before: "a", After: "b", NoNewlineBefore: true, NoNewlineAfter: true}},
		"not drifted":            {"Write", in{"content": "a"}, review.FileOnDisk{State: "read", Data: []byte("a"), ModTime: time.Unix(8, 0), TouchedAt: time.Unix(8, 1)}, review.Change{State: review.Unchanged, NoNewlineBefore: true, NoNewlineAfter: true}},
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

// TestChangeReadsExactNames: what is shown is what the CLI does, which tells Content from content.
func TestChangeReadsExactNames(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]review.Change{
		`{"content":"b","Content":"a"}`: {State: review.Changes, Line: 1, Before: "a", After: "b", NoNewlineBefore: true, NoNewlineAfter: true},
		`{"Content":"b"}`:               {State: review.Unchanged, NoNewlineBefore: true, NoNewlineAfter: true},
	} {
		if got := review.ReadChange("Write", json.RawMessage(input), review.FileOnDisk{State: "read", Data: []byte("a")}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", input, got, want)
		}
	}
	for tool, input := range map[string]string{
		"Edit":         `{"old_string":"a","new_string":"b","New_String":"c","OLD_STRING":"d","Replace_All":true}`,
		"MultiEdit":    `{"edits":[{"old_string":"a","new_string":"b","New_String":"c"}],"Edits":[]}`,
		"NotebookEdit": `{"cell_id":"x","new_source":"b","New_Source":"c","Edit_Mode":"delete"}`,
	} {
		data := "a\n"
		if tool == "NotebookEdit" {
			data = `{"cells":[{"id":"x","source":"a"}]}`
		}
		if got := review.ReadChange(tool, json.RawMessage(input), review.FileOnDisk{State: "read", Data: []byte(data)}); strings.TrimSpace(got.After) != "b" {
			t.Errorf("%s %s: %+v", tool, input, got)
		}
	}
	for input, want := range map[string]string{
		`{"file_path":"a","File_Path":"b"}`: "a", `{"File_Path":"b"}`: "", `{"file_path":"a","edits":1}`: "a", `{"file_path":1}`: "", `[]`: "",
	} {
		if got := review.FilePath("Write", json.RawMessage(input)); got != want {
			t.Errorf("%s: %q", input, got)
		}
	}
}

// What both versions of the CLI do, seen on files (docs/contributing/claude-cli.md): Write writes
// what it is given; Edit gives all lines the end that most of the first 4096 bytes have.
func TestLineEnds(t *testing.T) {
	t.Parallel()
	const none, lf, crlf, mixed = review.NoEnds, review.LF, review.CRLF, review.MixedEnds
	head := strings.Repeat("0123456789012\n", 300) // 4200 bytes
	many := strings.Repeat("x\r\n", 3000)
	for name, c := range map[string]struct {
		tool          string
		content       string // of Write
		old, new      string // of Edit
		disk          string
		before, after review.LineEnds
		state         review.ChangeState
		left, right   string
	}{
		"Write takes them away":             {tool: "Write", content: "a\nB\n", disk: "a\r\nb\r\n", before: crlf, after: lf, state: review.Changes, left: "a\nb\n", right: "a\nB\n"},
		"Write takes nothing but them":      {tool: "Write", content: "a\nb\n", disk: "a\r\nb\r\n", before: crlf, after: lf, state: review.Changes},
		"Write keeps them":                  {tool: "Write", content: "a\r\nB\r\n", disk: "a\r\nb\r\n", before: crlf, after: crlf, state: review.Changes, left: "a\nb\n", right: "a\nB\n"},
		"Write brings them":                 {tool: "Write", content: "a\r\nb\r\n", disk: "a\nb\n", before: lf, after: crlf, state: review.Changes},
		"Write mixes them":                  {tool: "Write", content: "a\r\nb\n", disk: "a\r\nb\r\n", before: crlf, after: mixed, state: review.Changes},
		"Write leaves them mixed":           {tool: "Write", content: "a\r\nb\n", disk: "a\r\nb\n", before: mixed, after: mixed, state: review.Unchanged},
		"Write into a file without any":     {tool: "Write", content: "a\r\n", disk: "a", before: none, after: crlf, state: review.Changes, left: "a", right: "a\n"},
		"Write the same":                    {tool: "Write", content: "a\r\n", disk: "a\r\n", before: crlf, after: crlf, state: review.Unchanged},
		"Edit keeps them":                   {tool: "Edit", old: "b", new: "B", disk: "a\r\nb\r\n", before: crlf, after: crlf, state: review.Changes, left: "a\nb\n", right: "a\nB\n"},
		"Edit doubles none":                 {tool: "Edit", old: "b", new: "B\r\nC", disk: "a\r\nb\r\n", before: crlf, after: crlf, state: review.Changes, left: "a\nb\n", right: "a\nB\nC\n"},
		"Edit finds no CR LF":               {tool: "Edit", old: "a\r\nb", new: "c", disk: "a\r\nb\r\n", before: crlf, after: crlf, state: review.Unchanged},
		"Edit mixes them":                   {tool: "Edit", old: "b", new: "B\r\nC", disk: "a\nb\n", before: lf, after: mixed, state: review.Changes, left: "a\nb\n", right: "a\nB\nC\n"},
		"Edit makes most of them all":       {tool: "Edit", old: "b", new: "B", disk: "a\r\nb\r\nc\n", before: mixed, after: crlf, state: review.Changes, left: "a\nb\nc\n", right: "a\nB\nc\n"},
		"Edit makes them LF when as many":   {tool: "Edit", old: "b", new: "B", disk: "a\r\nb\n", before: mixed, after: lf, state: review.Changes, left: "a\nb\n", right: "a\nB\n"},
		"Edit looks at the beginning alone": {tool: "Edit", old: head, new: "", disk: head + many, before: mixed, after: lf, state: review.Changes},
		"Edit of a lone CR":                 {tool: "Edit", old: "c", new: "x", disk: "a\rb\rc\n", state: review.Changes, left: "a\rb\rc\n", right: "a\rb\rx\n"},
	} {
		fields := map[string]string{"content": c.content}
		if c.tool == "Edit" {
			fields = map[string]string{"old_string": c.old, "new_string": c.new}
		}
		input, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		got := review.ReadChange(c.tool, input, review.FileOnDisk{State: "read", Data: []byte(c.disk)})
		if got.EndsBefore != c.before || got.EndsAfter != c.after || got.State != c.state {
			t.Errorf("%s: %s, from %q to %q; want %s, from %q to %q", name, got.State, got.EndsBefore, got.EndsAfter, c.state, c.before, c.after)
		}
		if c.left+c.right != "" && (got.Before != c.left || got.After != c.right) {
			t.Errorf("%s: %q became %q, want %q and %q", name, got.Before, got.After, c.left, c.right)
		}
	}
	if got := review.ReadChange("Write", json.RawMessage(`{"content":"a\r\n"}`), review.FileOnDisk{State: "missing"}); got.EndsAfter != crlf || got.After != "a\n" {
		t.Errorf("a new file: %+v", got)
	}
}

func FuzzChange(f *testing.F) {
	f.Add("Edit", `{"old_string":"a","new_string":"b"}`, []byte("a\r\n“x”"))
	f.Add("MultiEdit", `{"edits":[{"old_string":"","new_string":"b","replace_all":true}]}`, []byte("a"))
	f.Add("NotebookEdit", `{"cell_id":"x"}`, []byte(`{"cells":[{"id":"x","source":[1]}]}`))
	f.Fuzz(func(t *testing.T, tool, input string, data []byte) {
		got := review.ReadChange(tool, json.RawMessage(input), review.FileOnDisk{State: "read", Data: data})
		if got.State == "" {
			t.Errorf("no state: %+v", got)
		}
	})
}
