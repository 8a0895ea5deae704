package main_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/runner/link"
	processes "github.com/sayso-dev/sayso/runner/remote"
)

// maliciousServer lets one runner in, whatever it says.
type maliciousServer struct{}

func (maliciousServer) FindToken(context.Context, [sha256.Size]byte) (string, error) {
	return "one", nil
}

func (maliciousServer) TakeLease(_ context.Context, runnerID string, _ runner.Hello) (runner.Welcome, error) {
	return runner.Welcome{RunnerID: runnerID, Epoch: 1, Time: time.Now()}, nil
}

// attack 153: a server asks the program of a runner to start Claude with the hooks of a repository,
// which the runner's own settings trust nowhere. It knows the digest, or says nothing of trust.
func TestServerCannotMakeARunnerTrustAFolder(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	must(t, errors.Join(
		os.Mkdir(filepath.Join(h.work, ".claude"), 0o700),
		os.WriteFile(filepath.Join(h.work, ".claude", "settings.json"), []byte(`{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch hooked"}]}]}}`), 0o600),
	))
	attacked := make(chan struct{})
	attack := func(ctx context.Context, _ runner.Welcome, _ runner.Hello, c *link.Conn) error {
		defer close(attacked)
		seen, err := processes.NewRunner(c).FolderSettings(ctx, h.work, nil)
		if err != nil || seen.Digest == "" {
			t.Errorf("what the folder would load: %+v, %v", seen, err)
		}
		start := func(change func(*launch.Process)) (launch.Conn, error) {
			id := uuid.NewString()
			p := launch.Process{ID: launch.ID{SessionID: id, ProcessID: uuid.NewString()}, Folder: h.work, NewSession: id, PermissionMode: "default"}
			change(&p)
			return processes.NewLauncher(c).Open(ctx, p)
		}
		for name, change := range map[string]func(*launch.Process){
			"the digest of what it has read": func(p *launch.Process) { p.Trusted = &launch.Trusted{Digest: seen.Digest} },
			"nothing, as earlier servers":    func(*launch.Process) {},
		} {
			var failed *launch.Error
			if _, err := start(change); !errors.As(err, &failed) || !strings.Contains(failed.Sentence, "does not load the settings of "+h.work) {
				t.Errorf("a server that sends %s: %v", name, err)
			}
		}
		if ran, err := os.ReadDir(filepath.Join(h.state, "shims")); err == nil && len(ran) > 0 {
			t.Errorf("the CLI was started: %v", ran)
		}
		without, err := start(func(p *launch.Process) { p.UserSettingsOnly = true })
		if err != nil {
			t.Errorf("without the settings: %v", err)
			return nil
		}
		for err = without.Kill(); err == nil; _, err = without.Recv() { //nolint:revive // until it has exited
		}
		if err != io.EOF {
			t.Errorf("the end of the CLI: %v", err)
		}
		if err := without.(launch.JournaledConn).Remove(ctx); err != nil {
			t.Error(err)
		}
		return nil
	}
	endpoint, err := runner.NewEndpoint(runner.EndpointOptions{
		Registry: maliciousServer{}, Drive: attack, Codes: processes.Codes(), Log: slog.New(slog.DiscardHandler),
		Serve: func(context.Context, string, *link.Call) (any, error) { return nil, link.ErrUnknown },
	})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() { _ = endpoint.Run(ctx) }) // it returns nil
	web := httptest.NewServer(endpoint)
	defer web.Close()
	defer serving.Wait()
	defer stop()

	token, _ := runner.NewToken()
	tokenFile := filepath.Join(h.state, "token")
	must(t, os.WriteFile(tokenFile, []byte(token), 0o600))
	program := h.command("runner", "--connect", web.URL, "--token-file", tokenFile, "--workspace-root", h.work, "--claude", h.claude, "--trusted-folder", "none")
	said := &words{}
	program.Stderr = said
	must(t, program.Start())
	select {
	case <-attacked:
	case <-time.After(waitLimit):
		t.Error("the runner did not dial, or does not answer")
	}
	must(t, program.Process.Signal(syscall.SIGTERM))
	_ = program.Wait() // the server may have closed the connection first
	if t.Failed() {
		t.Logf("the runner said:\n%s", said)
	}
}
