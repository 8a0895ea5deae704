package main_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/shim"
)

// streamingCLI says and asks things from when the file "begin" is in its home until
// "enough" is there, and writes down there what it prints, byte for byte. In a turn that is told to ask it
// has five requests open at once; in every other one it streams.
const streamingCLI = `#!/bin/sh
case "$*" in *--version*) echo '2.1.329 (Claude Code)'; exit;; auth*) exit;; esac
for arg; do case $arg in --session-id=*|--resume=*) session=${arg#*=};; esac; done
say() { printf '%s\n' "$1"; printf '%s\n' "$1" >> "$HOME/emitted.$session"; }
text() { say '{"type":"assistant","uuid":"'"$session-$1"'","session_id":"'"$session"'","message":{"id":"m'"$1"'","role":"assistant","content":[{"type":"text","text":"line '"$1"'"}]}}'; }
result() { say '{"type":"result","subtype":"success","uuid":"'"$session"'-r","session_id":"'"$session"'","is_error":false,"num_turns":1,"result":""}'; }
while IFS= read -r line; do
	case $line in
	*'"initialize"'*)
		id=${line#*'"request_id":"'}
		say '{"type":"control_response","response":{"subtype":"success","request_id":"'"${id%%'"'*}"'","response":{"commands":[],"account":{"email":"ada@example.org","apiKeySource":"none"}},"pending_permission_requests":['"$waits"']}}' ;;
	*'"type":"user"'*)
		say '{"type":"system","subtype":"init","session_id":"'"$session"'","uuid":"'"$session"'-i","model":"claude-test-1","permissionMode":"default"}'
		case $line in
		*'please ask'*)
			heard=0
			for n in 1 2 3 4 5; do
				request='{"type":"control_request","request_id":"'"$session-q$n"'","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"toolu_'$n'","input":{"command":"echo '$n'"}}}'
				waits=${waits:+$waits,}$request
				say "$request"
			done ;;
		*)
			n=0
			until [ -e "$HOME/begin" ]; do sleep 0.3; done
			until [ -e "$HOME/enough" ]; do
				for i in 1 2 3; do n=$((n+1)); text $n; done
				sleep 0.5
			done
			result ;;
		esac ;;
	*'"control_response"'*)
		heard=$((heard+1))
		if [ $heard = 5 ]; then waits=; result; fi ;;
	esac
done
`

// Goal R8: 20 sessions are in the middle of what they say and 50 requests are open
// while the server is replaced by another build, and that one by the first again.
// No session ends, no request changes, and each journal holds, byte for byte, what
// its CLI has printed. `make test` runs it with 6 sessions and 10 requests.
func TestUpgradeAndBack(t *testing.T) {
	t.Parallel()
	next, err := build("next", "-ldflags", "-X main.version=v99.0.0-next")
	must(t, err)
	h := newHarness(t, claudetest.Script{}).asProcesses()
	h.claude = filepath.Join(h.work, "claude")
	must(t, os.WriteFile(h.claude, []byte(streamingCLI), 0o700))
	home := filepath.Dir(h.work)
	enough := filepath.Join(home, "enough")
	begin := filepath.Join(home, "begin")
	t.Cleanup(func() { _ = errors.Join(os.WriteFile(begin, nil, 0o600), os.WriteFile(enough, nil, 0o600)) })

	streams, askers := 6, 2
	if os.Getenv("SAYSO_TEST_ALL") != "" {
		streams, askers = 20, 10
	}
	const patient = "10m" // it streams, and does not read, for as long as this test needs
	s := h.start("--start-limit", patient)
	var streaming, asking []string
	for i := range streams {
		streaming = append(streaming, s.session(fmt.Sprintf("stream %d", i)))
	}
	for i := range askers {
		asking = append(asking, s.session(fmt.Sprintf("please ask %d", i)))
	}
	all := append(streaming[:streams:streams], asking...)
	must(t, os.WriteFile(begin, nil, 0o600))
	spoke := func(id string) bool {
		info, err := os.Stat(filepath.Join(home, "emitted."+id))
		return err == nil && info.Size() > 1000
	}
	open := func() map[string]bool {
		ids := map[string]bool{}
		for _, id := range asking {
			for _, r := range s.process(id).Requests {
				if r.Status == "open" {
					ids[r.RequestID] = true
				}
			}
		}
		return ids
	}
	within(t, 3*waitLimit, "all speak and each asker has 5 open requests", func() bool {
		for _, id := range streaming {
			if !spoke(id) {
				return false
			}
		}
		return len(open()) == 5*askers
	})
	asked, before := open(), s.processes()

	old := h.program
	for _, program := range []string{next, old} {
		s.stop()
		h.program = program
		s = h.start("--start-limit", patient)
		within(t, 3*waitLimit, "all are adopted", func() bool {
			now := s.processes()
			for _, id := range all {
				if now[id].PID != before[id].PID {
					return false
				}
			}
			return true
		})
		within(t, 3*waitLimit, "the same requests are open", func() bool {
			now := open()
			for id := range asked {
				if !now[id] {
					return false
				}
			}
			return len(now) == len(asked)
		})
	}
	must(t, os.WriteFile(enough, nil, 0o600))
	for id := range asked {
		s.allow(id)
	}
	for _, id := range all {
		within(t, 3*waitLimit, "the turn ends", func() bool { return s.process(id).State == "user_turn" })
		if p := s.processes()[id]; p.PID != before[id].PID || !alive(p.PID) {
			t.Errorf("session %s is process %d now, was %d", id, p.PID, before[id].PID)
		}
	}

	bundles, err := shim.List(filepath.Join(h.state, "shims"))
	must(t, err)
	if len(bundles) != len(all) {
		t.Fatalf("%d shims, want %d", len(bundles), len(all))
	}
	for _, b := range bundles {
		id := b.Meta.SessionID
		emitted, err := os.ReadFile(filepath.Join(home, "emitted."+id))
		must(t, err)
		var journal bytes.Buffer
		must(t, shim.ReadJournal(b.Dir, 0, func(_ int64, line []byte, mark shim.Mark) error {
			if mark.Lost > 0 {
				return fmt.Errorf("%d bytes of the journal are lost", mark.Lost)
			}
			journal.Write(append(line, '\n'))
			return nil
		}))
		if got, want := sha256.Sum256(journal.Bytes()), sha256.Sum256(emitted); got != want {
			t.Errorf("the journal of %s is %x (%d bytes), emitted was %x (%d bytes)", id, got, journal.Len(), want, len(emitted))
		}
		// And what was read of it is there once.
		said := strings.Count(string(emitted), `"type":"assistant"`)
		if texts := s.texts(id); len(texts) != said {
			t.Errorf("the transcript of %s has %d lines of Claude, want %d", id, len(texts), said)
		}
	}
}

// texts are the keys of what Claude said in a session.
func (s *server) texts(sessionID string) map[string]bool {
	s.h.t.Helper()
	keys := map[string]bool{}
	for after := int64(0); ; {
		var page struct {
			Items []struct {
				Key  string `json:"key"`
				Kind string `json:"kind"`
			} `json:"items"`
			Next int64 `json:"next"`
			More bool  `json:"more"`
		}
		s.do("GET", fmt.Sprintf("/api/sessions/%s/transcript?after=%d&limit=500", sessionID, after), nil, &page)
		for _, item := range page.Items {
			if item.Kind == "text" {
				if keys[item.Key] {
					s.h.t.Errorf("%s is in the transcript twice", item.Key)
				}
				keys[item.Key] = true
			}
		}
		if !page.More {
			return keys
		}
		after = page.Next
	}
}
