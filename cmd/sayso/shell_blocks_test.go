package main_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"mvdan.cc/sh/v3/syntax"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// A shellBlock says what the tests do with a shell block of a document: TestDocumentedShellBlocks runs it,
// another test does, or it cannot run here.
type shellBlock struct {
	page, begins string // below the root of the repository, and how its text begins

	in      place             // where it runs
	folder  string            // of the clone
	only    []string          // it runs the lines that begin so; why says why not the others
	replace []string          // what the page has, what the test has instead, and so on
	files   map[string]string // that are in the home folder before
	until   string            // what it prints, after which it is interrupted; "" for a block that ends
	night   bool

	test string // the test that runs it instead
	why  string // nothing runs it
}

// place is where a block runs. Its home folder is one of the test, and PATH has sayso and Claude Code.
type place int

const (
	inEmptyHome  place = iota
	besideServer       // in the home folder of somebody whose server runs
	inCheckout         // at the root of this repository, which it does not change
	inClone            // in a clone of this repository, with the environment of whoever runs the tests
)

// listening is what a server prints once it can be reached.
const listening = "sayso is running at "

// shellBlocks has all shell blocks of the documents. Values in braces are those of this run.
var shellBlocks = []shellBlock{
	{page: "README.md", begins: "make demo", test: "TestReleaseIsReproducible"},
	{page: "CONTRIBUTING.md", begins: "SAYSO_TEST_EXECUTIONS=6000", in: inClone, night: true, replace: []string{"=6000", "=20"}},
	{page: "SECURITY.md", begins: "ssh-keygen", test: "TestReleaseCanBeVerified"},
	{page: "docs/getting-started.md", begins: "make demo", test: "TestReleaseIsReproducible"},
	{page: "docs/getting-started.md", begins: "make run", test: "TestReleaseIsReproducible"},

	{page: "docs/contributing/failpoints.md", begins: "make matrix", why: "make test and make test-all run these as parts of themselves"},
	{page: "docs/integrating/agents.md", begins: "cd ~/src/api", files: map[string]string{"src/api/README.md": ""}},
	{page: "docs/integrating/agents.md", begins: "sayso mcp stream", in: besideServer, files: map[string]string{"src/api/README.md": ""},
		only: []string{"sayso mcp stream"}, why: "claude begins a conversation at a terminal"},
	{page: "docs/integrating/api.md", begins: "sayso token --name ci", in: besideServer, replace: []string{" ci ", " ci-2 "}}, // people.md makes the first
	{page: "docs/integrating/mcp.md", begins: "sayso token --agent", in: besideServer},
	{page: "docs/integrating/mcp.md", begins: "claude mcp add"},
	{page: "docs/model/README.md", begins: "make model", in: inClone, night: true,
		only: []string{"docs/model/check cluster"}, why: "the others take minutes and up to 7 GB"},
	{page: "docs/model/README.md", begins: "spin -a", in: inClone, folder: "docs/model", night: true},

	{page: "docs/operating/audit.md", begins: "sayso audit verify", in: besideServer},
	{page: "docs/operating/backup.md", begins: "sayso backup /var", test: "TestBackupRecipes"},
	{page: "docs/operating/backup.md", begins: "sayso backup -", test: "TestBackupRecipes"},
	{page: "docs/operating/backup.md", begins: "sayso restore", test: "TestBackupRecipes"},
	{page: "docs/operating/claude.md", begins: "claude auth status"},
	{page: "docs/operating/cluster.md", begins: "sayso serve --node-id a", test: "TestClusterPage"},
	{page: "docs/operating/cluster.md", begins: "sayso serve --node-id b", test: "TestClusterPage"},
	{page: "docs/operating/cluster.md", begins: "sayso runner", test: "TestClusterPage"},
	{page: "docs/operating/hardening.md", begins: "sayso doctor", in: besideServer},
	{page: "docs/operating/hardening.md", begins: "sayso serve --trusted-folder", until: listening, replace: []string{"/srv/work/reviewed", "$HOME"}},
	{page: "docs/operating/install.md", begins: "mkdir -p ~/.config", in: inCheckout,
		only: []string{"mkdir", "cp"}, why: "no systemd runs here; TestSystemdUnitsAreValid lets it check the units"},
	{page: "docs/operating/install.md", begins: "sudo cp contrib/systemd/sayso@.service", why: "no systemd runs here, and it changes the machine; TestSystemdUnitsAreValid lets systemd check the units"},
	{page: "docs/operating/install.md", begins: "sed ", in: inCheckout, files: map[string]string{"Library/LaunchAgents/other": ""},
		only: []string{"sed"}, why: "launchctl is of macOS"},
	{page: "docs/operating/install.md", begins: "sayso serve --database", until: listening,
		replace: []string{"postgres://sayso@localhost/sayso?sslmode=disable", "{postgres}"}},
	{page: "docs/operating/install.md", begins: "sayso migrate", files: map[string]string{".local/state/sayso/sayso.db": "{sqlite}"},
		replace: []string{"postgres://sayso@localhost/sayso?sslmode=disable", "{postgres}"}},
	{page: "docs/operating/isolation.md", begins: "sudo useradd", why: "it makes users of this machine, and no systemd runs here; TestFreshDebian does the same with the package"},
	{page: "docs/operating/kubernetes.md", begins: "kubectl create secret generic sayso-database", why: "there is no cluster; make test-kubernetes checks the chart"},
	{page: "docs/operating/kubernetes.md", begins: "helm install", why: "there is no cluster; make test-kubernetes checks the chart with these values"},
	{page: "docs/operating/kubernetes.md", begins: "for n in 0 1", why: "there is no cluster; make test-kubernetes checks the chart with these values"},
	{page: "docs/operating/kubernetes.md", begins: "contrib/kubernetes/session-pod", why: "there is no cluster; TestSessionPod in contrib/kubernetes runs it with another kubectl"},
	{page: "docs/operating/metrics.md", begins: "sayso serve --otlp-endpoint", until: listening},
	{page: "docs/operating/network.md", begins: "sayso serve --listen 0.0.0.0:443", until: listening,
		replace: []string{"0.0.0.0:443", "127.0.0.1:0", "--acme-email", "--acme-directory http://127.0.0.1:1 --acme-email"}},
	{page: "docs/operating/network.md", begins: "sayso serve --public-url", until: listening},
	{page: "docs/operating/people.md", begins: "sayso token --sign-in", in: besideServer},
	{page: "docs/operating/people.md", begins: "sayso user add", in: besideServer, files: map[string]string{"file": "four words of hers\n"}},
	{page: "docs/operating/people.md", begins: "sayso token --name ci", in: besideServer},
	{page: "docs/operating/phone.md", begins: "tailscale serve", until: listening,
		only: []string{"sayso serve"}, why: "tailscale needs an account"},
	{page: "docs/operating/phone.md", begins: "mkcert -install", test: "TestRecipeForTheLocalNetwork"},
	{page: "docs/operating/phone.md", begins: "sayso serve --public-url https://sayso.example.org", until: listening},
	{page: "docs/operating/phone.md", begins: "sayso serve --public-url https://sayso.example.org", until: listening},
	{page: "docs/operating/retention.md", begins: "sayso retention", in: besideServer},
	{page: "docs/operating/runners.md", begins: "sayso token --runner", in: besideServer},
	{page: "docs/operating/runners.md", begins: "sayso runner --connect https://sayso.example.org --token-file", until: "msg=connected",
		replace: []string{"https://sayso.example.org", "{server}", "/etc/sayso/token", "{runner's token}", "/srv/work", "$HOME"}},
	{page: "docs/operating/runners.md", begins: "sayso runner --connect https://sayso.example.org --token-file /etc/sayso/token --workspace-root /srv/work --trusted-folder", until: "msg=connected",
		replace: []string{"https://sayso.example.org", "{server}", "/etc/sayso/token", "{runner's token}", "/srv/work", "$HOME"}},
	{page: "docs/operating/runners.md", begins: "sayso runner --connect https://sayso.example.org --server-key", until: "msg=connected",
		replace: []string{"https://sayso.example.org", "{server with TLS}", "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "{its key}", "/etc/sayso/token", "{its runner's token}"}},
	{page: "docs/operating/runners.md", begins: "sayso serve --local-runner=false", until: listening},
	{page: "docs/operating/runners.md", begins: "sayso kill-all", replace: []string{"/var/lib/sayso", ".local/state/sayso"}},
	{page: "docs/operating/terminal.md", begins: "sayso pending", test: "TestTerminalPage"},
	{page: "docs/operating/terminal.md", begins: "sayso answer", test: "TestTerminalPage"},
	{page: "docs/operating/terminal.md", begins: "sayso sessions", test: "TestTerminalPage"},
	{page: "docs/operating/terminal.md", begins: "sayso doctor --json", test: "TestTerminalPage"},
	{page: "docs/operating/terminal.md", begins: "export SAYSO_TOKEN", test: "TestTerminalPage"},
	{page: "docs/operating/terminal.md", begins: "source", test: "TestTerminalPage"},
	{page: "docs/operating/troubleshooting.md", begins: "sayso doctor", in: besideServer},

	{page: "docs/performance.md", begins: "make bench", why: "it measures for half an hour, on a machine that does nothing else; make test runs make size"},
	{page: "docs/protocol/README.md", begins: "npx ajv-cli", night: true,
		files: map[string]string{"protocol.schema.json": "{schema of a line}", "line.json": `{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"toolu_1"}}`}},
	{page: "docs/protocol/README.md", begins: "go build", in: inClone, night: true, only: []string{"go build"}, why: "YOUR_HOST is that of the reader"},
	{page: "docs/protocol/README.md", begins: "make protocol-diff", in: inClone, night: true, replace: []string{"/path/to/claude", "{claude}"}},
	{page: "docs/protocol/hosts.md", begins: "go build", in: inClone, night: true, replace: []string{"bin/sayso", "{sayso}"},
		only: []string{"go build", "bin/approvaltest -long sayso", "bin/approvaltest -long client"}, why: "FOLDER has packages of others, whose results are on the page"},
	{page: "docs/using/terminal.md", begins: "sayso hook --install", in: besideServer},
	{page: "docs/using/terminal.md", begins: "sayso hook --uninstall", in: besideServer},
}

// fence finds the blocks of code of a document, also in a list.
var fence = regexp.MustCompile("(?ms)^( *)```(\\w*)\n(.*?)^ *```")

// TestDocumentedShellBlocks runs the shell blocks of the documents, and fails for one that shellBlocks does not have.
func TestDocumentedShellBlocks(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		must(t, err)
		pages = append(pages, found...)
	}
	handled := map[int]bool{}
	p := newBlockPlaces(t)
	for _, path := range pages {
		text, err := os.ReadFile(path)
		must(t, err)
		page, err := filepath.Rel(filepath.Join("..", ".."), path)
		must(t, err)
		page = filepath.ToSlash(page)
		for _, match := range fence.FindAllStringSubmatch(string(text), -1) {
			indent, language := match[1], match[2]
			block := strings.ReplaceAll("\n"+match[3], "\n"+indent, "\n")[1:]
			if language == "" {
				t.Errorf("%s: this block names no language:\n%s", page, block)
			}
			if language != "sh" {
				continue
			}
			if _, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(block), page); err != nil {
				t.Errorf("%v in\n%s", err, block)
			}
			at := -1
			for i, one := range shellBlocks {
				if !handled[i] && one.page == page && strings.HasPrefix(block, one.begins) {
					at = i
					break
				}
			}
			if at < 0 {
				t.Errorf("%s: shellBlocks does not say what runs this block, or why nothing does:\n%s", page, block)
				continue
			}
			handled[at] = true
			if one := shellBlocks[at]; one.test != "" {
				one.checkNamed(t)
			} else if one.why == "" || one.only != nil {
				first, _, _ := strings.Cut(block, "\n")
				t.Run(page+" "+first, func(t *testing.T) {
					if one.night {
						nightly(t)
					}
					t.Parallel()
					p.run(t, one, block)
				})
			}
		}
	}
	for i, one := range shellBlocks {
		if !handled[i] {
			t.Errorf("%s has no block that begins with %q", one.page, one.begins)
		}
	}
}

// checkNamed fails unless the folder has the test of a block, in a file that names its page.
func (one shellBlock) checkNamed(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		if strings.Contains(string(text), "func "+one.test+"(t *testing.T)") {
			if !strings.Contains(string(text), filepath.Base(one.page)) {
				t.Errorf("%s in %s does not read %s", one.test, file, one.page)
			}
			return
		}
	}
	t.Errorf("%s: there is no test %s", one.page, one.test)
}

// blockPlaces are where blocks run.
type blockPlaces struct {
	bin  string   // of sayso and claude
	root string   // of this repository
	home *harness // of somebody whose server runs
	s    *server
	// tls is a server with a certificate that no authority has signed; set by its placeholder.
	tls *harness
}

func newBlockPlaces(t *testing.T) *blockPlaces {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	p := &blockPlaces{bin: t.TempDir(), root: root, home: newHarness(t, claudetest.Script{})}
	must(t, os.Symlink(p.home.program, filepath.Join(p.bin, "sayso")))
	must(t, os.WriteFile(filepath.Join(p.bin, "claude"), []byte("#!/bin/sh\nexec "+realCLI(t, newer)+" \"$@\"\n"), 0o755))
	p.s = p.home.start()
	state := filepath.Join(filepath.Dir(p.home.state), ".local", "state")
	must(t, os.MkdirAll(state, 0o700))
	must(t, os.Symlink(p.home.state, filepath.Join(state, "sayso")))
	return p
}

// runnerToken returns a file with the token of a new runner.
func runnerToken(t *testing.T, h *harness) string {
	t.Helper()
	token, err := h.command("token", "--runner", "host-"+uuid.NewString()).Output()
	must(t, err)
	file := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(file, token, 0o600))
	return file
}

// value returns what a text in braces stands for.
func (p *blockPlaces) value(t *testing.T, text string) string {
	t.Helper()
	switch text {
	case "{postgres}":
		return postgrestest.Database(t)
	case "{sqlite}":
		data, err := migratedDatabase()
		must(t, err)
		return string(data)
	case "{server}":
		return p.s.URL
	case "{runner's token}":
		return runnerToken(t, p.home)
	case "{server with TLS}":
		p.tls = newHarness(t, claudetest.Script{})
		cert, key := filepath.Join(p.tls.state, "cert.pem"), filepath.Join(p.tls.state, "key.pem")
		pair(t, cert, key, 1)
		return p.tls.start("--tls-cert", cert, "--tls-key", key).URL
	case "{its key}":
		data, err := os.ReadFile(filepath.Join(p.tls.state, "cert.pem"))
		must(t, err)
		encoded, _ := pem.Decode(data)
		certificate, err := x509.ParseCertificate(encoded.Bytes)
		must(t, err)
		return fmt.Sprintf("sha256:%x", sha256.Sum256(certificate.RawSubjectPublicKeyInfo))
	case "{its runner's token}":
		return runnerToken(t, p.tls)
	case "{claude}":
		return realCLI(t, newer)
	case "{sayso}":
		return p.home.program
	case "{schema of a line}":
		data, err := os.ReadFile(filepath.Join(p.root, "docs", "protocol", "protocol.schema.json"))
		must(t, err)
		return strings.Replace(string(data), "{", `{"$ref": "#/$defs/CLILine",`, 1)
	}
	return text
}

// run runs a block, without the lines that it leaves out.
func (p *blockPlaces) run(t *testing.T, one shellBlock, text string) {
	script := text
	if one.only != nil {
		script = ""
		for _, begins := range one.only {
			found := false
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, begins) {
					script, found = script+line, true
				}
			}
			if !found {
				t.Errorf("no line begins with %q", begins)
			}
		}
	}
	for i := 0; i < len(one.replace); i += 2 {
		if !strings.Contains(script, one.replace[i]) {
			t.Errorf("the block has no %q", one.replace[i])
		}
		script = strings.ReplaceAll(script, one.replace[i], p.value(t, one.replace[i+1]))
	}

	folder := t.TempDir()
	if one.in == besideServer {
		folder = filepath.Dir(p.home.state)
	}
	for name, content := range one.files {
		path := filepath.Join(folder, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(p.value(t, content)), 0o600))
	}
	cmd := exec.Command("bash", "-eu", "-o", "pipefail", "-c", script)
	cmd.Dir = folder
	cmd.Env = []string{"PATH=" + p.bin + ":" + os.Getenv("PATH"), "HOME=" + folder, "ANTHROPIC_API_KEY=none",
		"SAYSO_CLAUDE=" + p.home.claude, "SAYSO_LISTEN=127.0.0.1:0", "SAYSO_WORKSPACE_ROOT=" + folder}
	switch one.in {
	case inCheckout:
		cmd.Dir = p.root
	case inClone:
		combined(t, exec.Command("git", "clone", "-q", "--shared", p.root, filepath.Join(folder, "clone")))
		cmd.Dir = filepath.Join(folder, "clone", one.folder)
		cmd.Env = os.Environ()
	}
	if one.until == "" {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, script, out)
		}
		return
	}
	said := &words{}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // bash may have a child
	must(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is interrupted
		close(ended)
	}()
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // it may have ended
		<-ended
	}()
	eventually(t, "the block prints "+one.until, func() bool {
		select {
		case <-ended:
			t.Fatalf("it ended:\n%s\n%s", script, said)
		default:
		}
		return strings.Contains(said.String(), one.until)
	})
}
