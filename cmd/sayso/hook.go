package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/config"
	"github.com/sayso-dev/sayso/claude/hook"
	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/shim"
)

const (
	// hookPollSeconds is the duration of one poll, in seconds.
	hookPollSeconds = 25
	// hookRetryTimeout is how long the hook waits for a server that stopped while its
	// question was open: as long as the server keeps the question.
	hookRetryTimeout = mcpapi.ServerGone
	// withdrawTimeout bounds the withdrawal, because the CLI may end this process soon.
	withdrawTimeout = 2 * time.Second
)

// hookFlags are the flags of sayso hook.
type hookFlags struct {
	install, uninstall, headless bool
	connect, settingsFile        string
	serverFlags
}

func (f *hookFlags) define(flags *flag.FlagSet) {
	flags.BoolVar(&f.install, "install", false, "add the hook to Claude's settings.json, for all your terminal sessions")
	flags.BoolVar(&f.uninstall, "uninstall", false, "remove the hook from the settings, and revoke its token")
	flags.StringVar(&f.connect, "connect", "", "`file` with the address of the server and the token; without it, --install creates one in the state folder")
	flags.StringVar(&f.settingsFile, "settings", "", "with --install and --uninstall: another settings `file`, such as .claude/settings.local.json of a project")
	flags.BoolVar(&f.headless, "headless", false, "also handle claude -p, which runs unattended")
	f.serverFlags.define(flags)
}

// hookVerb installs or removes the hook, or is the hook. Claude runs the hook when it opens a
// dialog in a terminal: the hook also asks the question in sayso, and prints the answer if
// somebody gives it there. Otherwise it prints nothing, and the terminal asks as usual.
func hookVerb(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var f hookFlags
	rest, err := parseFlags(newFlags("hook", f.define), args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return noArguments(rest)
	case f.install && f.uninstall:
		return usageError("give either --install or --uninstall")
	case f.install || f.uninstall:
		t := terminalHook{settingsFile: f.settingsFile, connect: f.connect, headless: f.headless, home: agentHome{serverFlags: f.serverFlags}}
		if f.uninstall {
			return t.uninstall(ctx, stdout)
		}
		return t.install(ctx, stdout)
	case f.connect == "":
		return usageError("this is for Claude to run, with --connect FILE; install it with sayso hook --install")
	}
	if err := runHook(ctx, f.connect, f.headless, stdin, stdout); err != nil {
		fmt.Fprintln(stderr, "sayso hook:", err) // exit code 0: the terminal continues to ask
	}
	return nil
}

// runHook handles one call of the CLI.
func runHook(ctx context.Context, connect string, headless bool, stdin io.Reader, stdout io.Writer) error {
	in, err := hook.Read(stdin)
	if err != nil {
		return err
	}
	// A CLI started by sayso asks through its session, regardless of where the server was
	// started.
	if os.Getenv(shim.Marker) != "" || !headless && !hook.InTerminal(os.Getenv) {
		return nil
	}
	if _, err := readConnection(connect); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "this machine"
	}
	c := &hookCall{in: in, connect: connect, host: host, key: uuid.NewString(), client: &http.Client{
		// No proxy: the question goes only to the named server.
		Transport:     &http.Transport{Proxy: nil, DialContext: (&net.Dialer{Timeout: withdrawTimeout}).DialContext},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	defer c.client.CloseIdleConnections()
	switch in.Name {
	case hook.PermissionRequest:
		return c.ask(ctx, stdout)
	case hook.Notification:
		return c.notice(ctx)
	}
	return nil
}

// hookCall is one call of the CLI.
type hookCall struct {
	in      hook.Input
	connect string // the file is read for each request, because a restarted server may have another address
	host    string
	key     string
	client  *http.Client
}

// ask asks the question of a dialog in sayso until somebody answers it, there or in the terminal.
// ctx ends when the CLI ends the hook, which it does when a dialog is refused.
func (c *hookCall) ask(ctx context.Context, stdout io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	working, done := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer done()

	type answer struct {
		reply mcpapi.HookReply
		err   error
	}
	answers, endings := make(chan answer, 1), make(chan hook.Ending, 1)
	work.Go(func() {
		reply, err := c.poll(working)
		answers <- answer{reply, err}
	})
	work.Go(func() {
		home, _ := os.UserHomeDir() // without a home there is nothing to watch
		if ending := hook.Await(working, c.in, config.Dir(os.Getenv, home), os.Getenv); ending != "" {
			endings <- ending
		}
	})
	reason := "refused"
	select {
	case a := <-answers:
		if a.err != nil || a.reply.Status != mcpapi.HookAnswered {
			return a.err
		}
		out, err := hook.Output(c.in, hook.Decision{
			Allow: a.reply.Decision == pending.Allow, Message: a.reply.Message, Interrupt: a.reply.Interrupt,
			UpdatedInput: a.reply.UpdatedInput, UpdatedPermissions: a.reply.UpdatedPermissions, Answers: a.reply.Answers,
		})
		if err != nil {
			return err
		}
		_, err = stdout.Write(out)
		return err
	case ending := <-endings:
		reason = string(ending)
	case <-ctx.Done():
	}
	done()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	_, err := c.post(ending, "/hook/gone", mcpapi.HookGone{Key: c.key, SessionID: c.in.SessionID, Reason: reason}, nil)
	return err
}

// poll polls until the server reports the end of the question. It gives up if it cannot reach the
// server at first. Later it retries for hookRetryTimeout, because an answer may be in flight.
func (c *hookCall) poll(ctx context.Context) (mcpapi.HookReply, error) {
	cwd := c.in.CWD
	body := mcpapi.HookAsk{
		Key: c.key, Host: c.host, SessionID: c.in.SessionID, CWD: cwd, Wait: hookPollSeconds,
		ToolName: c.in.ToolName, ToolInput: c.in.ToolInput, ToolUseID: c.in.ToolUseID,
		PermissionSuggestions: c.in.PermissionSuggestions, AgentID: c.in.AgentID, AgentType: c.in.AgentType,
	}
	reached, since := false, time.Now()
	for {
		var reply mcpapi.HookReply
		status, err := c.post(ctx, "/hook/ask", body, &reply)
		switch {
		case err == nil && status == http.StatusAccepted:
			reached, since = true, time.Now()
			continue
		case err == nil && status == http.StatusOK:
			return reply, nil
		case err == nil && status < http.StatusInternalServerError && status != http.StatusTooManyRequests:
			return reply, fmt.Errorf("the server refuses the question: %s", http.StatusText(status))
		case err != nil && !reached && dialFailed(err), ctx.Err() != nil, time.Since(since) > hookRetryTimeout:
			return reply, err
		}
		reached = true
		select {
		case <-ctx.Done():
			return reply, context.Cause(ctx)
		case <-time.After(retryPause):
		}
	}
}

func dialFailed(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// notice forwards the CLI's notification, unless it is about a dialog, which sayso already
// shows.
func (c *hookCall) notice(ctx context.Context) error {
	if c.in.NotificationType == "permission_prompt" || c.in.Message == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, withdrawTimeout)
	defer cancel()
	_, err := c.post(ctx, "/hook/notice", mcpapi.HookNotice{Host: c.host, SessionID: c.in.SessionID, CWD: c.in.CWD, Message: c.in.Message}, nil)
	return err
}

// post sends one request and decodes a response of status 200 or 202.
func (c *hookCall) post(ctx context.Context, path string, body, reply any) (status int, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	to, err := readConnection(c.connect)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*hookPollSeconds*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(to.URL, "/mcp")+path, bytes.NewReader(data))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+to.Token)
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if reply == nil || resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusAccepted {
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
		return resp.StatusCode, err
	}
	return resp.StatusCode, json.NewDecoder(resp.Body).Decode(reply)
}

// terminalHook installs the hook for one person on this machine.
type terminalHook struct {
	home                  agentHome
	settingsFile, connect string
	headless              bool
}

// places returns the settings file and the end of the hook's command line. ownToken is true if the
// hook uses the connection file in the state folder.
func (t *terminalHook) places() (settingsFile string, args []string, ownToken bool, err error) {
	if err := t.home.read("hook"); err != nil {
		return "", nil, false, err
	}
	if settingsFile = t.settingsFile; settingsFile != "" {
		if settingsFile, err = filepath.Abs(settingsFile); err != nil {
			return "", nil, false, err
		}
	} else {
		dir, err := os.UserHomeDir()
		if err != nil {
			return "", nil, false, fmt.Errorf("there is no home folder: %w. Name the file with --settings", err)
		}
		settingsFile = config.Settings(os.Getenv, dir)
	}
	connect := t.connect
	if connect == "" {
		connect, ownToken = t.home.agentFile("terminal.json"), true
	}
	if connect, err = filepath.Abs(connect); err != nil {
		return "", nil, false, err
	}
	args = []string{"--connect", connect} // they identify the hook later
	return settingsFile, args, ownToken, nil
}

func (t *terminalHook) install(ctx context.Context, stdout io.Writer) error {
	settingsFile, args, own, err := t.places()
	if err != nil {
		return err
	}
	connect := args[1]
	if own {
		host, err := os.Hostname()
		if err != nil || host == "" {
			host = "this machine"
		}
		err = t.home.mint(ctx, connect, session.Session{
			SessionID: outsideID("terminal", t.home.settings.StateDir), Title: "terminal on " + host, Kind: session.Terminal,
			Archived: true, // it only holds the token: each claude has its own session
		}, host)
		if err != nil {
			return err
		}
	} else if _, err := readConnection(connect); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(settingsFile), 0o700); err != nil {
		return err
	}
	whole := append([]string{"hook"}, args...)
	if t.headless {
		whole = append([]string{"hook", "--headless"}, args...)
	}
	err = config.Update(ctx, settingsFile, func(data []byte) ([]byte, error) {
		data, err := hook.Uninstall(data, args...)
		if err != nil {
			return nil, err
		}
		return hook.Install(data, exe, whole...)
	})
	if err != nil {
		return err
	}
	if own {
		if err := t.noteFiles(append(t.notedFiles(), settingsFile)); err != nil {
			return err
		}
	}
	remove := "sayso hook --uninstall"
	for _, given := range []struct{ flag, value string }{{"settings", t.settingsFile}, {"connect", t.connect}, {"state-dir", t.home.stateDir}, {"database", t.home.database}} {
		if given.value != "" {
			remove += " --" + given.flag + " " + shellWord(given.value)
		}
	}
	fmt.Fprintf(stdout, "Hook installed in %s. Requests from new Claude sessions in terminals can also be answered at %s. The first answer is used.\nTo remove the hook, run: %s\n",
		settingsFile, readAddresses(t.home.settings).outside, remove)
	return nil
}

// notesFile returns the file that lists, one per line, the settings files whose hook uses the token
// of the state folder.
func (t *terminalHook) notesFile() string { return t.home.agentFile("terminal.settings") }

// notedFiles returns the settings files listed in notesFile that still exist.
func (t *terminalHook) notedFiles() (files []string) {
	text, err := os.ReadFile(t.notesFile())
	if err != nil {
		return nil
	}
	for file := range strings.Lines(string(text)) {
		file = strings.TrimSuffix(file, "\n")
		if _, err := os.Stat(file); err == nil && file != "" {
			files = append(files, file)
		}
	}
	return files
}

func (t *terminalHook) noteFiles(files []string) error {
	files = sorted(files)
	if len(files) == 0 {
		if err := os.Remove(t.notesFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return config.Write(t.notesFile(), []byte(strings.Join(files, "\n")+"\n"))
}

// sorted returns files in order, each once.
func sorted(files []string) []string { return slices.Compact(slices.Sorted(slices.Values(files))) }

// hasHook reports whether a settings file has the hook with these arguments.
func hasHook(file string, args []string) bool {
	data, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	without, err := hook.Uninstall(data, args...)
	return err == nil && !bytes.Equal(without, data)
}

func (t *terminalHook) uninstall(ctx context.Context, stdout io.Writer) error {
	settingsFile, args, own, err := t.places()
	if err != nil {
		return err
	}
	files, others := []string{settingsFile}, []string(nil)
	if own {
		noted := t.notedFiles()
		if t.settingsFile == "" {
			files = append(files, noted...) // all that use the token, which is revoked
		} else {
			others = slices.DeleteFunc(noted, func(file string) bool { return file == settingsFile })
			if personal, _, _, err := (&terminalHook{home: t.home}).places(); err == nil && personal != settingsFile {
				others = append(others, personal) // earlier versions wrote no list
			}
			others = slices.DeleteFunc(others, func(file string) bool { return !hasHook(file, args) })
		}
	}
	files, others = sorted(files), sorted(others)
	var removed, without []string
	for _, file := range files {
		if hasHook(file, args) {
			removed = append(removed, file)
		} else {
			without = append(without, file)
		}
		if _, err := os.Stat(file); err != nil {
			continue
		}
		err := config.Update(ctx, file, func(data []byte) ([]byte, error) {
			return hook.Uninstall(data, args...)
		})
		if err != nil {
			return err
		}
	}
	if own && len(others) == 0 {
		if err := t.home.revoke(ctx, args[1], outsideID("terminal", t.home.settings.StateDir)); err != nil {
			return err
		}
	}
	if own {
		if err := t.noteFiles(others); err != nil {
			return err
		}
	}
	if len(removed) > 0 {
		fmt.Fprintf(stdout, "Hook removed from %s.\n", strings.Join(removed, ", "))
	}
	if len(without) > 0 {
		fmt.Fprintf(stdout, "No hook found in %s.\n", strings.Join(without, ", "))
	}
	if len(others) > 0 {
		fmt.Fprintf(stdout, "The hook is still in %s. To remove it everywhere, run: sayso hook --uninstall\n", strings.Join(others, ", "))
	}
	return nil
}

// outsideNamespace separates the sessions of these commands from all other version 5 UUIDs.
var outsideNamespace = uuid.MustParse("6d0c9f6e-0a53-5c1c-9d1f-1b8f2f2a7c55")

// outsideID returns the session id of an external asker. The same parts always give the same id.
func outsideID(parts ...string) string {
	return uuid.NewSHA1(outsideNamespace, []byte(strings.Join(parts, "\x00"))).String()
}
