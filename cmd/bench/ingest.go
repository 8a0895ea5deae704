package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sayso-dev/sayso/claude"
)

// benchIngest measures how fast package claude reads, parses and routes what a
// CLI prints, in turn with the official TypeScript SDK on the same stub.
func benchIngest(ctx context.Context, s settings) error {
	measurementHead("Decoding what a CLI prints")
	for _, c := range []struct {
		name, line  string
		count, size int
	}{{"200b", "200 B", 150_000, 200}, {"2kb", "2 KB", 40_000, 2000}, {"100kb", "100 KB", 1500, 100_000}, {"20mb", "20 MB", 8, 20_000_000}} {
		bytes := floodSize(c.count, c.size)
		prompt := fmt.Sprintf("flood %d %d", c.count, c.size)
		var routed, decoded []round
		for range s.rounds {
			rate := map[string][]float64{}
			for _, way := range []struct {
				name string
				take func(context.Context, settings, string) (time.Duration, error)
			}{{"routed", ingestRouted}, {"decoded", ingestDecoded}, {"theirs", ingestSDK}} {
				if way.name == "theirs" && s.sdk == "" {
					continue
				}
				took, err := way.take(ctx, s, prompt)
				if err != nil {
					return err
				}
				rate[way.name] = []float64{mega(bytes) / took.Seconds()}
			}
			routed = append(routed, round{rate["routed"], rate["theirs"]})
			decoded = append(decoded, round{rate["decoded"], rate["theirs"]})
		}
		for _, m := range []measurement{
			{Name: "decode_" + c.name, What: "lines of " + c.line + ", decoded", Rounds: decoded},
			{Name: "route_" + c.name, What: "lines of " + c.line + ", routed only", Rounds: routed},
		} {
			m.Part, m.Unit, m.AtLeast = "ingest", "MB/s", true
			if s.sdk != "" {
				m.Anchor, m.Floor, m.Target = "TypeScript SDK", 1.5, 3
			}
			s.report.add(m)
		}
	}
	return benchWholeIngest(ctx, s)
}

// benchWholeIngest measures how fast lines of 2 KB pass through the shim and the store to a tab that
// reads them, from the first line to the frame that reports the end of the turn.
func benchWholeIngest(ctx context.Context, s settings) error {
	const count, size = 5000, 2000
	folder, err := os.MkdirTemp("", "sayso-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	v, err := startServer(ctx, s, folder)
	if err != nil {
		return err
	}
	defer v.stop()
	t, err := v.tab(ctx)
	if err != nil {
		return err
	}
	defer t.conn.CloseNow()
	reader, err := v.tab(ctx)
	if err != nil {
		return err
	}
	defer reader.conn.CloseNow()
	ids, err := startIdle(ctx, v, t, 1)
	if err != nil {
		return err
	}
	if err := reader.subscribe(ctx, ids[0]); err != nil {
		return err
	}
	go reader.discard(ctx) // until the connection is closed
	prompt := fmt.Sprintf("flood %d %d", count, size)
	bytes := mega(floodSize(count, size))
	var rounds []round
	for range s.rounds {
		began := time.Now()
		if err := v.send(ctx, ids[0], prompt); err != nil {
			return err
		}
		if err := turnEnd(ctx, t, ids[0]); err != nil {
			return err
		}
		r := round{Samples: []float64{bytes / time.Since(began).Seconds()}}
		if s.sdk != "" {
			took, err := ingestSDK(ctx, s, prompt)
			if err != nil {
				return err
			}
			r.Anchor = []float64{bytes / took.Seconds()}
		}
		rounds = append(rounds, r)
	}
	m := measurement{Part: "ingest", Name: "whole_2kb", What: "lines of 2 KB through shim, store and a tab", Unit: "MB/s", Rounds: rounds, AtLeast: true}
	if s.sdk != "" {
		m.Anchor = "TypeScript SDK, which stores nothing"
	}
	s.report.add(m)
	return nil
}

// turnEnd reads until a session has begun a turn and ended it.
func turnEnd(ctx context.Context, t *tab, session string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	begun, over := false, false
	for !over {
		if err := t.nextFrames(ctx, func(f frame) error {
			if f.Type == "process_state" && f.SessionID == session {
				begun = begun || f.State == "assistant_turn"
				over = begun && f.State == "user_turn"
			}
			return nil
		}); err != nil {
			return fmt.Errorf("a turn does not end: %w", err)
		}
	}
	return nil
}

// ingestRouted and ingestDecoded return the time from the first line of a flood
// to its result. ingestRouted checks each line and reads its type, and
// ingestDecoded also decodes its body.
func ingestRouted(_ context.Context, s settings, prompt string) (time.Duration, error) {
	t, err := startStub(s)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(t.Send([]byte(`{"type":"user","message":{"role":"user","content":`+strconv.Quote(prompt)+`}}`)), t.CloseInput()); err != nil {
		return 0, errors.Join(err, t.Kill())
	}
	took := time.Duration(0)
	for {
		line, err := t.Recv()
		if errors.Is(err, io.EOF) {
			return took, t.Close()
		}
		if err != nil {
			return 0, errors.Join(err, t.Kill())
		}
		envelope, err := claude.ReadEnvelope(line)
		if err != nil {
			return 0, errors.Join(err, t.Kill())
		}
		if envelope.Type == "result" {
			var result struct{ Result string }
			if err := json.Unmarshal(line, &result); err != nil {
				return 0, err
			}
			started, _ := strconv.ParseInt(result.Result, 10, 64)
			took = time.Duration(time.Now().UnixNano() - started)
		}
	}
}

func ingestDecoded(ctx context.Context, s settings, prompt string) (time.Duration, error) {
	p, err := startStub(s)
	if err != nil {
		return 0, err
	}
	took := make(chan time.Duration, 1)
	client := claude.NewClient(p, claude.Options{OnMessage: func(m claude.Message) {
		if r, ok := m.(*claude.Result); ok {
			started, _ := strconv.ParseInt(r.Text, 10, 64)
			took <- time.Duration(time.Now().UnixNano() - started)
		}
	}})
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	if _, err := client.Initialize(ctx, claude.InitializeRequest{}); err != nil {
		return 0, errors.Join(err, p.Kill(), <-ended)
	}
	if err := client.SendUser(ctx, claude.UserMessage{Text: prompt}); err != nil {
		return 0, errors.Join(err, p.Kill(), <-ended)
	}
	select {
	case d := <-took:
		return d, errors.Join(p.CloseInput(), <-ended)
	case err := <-ended:
		return 0, fmt.Errorf("the stub ended before its result: %w", err)
	}
}

func startStub(s settings) (*claude.Process, error) {
	l := claude.Options{Path: s.self, Dir: os.TempDir(), PermissionMode: "default"}
	command, err := l.Command(os.Environ())
	if err != nil {
		return nil, err
	}
	return claude.StartProcess(command)
}

func ingestSDK(ctx context.Context, s settings, prompt string) (time.Duration, error) {
	out, err := exec.CommandContext(ctx, "node", filepath.Join(s.sdk, "ingest.mjs"), s.self, prompt).Output()
	if err != nil {
		return 0, fmt.Errorf("TypeScript SDK: %w", err)
	}
	var said struct{ Took int64 }
	if err := json.Unmarshal(out, &said); err != nil {
		return 0, fmt.Errorf("TypeScript SDK said %q: %w", out, err)
	}
	return time.Duration(said.Took), nil
}
