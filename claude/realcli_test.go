package claude_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/scriptedmodel"
)

// realCLI is the path of the real CLI, older or newer of the two that we support.
func realCLI(t *testing.T, variable, version string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		path = filepath.Join("..", ".tools", "claude-"+version, "node_modules", ".bin", "claude")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("Claude CLI %s is missing; run make setup: %v", version, err)
	}
	return path
}

// bothCLIVersions maps the variable with the path of a CLI to its version.
var bothCLIVersions = map[string]string{"SAYSO_TEST_CLAUDE_OLD": "2.1.197", "SAYSO_TEST_CLAUDE_NEW": "2.1.329"}

// cliVersions returns the part of bothCLIVersions that a test runs with: the newer, and
// the older too in `make test-all`.
func cliVersions() map[string]string {
	if os.Getenv("SAYSO_TEST_ALL") != "" {
		return bothCLIVersions
	}
	return map[string]string{"SAYSO_TEST_CLAUDE_NEW": bothCLIVersions["SAYSO_TEST_CLAUDE_NEW"]}
}

// realPatience bounds what the real CLI may take on a busy machine.
const realPatience = 60 * time.Second

// realSession is a real CLI with a client that runs, on a scripted model.
type realSession struct {
	t       *testing.T
	dir     string
	client  *claude.Client
	process *claude.Process
	run     chan error
	asked   chan *realAsk
	results chan string // the text of each result, or its subtype
}

// realAsk is a request whose callback waits for decide.
type realAsk struct {
	claude.ToolRequest
	decide chan claude.ToolDecision
	ended  chan error // cause of the context, when it ended first
	sent   chan error // fate of the answer
}

func startReal(t *testing.T, path string, change ...func(*claude.Options)) *realSession {
	t.Helper()
	server := scriptedmodel.Start(t, scriptedmodel.Options{})
	s := &realSession{t: t, dir: t.TempDir(), run: make(chan error, 1), asked: make(chan *realAsk, 10), results: make(chan string, 10)}
	options := claude.Options{
		Path: path, Dir: s.dir, SessionID: someUUID, IncludePartialMessages: true, SettingSources: []string{},
		CanUseTool: s.ask,
		OnMessage: func(m claude.Message) {
			if r, ok := m.(*claude.Result); ok {
				s.results <- r.Text + "|" + r.Subtype
			}
		},
		OnUnreadable:    func(line []byte, err error) { t.Errorf("unreadable: %v: %s", err, line) },
		OnCallbackError: func(_, _ string, err error) { t.Errorf("callback: %v", err) },
	}
	for _, f := range change {
		f(&options)
	}
	command, err := options.Command(claude.Environ([]string{"PATH=" + os.Getenv("PATH")}, s.dir, map[string]string{
		"HOME": t.TempDir(), "TMPDIR": t.TempDir(), "ANTHROPIC_BASE_URL": server.URL(), "ANTHROPIC_API_KEY": "sk-ant-made-up",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
	}))
	if err != nil {
		t.Fatal(err)
	}
	s.process = start(t, command)
	s.client = claude.NewClient(s.process, options)
	go func() { s.run <- s.client.Run(context.Background()) }()
	t.Cleanup(func() {
		s.process.Close()
		<-s.run
	})
	return s
}

func (s *realSession) ask(ctx context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
	a := &realAsk{r, make(chan claude.ToolDecision, 1), make(chan error, 1), make(chan error, 1)}
	s.asked <- a
	select {
	case d := <-a.decide:
		d.Sent = func(err error) { a.sent <- err }
		return d, nil
	case <-ctx.Done():
		a.ended <- context.Cause(ctx)
		return claude.ToolDecision{}, context.Cause(ctx)
	}
}

// says sends a message whose script the model follows.
func (s *realSession) says(script string) {
	s.t.Helper()
	if err := s.client.SendUser(s.t.Context(), claude.UserMessage{Text: "```script\n" + script + "\n```"}); err != nil {
		s.t.Fatal(err)
	}
}

func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(realPatience):
		t.Fatalf("%s never came", what)
		panic("not reached")
	}
}

// next waits for n requests.
func (s *realSession) next(n int) []*realAsk {
	s.t.Helper()
	var all []*realAsk
	for range n {
		all = append(all, receive(s.t, "a request", s.asked))
	}
	return all
}

func (s *realSession) result(want string) {
	s.t.Helper()
	if got := receive(s.t, "the result", s.results); !strings.Contains(got, want) {
		s.t.Errorf("result: got %q, want %q", got, want)
	}
}

func (s *realSession) initialize() *claude.InitializeResponse {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), realPatience)
	defer cancel()
	r, err := s.client.Initialize(ctx, claude.InitializeRequest{})
	if err != nil {
		s.t.Fatalf("Initialize: %v\n%s", err, s.process.Stderr())
	}
	return r
}

func (s *realSession) exists(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

type attachedFile struct {
	name, media, heading, title string
	data                        []byte
}

// attachments are files of every kind that Claude takes.
func attachments(t *testing.T) []attachedFile {
	t.Helper()
	dots := image.NewNRGBA(image.Rect(0, 0, 8, 8))
	for i := range dots.Pix {
		dots.Pix[i] = byte(i * 7)
	}
	var asPNG, asJPEG, asGIF bytes.Buffer
	for _, err := range []error{png.Encode(&asPNG, dots), jpeg.Encode(&asJPEG, dots, nil), gif.Encode(&asGIF, dots, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	paper := "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
		"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
	return []attachedFile{
		{"a.png", "image/png", "image image/png", "", asPNG.Bytes()},
		{"b.jpg", "image/jpeg", "image image/jpeg", "", asJPEG.Bytes()},
		{"c.gif", "image/gif", "image image/gif", "", asGIF.Bytes()},
		{"paper.pdf", "application/pdf", "document application/pdf", "paper.pdf", []byte(paper)},
		{"notes.txt", "text/plain", "document text/plain", "notes.txt", []byte("Notes: ünï.\n")},
	}
}

// The contract with the real CLI, always both versions: one process goes through all
// of it, because starting one is what takes long.
func TestRealCLI(t *testing.T) {
	t.Parallel()
	for variable, version := range bothCLIVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := startReal(t, realCLI(t, variable, version))
			if r := s.initialize(); len(r.Models) == 0 || len(r.PendingPermissionRequests) != 0 {
				t.Errorf("initialize: got %d models, %d pending", len(r.Models), len(r.PendingPermissionRequests))
			}

			t.Log("approve")
			s.says(`[[{"tool":"Bash","input":{"command":"touch approved"}}],[{"text":"done"}]]`)
			a := s.next(1)[0]
			if a.ToolName != "Bash" || a.ToolUseID == "" || !strings.Contains(string(a.Input), "touch approved") {
				t.Errorf("got %s", a.Raw)
			}
			a.decide <- claude.ToolDecision{Allow: true}
			s.result("done")
			if err := receive(t, "the fate", a.sent); err != nil || !s.exists("approved") {
				t.Errorf("approved: sent %v, exists %v", err, s.exists("approved"))
			}

			t.Log("deny")
			s.says(`[[{"tool":"Bash","input":{"command":"touch denied"}}],[{"text":"{{last_tool_result}}"}]]`)
			s.next(1)[0].decide <- claude.ToolDecision{Message: "not on a Friday"}
			s.result("not on a Friday")
			if s.exists("denied") {
				t.Error("a denied command ran")
			}

			t.Log("edited input")
			s.says(`[[{"tool":"Bash","input":{"command":"touch original"}}],[{"text":"done"}]]`)
			s.next(1)[0].decide <- claude.ToolDecision{Allow: true, UpdatedInput: json.RawMessage("{\n\"command\": \"touch edited\"\n}")}
			s.result("done")
			if !s.exists("edited") || s.exists("original") {
				t.Errorf("edited %v, original %v", s.exists("edited"), s.exists("original"))
			}

			t.Log("three at once, initialized again, answered last to first")
			s.says(`[[{"tool":"WebFetch","input":{"url":"https://a.example/","prompt":"p"}},
				{"tool":"WebFetch","input":{"url":"https://b.example/","prompt":"p"}},
				{"tool":"WebFetch","input":{"url":"https://c.example/","prompt":"p"}}],[{"text":"{{tool_results}}"}]]`)
			open := s.next(3)
			slices.SortFunc(open, func(a, b *realAsk) int { return strings.Compare(string(a.Input), string(b.Input)) })
			pending := map[string]bool{}
			for _, r := range s.initialize().PendingPermissionRequests {
				pending[r.RequestID] = true
			}
			for i, name := range []string{"c", "b", "a"} {
				a := open[2-i]
				if !pending[a.RequestID] {
					t.Errorf("%s is not listed as pending: %v", a.RequestID, pending)
				}
				a.decide <- claude.ToolDecision{Message: "no " + name}
				if err := receive(t, "the fate", a.sent); err != nil {
					t.Errorf("answer %s: %v", name, err)
				}
			}
			// The model hears all three, in an order that is the CLI's own.
			heard := receive(t, "the result", s.results)
			for _, want := range []string{"no a", "no b", "no c"} {
				if strings.Count(heard, want) != 1 {
					t.Errorf("the model heard %q, want %q once", heard, want)
				}
			}
			if len(s.asked) != 0 || len(pending) != 3 {
				t.Errorf("initialize again: %d pending, %d asked twice", len(pending), len(s.asked))
			}

			t.Log("interrupt with two open")
			s.says(`[[{"tool":"WebFetch","input":{"url":"https://a.example/","prompt":"p"}},
				{"tool":"WebFetch","input":{"url":"https://b.example/","prompt":"p"}}],[{"text":"never"}]]`)
			open = s.next(2)
			ctx, cancel := context.WithTimeout(t.Context(), realPatience)
			defer cancel()
			if err := s.client.Interrupt(ctx); err != nil {
				t.Errorf("Interrupt: %v", err)
			}
			for _, a := range open {
				if err := receive(t, "the withdrawal", a.ended); !errors.Is(err, claude.ErrWithdrawn) {
					t.Errorf("got %v, want ErrWithdrawn", err)
				}
			}
			s.result("error_during_execution")

			t.Log("a deny that ends the turn, then another turn")
			s.says(`[[{"tool":"Bash","input":{"command":"touch never"}}],[{"text":"never"}]]`)
			s.next(1)[0].decide <- claude.ToolDecision{Message: "stop", Interrupt: true}
			receive(t, "the result", s.results)
			if err := s.client.SetPermissionMode(ctx, "acceptEdits"); err != nil {
				t.Errorf("SetPermissionMode: %v", err)
			}
			if err := s.client.SetModel(ctx, "opus"); err != nil {
				t.Errorf("SetModel: %v", err)
			}
			s.says(`[[{"text":"still here"}]]`)
			s.result("still here")

			t.Log("attachments reach the model as blocks, byte for byte")
			var want []string
			said := claude.UserMessage{Text: "Look.\n\n```script\n" + `{"replies":[[{"text":"{{attached}}"}]]}` + "\n```"}
			for _, a := range attachments(t) {
				said.Blocks = append(said.Blocks, claude.AttachmentBlock(a.name, a.media, a.data))
				sum := sha256.Sum256(a.data)
				want = append(want, strings.TrimSpace(fmt.Sprintf("%s %d %x %s", a.heading, len(a.data), sum[:4], a.title)))
			}
			if err := s.client.SendUser(ctx, said); err != nil {
				t.Fatal(err)
			}
			s.result(strings.Join(want, "; "))

			t.Log("end")
			if err := s.process.CloseInput(); err != nil {
				t.Error(err)
			}
			if err := receive(t, "the end", s.run); err != nil {
				t.Errorf("Run: %v", err)
			}
			s.run <- nil
			_ = s.process.Wait()
			if err := s.process.ExitError(); err != nil {
				t.Errorf("exit: %v\n%s", err, s.process.Stderr())
			}
		})
	}
}

// TestRealCLITellsOnlyWhatWasProposed: of an edited approval both versions run the
// edited input, and tell of nothing but the proposed one. Whoever shows a call must
// know by themselves what ran.
func TestRealCLITellsOnlyWhatWasProposed(t *testing.T) {
	t.Parallel()
	for variable, version := range cliVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			calls, results := make(chan string, 10), make(chan string, 10)
			s := startReal(t, realCLI(t, variable, version), func(o *claude.Options) {
				was := o.OnMessage
				o.OnMessage = func(m claude.Message) {
					switch m := m.(type) {
					case *claude.Assistant:
						for _, b := range m.Content {
							if b.Type == "tool_use" {
								calls <- string(b.Input)
							}
						}
					case *claude.User:
						results <- string(m.Raw)
					}
					was(m)
				}
			})
			s.initialize()
			s.says(`[[{"tool":"Bash","input":{"command":"touch proposed"}}],[{"text":"done"}]]`)
			s.next(1)[0].decide <- claude.ToolDecision{Allow: true, UpdatedInput: json.RawMessage(`{"command":"touch ran"}`)}
			s.result("done")
			if !s.exists("ran") || s.exists("proposed") {
				t.Errorf("ran %v, proposed %v", s.exists("ran"), s.exists("proposed"))
			}
			if call := receive(t, "the call", calls); !strings.Contains(call, "touch proposed") || len(calls) > 0 {
				t.Errorf("the call is told as %s, and %d more", call, len(calls))
			}
			if result := receive(t, "the result", results); strings.Contains(result, "touch ran") {
				t.Errorf("the result tells what ran: %s", result)
			}
		})
	}
}
