package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/cmd/blackbox"
)

const (
	fanOutTabs    = 100
	fanOutGap     = 20 * time.Millisecond // between messages, one at a time
	fanOutSamples = 100                   // messages of a round, one at a time
	burst         = 20                    // messages of a burst, each of another session
	bursts        = 50                    // of a round
	idleTabs      = 1000
)

// publisher is a server that sends messages to every tab on command: an anchor, the hub alone, or
// the whole server with a stub of the CLI.
type publisher struct {
	name    string
	pid     int
	address string // host:port
	path    string // of the WebSocket
	token   string // or ""
	hello   string // what a tab must send first, or ""
	// publish publishes messages one after the other, fanOutGap apart, to the tabs of a crowd.
	publish  func(ctx context.Context, c *crowd, count int) error
	commands io.Writer // takes "COUNT TIME"; nil for the whole server
	stop     func() error
}

// fanOutRound is the result of one publisher in one round.
type fanOutRound struct {
	took       []float64 // from writing a message to its arrival in each tab, in µs
	one, burst float64   // CPU of the server for a delivery, in µs
	idle       float64   // memory that an idle tab takes, in KB
}

// memoryRounds is how often memory is measured. It takes long and varies little.
const memoryRounds = 3

// benchFanOut measures how fast a change reaches many tabs, and what that costs: with the whole
// server and with package wsapi alone, in turn with bare writes of a frame and with WebSocket
// libraries.
func benchFanOut(ctx context.Context, s settings) error {
	if s.anchors == "" {
		return errors.New("-anchors names no program; scripts/bench builds it")
	}
	names := []string{"raw", "gorilla", "coder", "gws", "centrifuge", "hub", "server"}
	rounds := map[string][]fanOutRound{}
	if err := measureFanOut(ctx, s, names, rounds); err != nil {
		return err
	}
	for n := range min(s.rounds, memoryRounds) {
		for _, name := range names {
			kb, err := idleTab(ctx, s, name)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			rounds[name][n].idle = kb
		}
	}

	took := func(r fanOutRound) []float64 { return r.took }
	one := func(r fanOutRound) []float64 { return []float64{r.one} }
	bursting := func(r fanOutRound) []float64 { return []float64{r.burst} }
	idle := func(r fanOutRound) []float64 { return []float64{r.idle} }
	add := func(name, of, what, unit, anchor string, samples func(fanOutRound) []float64, percent int, floor, target float64) {
		m := measurement{Part: "fanout", Name: name + "_" + of, What: what + ", " + of, Unit: unit, Anchor: anchor, Percentile: percent, Floor: floor, Target: target}
		for i, r := range rounds[of] {
			if ours := samples(r); ours[0] != 0 {
				m.Rounds = append(m.Rounds, round{Samples: ours, Anchor: samples(rounds[anchor][i])})
			}
		}
		s.report.add(m)
	}
	measurementHead(fmt.Sprintf("Fan-out to %d tabs, messages of 1 KB; idle memory of %d tabs", fanOutTabs, idleTabs))
	add("fanout_frame_p50", "server", "written → frame in a tab", "µs", "raw", took, 50, 2.5, 1.5)
	add("fanout_frame_p99", "server", "written → frame in a tab", "µs", "raw", took, 99, 3, 2)
	add("fanout_burst_cpu", "hub", fmt.Sprintf("CPU for a delivery, bursts of %d", burst), "µs", "gorilla", bursting, 50, 1, 0.5)
	add("fanout_single_cpu", "server", "CPU for a delivery, one at a time", "µs", "gorilla", one, 50, 1.5, 1.1)
	add("fanout_single_cpu", "hub", "CPU for a delivery, one at a time", "µs", "gorilla", one, 50, 1.5, 1.1)
	add("fanout_idle_memory", "server", "memory of an idle tab", "KB", "gorilla", idle, 50, 1.5, 0.8)
	for _, name := range []string{"hub", "gorilla", "coder", "gws", "centrifuge"} { // to compare with
		add("fanout_frame_p50", name, "written → frame in a tab", "µs", "raw", took, 50, 0, 0)
	}
	for _, name := range []string{"raw", "coder", "gws", "centrifuge"} {
		add("fanout_burst_cpu", name, fmt.Sprintf("CPU for a delivery, bursts of %d", burst), "µs", "gorilla", bursting, 50, 0, 0)
		add("fanout_single_cpu", name, "CPU for a delivery, one at a time", "µs", "gorilla", one, 50, 0, 0)
		add("fanout_idle_memory", name, "memory of an idle tab", "KB", "gorilla", idle, 50, 0, 0)
	}
	return nil
}

// sampleDown returns fewer values with about the same distribution. It sorts all.
func sampleDown(all []float64) []float64 {
	const kept = 400
	slices.Sort(all)
	out := make([]float64, 0, kept)
	for i := range kept {
		out = append(out, all[(2*i+1)*len(all)/(2*kept)])
	}
	return out
}

func measureFanOut(ctx context.Context, s settings, names []string, rounds map[string][]fanOutRound) error {
	type side struct {
		p *publisher
		c *crowd
	}
	var sides []side
	for _, name := range names {
		p, err := startPublisher(ctx, s, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		defer p.stop()
		c, err := dialCrowd(p, fanOutTabs)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		defer c.close()
		if err := p.publish(ctx, c, 10); err != nil { // to warm up
			return fmt.Errorf("%s: %w", name, err)
		}
		sides = append(sides, side{p, c})
	}
	for round := range s.rounds {
		order := slices.Clone(sides)
		if round%2 == 1 {
			slices.Reverse(order) // so that none always runs after the same one
		}
		for _, at := range order {
			r, err := at.p.round(ctx, at.c)
			if err != nil {
				return fmt.Errorf("%s: %w", at.p.name, err)
			}
			rounds[at.p.name] = append(rounds[at.p.name], r)
			for _, other := range sides { // they must answer pings
				if err := other.c.settle(); err != nil {
					return fmt.Errorf("%s: %w", other.p.name, err)
				}
			}
		}
	}
	return nil
}

func (p *publisher) round(ctx context.Context, c *crowd) (r fanOutRound, err error) {
	c.frames, c.took = 0, nil
	before := processor(p.pid)
	if err := p.publish(ctx, c, fanOutSamples); err != nil {
		return r, err
	}
	r.one = float64(processor(p.pid)-before) / float64(time.Microsecond) / float64(c.frames)
	if len(c.took) == 0 {
		return r, errors.New("no message says when it was written")
	}
	r.took = sampleDown(inUnit(time.Microsecond, c.took))
	if p.commands == nil {
		return r, nil
	}
	c.frames = 0
	before = processor(p.pid)
	for n := range bursts {
		if _, err := fmt.Fprintf(p.commands, "%d %d\n", burst, time.Now().UnixNano()); err != nil {
			return r, err
		}
		if err := c.await((n + 1) * burst * fanOutTabs); err != nil {
			return r, err
		}
	}
	r.burst = float64(processor(p.pid)-before) / float64(time.Microsecond) / float64(c.frames)
	return r, nil
}

// idleTab returns how much memory of a server one of many idle tabs takes, in KB.
func idleTab(ctx context.Context, s settings, name string) (float64, error) {
	p, err := startPublisher(ctx, s, name)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	first, err := dialCrowd(p, 1)
	if err != nil {
		return 0, err
	}
	defer first.close()
	before, err := residentMemory(p.pid)
	if err != nil {
		return 0, err
	}
	c, err := dialCrowd(p, idleTabs)
	if err != nil {
		return 0, err
	}
	defer c.close()
	for range 30 { // for about 5 seconds, in which the server frees the memory of the dials
		if err := c.settle(); err != nil {
			return 0, err
		}
		time.Sleep(100 * time.Millisecond)
	}
	after, err := residentMemory(p.pid)
	return float64(after-before) / idleTabs / 1000, err
}

func startPublisher(ctx context.Context, s settings, name string) (*publisher, error) {
	p := &publisher{name: name, path: "/"}
	switch name {
	case "server":
		return startServerToPublish(ctx, s, p)
	case "hub":
		return p.startProgram(filepath.Join(filepath.Dir(s.self), "fanouthub"))
	case "centrifuge":
		p.hello = `{"id":1,"connect":{}}`
	}
	return p.startProgram(s.anchors, name)
}

// startProgram starts a server that prints its address and reads lines of "COUNT TIME".
func (p *publisher) startProgram(path string, args ...string) (*publisher, error) {
	cmd := exec.Command(path, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.stop = func() error {
		in.Close()
		return cmd.Wait()
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, err
	}
	p.pid, p.address, p.commands = cmd.Process.Pid, strings.TrimSpace(address), in
	p.publish = func(_ context.Context, c *crowd, count int) error {
		for range count {
			want := c.frames + len(c.members)
			if _, err := fmt.Fprintf(in, "1 %d\n", time.Now().UnixNano()); err != nil {
				return err
			}
			if err := c.await(want); err != nil {
				return err
			}
			time.Sleep(fanOutGap)
		}
		return nil
	}
	return p, nil
}

// startServerToPublish starts the whole server. A message is a request of the stub, and a
// tab outside the crowd answers it.
func startServerToPublish(ctx context.Context, s settings, p *publisher) (*publisher, error) {
	folder, err := os.MkdirTemp("", "sayso-bench-")
	if err != nil {
		return nil, err
	}
	v, err := startServer(ctx, s, folder)
	if err != nil {
		return nil, err
	}
	p.stop = func() error {
		defer os.RemoveAll(folder)
		return v.stop()
	}
	for v.Do(ctx, http.MethodGet, "/readyz", nil, nil) != nil { // tabs are served a moment later than pages
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), p.stop())
		}
	}
	p.pid, p.address, p.path, p.token = v.PID(), strings.TrimPrefix(v.URL, "http://"), "/ws", blackbox.Token
	var session string
	p.publish = func(ctx context.Context, c *crowd, count int) error {
		t, err := v.tab(ctx)
		if err != nil {
			return err
		}
		defer t.conn.CloseNow()
		text := fmt.Sprintf("ask %d %s %s", count, fanOutGap, filepath.Join(folder, "round"))
		if session == "" {
			session, err = v.session(ctx, text)
		} else {
			_, err = v.post(ctx, "/api/sessions/"+session+"/messages", map[string]any{"text": text})
		}
		if err != nil {
			return err
		}
		answered := make(chan error, 1)
		go func() {
			_, err := answerTurn(ctx, t, session, count)
			answered <- err
		}()
		for {
			if err := c.receive(10 * time.Millisecond); err != nil {
				return err
			}
			select {
			case err := <-answered:
				if err != nil {
					return err
				}
				return c.settle()
			default:
			}
		}
	}
	return p, nil
}
