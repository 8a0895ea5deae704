package main_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// everyFile describes what lies in a folder: contents, times and modes.
func everyFile(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprint(path, info.ModTime(), info.Mode())
		if e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		all = append(all, line)
		return nil
	}))
	return strings.Join(all, "\n")
}

// diagnosis is what sayso doctor --json prints.
type diagnosis struct {
	Healthy  bool
	Findings []struct {
		Check, Severity, Code, Message string
		Fix                            []string
	}
}

func (h *harness) doctor(env []string, args ...string) (d diagnosis, code int) {
	h.t.Helper()
	cmd := h.command("doctor", append([]string{"--json", "--listen", "127.0.0.1:0", "--workspace-root", h.work, "--claude", h.claude}, args...)...)
	cmd.Env = append(append([]string{}, h.env...), env...)
	out, err := cmd.Output()
	if json.Unmarshal(out, &d) != nil {
		h.t.Fatalf("doctor %v: %v, %s", args, err, out)
	}
	return d, cmd.ProcessState.ExitCode()
}

// TestDoctorChangesNothing looks where there is nothing, beside a server that is halted so that
// it changes nothing itself, after its crash and after its end, in a folder that takes no
// writes.
func TestDoctorChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash}}).asProcesses()
	look := func(when string) diagnosis {
		t.Helper()
		before := everyFile(t, h.state)
		must(t, os.Chmod(h.state, 0o500)) // which root may ignore
		d, code := h.doctor(nil)
		must(t, os.Chmod(h.state, 0o700))
		if root := os.Geteuid() == 0; root && (code != 0 || !d.Healthy) {
			t.Errorf("%s: exit code %d, %+v", when, code, d)
		}
		if after := everyFile(t, h.state); after != before {
			t.Errorf("%s, the folder was\n%s\nand is\n%s", when, before, after)
		}
		return d
	}
	look("where there is nothing")
	s := h.start()
	s.allow(s.asks(s.session("one")))
	must(t, s.cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(10 * time.Millisecond) // until all of its threads are halted
	d := look("beside a server")
	must(t, s.cmd.Process.Signal(syscall.SIGCONT))
	if !slices.ContainsFunc(d.Findings, func(f struct {
		Check, Severity, Code, Message string
		Fix                            []string
	}) bool {
		return f.Check == "server" && strings.Contains(f.Message, fmt.Sprint("process ", s.cmd.Process.Pid))
	}) {
		t.Errorf("it does not name the server: %+v", d)
	}
	must(t, s.cmd.Process.Kill())
	<-s.exited
	if out, err := h.command("kill-all").CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	look("after a crash")
	h.start().stop()
	look("after its end")
}

// TestDoctorFindsWhatStopsTheServer breaks one thing after the other.
func TestDoctorFindsWhatStopsTheServer(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	h.start().stop()
	if d, code := h.doctor(nil); code != 0 || !d.Healthy {
		t.Fatalf("where all is well: exit code %d, %+v", code, d)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o755))
		return path
	}
	newer, empty := filepath.Join(dir, "newer.db"), filepath.Join(dir, "empty.db")
	data, err := os.ReadFile(filepath.Join(h.state, "sayso.db"))
	must(t, err)
	must(t, os.WriteFile(newer, data, 0o600))
	alter(t, newer, "INSERT INTO migrations VALUES (9999, 'x', 'x', 0)")
	must(t, os.WriteFile(empty, []byte("this is no database, but a text that is long enough to be taken for one"), 0o600))
	certificate := func(name string, end time.Time) (cert, key string) {
		cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
		pairUntil(t, cert, key, 1, end)
		return cert, key
	}
	good, goodKey := certificate("good", time.Now().Add(365*24*time.Hour))
	_, otherKey := certificate("other", time.Now().Add(time.Hour))
	old, oldKey := certificate("old", time.Now().Add(-time.Hour))
	soon, soonKey := certificate("soon", time.Now().Add(time.Hour))
	noBwrap := t.TempDir()
	notExecutable := file("not-executable", "#!/bin/sh\n")
	must(t, os.Chmod(notExecutable, 0o644))
	for _, row := range []struct {
		check, severity, code string
		args, env             []string
	}{
		{"address", "failed", "port_taken", []string{"--listen", taken.Addr().String()}, nil},
		{"address", "failed", "port_taken", []string{"--acme-domain", "sayso.example.org", "--acme-http", taken.Addr().String()}, nil},
		{"address", "failed", "address_unusable", []string{"--listen", "127.0.0.1:99999"}, nil},
		{"certificate", "failed", "certificate_key_mismatch", []string{"--tls-cert", good, "--tls-key", otherKey}, nil},
		{"certificate", "failed", "certificate_unreadable", []string{"--tls-cert", good + "x", "--tls-key", otherKey}, nil},
		{"certificate", "failed", "certificate_expired", []string{"--tls-cert", old, "--tls-key", oldKey}, nil},
		{"certificate", "warning", "certificate_expires_soon", []string{"--tls-cert", soon, "--tls-key", soonKey}, nil},
		{"certificate", "warning", "certificate_other_host", []string{"--tls-cert", good, "--tls-key", goodKey, "--allowed-host", "sayso.example.org"}, nil},
		{"certificate", "ok", "ok", []string{"--tls-cert", good, "--tls-key", goodKey}, nil},
		{"database", "failed", "database_newer", []string{"--database", "sqlite:" + newer}, nil},
		{"database", "failed", "database_damaged", []string{"--database", "sqlite:" + empty}, nil},
		{"database", "failed", "database_unreachable", []string{"--database", "postgres://sayso@127.0.0.1:1/sayso?sslmode=disable"}, nil},
		{"Claude CLI", "failed", "claude_missing", []string{"--claude", filepath.Join(dir, "nothing")}, nil},
		{"Claude CLI", "failed", "claude_not_executable", []string{"--claude", notExecutable}, nil},
		{"Claude CLI", "failed", "claude_broken", []string{"--claude", file("broken", "#!/bin/sh\nexit 1\n")}, nil},
		{"Claude CLI", "warning", "claude_old", []string{"--claude", file("old", "#!/bin/sh\necho '2.0.9 (Claude Code)'\n")}, nil},
		{"Claude CLI", "ok", "claude_untested", []string{"--claude", file("new", "#!/bin/sh\necho '2.2.0 (Claude Code)'\n")}, nil},
		{"Claude sign-in", "failed", "claude_signed_out", []string{"--claude", file("out", "#!/bin/sh\n[ \"$1\" = --version ] && echo '2.1.329 (Claude Code)'\n")}, nil},
		{"workspace roots", "failed", "workspace_root_unusable", []string{"--workspace-root", "/there/is/nothing"}, nil},
		{"workspace roots", "failed", "workspace_root_unusable", []string{"--workspace-root", file("no-folder", "")}, nil},
		{"settings", "warning", "variable_unknown", nil, []string{"SAYSO_LISTENS=127.0.0.1:1"}},
		{"state folder", "failed", "state_folder_not_a_folder", []string{"--state-dir", file("a-file", "")}, nil},
		{"sandbox", "ok", "ok", []string{"--sandbox", "bubblewrap", "--state-dir", filepath.Join(filepath.Dir(h.program), "not-yet", "sayso")}, nil},
		{"sandbox", "failed", "bubblewrap_missing", []string{"--sandbox", "bubblewrap"}, []string{"PATH=" + noBwrap}},
		{"push", "failed", "push_key_unusable", []string{"--state-dir", stateWith(t, "push-key", "no key")}, nil},
		{"clock", "failed", "clock_behind", []string{"--state-dir", stateWith(t, "epoch", fmt.Sprint(time.Now().Add(48*time.Hour).UnixMicro()))}, nil},
	} {
		t.Run(row.code, func(t *testing.T) {
			d, code := h.doctor(row.env, row.args...)
			found := false
			for _, f := range d.Findings {
				if f.Check != row.check {
					continue
				}
				found = f.Code == row.code && f.Severity == row.severity
				if f.Message == "" || f.Severity != "ok" && len(f.Fix) == 0 {
					t.Errorf("%+v says nothing, or not what mends it", f)
				}
				if f.Code == "claude_not_executable" && !slices.Equal(f.Fix, []string{"chmod +x " + notExecutable}) {
					t.Errorf("%+v does not make the file executable", f)
				}
				if f.Code == "port_taken" && !strings.Contains(f.Fix[1], "sayso serve "+row.args[len(row.args)-2]+" ") {
					t.Errorf("%+v does not change the setting of the port", f)
				}
			}
			if !found || (code == 1) != (row.severity == "failed") || d.Healthy == (row.severity == "failed") {
				t.Errorf("exit code %d, want %s %s in %+v", code, row.severity, row.code, d.Findings)
			}
		})
	}
	d, code := h.doctor(nil, "--listen", "nonsense")
	if code != 2 || d.Healthy || len(d.Findings) != 1 || d.Findings[0].Code != "settings_invalid" || !strings.Contains(d.Findings[0].Message, "nonsense") {
		t.Errorf("settings that are wrong: exit code %d, %+v", code, d)
	}
}

// stateWith returns a state folder with one file.
func stateWith(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	return dir
}

// TestDoctorCodesAreDocumented compares the codes in the program with the page.
func TestDoctorCodesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operating", "terminal.md"))
	must(t, err)
	source, err := os.ReadFile("doctor_checks.go")
	must(t, err)
	whole, err := os.ReadFile("doctor.go")
	must(t, err)
	source = append(source, whole...)
	codes := doctorCode.FindAllStringSubmatch(string(source), -1)
	for _, code := range codes {
		if !strings.Contains(string(page), "`"+code[1]+"`") {
			t.Errorf("the page does not list %s", code[1])
		}
	}
	if len(codes) < 30 {
		t.Errorf("only %d codes were found", len(codes))
	}
}

var doctorCode = regexp.MustCompile(`\b(?:failed|warning|fine), "([a-z_]+)"`)
