package sayso_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// readYAML decodes a file into out. It fails for a field that out does not have.
func readYAML(t *testing.T, file string, out any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(read(t, file)))
	d.KnownFields(true)
	if err := d.Decode(out); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

// workflow holds the fields of a GitHub workflow that the tests check.
type workflow struct {
	Name        string            `yaml:"name"`
	On          map[string]any    `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Concurrency map[string]string `yaml:"concurrency"`
	Defaults    any               `yaml:"defaults"`
	Jobs        map[string]struct {
		RunsOn    string `yaml:"runs-on"`
		Timeout   int    `yaml:"timeout-minutes"`
		Container any    `yaml:"container"`
		Steps     []struct {
			Uses string         `yaml:"uses"`
			Run  string         `yaml:"run"`
			If   string         `yaml:"if"`
			With map[string]any `yaml:"with"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

// TestWorkflows fails when a workflow has a mistake, calls a target of make that does not exist, or
// may write to the repository, and when no workflow runs a command that CONTRIBUTING.md asks for.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	targets := map[string]bool{}
	for _, match := range makefileRule.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[match[1]] = true
	}
	action := regexp.MustCompile(`^actions/[a-z-]+@v\d+$`)
	ran := map[string]string{}
	for _, file := range files {
		var w workflow
		readYAML(t, file, &w)
		if w.Name == "" || len(w.On) == 0 || len(w.Jobs) == 0 {
			t.Errorf("%s lacks a name, an event or a job", file)
		}
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s has the permissions %v, want only contents: read", file, w.Permissions)
		}
		for name, job := range w.Jobs {
			if job.RunsOn == "" || job.Timeout == 0 {
				t.Errorf("%s: job %s lacks runs-on or timeout-minutes", file, name)
			}
			for i, step := range job.Steps {
				if (step.Uses == "") == (step.Run == "") || step.Uses != "" && !action.MatchString(step.Uses) {
					t.Errorf("%s: step %d of %s uses %q and runs %q", file, i+1, name, step.Uses, step.Run)
				}
				if words := strings.Fields(step.Run); len(words) > 1 && words[0] == "make" {
					if !targets[words[1]] {
						t.Errorf("%s: make %s does not exist", file, words[1])
					}
					ran["make "+words[1]] = filepath.Base(file)
				}
			}
		}
	}
	for command, in := range map[string]string{"make check": "ci.yml", "make test": "ci.yml", "make release": "ci.yml", "make test-all": "nightly.yml", "make test-release": "nightly.yml"} {
		if ran[command] != in {
			t.Errorf("%s runs in %q, want %s", command, ran[command], in)
		}
	}
}

// actionlint checks workflows as GitHub reads them: expressions, contexts, inputs of actions, shells.
const actionlint = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"

// TestWorkflowsLint runs actionlint, which is not a dependency of this module.
func TestWorkflowsLint(t *testing.T) {
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		t.Skip("run by make test-all")
	}
	t.Parallel()
	if out, err := exec.Command("go", "run", actionlint, "-no-color").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	wrong := filepath.Join(t.TempDir(), "wrong.yml")
	if err := os.WriteFile(wrong, []byte("on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ github.nothing }}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "run", actionlint, "-no-color", wrong).CombinedOutput(); err == nil || !strings.Contains(string(out), "nothing") {
		t.Errorf("it does not find a mistake: %v\n%s", err, out)
	}
}

// form is a GitHub issue form.
type form struct {
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"`
	Labels      []string `yaml:"labels"`
	Body        []struct {
		Type       string `yaml:"type"`
		ID         string `yaml:"id"`
		Attributes struct {
			Label       string   `yaml:"label"`
			Value       string   `yaml:"value"`
			Description string   `yaml:"description"`
			Placeholder string   `yaml:"placeholder"`
			Render      string   `yaml:"render"`
			Options     []string `yaml:"options"`
		} `yaml:"attributes"`
		Validations struct {
			Required bool `yaml:"required"`
		} `yaml:"validations"`
	} `yaml:"body"`
}

var validID = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// TestIssueForms fails for a form that GitHub would not show.
func TestIssueForms(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(".github/ISSUE_TEMPLATE/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	for _, file := range files {
		if filepath.Base(file) == "config.yml" {
			var config struct {
				Blank bool `yaml:"blank_issues_enabled"`
				Links []struct {
					Name  string `yaml:"name"`
					URL   string `yaml:"url"`
					About string `yaml:"about"`
				} `yaml:"contact_links"`
			}
			readYAML(t, file, &config)
			for _, link := range config.Links {
				if link.Name == "" || link.About == "" || !strings.HasPrefix(link.URL, "https://"+module+"/") {
					t.Errorf("%s: %+v is not a link to this repository", file, link)
				}
			}
			continue
		}
		var f form
		readYAML(t, file, &f)
		if f.Name == "" || f.Description == "" {
			t.Errorf("%s lacks a name or description", file)
		}
		var ids, labels []string
		inputs := 0
		for i, field := range f.Body {
			a := field.Attributes
			if field.Type == "markdown" {
				if a.Value == "" || field.ID != "" {
					t.Errorf("%s: text %d has no value, or an id", file, i+1)
				}
				continue
			}
			inputs++
			switch {
			case !slices.Contains([]string{"textarea", "input", "dropdown"}, field.Type):
				t.Errorf("%s: type %q is not one of a form", file, field.Type)
			case a.Label == "" || slices.Contains(labels, a.Label) || field.ID == "" || slices.Contains(ids, field.ID):
				t.Errorf("%s: field %d needs a label and an id that no other has", file, i+1)
			case !validID.MatchString(field.ID):
				t.Errorf("%s: the id %q has other characters than letters, digits, - and _", file, field.ID)
			case (field.Type == "dropdown") != (len(a.Options) > 0):
				t.Errorf("%s: %s has %d options", file, field.ID, len(a.Options))
			}
			for i, option := range a.Options { // GitHub adds "None" itself
				if strings.EqualFold(option, "none") || slices.Contains(a.Options[:i], option) {
					t.Errorf("%s: %s has the option %q, which is reserved or there twice", file, field.ID, option)
				}
			}
			ids, labels = append(ids, field.ID), append(labels, a.Label)
		}
		if inputs == 0 {
			t.Errorf("%s asks for nothing", file)
		}
	}
}

// TestDevcontainer fails when the development container has another version of Go than go.mod, or
// does not prepare the tests.
func TestDevcontainer(t *testing.T) {
	t.Parallel()
	var container struct {
		Image         string `json:"image"`
		PostCreate    string `json:"postCreateCommand"`
		ForwardPorts  []int  `json:"forwardPorts"`
		PortAttribute map[string]struct {
			Label string `json:"label"`
		} `json:"portsAttributes"`
		Features map[string]map[string]string `json:"features"`
	}
	if err := json.Unmarshal([]byte(read(t, ".devcontainer/devcontainer.json")), &container); err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))[1]
	image := "golang:" + version + "-trixie"
	if container.Image != image || !strings.Contains(container.PostCreate, "make setup") || len(container.Features) != 1 || !slices.Equal(container.ForwardPorts, []int{8787}) {
		t.Errorf("the container is %+v, want the image %s with Node.js and make setup", container, image)
	}
	for _, file := range []string{".github/workflows/ci.yml", ".github/workflows/nightly.yml"} {
		for _, used := range regexp.MustCompile(`golang:\S+`).FindAllString(read(t, file), -1) {
			if used != image {
				t.Errorf("%s has the image %s, want %s", file, used, image)
			}
		}
	}
}

// TestChangelogProposals creates a repository and checks the lines that scripts/changelog proposes
// for it.
func TestChangelogProposals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, err := filepath.Abs("scripts/changelog")
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, out)
		}
		return string(out)
	}
	commit := func(subject string, files ...string) {
		t.Helper()
		for _, file := range files {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(subject), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run("git", "add", ".")
		run("git", "commit", "-q", "-m", subject)
	}
	run("git", "init", "-q")
	commit("alert: before the release", "internal/alert/a.go")
	run("git", "tag", "v1.0.0")
	commit("alert: send less often", "internal/alert/a.go", "internal/alert/a_test.go")
	commit("alert: try it", "internal/alert/a_test.go")
	commit("docs: explain it", "docs/using/a.md", "README.md")
	commit("pending: say who", "pending/a.go", "CHANGELOG.md")
	commit("session, e2e: show whole", "frontend/src/session/a.vue", "e2e/tests/a.spec.ts")
	got := regexp.MustCompile(`\([0-9a-f]+\)`).ReplaceAllString(run(script), "(id)")
	const want = "### alert\n- Send less often. (id)\n\n### session, e2e\n- Show whole. (id)\n"
	if got != want {
		t.Errorf("it proposes\n%s\nwant\n%s", got, want)
	}
}
