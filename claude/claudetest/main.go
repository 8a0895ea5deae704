package claudetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/google/uuid"
)

// Main plays the CLI on this process's standard streams and exits. It reads the environment
// variables CLAUDETEST_SCRIPT (a script as JSON, or the path of one), CLAUDETEST_RECORD (a file to
// which it appends a [Record] per line) and CLAUDETEST_VERSION. With --version it prints the version
// and returns.
func Main() {
	version := orElse(os.Getenv("CLAUDETEST_VERSION"), Version)
	c := &CLI{Transport: &stdio{in: bufio.NewReaderSize(os.Stdin, 64<<10)}}
	for _, arg := range os.Args[1:] {
		flag, value, _ := strings.Cut(arg, "=")
		switch flag {
		case "-v", "--version":
			fmt.Println(version + " (Claude Code)")
			return
		case "--session-id":
			c.SessionID = value
		case "--resume":
			c.SessionID = orElse(c.SessionID, value)
		case "--fork-session":
			if c.SessionID == "" {
				c.SessionID = uuid.NewString()
			}
		case "--permission-mode":
			c.PermissionMode = value
		case "--model":
			c.Model = value
		case "--include-partial-messages":
			c.Partial = true
		}
	}
	c.CWD, _ = os.Getwd()
	c.host = host{
		stdout: os.Stdout,
		stderr: os.Stderr,
		run:    runTool,
		spawn:  spawnChild,
		ignore: func() { signal.Ignore(syscall.SIGTERM) },
		exit:   os.Exit,
	}
	if err := c.configure(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	c.record(Record{Kind: "start", Args: os.Args[1:], Env: os.Environ()})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c.Run(ctx)
}

func (c *CLI) configure() error {
	if text := os.Getenv("CLAUDETEST_SCRIPT"); text != "" {
		if !strings.ContainsAny(text, "{[") {
			content, err := os.ReadFile(text)
			if err != nil {
				return err
			}
			text = string(content)
		}
		var err error
		if c.Script, err = ParseScript(text); err != nil {
			return err
		}
	}
	path := os.Getenv("CLAUDETEST_RECORD")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	c.OnRecord = func(r Record) {
		line, err := json.Marshal(r)
		if err == nil {
			_, err = f.Write(append(line, '\n')) // one write, so that readers see whole lines
		}
		if err != nil {
			panic(err)
		}
	}
	return nil
}

// runTool runs the command of a Bash call in dir, or writes the file of a Write call.
func runTool(dir, tool string, input json.RawMessage) (string, error) {
	var in struct {
		Command  string `json:"command"`
		FilePath string `json:"file_path"`
		Content  string `json:"content"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return "", err
	}
	if tool == "Write" {
		if err := os.WriteFile(in.FilePath, []byte(in.Content), 0o600); err != nil {
			return "", err
		}
		return "File created successfully at: " + in.FilePath, nil
	}
	cmd := exec.Command("bash", "-c", in.Command)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

// spawnChild starts a child that outlives the CLI and keeps its stdout open.
func spawnChild(kind string) error {
	cmd := exec.Command("sleep", "600")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: kind == "setsid"}
	return cmd.Start()
}

// stdio is a transport over the standard streams.
type stdio struct {
	in  *bufio.Reader
	out sync.Mutex
}

func (s *stdio) Recv() ([]byte, error) {
	line, err := s.in.ReadBytes('\n')
	if err == io.EOF && len(line) > 0 {
		return line, nil
	}
	return line, err
}

func (s *stdio) Send(line []byte) error {
	s.out.Lock()
	defer s.out.Unlock()
	_, err := os.Stdout.Write(append(line[:len(line):len(line)], '\n'))
	return err
}

func (s *stdio) Close() error { return nil }
