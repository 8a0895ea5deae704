package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// A person has a .claude.json, a project and a state folder of sayso.
type person struct {
	*harness
	file, project string
}

func newPerson(t *testing.T, file string) *person {
	t.Helper()
	p := &person{harness: newHarness(t, claudetest.Script{})}
	home := filepath.Dir(p.state)
	p.file, p.project = filepath.Join(home, ".claude.json"), filepath.Join(home, "work")
	if file != "" {
		must(t, os.WriteFile(p.file, []byte(strings.ReplaceAll(file, "PROJECT", p.project)), 0o644))
	}
	return p
}

// mcp runs sayso mcp VERB for the project.
func (p *person) mcp(verb string, args ...string) (string, error) {
	cmd := exec.Command(p.program, append([]string{"mcp", verb, "--state-dir", p.state, "--project", p.project}, args...)...)
	cmd.Env = p.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (p *person) must(verb string, args ...string) string {
	p.t.Helper()
	out, err := p.mcp(verb, args...)
	if err != nil {
		p.t.Fatalf("mcp %s: %v: %s", verb, err, out)
	}
	return out
}

func (p *person) text() string {
	p.t.Helper()
	data, err := os.ReadFile(p.file)
	must(p.t, err)
	return string(data)
}

// entry is ours in the file; nil when it is not there.
func (p *person) entry() map[string]any {
	p.t.Helper()
	var file struct {
		Projects map[string]struct {
			MCPServers map[string]map[string]any `json:"mcpServers"`
		} `json:"projects"`
	}
	must(p.t, json.Unmarshal([]byte(p.text()), &file))
	return file.Projects[p.project].MCPServers["sayso"]
}

// connection is what the entry leads to.
func (p *person) connection() (path, url, token string) {
	p.t.Helper()
	args, ok := p.entry()["args"].([]any)
	if !ok || len(args) != 3 || args[0] != "mcp" || args[1] != "--connect" {
		p.t.Fatalf("entry %v", p.entry())
	}
	path = args[2].(string)
	data, err := os.ReadFile(path)
	must(p.t, err)
	var c struct{ URL, Token string }
	must(p.t, json.Unmarshal(data, &c))
	return path, c.URL, c.Token
}

// left are the files of registrations in the state folder.
func (p *person) left() []string {
	p.t.Helper()
	entries, err := os.ReadDir(filepath.Join(p.state, "agents"))
	if os.IsNotExist(err) {
		return nil
	}
	must(p.t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

const claudeJSON = `{
  "numStartups": 12345678901234567890,
  "weird": {"b": 1.0, "a": [1E2]},
  "projects": {
    "/another": {"mcpServers": {"sayso": {"type": "http", "url": "http://localhost:3333/mcp"}}},
    "PROJECT": {
      "allowedTools": [],
      "mcpServers": {
        "sayso": {
          "command": "theirs",
          "n": 1.50
        }
      }
    }
  },
  "last": true
}
`

func TestRegisterAndUnregister(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"over an entry": claudeJSON,
		"beside others": strings.Replace(claudeJSON, `"sayso": {
          "command"`, `"other": {
          "command"`, 1),
		"without servers":   "{\n  \"projects\": {\n    \"PROJECT\": {\n      \"allowedTools\": []\n    }\n  }\n}\n",
		"without a project": "{\n  \"numStartups\": 3\n}\n",
		"on one line":       `{"projects":{"PROJECT":{"mcpServers":{}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t, file)
			before := p.text()
			p.must("register")
			path, url, token := p.connection()
			info, err := os.Stat(path)
			must(t, err)
			if info.Mode().Perm() != 0o600 || url != "http://127.0.0.1:8787/mcp" || token == "" {
				t.Errorf("connection: mode %v, url %s", info.Mode(), url)
			}
			if strings.Contains(p.text(), token) || p.entry()["type"] != "stdio" || p.entry()["command"] != p.program {
				t.Errorf("entry %v", p.entry())
			}
			if info, err := os.Stat(p.file); err != nil || info.Mode().Perm() != 0o644 {
				t.Errorf("mode of the file: %v, %v", info.Mode(), err)
			}
			once := p.text()
			p.must("register")
			if _, _, again := p.connection(); p.text() != once || again != token {
				t.Error("a second time changed something")
			}
			p.must("unregister")
			if got := p.text(); got != before {
				t.Errorf("before\n%s\nafter\n%s", before, got)
			}
			if left := p.left(); len(left) > 0 {
				t.Errorf("%v was left", left)
			}
			if out := p.must("unregister"); !strings.Contains(out, "not registered") || p.text() != before {
				t.Errorf("unregister twice: %s", out)
			}
		})
	}
}

func TestRegisterMakesTheFile(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "")
	if out := p.must("unregister"); !strings.Contains(out, "not registered") {
		t.Errorf("got %s", out)
	}
	if _, err := os.Stat(p.file); !os.IsNotExist(err) {
		t.Error("unregister made a file")
	}
	p.must("register")
	p.connection()
	p.must("unregister")
	if got := p.text(); strings.TrimSpace(got) != "{}" {
		t.Errorf("got %s", got)
	}
}

// A registration that died after any of its steps loses nothing of what was there
// first, and the next one or unregister ends well.
func TestRegisterAfterACrash(t *testing.T) {
	t.Parallel()
	p := newPerson(t, claudeJSON)
	before := p.text()
	p.must("register")
	after := p.text()
	connect, _, _ := p.connection()
	note := strings.TrimSuffix(connect, ".json") + ".found"
	kept, err := os.ReadFile(note)
	must(t, err)
	token, err := os.ReadFile(connect)
	must(t, err)
	// crashed brings about what a registration leaves that dies after a step: the
	// connection file, the note, the entry.
	for name, crashed := range map[string]func(){
		"before all":           func() { must(t, os.Remove(connect)); must(t, os.Remove(note)) },
		"after the connection": func() { must(t, os.Remove(note)) },
		"after the note":       func() {},
		"half a connection":    func() { must(t, os.WriteFile(connect, []byte(`{"url":`), 0o600)) },
	} {
		for verb, want := range map[string]string{"register": after, "unregister": before} {
			must(t, os.WriteFile(connect, token, 0o600))
			must(t, os.WriteFile(note, kept, 0o600))
			must(t, os.WriteFile(p.file, []byte(before), 0o644))
			crashed()
			p.must(verb)
			if got := p.text(); got != want {
				t.Errorf("%s, then %s: got\n%s", name, verb, got)
			}
			if verb == "register" {
				p.must("unregister")
				if got := p.text(); got != before {
					t.Errorf("%s, then all again: got\n%s", name, got)
				}
			}
		}
	}
}

// What a person put in the place of our entry is theirs.
func TestUnregisterLeavesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	p := newPerson(t, claudeJSON)
	p.must("register")
	theirs := strings.Replace(claudeJSON, "theirs", "newer", 1)
	theirs = strings.ReplaceAll(theirs, "PROJECT", p.project)
	must(t, os.WriteFile(p.file, []byte(theirs), 0o644))
	p.must("unregister")
	if p.text() != theirs {
		t.Errorf("got\n%s", p.text())
	}
	// And a registration over it puts back that one.
	p.must("register")
	p.must("unregister")
	if p.text() != theirs {
		t.Errorf("got\n%s", p.text())
	}
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{\"a\": 1,}", "[]", "", `{"projects":[]}`} {
		p := newPerson(t, "{}")
		must(t, os.WriteFile(p.file, []byte(text), 0o600))
		out, err := p.mcp("register")
		if err == nil || !strings.Contains(out, p.file) || !strings.Contains(out, "left as it is") || p.text() != text {
			t.Errorf("%q: %v: %s", text, err, out)
		}
	}
	p := newPerson(t, "{}")
	for _, args := range [][]string{{"--name", "a b"}, {"--project", "/no/such/folder"}, {"stray"}} {
		if out, err := p.mcp("register", args...); err == nil || p.text() != "{}" {
			t.Errorf("%v: %s", args, out)
		}
	}
}

// as is the same server for whoever has this token.
func (s *server) as(token string) *server {
	other := *s
	other.Token = token
	return &other
}

// The token can ask and nothing else, is good while it is registered, and the
// connection follows the server to another address.
func TestTheRegisteredTokenAsks(t *testing.T) {
	t.Parallel()
	p := newPerson(t, claudeJSON)
	p.must("register")
	s := p.start()
	_, url, token := p.connection()
	if want := s.URL + "/mcp"; url != want {
		t.Errorf("after the start of the server: got %s, want %s", url, want)
	}
	if code := s.as(token).status("GET", "/api/pending", nil, nil); code != 401 {
		t.Errorf("the token reads: %d", code)
	}
	if code := s.as(token).status("POST", "/mcp", map[string]any{}, nil); code == 401 {
		t.Error("the token cannot ask")
	}
	if code := s.status("POST", "/mcp", map[string]any{}, nil); code != 401 {
		t.Errorf("a person asks: %d", code)
	}
	p.must("unregister")
	if code := s.as(token).status("POST", "/mcp", map[string]any{}, nil); code != 401 {
		t.Errorf("after unregister: %d", code)
	}
}
