package main_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// peakMemory is the most memory that a process has had, in bytes.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	must(t, err)
	return kilobytes << 10
}

// TestMemoryOfALongResult: a tool result of 100 MB is never in memory as a whole, and how
// long it was is known all the same.
func TestMemoryOfALongResult(t *testing.T) {
	nightly(t)
	t.Parallel()
	const size, bound = 100 << 20, 64 << 20
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Ready."}}}).asProcesses()
	s := h.start()
	id := s.session("one")
	s.reaches(id, "user_turn")
	before := peakMemory(t, s.cmd.Process.Pid)
	s.do("POST", "/api/sessions/"+id+"/messages", map[string]any{"text": fmt.Sprintf("Go on.\n```claudetest\n[{\"bytes\":%d}]\n```", size)}, nil)
	var items struct {
		Items []struct {
			Kind        string `json:"kind"`
			Result      string `json:"result"`
			ResultBytes int    `json:"result_bytes"`
		} `json:"items"`
	}
	eventually(t, "the result is in the transcript", func() bool {
		s.do("GET", "/api/sessions/"+id+"/transcript?limit=500", nil, &items)
		for _, it := range items.Items {
			if it.Kind == "tool_call" && it.ResultBytes > 0 {
				if it.ResultBytes != size || !strings.HasPrefix(it.Result, "0123456789abcdef0123") {
					t.Fatalf("%d bytes of result, want %d: %.100s", it.ResultBytes, size, it.Result)
				}
				return true
			}
		}
		return false
	})
	s.reaches(id, "user_turn")
	if more := peakMemory(t, s.cmd.Process.Pid) - before; more > bound {
		t.Errorf("a result of %d MB took %d MB, more than %d", size>>20, more>>20, bound>>20)
	}
}
