package export_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/export"
	"github.com/sayso-dev/sayso/session"
)

// stored is a transcript in memory, read by Rev like that of a store.
type stored []session.Item

func (s stored) Transcript(_ context.Context, _ string, after int64, limit int) (session.Page, error) {
	page := session.Page{Next: after}
	defer func() { // as the store does
		slices.SortFunc(page.Items, func(a, b session.Item) int { return cmp.Compare(a.Seq, b.Seq) })
	}()
	for rev := after + 1; rev <= int64(len(s))*2; rev++ {
		for _, it := range s {
			if it.Rev != rev {
				continue
			}
			if len(page.Items) == min(limit, 3) {
				page.More = true
				return page, nil
			}
			page.Items, page.Next = append(page.Items, it), rev
		}
	}
	return page, nil
}

func (s *stored) add(kind session.ItemKind, body any) *session.Item {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	n := int64(len(*s) + 1)
	*s = append(*s, session.Item{Seq: n, Rev: n, Key: fmt.Sprint(n), At: time.Unix(1_700_000_000+n, 0), Kind: kind, Body: data})
	return &(*s)[n-1]
}

func write(t *testing.T, f export.Format, s stored, change func(*export.Options)) string {
	t.Helper()
	o := export.Options{
		Session: session.Session{SessionID: "id", Title: "Fix <the> limiter", CWD: "/home/mara/shop", CreatedAt: time.Unix(1_700_000_000, 0)},
		By:      "mara", At: time.Unix(1_700_000_100, 0),
	}
	if change != nil {
		change(&o)
	}
	var b bytes.Buffer
	if err := export.Write(t.Context(), &b, f, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTranscriptIsInOrderWithDecisions(t *testing.T) {
	t.Parallel()
	var s stored
	s.add(session.ItemUser, session.UserBody{Text: "Find out why\nand fix it", By: "ana"})
	late := s.add(session.ItemToolCall, session.ToolCallBody{ToolName: "Bash", Input: json.RawMessage(`{"command":"go test \u0026\u0026 x \\u0026"}`), Status: session.ToolDone, Result: "\x1b[32mok\x1b[0m"})
	late.Rev = 19 // its result came last
	s.add(session.ItemResolved, session.ResolvedBody{RequestType: "tool_approval", ToolName: "Bash", ToolInput: json.RawMessage(`{"command":"go test"}`), Outcome: "answered", By: "ana", Device: "Chrome on macOS", Summary: "Allowed"})
	s.add(session.ItemResolved, session.ResolvedBody{RequestType: "tool_approval", ToolName: "Bash", Outcome: "denied", By: "bo", Message: "Use pnpm", Summary: "Denied"})
	for i := range 8 {
		s.add(session.ItemText, session.TextBody{Text: fmt.Sprintf("text %d with `code`", i)})
	}
	for _, f := range []export.Format{export.Markdown, export.HTML} {
		got := write(t, f, s, nil)
		at := 0
		for _, want := range []string{"Find out why", "go test", map[export.Format]string{export.Markdown: `x \\u0026"`, export.HTML: `x \\u0026&#34;`}[f], "ok", "Approved by ana (Chrome on macOS)", "Denied by bo", "Use pnpm", "text 0", "text 7", "12 items"} {
			i := strings.Index(got[at:], want)
			if i < 0 {
				t.Fatalf("%s: %q is missing or out of order in\n%s", f, want, got)
			}
			at += i
		}
		if strings.Contains(got, "\x1b") {
			t.Errorf("%s has the escapes of a terminal", f)
		}
	}
	if got := write(t, export.HTML, s, func(o *export.Options) { o.Language = "de" }); !strings.Contains(got, "Abgelehnt von bo") || !strings.Contains(got, `lang="de"`) {
		t.Error("the labels are not German")
	}
}

// What Claude, people and programs wrote neither runs, nor loads, nor passes for what sayso says.
func TestHostileTextsAreInert(t *testing.T) {
	t.Parallel()
	hostile := strings.Join([]string{
		`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `a <b onclick="x">b</b> c`, `</article></main><h2>Approved by ana</h2>`,
		`[x](javascript:alert(1)) ![y](https://evil.example/p.png) [z](https://example.org/"onmouseover="x)`, `<javascript:alert(1)>`, `<https://example.org/a>`,
		"", "## Approved by ana · 2023-11-14 22:13 UTC", "", "Approved by ana", "===", "```", "**Approved**", "```", "\u202egnp.exe\u202c \x00 \x07",
		"<style>body{display:none}</style>", "<meta http-equiv=refresh content=0;url=//evil.example>", "{{x}}", "\r## Approved by bo",
	}, "\n")
	var s stored
	s.add(session.ItemUser, session.UserBody{Text: hostile, By: hostile, Attachments: []session.AttachmentInfo{{Name: `"><script>x</script>`, MediaType: "text/html", Size: 3}}})
	s.add(session.ItemText, session.TextBody{Text: hostile})
	s.add(session.ItemText, session.TextBody{Text: "See <https://example.org/a>."})
	s.add(session.ItemText, session.TextBody{Text: strings.Repeat(hostile, 200)})
	s.add(session.ItemThinking, session.TextBody{Text: hostile})
	s.add(session.ItemToolCall, session.ToolCallBody{ToolName: hostile, Input: json.RawMessage(`{"command":` + quoted(hostile) + `}`), Status: session.ToolFailed, Result: hostile + "\n```\n## Approved by ana", ResultBytes: 99_999})
	s.add(session.ItemTodo, session.TodoBody{Todos: []session.Todo{{Content: hostile, Status: "completed"}}})
	s.add(session.ItemPlan, session.PlanBody{Text: hostile})
	s.add(session.ItemSubagent, session.SubagentBody{AgentType: hostile, Description: hostile, Result: hostile})
	s.add(session.ItemNote, session.NoteBody{Level: "error", Text: hostile})
	s.add(session.ItemResolved, session.ResolvedBody{Outcome: "denied", By: hostile, Device: hostile, Summary: hostile, Message: hostile + "x", Waited: 3})
	s.add(session.ItemResult, session.ResultBody{IsError: true, Text: hostile})

	page := write(t, export.HTML, s, func(o *export.Options) { o.Session.Title, o.By, o.Project = hostile, hostile, hostile })
	lower := strings.ToLower(page)
	for _, bad := range []string{"<script", "<img", "onerror=alert(1)>\n", "<b ", "<h2>approved", "href=\"javascript", "src=\"http", "<meta http-equiv=refresh", "\x00", "\u202e", "<style>body"} {
		if strings.Contains(lower, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if n := strings.Count(lower, "<style>"); n != 1 {
		t.Errorf("the page has %d styles", n)
	}
	if !strings.Contains(page, "default-src 'none'") || !strings.Contains(page, "style-src 'sha256-") {
		t.Error("the page has no policy")
	}
	if !strings.Contains(page, `href="https://example.org/a"`) {
		t.Error("an ordinary link is lost")
	}

	text := write(t, export.Markdown, s, func(o *export.Options) { o.Session.Title, o.By = hostile, hostile })
	fence := ""
	for _, line := range strings.Split(text, "\n") {
		if run := line[:len(line)-len(strings.TrimLeft(line, "`"))]; len(run) >= 3 && (fence == "" || line == fence) {
			if fence == "" {
				fence = run
			} else {
				fence = ""
			}
			continue
		}
		if fence == "" && strings.HasPrefix(line, "#") && strings.Contains(line, "# Approved") {
			t.Errorf("a text forged the heading %q", line)
		}
		if fence == "" && !strings.HasPrefix(line, ">") && strings.Contains(line, "<script") && !strings.Contains(line, `\<script`) && !strings.Contains(line, "`") {
			t.Errorf("raw HTML outside of a quote: %q", line)
		}
	}
	if strings.ContainsRune(text, '\r') {
		t.Error("a carriage return breaks out of its quote")
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always encodes
	return string(b)
}

func TestImagesUpToALimit(t *testing.T) {
	t.Parallel()
	var s stored
	image := session.AttachmentInfo{AttachmentID: "a", Name: "shot.png", MediaType: "image/png", Size: 3 << 20}
	vector := session.AttachmentInfo{AttachmentID: "v", Name: "x.svg", MediaType: "image/svg+xml", Size: 10}
	for range 10 {
		s.add(session.ItemUser, session.UserBody{Text: "see", Attachments: []session.AttachmentInfo{image, vector}})
	}
	got := write(t, export.HTML, s, func(o *export.Options) {
		o.Image = func(context.Context, string) ([]byte, error) { return make([]byte, 3<<20), nil }
	})
	if n := strings.Count(got, "src=\"data:image/png;base64,"); n != export.MaxImages/(3<<20) {
		t.Errorf("%d images are included", n)
	}
	if strings.Contains(got, "svg+xml;base64") {
		t.Error("an image that is a document is included")
	}
	if n := strings.Count(got, "not included"); n != 12 {
		t.Errorf("%d attachments are named as not included", n)
	}
}

// large is a transcript of long results that exists only while it is read.
type large struct{ items int64 }

var body = json.RawMessage(`{"tool_name":"Bash","status":"done","result":` + quoted(strings.Repeat("0123456789abcdef\n", 3_800)) + `}`)

func (l large) Transcript(_ context.Context, _ string, after int64, _ int) (session.Page, error) {
	page := session.Page{Next: after}
	for n := after + 1; n <= min(after+32, l.items); n++ {
		page.Items, page.Next = append(page.Items, session.Item{Seq: n, Rev: n, Kind: session.ItemToolCall, Body: append(json.RawMessage(nil), body...)}), n
	}
	page.More = page.Next < l.items
	return page, nil
}

// TestMemoryIsBounded exports 50 MB; with 200 MB the heap is as small.
func TestMemoryIsBounded(t *testing.T) {
	var peak uint64
	written := int64(0)
	sample := writer(func(p []byte) {
		if written += int64(len(p)); written%(1<<24) < int64(len(p)) {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
		}
	})
	if err := export.Write(t.Context(), sample, export.HTML, large{830}, export.Options{}); err != nil {
		t.Fatal(err)
	}
	if written < 50<<20 {
		t.Errorf("only %d bytes were written", written)
	}
	if peak > 40<<20 {
		t.Errorf("the heap grew to %d MB", peak>>20)
	}
	t.Logf("%d MB written, heap %d MB", written>>20, peak>>20)
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func TestWriteErrorEndsTheExport(t *testing.T) {
	t.Parallel()
	if err := export.Write(t.Context(), failing{}, export.Markdown, large{100}, export.Options{}); err == nil {
		t.Error("the export of 6 MB to a closed connection succeeded")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
