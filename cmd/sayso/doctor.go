package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/visible"
)

// doctorFlags are the flags of sayso doctor.
type doctorFlags struct{ json bool }

func (f *doctorFlags) define(flags *flag.FlagSet) {
	flags.BoolVar(&f.json, "json", false, "print JSON, with a code for each finding")
}

// severity is how bad a finding is.
type severity string

const (
	passed  severity = "ok"
	warning severity = "warning" // the server runs, but something does not work or soon will not
	failed  severity = "failed"  // the server or its sessions cannot run
)

// finding is the outcome of one check. Its codes are stable: scripts compare them.
type finding struct {
	Check    string   `json:"check"`
	Severity severity `json:"severity"`
	Code     string   `json:"code"` // "ok", or what is wrong
	Message  string   `json:"message"`
	Fix      []string `json:"fix"` // commands that fix it
}

// examination collects findings.
type examination struct {
	settings settings
	exe      string
	findings []finding
	server   string // process id of the running server, "" for none
	foreign  string // command to run as the owner of the state folder; "" if this user may use it
}

func (e *examination) add(check string, how severity, code, message string, fix ...string) {
	if fix == nil {
		fix = []string{}
	}
	e.findings = append(e.findings, finding{check, how, code, message, fix})
}

// ok adds a finding without a problem.
func (e *examination) ok(check, message string) { e.add(check, passed, "ok", message) }

// doctor checks everything that serve needs and prints the results. It opens no file for
// writing, and works while a server runs.
func doctor(ctx context.Context, args []string, std streams) error {
	var f doctorFlags
	s, rest, err := readSettingsAnd(f.define, "doctor", args, os.Getenv)
	if err == nil {
		err = noArguments(rest)
	}
	if errors.Is(err, flag.ErrHelp) || errors.As(err, new(usageError)) {
		return err
	}
	if err != nil {
		if f.json {
			invalid := finding{"settings", failed, "settings_invalid", problemOf(err), []string{}}
			if err := printJSON(std.out, map[string]any{"healthy": false, "findings": []finding{invalid}}); err != nil {
				return err
			}
		}
		return exitError{2, err.Error()}
	}
	e := &examination{settings: s}
	if e.exe, err = os.Executable(); err != nil {
		return err
	}
	e.variables()
	e.stateFolder()
	e.runningServer()
	e.address()
	e.certificate()
	e.database(ctx)
	e.disk()
	e.fileDescriptors()
	e.clock()
	if s.LocalRunner {
		e.workspaceRoots()
		runAs := e.claudeUser()
		e.sandbox(runAs)
		e.cgroup()
		e.claude(ctx, runAs)
	}
	e.pushKey()
	failures := 0
	for _, one := range e.findings {
		if one.Severity == failed {
			failures++
		}
	}
	if f.json {
		err = printJSON(std.out, map[string]any{"healthy": failures == 0, "findings": e.findings})
	} else {
		e.print(newScreen(std.out, os.Getenv))
	}
	if err == nil && failures > 0 {
		err = exitError{1, count(failures, "check", "checks") + " failed; see above"}
	}
	return err
}

func (e *examination) print(to *screen) {
	marks := map[severity]string{passed: "✓", warning: "!", failed: "✗"}
	styles := map[severity]string{warning: yellow, failed: red}
	for _, one := range e.findings {
		lines := strings.Split(visible.Code(one.Message), "\n")
		to.printf("%s %-16s %s\n", to.styled(styles[one.Severity], marks[one.Severity]), one.Check, strings.Join(lines, " "))
		for _, command := range one.Fix {
			to.printf("    %s\n", to.styled(bold, visible.Code(command)))
		}
	}
}

// problemOf returns a check's error as one line, without repeated parts.
func problemOf(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(slices.Compact(lines), " ")
}
