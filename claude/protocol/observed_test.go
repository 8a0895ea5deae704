package protocol_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/protocol"
)

// TestVersionsPage holds that versions.md is what observed.txt makes it.
func TestVersionsPage(t *testing.T) {
	t.Parallel()
	o, err := protocol.ReadObserved(filepath.Join(docs, "observed.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(docs, "versions.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != protocol.VersionsPage(o) {
		t.Error("versions.md is not up to date; see docs/protocol/README.md")
	}
}

// TestRequestsOfTheClientAreObserved holds that each control request of package claude was made to real
// CLIs.
func TestRequestsOfTheClientAreObserved(t *testing.T) {
	t.Parallel()
	o, err := os.ReadFile(filepath.Join(docs, "observed.txt"))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := map[string]string{
		"mcp_message": "a message of a server in the host: TestRealCLICallsATool",
		"end_session": "it ends the CLI: TestRealCLIByQuery",
	}
	files, err := filepath.Glob(filepath.Join("..", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	made := regexp.MustCompile(`\.(?:Request|report|request|requestFor)\(ctx, "([a-z_]+)"`)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range made.FindAllStringSubmatch(string(text), -1) {
			found++
			if elsewhere[m[1]] == "" && !strings.Contains(string(o), "cli control_response/"+m[1]+" ") {
				t.Errorf("%s of %s is in no conversation", m[1], file)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d requests were found", found)
	}
}

func recording(version string, line string, does ...protocol.Behavior) (*protocol.Recording, []protocol.Line) {
	lines := []protocol.Line{{From: protocol.FromCLI, JSON: json.RawMessage(line)}}
	return &protocol.Recording{Version: version, Lines: lines, Does: does}, lines
}

func TestObserved(t *testing.T) {
	t.Parallel()
	schema := parse(t)
	file := filepath.Join(t.TempDir(), "observed.txt")
	o, err := protocol.ReadObserved(file)
	if err != nil {
		t.Fatal(err)
	}
	older, lines := recording("2.1.9", `{"type":"keep_alive"}`, protocol.Behavior{Situation: "x", Outcome: "a"})
	o.Set("2.1.9", older, schema.Inspect(lines))
	newer, lines := recording("2.1.10", `{"type":"control_cancel_request","request_id":"1"}`, protocol.Behavior{Situation: "x", Outcome: "b"})
	facts := schema.Inspect(lines)
	want := []string{
		"- does: x => a", "+ does: x => b",
		"+ cli control_cancel_request . object", "+ cli control_cancel_request .request_id string", `+ cli control_cancel_request .type = "control_cancel_request"`,
		"- cli keep_alive . object", `- cli keep_alive .type = "keep_alive"`,
	}
	if got := o.Diff("2.1.9", newer, facts); !slices.Equal(got, want) {
		t.Errorf("diff:\n%s", strings.Join(got, "\n"))
	}
	o.Set("2.1.10", newer, facts)
	if err := o.Write(file); err != nil {
		t.Fatal(err)
	}
	again, err := protocol.ReadObserved(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Versions(); !slices.Equal(got, []string{"2.1.9", "2.1.10"}) {
		t.Errorf("versions %q", got)
	}
	if got := again.Diff("2.1.10", newer, facts); len(got) > 0 {
		t.Errorf("read again, it differs: %q", got)
	}
	if table := again.Table(); !strings.Contains(table, "| x | a | b |") || table != o.Table() {
		t.Errorf("table:\n%s", table)
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	r := &protocol.Recording{}
	for _, line := range []string{
		`{"type":"user","uuid":"0b7d9a3e-7c55-4a0e-9a68-0d7d4a9b8a11","duration_ms":12,"at":"2026-05-06T07:08:09.123Z","text":"` + strings.Repeat("ü", 300) + `"}`,
		`{"type":"user","uuid":"0b7d9a3e-7c55-4a0e-9a68-0d7d4a9b8a11","id":"toolu_0123456789","list":[1,2,3,4,5,6]}`,
	} {
		r.Lines = append(r.Lines, protocol.Line{Conversation: "x", From: protocol.FromCLI, JSON: json.RawMessage(line)})
	}
	want := `{"from":"cli","line":{"at":"2026-01-01T00:00:00.000Z","duration_ms":0,"text":"` + strings.Repeat("ü", 200) + `… (300 characters)","type":"user","uuid":"00000000-0000-4000-8000-000000000001"}}` + "\n" +
		`{"from":"cli","line":{"id":"toolu_01","list":[1,2],"type":"user","uuid":"00000000-0000-4000-8000-000000000001"}}` + "\n"
	if got := string(r.Trace("x")); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := r.Trace("y"); len(got) > 0 {
		t.Errorf("another conversation: %s", got)
	}
}
