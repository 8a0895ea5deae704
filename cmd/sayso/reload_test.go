package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// hangUp has the settings read again and waits until the log says so in these
// words.
func (s *server) hangUp(says string) {
	s.h.t.Helper()
	before := strings.Count(s.said.String(), says)
	s.signal(syscall.SIGHUP)
	eventually(s.h.t, "the log says: "+says, func() bool { return strings.Count(s.said.String(), says) > before })
}

const (
	readAgain = "settings reloaded"
	notTaken  = "settings not reloaded; the previous ones stay in effect"
)

// asHost is the status of a request under another host name.
func (s *server) asHost(name string) int {
	s.h.t.Helper()
	r, err := http.NewRequest("GET", s.URL+"/healthz", nil)
	must(s.h.t, err)
	r.Host = name
	answer, err := http.DefaultClient.Do(r)
	must(s.h.t, err)
	answer.Body.Close()
	return answer.StatusCode
}

func TestSettingsAreReadAgain(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	elsewhere, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	file := filepath.Join(h.state, "sayso.toml")
	write := func(text string) { must(t, os.WriteFile(file, []byte(text), 0o600)) }
	settings := `workspace_root = ["` + h.work + `"]` + "\n"
	write(settings)
	// What flags say stays, so most of them are in the file here.
	s := h.serveExactly("--listen", "127.0.0.1:0", "--claude", h.claude, "--config", file)
	s.await()
	id := s.session("one")
	s.reaches(id, "user_turn")
	outside := map[string]any{"cwd": elsewhere, "prompt": "two"}
	if got := s.asHost("sayso.example"); got != 421 {
		t.Fatalf("a host that is not allowed got %d", got)
	}
	if got := s.status("POST", "/api/sessions", outside, nil); got != 400 {
		t.Fatalf("a session outside of the roots got %d", got)
	}

	// A bad file changes nothing, not even what is right in it.
	more := settings + `allowed_host = ["sayso.example"]` + "\n"
	for _, bad := range []string{"idle_limit = \"soon\"\n", "no_such_setting = 1\n", "log_level = \"loud\"\n", "= 1\n"} {
		write(more + bad)
		s.hangUp(notTaken)
	}
	write(more + `workspace_root = ["/there/is/no/such/folder"]`)
	s.hangUp(notTaken)
	if got := s.asHost("sayso.example"); got != 421 {
		t.Errorf("a bad file was taken over: the host got %d", got)
	}

	write(`workspace_root = ["` + h.work + `", "` + elsewhere + `"]
allowed_host = ["sayso.example"]
log_level = "debug"
listen = "127.0.0.1:1"
node_id = "another"
database = "postgres://me:hunter2@localhost/sayso"`)
	s.hangUp(readAgain)
	if got := s.asHost("sayso.example"); got != 200 {
		t.Errorf("the host that is allowed now got %d", got)
	}
	if got := s.asHost("127.0.0.1"); got != 200 {
		t.Errorf("loopback got %d", got)
	}
	var added struct {
		SessionID string `json:"session_id"`
	}
	s.do("POST", "/api/sessions", outside, &added)
	s.reaches(added.SessionID, "user_turn") // what starts Claude knows the new root, too
	said := s.said.String()
	if !strings.Contains(said, `settings="database, node_id"`) || strings.Contains(said, "hunter2") {
		t.Error("it does not name what differs and needs a restart, or names too much")
	}
	s.status("GET", "/api/nothing", nil, nil)
	eventually(t, "debug lines in the log", s.logged("level=DEBUG"))
	if alive := s.process(id).State; alive != "user_turn" {
		t.Fatalf("the session is in %s", alive)
	}

	write(settings + `idle_limit = "1s"`)
	s.hangUp(readAgain)
	s.reaches(id, "dead")
	if reason := s.process(id).KillReason; !strings.Contains(reason, "Nobody sent a message for 1 second") {
		t.Errorf("it ended because: %q", reason)
	}
	if got := s.asHost("sayso.example"); got != 421 {
		t.Errorf("a host that is not allowed any more got %d", got)
	}
}

// With resume_on_answer switched off, and on again, while the server runs.
func TestResumeOnAnswerIsReadAgain(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash}})
	file := filepath.Join(h.state, "sayso.toml")
	must(t, os.WriteFile(file, []byte("resume_on_answer = false"), 0o600))
	s := h.start("--config", file)
	orphan := func() (id, request string) {
		id = s.session("one")
		request = s.asks(id)
		must(t, syscall.Kill(s.pid(id), syscall.SIGKILL))
		s.reaches(id, "dead")
		// A process that is still cleared away looks at the answers and at the setting at its end.
		eventually(t, "its folder is removed", func() bool {
			left, err := os.ReadDir(filepath.Join(h.state, "shims"))
			must(t, err)
			return len(left) == 0
		})
		return id, request
	}
	resumed := func(id string) func() bool {
		return func() bool {
			return slices.ContainsFunc(h.records("start"), func(r claudetest.Record) bool { return slices.Contains(r.Args, "--resume="+id) })
		}
	}
	left, leftRequest := orphan()
	s.allow(leftRequest)
	taken, takenRequest := orphan()
	must(t, os.WriteFile(file, nil, 0o600))
	s.hangUp(readAgain)
	s.allow(takenRequest)
	eventually(t, "the session is resumed", resumed(taken))
	if resumed(left)() {
		t.Error("a session was resumed although the setting said no")
	}
}

// pair writes a certificate with this number and its key.
func pair(t *testing.T, cert, key string, number int64) {
	t.Helper()
	pairUntil(t, cert, key, number, time.Now().Add(time.Hour))
}

// pairUntil is pair with the end of the certificate.
func pairUntil(t *testing.T, cert, key string, number int64, end time.Time) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(number), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: end,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	secret, err := x509.MarshalECPrivateKey(private)
	must(t, err)
	must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
}

func TestCertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	cert, key := filepath.Join(h.state, "cert.pem"), filepath.Join(h.state, "key.pem")
	h.serve("--tls-cert", cert, "--tls-key", key).refused("cert.pem")
	pair(t, cert, key, 1)
	s := h.start("--tls-cert", cert, "--tls-key", key)
	number := func() int64 {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), &tls.Config{InsecureSkipVerify: true}) // it is not who, but which
		must(t, err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := number(); got != 1 {
		t.Fatalf("it shows certificate %d", got)
	}
	pair(t, cert, key, 2)
	s.hangUp(readAgain)
	if got := number(); got != 2 {
		t.Errorf("it shows certificate %d, want the new one", got)
	}
	must(t, os.WriteFile(key, []byte("no key"), 0o600))
	s.hangUp(notTaken)
	if got := number(); got != 2 {
		t.Errorf("it shows certificate %d, want the last good one", got)
	}
}

// TestSettingsOnTheScreenAreThoseAtWork changes a setting that a reload applies, and some that
// need a restart.
func TestSettingsOnTheScreenAreThoseAtWork(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	file := filepath.Join(h.state, "sayso.toml")
	must(t, os.WriteFile(file, []byte(`node_id = "first"`), 0o600))
	s := h.start("--config", file)
	shown := func() map[string]string {
		var list struct {
			Settings []struct{ Name, Value string }
		}
		s.do("GET", "/api/settings", nil, &list)
		values := map[string]string{}
		for _, one := range list.Settings {
			values[one.Name] = one.Value
		}
		return values
	}
	must(t, os.WriteFile(file, []byte("node_id = \"second\"\npublic_url = \"https://sayso.example.org\"\nlog_level = \"debug\"\nallowed_host = [\"a.example\", \"b.example\"]"), 0o600))
	s.hangUp(readAgain)
	got := shown()
	for name, want := range map[string]string{
		"listen": strings.TrimPrefix(s.URL, "http://"), "node_id": "first", "public_url": "", "log_level": "debug", "allowed_host": "a.example\nb.example",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}
