package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// options configures the kit.
type options struct {
	start     starter
	self      []string // the command that runs relay: this program with asCLI
	scenarios []string // names; empty for all
	long      bool
	patience  time.Duration // how long the host may take for each step
	out       string        // folder of the traces and reports; "" for none
	progress  io.Writer     // a line for each scenario
}

// outcome is the result of one scenario.
type outcome struct {
	Scenario string    `json:"scenario"`
	Does     string    `json:"does"`
	Verdict  string    `json:"verdict"`       // pass, fail or skip
	Why      string    `json:"why,omitempty"` // of skip
	Findings []finding `json:"findings,omitempty"`
	Trace    string    `json:"trace,omitempty"` // a file, relative to the report
	Seconds  float64   `json:"seconds"`
}

// report is the result of all scenarios with one host.
type report struct {
	Host     string    `json:"host"`
	Date     string    `json:"date"`
	Outcomes []outcome `json:"outcomes"`
}

// kit runs scenarios, one after the other.
type kit struct {
	options
	folder   string // contains all files
	listener net.Listener
	accepted sync.WaitGroup

	mu      sync.Mutex
	current *run
	conns   map[net.Conn]bool
}

// check runs scenarios with a host.
func check(ctx context.Context, o options) (rep report, err error) {
	folder, err := os.MkdirTemp("", "at") // a short name, because the path of a socket is limited to about 100 bytes
	if err != nil {
		return rep, err
	}
	defer os.RemoveAll(folder)
	k := &kit{options: o, folder: folder, conns: map[net.Conn]bool{}}
	if err := k.listen(); err != nil {
		return rep, err
	}
	defer k.close()
	rep = report{Date: time.Now().UTC().Format(time.DateOnly)}

	var d driver
	var ready event
	closeHost := func() error {
		if d == nil {
			return nil
		}
		err := d.close()
		d = nil
		return err
	}
	defer func() { err = errors.Join(err, closeHost()) }()
	for _, s := range scenarios {
		if len(o.scenarios) > 0 && !slices.Contains(o.scenarios, s.name) || len(o.scenarios) == 0 && s.long && !o.long {
			continue
		}
		if ctx.Err() != nil {
			return rep, context.Cause(ctx)
		}
		if d == nil {
			if d, ready, err = startHost(ctx, o.start, host{claude: k.claude(), work: filepath.Join(folder, "work"), events: k.take}); err != nil {
				return rep, fmt.Errorf("start the host: %w", err)
			}
			rep.Host = ready.Host
		}
		result, alive, err := k.play(s, d, ready)
		if err != nil {
			return rep, err
		}
		if o.progress != nil {
			fmt.Fprintf(o.progress, "%-4s %s%s\n", result.Verdict, s.name, detail(result))
		}
		rep.Outcomes = append(rep.Outcomes, result)
		if !alive {
			if err := closeHost(); err != nil {
				return rep, err
			}
		}
	}
	if len(rep.Outcomes) == 0 {
		return rep, errors.New("no scenario has that name")
	}
	return rep, nil
}

func detail(o outcome) string {
	switch {
	case o.Why != "":
		return ": " + o.Why
	case len(o.Findings) > 0:
		return fmt.Sprintf(": %s: %s", o.Findings[0].Kind, o.Findings[0].Detail)
	}
	return ""
}

// listen opens the socket to which the CLIs of the host connect, and writes the executable of the CLI.
func (k *kit) listen() error {
	for _, d := range []string{"work", "bin"} {
		if err := os.Mkdir(filepath.Join(k.folder, d), 0o700); err != nil {
			return err
		}
	}
	socket := filepath.Join(k.folder, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	k.listener = l
	var script strings.Builder
	script.WriteString("#!/bin/sh\nexec")
	for _, a := range append(slices.Clone(k.self), socket) {
		script.WriteString(" '" + strings.ReplaceAll(a, "'", `'\''`) + "'")
	}
	script.WriteString(" \"$@\"\n")
	if err := os.WriteFile(k.claude(), []byte(script.String()), 0o700); err != nil {
		return errors.Join(err, l.Close())
	}
	k.accepted.Go(k.accept)
	return nil
}

func (k *kit) claude() string { return filepath.Join(k.folder, "bin", "claude") }

// close disconnects every CLI, and waits until their goroutines have ended.
func (k *kit) close() {
	_ = k.listener.Close()
	k.mu.Lock()
	for c := range k.conns {
		c.Close()
	}
	k.mu.Unlock()
	k.accepted.Wait()
}

func (k *kit) accept() {
	for {
		conn, err := k.listener.Accept()
		if err != nil {
			return
		}
		k.mu.Lock()
		k.conns[conn] = true
		r := k.current
		k.mu.Unlock()
		k.accepted.Go(func() {
			defer conn.Close()
			k.serve(conn, r)
		})
	}
}

// serve plays a CLI in the current scenario until the connection ends.
func (k *kit) serve(conn net.Conn, r *run) {
	in := bufio.NewReaderSize(conn, 1<<20)
	line, err := in.ReadBytes('\n')
	var h hello
	if err != nil || json.Unmarshal(line, &h) != nil || r == nil {
		return
	}
	c := &cli{run: r, conn: conn, hello: h, session: sessionOf(h.Args)}
	r.trace.note("the host starts the CLI: %q", h.Args)
	r.arrive(c)
	c.serve(in)
}

// take passes an event of the host to the current scenario.
func (k *kit) take(e event) {
	k.mu.Lock()
	r := k.current
	k.mu.Unlock()
	if r != nil {
		r.take(e)
	}
}

// play plays a scenario. alive reports whether the host can be used for further scenarios.
func (k *kit) play(s scenario, d driver, ready event) (o outcome, alive bool, err error) {
	o = outcome{Scenario: s.name, Does: s.does, Verdict: "pass"}
	began := time.Now()
	r := &run{
		driver: d, dir: filepath.Join(k.folder, "work", "work", s.name), long: k.long, patience: k.patience, cannot: map[string]bool{},
		changed: make(chan struct{}), byID: map[string]*request{}, byKey: map[string]*request{}, inputEOF: map[*cli]bool{}, stops: map[*cli]int{}, refused: map[string]string{},
	}
	r.trace.began = began
	for _, c := range ready.Cannot {
		r.cannot[c] = true
	}
	for _, n := range s.needs {
		if r.cannot[n] {
			o.Verdict, o.Why = "skip", "the host cannot: "+n
			return o, true, nil
		}
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return o, true, err
	}
	k.setCurrent(r)
	defer k.setCurrent(nil)

	c, playErr := r.start()
	if playErr == nil {
		if playErr = s.play(r, c); playErr == nil {
			r.mu.Lock()
			r.finished = true
			r.mu.Unlock()
			r.finish(c)
		}
	}
	if playErr != nil && !errors.Is(playErr, errScenario) {
		return o, false, playErr
	}
	r.mu.Lock()
	r.finished = true
	alive = r.driverErr == nil
	r.mu.Unlock()
	r.judge()
	if alive {
		if err := d.do(action{Do: "end", Dir: r.dir}); err != nil {
			r.trace.note("end: %v", err)
			alive = false
		}
	}
	r.mu.Lock()
	o.Findings = slices.Clone(r.findings)
	r.mu.Unlock()
	if slices.ContainsFunc(o.Findings, func(f finding) bool { return f.Kind != advice }) {
		o.Verdict = "fail"
	}
	o.Seconds = time.Since(began).Seconds()
	if k.out != "" {
		o.Trace = filepath.Join("traces", s.name+".jsonl")
		err = r.trace.write(filepath.Join(k.out, o.Trace))
	}
	return o, alive, err
}

func (k *kit) setCurrent(r *run) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.current = r
}
