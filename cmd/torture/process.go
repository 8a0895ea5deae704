package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// process is a process that this run started, directly or indirectly.
type process struct {
	pid  int
	args string
}

// alive returns the running processes among the CLIs, their children and their shims. Zombies
// do not count. Its arguments distinguish a process from another one with a reused id.
func (h *harness) alive(clis []*cliLedger) []process {
	var all []process
	for _, c := range clis {
		all = append(all, alive(c.PID, h.records)...)
		if c.Parent > 1 && c.Parent != h.serverPID() {
			marks := []string{filepath.Join(h.options.StateDir(), "program", "sayso-shim-")}
			for _, r := range h.hosts {
				marks = append(marks, filepath.Join(r.options.StateDir(), "program", "sayso-shim-"))
			}
			for _, build := range h.builds {
				marks = append(marks, build+" shim") // a shim that is sayso itself
			}
			all = append(all, alive(c.Parent, marks...)...)
		}
		for _, pid := range c.Children {
			all = append(all, alive(pid, "sleep 600")...)
		}
	}
	return all
}

func (h *harness) serverPID() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server == nil {
		return 0
	}
	return h.server.PID()
}

// alive returns the process of that id if it runs and its arguments contain one of the marks.
func alive(pid int, marks ...string) []process {
	if syscall.Kill(pid, 0) != nil {
		return nil
	}
	out, err := exec.Command("ps", "-o", "stat=,args=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return nil // it has exited meanwhile
	}
	state, args, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if strings.HasPrefix(state, "Z") || !slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(args, m) }) {
		return nil
	}
	return []process{{pid, strings.TrimSpace(args)}}
}

// kill kills a process that was just found alive.
func (p process) kill() { _ = syscall.Kill(p.pid, syscall.SIGKILL) } // it may have exited

func decode(text []byte, into any) error { return json.Unmarshal(text, into) }

// pids lists the ids for a message.
func pids(all []process) string {
	ids := make([]string, 0, len(all))
	for _, p := range all {
		ids = append(ids, strconv.Itoa(p.pid))
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}
