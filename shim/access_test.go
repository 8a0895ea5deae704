package shim_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/shim"
)

func token(t testing.TB, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// raw connects without saying anything yet.
func raw(t testing.TB, dir string) shim.Raw {
	t.Helper()
	c, err := shim.Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(t testing.TB, c shim.Raw, version, kind byte, number uint64, head string) (answer byte, text string) {
	t.Helper()
	if err := c.Say(version, kind, number, head, nil); err != nil {
		t.Fatal(err)
	}
	_, kind, got, text, err := c.Hear()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "number of the reply", got, number)
	return kind, text
}

func TestWrongTokenIsRefused(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `exec sleep 1000`))
	for _, wrong := range []string{"", "x", strings.Repeat("0", 64), token(t, h.Dir)[1:]} {
		c := raw(t, h.Dir)
		kind, text := ask(t, c, 1, shim.KindHello, 1, fmt.Sprintf(`{"version":1,"token":%q}`, wrong))
		if kind != shim.KindError || !strings.Contains(text, `"refused"`) {
			t.Errorf("token %q: got %d %s", wrong, kind, text)
		}
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("token %q: the connection goes on: %v", wrong, err)
		}
	}
	hello := fmt.Sprintf(`{"version":1,"token":%q}`, token(t, h.Dir))
	for name, say := range map[string]func(shim.Raw) error{
		"nothing":                  func(shim.Raw) error { return nil },
		"rubbish":                  func(c shim.Raw) error { _, err := c.Write(make([]byte, 5<<10)); return err },
		"half a frame":             func(c shim.Raw) error { _, err := c.Write([]byte("\x00\x00\x00\x05")); return err },
		"another frame":            func(c shim.Raw) error { return c.Say(1, shim.KindStat, 1, hello, nil) },
		"no JSON":                  func(c shim.Raw) error { return c.Say(1, shim.KindHello, 1, "{", nil) },
		"more than a hello can be": func(c shim.Raw) error { return c.Say(1, shim.KindHello, 1, hello, make([]byte, 5<<10)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := raw(t, h.Dir)
			if err := say(c); err != nil && !errors.Is(err, syscall.EPIPE) {
				t.Fatal(err)
			}
			n, err := c.Read(make([]byte, 1))
			if n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got %d bytes, %v; want the end", n, err)
			}
		})
	}
}

// Strangers who say nothing must not keep the server out for longer than they may.
func TestManyUnauthenticatedConnections(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `echo ready; exec sleep 1000`))
	for range 40 {
		raw(t, h.Dir)
	}
	equal(t, "line", recv(t, attach(t, h.Dir, 1, 0)), "ready")
}

func TestHandshakeVersions(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `exec sleep 1000`))
	for _, row := range []struct {
		version int
		want    string
	}{
		{1, `"version":1,`},
		{2, `"version":1,`}, // a server of a later version drives this shim
		{3, `"version":1,`},
		{0, `"version"`},
		{-1, `"version"`},
	} {
		c := raw(t, h.Dir)
		kind, text := ask(t, c, 1, shim.KindHello, 1, fmt.Sprintf(`{"version":%d,"token":%q,"later":{"a":[1]}}`, row.version, token(t, h.Dir)))
		if want := map[bool]byte{true: shim.KindReply, false: shim.KindError}[row.version > 0]; kind != want || !strings.Contains(text, row.want) {
			t.Errorf("version %d: got %d %s", row.version, kind, text)
		}
	}
}

func TestFramesOfLaterVersions(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `cat`))
	c := raw(t, h.Dir)
	ask(t, c, 1, shim.KindHello, 1, fmt.Sprintf(`{"version":1,"token":%q}`, token(t, h.Dir)))
	kind, text := ask(t, c, 1, shim.KindStat, 2, `{"later":true}`)
	if kind != shim.KindReply || !strings.Contains(text, `"alive":true`) {
		t.Errorf("stat before attach: got %d %s", kind, text)
	}
	for _, row := range []struct {
		version, kind byte
		head, want    string
	}{
		{1, 63, `{}`, "unknown"},
		{1, 200, ``, "unknown"},
		{1, shim.KindHello, `{}`, "unknown"},
		{2, shim.KindStat, ``, "version"},
		{1, shim.KindWrite, `{"epoch":0,"key":"k"}`, "fenced"}, // before attach
	} {
		kind, text := ask(t, c, row.version, row.kind, 3, row.head)
		var refusal struct{ Code string }
		if err := json.Unmarshal([]byte(text), &refusal); err != nil || kind != shim.KindError || refusal.Code != row.want {
			t.Errorf("frame %d of version %d: got %d %s, want %s", row.kind, row.version, kind, text, row.want)
		}
	}
	if kind, text := ask(t, c, 1, shim.KindAttach, 4, `{"epoch":3,"from":0,"window":1,"later":"x"}`); kind != shim.KindReply {
		t.Errorf("attach: got %d %s", kind, text)
	}
	if kind, text := ask(t, c, 1, shim.KindWrite, 5, `{"epoch":2,"key":"k"}`); kind != shim.KindError || !strings.Contains(text, "fenced") {
		t.Errorf("a write of a lower epoch on a connection of a higher: got %d %s", kind, text)
	}
}

// A server that meets a shim of the next version but two speaks its own.
func TestAttachToOtherVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[int]error{0: shim.ErrVersion, 1: nil, 2: shim.ErrVersion} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			h := start(t, script(t, `exec sleep 1000`))
			impostor(t, h.Dir, func(c shim.Raw) {
				_, _, number, _, err := c.Hear()
				if err != nil || c.Say(1, shim.KindReply, number, fmt.Sprintf(`{"version":%d,"session_id":"session","process_id":"process"}`, version), nil) != nil {
					return
				}
				if _, _, number, _, err = c.Hear(); err == nil {
					_ = c.Say(1, shim.KindReply, number, `{"salt":1}`, nil)
					_ = c.Say(1, 99, 0, `{}`, nil) // a kind that is not known yet
				}
			})
			c, err := shim.Attach(within(t), h.Dir, 1, 0)
			if c != nil {
				defer c.Detach()
			}
			is(t, "Attach", err, want)
		})
	}
}

// impostor takes the place of the socket in a folder.
func impostor(t testing.TB, dir string, speak func(shim.Raw)) {
	t.Helper()
	path := filepath.Join(dir, "socket")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			speak(shim.Raw{UnixConn: c})
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
}

func TestAttachToAnImpostor(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `exec sleep 1000`))
	impostor(t, h.Dir, func(c shim.Raw) {
		_, _, number, _, err := c.Hear()
		if err == nil {
			_ = c.Say(1, shim.KindReply, number, `{"version":1,"session_id":"another","process_id":"process"}`, nil)
		}
	})
	_, err := shim.Attach(within(t), h.Dir, 1, 0)
	is(t, "Attach", err, shim.ErrGone)
}

func TestAttachToSwappedSockets(t *testing.T) {
	t.Parallel()
	one, two := start(t, script(t, `exec sleep 1000`)), start(t, script(t, `exec sleep 1000`))
	a, b := filepath.Join(one.Dir, "socket"), filepath.Join(two.Dir, "socket")
	for _, move := range [][2]string{{a, a + ".old"}, {b, a}, {a + ".old", b}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
	_, err := shim.Attach(within(t), one.Dir, 1, 0)
	is(t, "Attach", err, shim.ErrGone)
}

func TestAttachToAShimThatHangs(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `exec sleep 1000`))
	if err := syscall.Kill(h.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for { // it may be on a processor still, and answer once more
		c, err := shim.Attach(within(t), h.Dir, 1, 0)
		if err != nil {
			break
		}
		c.Detach()
	}
	for range 3 {
		_, err := shim.Attach(within(t), h.Dir, 1, 0)
		is(t, "Attach", err, shim.ErrHung) // and not that the time of within is over
	}
	is(t, "Clean", shim.Clean(within(t), h.Dir), shim.ErrAlive)
	equal(t, "state", bundle(t, h.Dir).State, shim.Alive)
	if err := shim.Destroy(within(t), h.Dir); err != nil {
		t.Fatal(err)
	}
	equal(t, "state", bundle(t, h.Dir).State, shim.Dead)
	_, err := shim.Attach(within(t), h.Dir, 1, 0)
	is(t, "Attach", err, shim.ErrGone)
}

func TestTheSocketIsMadeAgain(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `cat`))
	older := attach(t, h.Dir, 1, 0)
	if err := os.Remove(filepath.Join(h.Dir, "socket")); err != nil {
		t.Fatal(err)
	}
	wrote(t, older, "k", "line") // an open connection stays
	equal(t, "line", recv(t, attach(t, h.Dir, 2, 0)), "line")
}

func TestSIGHUPLeavesTheSocket(t *testing.T) {
	t.Parallel()
	h := start(t, script(t, `echo ready; exec cat`))
	before, err := os.Lstat(filepath.Join(h.Dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(h.PID, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	until(t, "another socket", func() error {
		after, err := os.Lstat(filepath.Join(h.Dir, "socket"))
		if err == nil && after.ModTime().Equal(before.ModTime()) {
			err = errors.New("it is the same")
		}
		return err
	})
	equal(t, "line", recv(t, attach(t, h.Dir, 1, 0)), "ready")
}

func TestTheFolderIsMoved(t *testing.T) {
	t.Parallel()
	p := script(t, `cat`)
	p.Limits.Segment = 10
	h := start(t, p)
	moved := h.Dir + "-moved"
	if err := os.Rename(h.Dir, moved); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Rename(moved, h.Dir) }) // where it is destroyed
	c := attach(t, moved, 1, 0)
	wrote(t, c, "k", "line")
	equal(t, "line", recv(t, c), "line")
	if err := c.Kill(within(t), 0, true); err != nil {
		t.Fatal(err)
	}
	all(t, c)
	equal(t, "state", bundle(t, moved).State, shim.Exited)
}

func TestALongPath(t *testing.T) {
	t.Parallel()
	p := script(t, `echo ready; exec sleep 1000`)
	p.Dir = filepath.Join(filepath.Dir(p.Dir), strings.Repeat("a", 200), strings.Repeat("b", 200), "bundle")
	h := start(t, p)
	equal(t, "line", recv(t, attach(t, h.Dir, 1, 0)), "ready")
}

func TestModesOfFiles(t *testing.T) {
	t.Parallel()
	p := script(t, `umask; echo secret`)
	p.Env = append(p.Env, "API_KEY=hush-hush")
	h := start(t, p)
	c := attach(t, h.Dir, 1, 0)
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	if got := recv(t, c); got != fmt.Sprintf("%04o", mask) {
		t.Errorf("the umask of the CLI is %s, want %04o", got, mask)
	}
	all(t, c)
	until(t, "exit.json", func() error { _, err := os.Stat(filepath.Join(h.Dir, "exit.json")); return err })
	info, err := os.Stat(h.Dir)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "mode of the folder", info.Mode().Perm(), 0o700)
	entries, err := os.ReadDir(h.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "mode of "+e.Name(), info.Mode().Perm(), 0o600)
		names = append(names, e.Name())
		if e.Type().IsRegular() {
			text, err := os.ReadFile(filepath.Join(h.Dir, e.Name()))
			if err != nil || strings.Contains(string(text), "hush") {
				t.Errorf("%s holds the environment: %v", e.Name(), err)
			}
		}
	}
	for _, name := range []string{"exit.json", "lock", "meta.json", "shim.log", "socket", "token"} {
		if !slices.Contains(names, name) {
			t.Errorf("there is no %s among %q", name, names)
		}
	}
}
