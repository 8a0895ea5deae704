package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/scriptedmodel"
)

// benchCLI measures how much of the time between an answer and the next request of the real
// CLI is sayso's. It is skipped if there is no CLI.
func benchCLI(ctx context.Context, s settings) error {
	cli := os.Getenv("SAYSO_TEST_CLAUDE_NEW")
	if _, err := os.Stat(cli); err != nil {
		fmt.Println("\nThe share of the real CLI is not measured: SAYSO_TEST_CLAUDE_NEW does not name it")
		return nil
	}
	s.report.Versions["claude"] = firstLine(cli, "--version")
	const asked = 20 // requests in a round
	api, err := scriptedmodel.Listen("127.0.0.1:0", scriptedmodel.New(scriptedmodel.Options{}))
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- api.Run(serving) }()
	defer func() { stop(); <-served }()

	folder, err := os.MkdirTemp("", "sayso-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	stubbed, real := filepath.Join(folder, "stub"), filepath.Join(folder, "cli")
	for _, f := range []string{stubbed, real} {
		if err := os.Mkdir(f, 0o700); err != nil {
			return err
		}
	}
	v, err := startServer(ctx, s, stubbed)
	if err != nil {
		return err
	}
	defer v.stop()
	t, err := v.tab(ctx)
	if err != nil {
		return err
	}
	defer t.conn.CloseNow()
	ids, err := startIdle(ctx, v, t, 1)
	if err != nil {
		return err
	}
	withCLI := s
	withCLI.claude = cli
	withCLI.environ = []string{"ANTHROPIC_BASE_URL=" + api.URL(), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
	w, err := startServer(ctx, withCLI, real)
	if err != nil {
		return err
	}
	defer w.stop()

	var rounds []round
	for n := range s.rounds {
		file := filepath.Join(stubbed, fmt.Sprintf("round-%d", n))
		if err := v.send(ctx, ids[0], fmt.Sprintf("ask %d %s %s", samples, gap, file)); err != nil {
			return err
		}
		if _, err := answerTurn(ctx, t, ids[0], samples); err != nil {
			return err
		}
		trip, err := readDurations(file)
		if err != nil {
			return err
		}
		between, err := realTurn(ctx, w, asked)
		if err != nil {
			return err
		}
		ours := inUnit(time.Microsecond, trip)
		theirs := inUnit(time.Microsecond, between)
		for i := range theirs { // what a tab sees includes ours
			theirs[i] -= quantile(ours, 50)
		}
		rounds = append(rounds, round{ours, theirs})
	}
	measurementHead("The real CLI")
	s.report.add(measurement{Part: "cli", Name: "cli_share", What: "request → tab → answer at stdin", Unit: "µs", Anchor: "the real CLI, from an answer to its next request", Rounds: rounds, Floor: 0.03, Target: 0.01})
	return nil
}

// realTurn runs a session of the real CLI that asks count times, allows each request at once, and
// returns the times from sending an answer to the frame of the next request.
func realTurn(ctx context.Context, v *server, count int) (between []time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	t, err := v.tab(ctx)
	if err != nil {
		return nil, err
	}
	defer t.conn.CloseNow()
	var script scriptedmodel.Script
	for n := range count {
		script.Replies = append(script.Replies, scriptedmodel.Reply{Blocks: []scriptedmodel.Block{{Tool: "Bash", Input: []byte(fmt.Sprintf(`{"command":"touch file-%d"}`, n))}}})
	}
	session, err := v.session(ctx, "Touch files.\n\n"+script.Fence())
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var answered time.Time
	for len(seen) < count {
		if err := t.nextFrames(ctx, func(f frame) error {
			if f.Type != "process_state" || f.SessionID != session {
				return nil
			}
			if f.State == "dead" {
				return fmt.Errorf("the session died: %s", f.Error)
			}
			for _, r := range f.PendingRequests {
				if seen[r.RequestID] {
					continue
				}
				seen[r.RequestID] = true
				if !answered.IsZero() {
					between = append(between, time.Since(answered))
				}
				answered = time.Now()
				if err := t.send(ctx, map[string]any{
					"type": "pending_request_response", "command_id": uuid.NewString(), "session_id": session,
					"request_id": r.RequestID, "request_type": "tool_approval", "input_hash": r.InputHash, "decision": "allow",
				}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return nil, fmt.Errorf("after %d requests: %w", len(seen), err)
		}
	}
	_, err = v.post(ctx, "/api/sessions/"+session+"/kill", map[string]any{"force": true})
	return between, err
}
