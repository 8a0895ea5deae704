package main_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// halfAnswer is an answer to a request of which the server has the first half.
type halfAnswer struct {
	conn net.Conn
	rest string
}

func (s *server) halfAnswer(requestID string) *halfAnswer {
	s.h.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	must(s.h.t, err)
	s.h.t.Cleanup(func() { conn.Close() })
	const body = `{"request_type":"tool_approval","decision":"allow"}`
	_, err = fmt.Fprintf(conn, "POST /api/pending/%s/response HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
		requestID, blackbox.Token, len(body))
	must(s.h.t, err)
	// The server asks for the body when it has begun with the request.
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, "100 Continue") {
		s.h.t.Fatalf("the server does not ask for the body: %q, %v", line, err)
	}
	_, err = conn.Write([]byte(body[:5]))
	must(s.h.t, err)
	return &halfAnswer{conn, body[5:]}
}

// finish sends the rest and returns the status of the answer.
func (a *halfAnswer) finish(t *testing.T) int {
	t.Helper()
	_, err := a.conn.Write([]byte(a.rest))
	must(t, err)
	must(t, a.conn.SetReadDeadline(time.Now().Add(waitLimit)))
	r := bufio.NewReader(a.conn)
	for {
		answer, err := http.ReadResponse(r, nil)
		must(t, err)
		answer.Body.Close()
		if answer.StatusCode >= 200 {
			return answer.StatusCode
		}
	}
}

func (s *server) refusesConnections() bool {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err == nil {
		conn.Close()
	}
	return err != nil
}

// A server that is told to stop takes nothing new, finishes what has come in,
// tells the tabs to come back, and leaves the sessions running with their
// questions open.
func TestStopLeavesSessionsRunning(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}}).asProcesses()
	first := h.start()
	answered, open := first.session("one"), first.session("two")
	a, o := first.asks(answered), first.asks(open)
	pid := first.pid(open)
	tab := first.tab()
	tab.until(t, waitLimit, "the snapshot", ofType("active_processes"))
	under := first.halfAnswer(a)

	began := time.Now()
	first.signal(syscall.SIGTERM)
	if err := tab.close(t, waitLimit); !strings.Contains(err.Error(), "StatusGoingAway") {
		t.Errorf("the tab ended with %v, want 1001", err)
	}
	eventually(t, "connections are refused", first.refusesConnections)
	if status := under.finish(t); status != 200 {
		t.Errorf("the answer under way got %d", status)
	}
	if code := first.gone(waitLimit); code != 0 {
		t.Errorf("exit code %d", code)
	}
	t.Logf("it took %s", time.Since(began))
	if !alive(pid) {
		t.Fatal("Claude ended with the server")
	}

	second := h.start()
	second.reaches(answered, "user_turn")
	if again := second.asks(open); again != o {
		t.Errorf("the open request is %s now, was %s", again, o)
	}
	if now := second.pid(open); now != pid {
		t.Errorf("Claude is process %d now, was %d", now, pid)
	}
	second.allow(o)
	second.reaches(open, "user_turn")
	if n := len(h.records("asked")); n != 2 {
		t.Errorf("Claude asked %d times, want 2", n)
	}
	if n := len(h.records("control_response")); n != 2 {
		t.Errorf("Claude heard %d answers, want 2", n)
	}
}

// What takes too long is cut off.
func TestStopDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash}}).asProcesses()
	s := h.start()
	s.halfAnswer(s.asks(s.session("one")))
	began := time.Now()
	s.signal(syscall.SIGTERM)
	if code := s.gone(waitLimit); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(began); took < 4*time.Second {
		t.Errorf("the request was cut off after %s, want 5 s", took)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "It is there."}}}).asProcesses()
	first := h.start()
	id := first.session("one")
	request := first.asks(id)
	first.halfAnswer(request)
	first.signal(syscall.SIGTERM)
	eventually(t, "connections are refused", first.refusesConnections)
	select {
	case <-first.exited:
		t.Fatal("it did not wait for the request under way")
	default:
	}
	first.signal(syscall.SIGTERM)
	if code := first.gone(waitLimit); code != -1 {
		t.Errorf("exit code %d, want the signal's", code)
	}
	second := h.start()
	if again := second.asks(id); again != request {
		t.Errorf("the open request is %s now, was %s", again, request)
	}
	second.allow(request)
	second.reaches(id, "user_turn")
}
