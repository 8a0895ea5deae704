package main_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// audited counts the entries of the audit log of one kind.
func (s *server) audited(what string) (n int) {
	s.h.t.Helper()
	var audit struct {
		Entries []struct {
			Body struct {
				What string `json:"what"`
			} `json:"entry"`
		} `json:"entries"`
	}
	s.do("GET", "/api/audit?limit=200", nil, &audit)
	for _, e := range audit.Entries {
		if e.Body.What == what {
			n++
		}
	}
	return n
}

// A server that is killed while Claude restores files leaves a note that Claude has not confirmed it,
// its entry in the audit log, and a session in which everything works.
func TestRewindCutOffByKill(t *testing.T) {
	nightly(t)
	t.Parallel()
	changed := map[string]any{"canRewind": true, "filesChanged": []any{"a"}, "insertions": 1}
	reply := claudetest.Reply{Subtype: "rewind_files", Never: true}
	for range 2 {
		next := reply
		reply = claudetest.Reply{Subtype: "rewind_files", Response: changed, Next: &next}
	}
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{{Reply: &reply}, {Text: "done"}}}).asProcesses()
	s := h.start()
	id := s.session("one")
	s.reaches(id, "user_turn")
	message := s.spokenMessages(id)[0]
	var plan struct{ Digest string }
	s.do("GET", "/api/sessions/"+id+"/rewind?message_id="+message, nil, &plan)
	ended := make(chan error, 1)
	go func() {
		ended <- s.Do(t.Context(), "POST", "/api/sessions/"+id+"/rewind", map[string]any{"message_id": message, "digest": plan.Digest}, nil)
	}()
	const note = "note admin told Claude to restore files to before an earlier message, and Claude has not confirmed it. Check the changes. Files: 1."
	notes := func() int { return strings.Count(strings.Join(s.story(id), "\n"), note) }
	eventually(t, "the transcript says that it was asked", func() bool { return notes() == 1 })
	s.signal(syscall.SIGKILL)
	s.gone(waitLimit)
	if err := <-ended; err == nil {
		t.Error("the person is told that the files were restored")
	}

	s = h.start()
	s.reaches(id, "user_turn")
	if n := notes(); n != 1 {
		t.Errorf("%d notes", n)
	}
	if n := s.audited("files_restored"); n != 1 {
		t.Errorf("%d entries in the audit log", n)
	}
	s.do("POST", "/api/sessions/"+id+"/messages", map[string]any{"text": "two"}, nil)
	eventually(t, "the next turn is over", func() bool { return strings.Count(strings.Join(s.story(id), "\n"), "text done") == 2 })
	s.reaches(id, "user_turn")
	s.do("GET", "/api/sessions/"+id+"/rewind?message_id="+message, nil, &plan)
}

// An export that a kill cuts off is no whole file to whoever downloads it, and leaves nothing behind but
// its entry in the audit log.
func TestExportCutOffByKill(t *testing.T) {
	nightly(t)
	t.Parallel()
	const results, size = 400, 60_000
	turn := make([]claudetest.Step, 0, results+1)
	for range results {
		turn = append(turn, claudetest.Step{Bytes: size})
	}
	h := newHarness(t, claudetest.Script{Turn: append(turn, claudetest.Step{Text: "done"})}).asProcesses()
	s := h.start()
	id := s.session("one")
	s.reaches(id, "user_turn")
	export := func(slowly bool) *bufio.Reader {
		t.Helper()
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		must(t, err)
		t.Cleanup(func() { conn.Close() })
		if slowly {
			must(t, conn.(*net.TCPConn).SetReadBuffer(4<<10)) // what is sent waits in the server
		}
		must(t, conn.SetDeadline(time.Now().Add(waitLimit)))
		const body = `{"format":"markdown","language":"en"}`
		_, err = fmt.Fprintf(conn, "POST /api/sessions/%s/export HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			id, s.Token, len(body), body)
		must(t, err)
		return bufio.NewReader(conn)
	}
	read := func(r *bufio.Reader, begun func()) (int64, error) {
		t.Helper()
		answer, err := http.ReadResponse(r, nil)
		must(t, err)
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("status %d", answer.StatusCode)
		}
		begun()
		return io.Copy(io.Discard, answer.Body)
	}
	n, err := read(export(true), func() {
		s.signal(syscall.SIGKILL)
		s.gone(waitLimit)
	})
	if err == nil {
		t.Errorf("%d bytes of the export passed for all of it", n)
	}
	s = h.start()
	if n := s.audited("session_exported"); n != 1 {
		t.Errorf("%d entries in the audit log", n)
	}
	whole, err := read(export(false), func() {})
	must(t, err)
	if whole < results*size || whole <= n {
		t.Errorf("the whole export has %d bytes, that which was cut off %d", whole, n)
	}
}
