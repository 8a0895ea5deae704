package alert_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// memory is a store that is not the contract's business: storetest holds the
// engines against it.
type memory struct {
	mu         sync.Mutex
	targets    []alert.Target
	choices    map[string]json.RawMessage
	deliveries map[string]alert.Delivery
	record     []string
	dead       bool // what became of a delivery is not noted
}

// failNoting makes the store one that a server has no time to write to any more.
func (m *memory) failNoting(is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = is
}

func (m *memory) recorded(record []byte) {
	if record != nil {
		m.record = append(m.record, string(record))
	}
}

func (m *memory) PutTarget(_ context.Context, t alert.Target, record []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recorded(record)
	m.targets = append(slices.DeleteFunc(m.targets, func(k alert.Target) bool { return k.TargetID == t.TargetID }), t)
	return nil
}

func (m *memory) Targets(context.Context) ([]alert.Target, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.targets), nil
}

func (m *memory) MarkTarget(_ context.Context, id string, at time.Time, problem string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.targets {
		if m.targets[i].TargetID == id {
			if !at.IsZero() {
				m.targets[i].SentAt = at
			}
			m.targets[i].Problem = problem
			return nil
		}
	}
	return alert.ErrNotFound
}

func (m *memory) DeleteTarget(_ context.Context, id string, record []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recorded(record)
	m.targets = slices.DeleteFunc(m.targets, func(k alert.Target) bool { return k.TargetID == id })
	maps.DeleteFunc(m.deliveries, func(_ string, d alert.Delivery) bool { return d.TargetID == id })
	return nil
}

func (m *memory) Choices(context.Context) (map[string]json.RawMessage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.choices), nil
}

func (m *memory) PutChoices(_ context.Context, id string, c json.RawMessage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.choices[id] = c
	return nil
}

func (m *memory) PutDelivery(_ context.Context, d alert.Delivery, _ int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead && d.State != alert.Queued {
		return errors.New("the server is dead")
	}
	m.deliveries[d.DeliveryID] = d
	return nil
}

func (m *memory) Deliveries(context.Context) ([]alert.Delivery, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.deliveries)), nil
}

func (m *memory) ForgetDeliveries(_ context.Context, before time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.deliveries, func(_ string, d alert.Delivery) bool { return d.CreatedAt.Before(before) && d.State != alert.Queued })
	return nil
}

// told is one message that arrived at the push endpoint, as a browser reads it.
type told struct {
	alert.Message
	topic string
	to    string
}

// note is what arrived at the ntfy server, taken or not.
type note struct {
	method, path, title, text string
	header                    http.Header
}

// harness is an alerter with everything around it, in the time of a bubble. Its push
// service is a pipe: a bubble knows no sockets.
type harness struct {
	t       *testing.T
	store   *memory
	mu      sync.Mutex
	states  map[string]session.ProcessState
	owners  map[string]string
	answers []int // statuses to answer with; 200 when there are none left
	got     []told
	hooks   []map[string]any
	ntfy    []note
	browser *ecdh.PrivateKey
	auth    []byte
	key     *alert.Key
	options alert.Options
	alerter *alert.Alerter
	stop    func()
}

func newHarness(t *testing.T) *harness {
	r := &harness{
		t: t, store: &memory{choices: map[string]json.RawMessage{}, deliveries: map[string]alert.Delivery{}},
		states: map[string]session.ProcessState{}, owners: map[string]string{}, auth: make([]byte, 16),
	}
	var err error
	if r.browser, err = ecdh.P256().GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	if r.key, err = alert.OpenKey(filepath.Join(t.TempDir(), "key")); err != nil {
		t.Fatal(err)
	}
	r.options = alert.Options{
		Store: r.store, Key: r.key, PublicURL: "https://sayso.example.org", Log: slog.New(slog.DiscardHandler),
		Active: func(context.Context) (list []session.ProcessState, err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return slices.Collect(maps.Values(r.states)), nil
		},
		State: func(_ context.Context, id string) (session.ProcessState, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			s, ok := r.states[id]
			if !ok {
				return s, session.ErrNotFound
			}
			s.Requests = slices.Clone(s.Requests)
			return s, nil
		},
		Owner: func(_ context.Context, id string) (string, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.owners[id], nil
		},
		People: func(context.Context) ([]alert.Person, error) {
			all := func(string) bool { return true }
			return []alert.Person{{UserID: "ada", MayAnswer: all}, {UserID: "grace", MayAnswer: all}}, nil
		},
	}
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

// start runs an alerter over the same store, as the next server would.
func (r *harness) start() {
	var err error
	if r.alerter, err = alert.New(r.options); err != nil {
		r.t.Fatal(err)
	}
	alert.Through(r.alerter, r.serve)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	running := r.alerter
	go func() { done <- running.Run(ctx) }()
	go func() { done <- running.Deliver(ctx, 1) }()
	r.stop = func() {
		cancel()
		if err := errors.Join(<-done, <-done); err != nil {
			r.t.Error(err)
		}
		r.stop = func() {}
	}
}

// serve is the world outside.
func (r *harness) serve(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	status := http.StatusCreated
	if len(r.answers) > 0 {
		status, r.answers = r.answers[0], r.answers[1:]
	}
	if req.URL.Host == "ntfy.example.org" {
		title, err := new(mime.WordDecoder).DecodeHeader(req.Header.Get("Title"))
		if err != nil {
			r.t.Error(err)
		}
		r.ntfy = append(r.ntfy, note{req.Method, req.URL.RequestURI(), title, string(body), req.Header})
	} else if req.URL.Host == "hook.example.org" {
		checkSignature(r.t, req.Header.Get("Sayso-Signature"), body)
		var h map[string]any
		if err := json.Unmarshal(body, &h); err != nil {
			r.t.Error(err)
		}
		r.hooks = append(r.hooks, h)
	} else if status < 300 {
		checkVAPID(r.t, r.key, req)
		plain := decrypt(r.t, r.browser, r.auth, body)
		m := told{topic: req.Header.Get("Topic"), to: req.URL.Path}
		if err := json.Unmarshal(plain, &m.Message); err != nil {
			r.t.Error(err)
		}
		r.got = append(r.got, m)
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// decrypt reads a push message as the browser does (RFC 8188, 8291).
func decrypt(t *testing.T, own *ecdh.PrivateKey, auth, body []byte) []byte {
	t.Helper()
	salt, size, n := body[:16], binary.BigEndian.Uint32(body[16:20]), int(body[20])
	server, sealed := body[21:21+n], body[21+n:]
	if len(sealed) > int(size) {
		t.Errorf("a record of %d bytes, more than %d", len(sealed), size)
	}
	theirs, err := ecdh.P256().NewPublicKey(server)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := own.ECDH(theirs)
	if err != nil {
		t.Fatal(err)
	}
	must := func(b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	prk := must(hkdf.Extract(sha256.New, shared, auth))
	ikm := must(hkdf.Expand(sha256.New, prk, "WebPush: info\x00"+string(own.PublicKey().Bytes())+string(server), 32))
	prk = must(hkdf.Extract(sha256.New, ikm, salt))
	key := must(hkdf.Expand(sha256.New, prk, "Content-Encoding: aes128gcm\x00", 16))
	nonce := must(hkdf.Expand(sha256.New, prk, "Content-Encoding: nonce\x00", 12))
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	plain := must(gcm.Open(nil, nonce, sealed, nil))
	text, last := strings.CutSuffix(string(plain), "\x02")
	if !last {
		t.Error("the record does not say that it is the last")
	}
	return []byte(text)
}

func checkVAPID(t *testing.T, key *alert.Key, req *http.Request) {
	t.Helper()
	var token, public string
	if _, err := fmt.Sscanf(strings.ReplaceAll(req.Header.Get("Authorization"), ",", " "), "vapid t=%s k=%s", &token, &public); err != nil {
		t.Errorf("Authorization %q: %v", req.Header.Get("Authorization"), err)
		return
	}
	if public != key.Public() {
		t.Error("signed with another key")
	}
	raw, _ := base64.RawURLEncoding.DecodeString(public)
	verifier, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(token, ".")
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	hash := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(verifier, hash[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		t.Error("the signature does not hold")
	}
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	text, _ := base64.RawURLEncoding.DecodeString(parts[1])
	if err := json.Unmarshal(text, &claims); err != nil {
		t.Fatal(err)
	}
	if claims.Aud != "https://"+req.URL.Host || !strings.HasPrefix(claims.Sub, "https://") || time.Until(time.Unix(claims.Exp, 0)) > 24*time.Hour {
		t.Errorf("claims %+v", claims)
	}
}

func checkSignature(t *testing.T, header string, body []byte) {
	t.Helper()
	at, given, _ := strings.Cut(strings.TrimPrefix(header, "t="), ",v1=")
	mac := hmac.New(sha256.New, []byte("a secret of a hook"))
	mac.Write([]byte(at + "." + string(body)))
	if hex.EncodeToString(mac.Sum(nil)) != given {
		t.Errorf("the signature %q does not hold", header)
	}
}

func (r *harness) device(user, path string) alert.Target {
	r.t.Helper()
	made, err := r.alerter.AddTarget(r.t.Context(), alert.Target{UserID: user, Way: alert.Push, Name: "Chrome", Address: alert.Address{
		URL: "https://push.example.org/" + path, P256DH: r.browser.PublicKey().Bytes(), Auth: r.auth,
	}}, pending.Actor{UserID: user, Name: user, Device: "Firefox", Address: "192.0.2.7"})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

func (r *harness) choose(user string, change func(*alert.Choices)) {
	r.t.Helper()
	c := alert.DefaultChoices()
	change(&c)
	if err := r.alerter.SetChoices(r.t.Context(), user, c); err != nil {
		r.t.Fatal(err)
	}
}

// ask makes requests wait in a session of Ada.
func (r *harness) ask(sessionID string, requestIDs ...string) {
	r.mu.Lock()
	s := r.states[sessionID]
	s.SessionID, s.Title, s.State = sessionID, "api-server", session.AssistantTurn
	for _, id := range requestIDs {
		s.Requests = append(s.Requests, pending.Request{
			RequestID: id, SessionID: sessionID, RequestType: pending.ToolApproval, Source: pending.SourceClaude, ToolName: "Bash",
			ToolInput: json.RawMessage(`{"command":"rm -rf build"}`), CreatedAt: time.Now(), Status: pending.Open,
		})
	}
	r.states[sessionID] = s
	if _, known := r.owners[sessionID]; !known {
		r.owners[sessionID] = "ada"
	}
	r.mu.Unlock()
	r.alerter.Touch(sessionID)
}

func (r *harness) answer(sessionID, requestID string) {
	r.mu.Lock()
	s := r.states[sessionID]
	s.Requests = slices.DeleteFunc(slices.Clone(s.Requests), func(q pending.Request) bool { return q.RequestID == requestID })
	r.states[sessionID] = s
	r.mu.Unlock()
	r.alerter.Touch(sessionID)
}

// after lets time pass and returns what arrived since the last call.
func (r *harness) after(d time.Duration) []told {
	time.Sleep(d)
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

func lines(got []told) []string {
	out := []string{}
	for _, m := range got {
		out = append(out, strings.TrimSpace(m.Kind+" "+m.Tag+": "+m.Title+" / "+strings.ReplaceAll(m.Body, "\n", " / ")))
	}
	slices.Sort(out) // several go out at once
	return out
}

func (r *harness) hooked() []map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.hooks)
}

func expect(t *testing.T, what string, got []told, want ...string) {
	t.Helper()
	if g := lines(got); !slices.Equal(g, want) {
		t.Errorf("%s: got %q, want %q", what, g, want)
	}
}

func bubble(t *testing.T, test func(t *testing.T, r *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newHarness(t)) })
}

const show = "show q1: Approval needed: Bash / api-server"

func TestOneAlertForARequestAndItsEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.device("grace", "not-hers")
		r.ask("s", "q1")
		expect(t, "within the grace", r.after(4900*time.Millisecond))
		got := r.after(200 * time.Millisecond)
		expect(t, "after it", got, show)
		if got[0].Path != "/sessions/s?request=q1" || got[0].to != "/one" {
			t.Errorf("it leads to %s, and went to %s", got[0].Path, got[0].to)
		}
		r.alerter.Touch("s")
		expect(t, "a minute later", r.after(time.Minute))
		r.answer("s", "q1")
		over := r.after(time.Second)
		expect(t, "when it was answered", over, "close q1: Answered / api-server")
		if over[0].topic != got[0].topic {
			t.Error("the end does not take the place of what it ends")
		}
		expect(t, "later", r.after(time.Hour))
	})
}

func TestNoAlertForActiveUsers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		tab, other := &page{}, &page{}
		r.alerter.SetPresence(tab, "ada", alert.Presence{Active: true})
		r.alerter.SetPresence(other, "grace", alert.Presence{Active: true})
		r.ask("s", "q1")
		expect(t, "while she looks", r.after(time.Hour))
		r.alerter.SetPresence(tab, "ada", alert.Presence{})
		expect(t, "just after", r.after(4900*time.Millisecond))
		expect(t, "when she has not looked for a while", r.after(200*time.Millisecond), show)
		r.ask("s", "q2")
		r.answer("s", "q2")
		expect(t, "what was answered in time", r.after(time.Minute))
	})
}

func TestAlertShowsTextOnRequest(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.choose("ada", func(c *alert.Choices) { c.ShowText, c.Language = true, "de" })
		r.ask("s", "q1")
		expect(t, "told", r.after(10*time.Second), "show q1: Freigabe nötig: Bash / api-server / rm -rf build")
	})
}

func TestManyAlertsBecomeOne(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.ask("s", "q1", "q2", "q3")
		expect(t, "three", r.after(6*time.Second), show, "show q2: Approval needed: Bash / api-server", "show q3: Approval needed: Bash / api-server")
		r.ask("s", "q4", "q5")
		expect(t, "and two more", r.after(6*time.Second), "show several: 5 requests need your attention /")
		r.ask("s", "q6")
		expect(t, "and one soon after", r.after(6*time.Second))
		expect(t, "once it may", r.after(10*time.Second), "show q6: Approval needed: Bash / api-server")
		for _, id := range []string{"q1", "q2", "q3", "q4", "q5"} {
			r.answer("s", id)
		}
		expect(t, "the ends of the three and of the sum", r.after(time.Second),
			"close q1: Answered / api-server", "close q2: Answered / api-server", "close q3: Answered / api-server", "close several: Answered / api-server")
		r.answer("s", "q6")
		expect(t, "the end of the last", r.after(time.Second), "close q6: Answered / api-server")
	})
}

// TestTheSumOutlivesItsFirstSession: the alert about several requests is closed when the last of them is
// answered, however long ago the session of the first one ended.
func TestTheSumOutlivesItsFirstSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.ask("one", "q1")
		r.ask("two", "q2", "q3", "q4")
		expect(t, "the sum", r.after(6*time.Second), "show several: 4 requests need your attention /")
		r.answer("one", "q1")
		r.mu.Lock()
		s := r.states["one"]
		s.State, s.StateChangedAt = session.Dead, time.Now()
		r.states["one"] = s
		r.mu.Unlock()
		r.alerter.Touch("one")
		expect(t, "the end of one session", r.after(11*time.Minute))
		r.ask("three")
		expect(t, "another one", r.after(time.Second))
		for _, id := range []string{"q2", "q3", "q4"} {
			r.answer("two", id)
		}
		expect(t, "the end of the last", r.after(time.Second), "close several: Answered / api-server")
		time.Sleep(11 * time.Minute)
		r.ask("three")
		r.after(time.Second)
		if left := alert.Known(r.alerter); left > 10 { // sessions two and three with their owners, and alerts of two
			t.Errorf("%d are in memory", left)
		}
	})
}

// TestALateEndRemovesNoNewerSum: the target refuses the end of a sum for a while; meanwhile there is
// another sum.
func TestALateEndRemovesNoNewerSum(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		answer := func(ids ...string) {
			for _, id := range ids {
				r.answer("s", id)
			}
		}
		r.ask("s", "q1", "q2", "q3", "q4")
		expect(t, "the sum", r.after(30*time.Second), "show several: 4 requests need your attention /")
		r.mu.Lock()
		r.answers = []int{http.StatusInternalServerError, http.StatusInternalServerError}
		r.mu.Unlock()
		answer("q1", "q2", "q3", "q4")
		expect(t, "its end is refused", r.after(200*time.Millisecond))
		r.ask("s", "q5", "q6", "q7", "q8")
		expect(t, "the next sum", r.after(time.Minute), "show several: 4 requests need your attention /")
		answer("q5", "q6", "q7", "q8")
		expect(t, "its end", r.after(time.Second), "close several: Answered / api-server")
	})
}

// TestOldAlertsAreForgotten: what was sent is kept for a week, and longer in memory for a request that is
// still open, which is not alerted anew.
func TestOldAlertsAreForgotten(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.ask("lasting", "open")
		expect(t, "one that stays open", r.after(6*time.Second), "show open: Approval needed: Bash / api-server")
		for day := range 20 {
			id := fmt.Sprint("q", day)
			r.ask("s", id)
			expect(t, "on day "+id, r.after(6*time.Second), "show "+id+": Approval needed: Bash / api-server")
			r.answer("s", id)
			expect(t, "its end", r.after(time.Second), "close "+id+": Answered / api-server")
			time.Sleep(24 * time.Hour)
		}
		r.store.mu.Lock()
		stored := len(r.store.deliveries)
		r.store.mu.Unlock()
		if known := alert.Known(r.alerter); stored > 16 || known > 16+5 { // two a day for a week, and two sessions
			t.Errorf("%d alerts are stored, and %d in memory", stored, known)
		}
		r.answer("lasting", "open")
		expect(t, "the end of the open one", r.after(time.Second), "close open: Answered / api-server")
	})
}

// TestTargetsAreOnRecord: who sends what sessions say to another place is on record,
// and a browser that comes again is none.
func TestTargetsAreOnRecord(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		made := r.device("ada", "one?secret")
		r.device("ada", "one?secret")
		if err := r.alerter.RemoveTarget(t.Context(), "ada", made.TargetID, pending.Actor{UserID: "ada", Name: "ada", Device: "curl"}); err != nil {
			t.Fatal(err)
		}
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		var got []string
		for _, record := range r.store.record {
			var e struct {
				What, Way, Name, Host, Of string
				By                        struct{ Name, Device, Address string }
			}
			if err := json.Unmarshal([]byte(record), &e); err != nil || strings.Contains(record, "secret") {
				t.Fatalf("%s: %v", record, err)
			}
			got = append(got, fmt.Sprint(e))
		}
		want := []string{"{alert_target_added push Chrome push.example.org ada {ada Firefox 192.0.2.7}}", "{alert_target_removed push Chrome push.example.org ada {ada curl }}"}
		if !slices.Equal(got, want) {
			t.Errorf("on record %q, want %q", got, want)
		}
	})
}

func TestReminderAndEscalation(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.device("grace", "two")
		if _, err := r.alerter.AddTarget(t.Context(), alert.Target{Way: alert.Webhook, Address: alert.Address{URL: "https://hook.example.org/x", Secret: "a secret of a hook"}}, pending.Actor{UserID: "grace", Name: "Grace"}); err != nil {
			t.Fatal(err)
		}
		r.choose("ada", func(c *alert.Choices) { c.RemindAfter = 3 })
		r.choose("", func(c *alert.Choices) { c.EscalateAfter = 10 })
		r.ask("s", "q1")
		expect(t, "first", r.after(6*time.Second), show)
		again := r.after(3 * time.Minute)
		expect(t, "reminder", again, "show q1: Reminder: Approval needed: Bash / api-server")
		if !again[0].Renotify {
			t.Error("a reminder is not heard")
		}
		expect(t, "one reminder is enough", r.after(6*time.Minute))
		if len(r.hooked()) > 0 {
			t.Error("the webhook of the server was told too early")
		}
		others := r.after(2 * time.Minute)
		expect(t, "the others", others, show)
		if others[0].to != "/two" || len(r.hooked()) != 1 || r.hooked()[0]["request_id"] != "q1" || r.hooked()[0]["url"] != "https://sayso.example.org/sessions/s?request=q1" {
			t.Errorf("went to %s and %v", others[0].to, r.hooked())
		}
		r.answer("s", "q1")
		if got := r.after(time.Second); len(got) != 2 || len(r.hooked()) != 2 || r.hooked()[1]["type"] != "close" {
			t.Errorf("the end: got %q and %v", lines(got), r.hooked())
		}
	})
}

func TestQuietHours(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		// The clock of a bubble begins at midnight UTC: half past five in Kolkata.
		r.choose("ada", func(c *alert.Choices) { c.Quiet = alert.Quiet{From: "22:00", To: "07:00", Zone: "Asia/Kolkata"} })
		r.ask("s", "q1", "gone")
		expect(t, "in the night", r.after(89*time.Minute))
		r.answer("s", "gone")
		expect(t, "in the morning", r.after(2*time.Minute), show)
		r.answer("s", "q1")
		r.after(time.Second)
		r.ask("s", "q2")
		expect(t, "by day", r.after(6*time.Second), "show q2: Approval needed: Bash / api-server")
	})
}

func TestExpiredPushSubscriptionIsRemoved(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.answers = []int{http.StatusGone}
		r.ask("s", "q1")
		expect(t, "told", r.after(time.Hour))
		if v, _ := r.alerter.View(t.Context(), "ada"); len(v.Targets) != 0 {
			t.Errorf("still there: %+v", v.Targets)
		}
	})
}

func TestFailedAlertIsRetried(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.answers = []int{500, 429}
		r.ask("s", "q1")
		expect(t, "first", r.after(6*time.Second))
		if v, _ := r.alerter.View(t.Context(), "ada"); v.Targets[0].Problem != "It answered 500 Internal Server Error." {
			t.Errorf("problem %q", v.Targets[0].Problem)
		}
		expect(t, "at last", r.after(time.Minute), show)
		if v, _ := r.alerter.View(t.Context(), "ada"); v.Targets[0].Problem != "" || v.Targets[0].SentAt.IsZero() {
			t.Errorf("got %+v", v.Targets[0])
		}
		r.answers = []int{400}
		r.ask("s", "q2")
		expect(t, "what is refused for good", r.after(time.Hour))
	})
}

func TestNextServerRepeatsNoAlert(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.ask("s", "q1")
		expect(t, "before", r.after(6*time.Second), show)
		r.stop()
		r.ask("s", "q2")
		r.start()
		expect(t, "after", r.after(6*time.Second), "show q2: Approval needed: Bash / api-server")
		r.stop()
		r.answer("s", "q1")
		r.start()
		expect(t, "an answer while nobody was there", r.after(time.Second), "close q1: Answered / api-server")
	})
}

func TestFinishedAndDied(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.choose("ada", func(c *alert.Choices) { c.Wanted[alert.Finished] = []alert.Way{alert.Push} })
		become := func(state session.State, why string) {
			r.mu.Lock()
			s := r.states["s"]
			s.State, s.Error, s.StateChangedAt = state, why, time.Now()
			r.states["s"] = s
			r.mu.Unlock()
			r.alerter.Touch("s")
		}
		r.ask("s")
		r.after(time.Second)
		become(session.UserTurn, "")
		expect(t, "finished", r.after(time.Second), "show finished s: Claude finished / api-server")
		become(session.AssistantTurn, "")
		r.after(time.Second)
		become(session.Dead, "It broke.")
		expect(t, "died", r.after(time.Second), "show died s: The Claude process stopped / api-server")
	})
}

// Of sessions that died nothing stays in memory for ever, and one that comes back is told
// of as before.
func TestDeadSessionsAreForgotten(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		r.device("ada", "one")
		r.choose("ada", func(c *alert.Choices) { c.AllSessions = true })
		become := func(id string, state session.State, why string) {
			r.mu.Lock()
			s := r.states[id]
			s.SessionID, s.State, s.Error, s.StateChangedAt = id, state, why, time.Now()
			r.states[id] = s
			r.mu.Unlock()
			r.alerter.Touch(id)
		}
		become("lasting", session.UserTurn, "")
		r.after(time.Minute)
		before := alert.Known(r.alerter)
		for i := range 100 {
			id := fmt.Sprint("s", i)
			become(id, session.AssistantTurn, "")
			r.after(time.Minute)
			become(id, session.Dead, "It broke.")
			if told := r.after(time.Minute); len(told) != 1 {
				t.Fatalf("told of the end: %v", told)
			}
		}
		r.after(time.Hour)
		become("lasting", session.AssistantTurn, "")
		r.after(time.Second)
		if now := alert.Known(r.alerter); now != before {
			t.Errorf("%d are in memory, want %d", now, before)
		}
		become("s1", session.AssistantTurn, "")
		r.after(time.Minute)
		become("s1", session.Dead, "It broke again.")
		if told := r.after(time.Minute); len(told) != 1 {
			t.Errorf("told of the end of one that came back: %v", told)
		}
	})
}

// What people type must not lead the server where they cannot go themselves.
// TestFullListOfTargets: the maximum of one person neither keeps a known browser from renewing its keys,
// nor takes the browser of somebody else away.
func TestFullListOfTargets(t *testing.T) {
	t.Parallel()
	r := newHarness(t)
	grace := r.device("grace", "shared")
	for i := range 20 {
		r.device("ada", strconv.Itoa(i))
	}
	_, err := r.alerter.AddTarget(t.Context(), alert.Target{UserID: "ada", Way: alert.Push, Name: "Chrome", Address: alert.Address{
		URL: "https://push.example.org/shared", P256DH: r.browser.PublicKey().Bytes(), Auth: r.auth,
	}}, pending.Actor{UserID: "ada"})
	if problem.Message(err) == "" {
		t.Errorf("one more: %v", err)
	}
	view, err := r.alerter.View(t.Context(), "grace")
	if err != nil || len(view.Targets) != 1 || view.Targets[0].TargetID != grace.TargetID {
		t.Errorf("grace has %+v, %v", view.Targets, err)
	}
	r.device("ada", "7")
}

func TestAddressesInside(t *testing.T) {
	t.Parallel()
	a := newHarness(t).alerter
	for _, url := range []string{
		"http://example.org/", "https://127.0.0.1/", "https://[::1]:8787/", "https://localhost/", "https://x.localhost./", "https://10.0.0.1/",
		"https://169.254.169.254/latest", "https://192.168.1.1/", "https://[::ffff:127.0.0.1]/", "https://[fe80::1]/", "https://[fd00::1]/",
		"https://100.64.0.1/", "https://0.0.0.0/", "https://[64:ff9b::7f00:1]/", "https://[64:ff9b:1::1]/", "https://[2002:7f00:1::1]/", "https://[2001::1]/", "https://[fec0::1]/", "https://[::7f00:1]/", "https://[5f00::1]/", "https://[3fff::1]/",
		"https://[100::1]/", "https://192.88.99.1/", "https://203.0.113.1/", "https://255.255.255.255/", "https://[2606:4700::1%25eth0]/", "https://user:pw@example.org/", "ftp://example.org/", "example.org", "https:///x", "",
	} {
		_, err := a.AddTarget(t.Context(), alert.Target{UserID: "ada", Way: alert.Ntfy, Address: alert.Address{URL: url}}, pending.Actor{UserID: "grace", Name: "Grace"})
		var invalid *problem.Error
		if !errors.As(err, &invalid) {
			t.Errorf("%q: %v", url, err)
		}
	}
	// A name that leads inside is found out when it is dialled.
	served := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server was led inside") }))
	defer served.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(served.URL, "http://"))
	if err := alert.Dial(t.Context(), "localhost:"+port); err == nil {
		t.Error("dialled")
	}
}

func TestTheKeyIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "push-key")
	one, err := alert.OpenKey(path)
	if err != nil {
		t.Fatal(err)
	}
	two, err := alert.OpenKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if one.Public() != two.Public() {
		t.Error("another key after a restart")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := alert.OpenKey(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged key: %v", err)
	}
}

// What ntfy is told: enough to decide whether to go there, nothing of what is asked,
// and an end when it was answered.
func TestNtfy(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, r *harness) {
		arrived := func(d time.Duration) []note {
			r.after(d)
			r.mu.Lock()
			defer r.mu.Unlock()
			got := r.ntfy
			r.ntfy = nil
			return got
		}
		if _, err := r.alerter.AddTarget(t.Context(), alert.Target{UserID: "ada", Way: alert.Ntfy, Address: alert.Address{
			URL: "https://ntfy.example.org/topic?up=1", Secret: "tk_of_hers", Priority: 4,
		}}, pending.Actor{UserID: "ada", Name: "Ada"}); err != nil {
			t.Fatal(err)
		}
		r.choose("ada", func(c *alert.Choices) { c.RemindAfter, c.Language = 3, "de" })
		// Not there, then too busy, for so long.
		r.answers = []int{http.StatusBadGateway, http.StatusTooManyRequests}
		r.ask("s", "q1")
		if got := arrived(4900 * time.Millisecond); len(got) != 0 {
			t.Fatalf("told within the grace: %+v", got)
		}
		tries := arrived(30 * time.Second)
		if len(tries) != 3 {
			t.Fatalf("%d tries, want two that fail and one that is taken: %+v", len(tries), tries)
		}
		got := tries[2]
		want := map[string]string{
			"Click": "https://sayso.example.org/sessions/s?request=q1", "Priority": "4", "Authorization": "Bearer tk_of_hers", "Tags": "hourglass_flowing_sand",
		}
		for name, value := range want {
			if got.header.Get(name) != value {
				t.Errorf("%s: %q, want %q", name, got.header.Get(name), value)
			}
		}
		if got.method != http.MethodPost || got.path != "/topic?up=1" || got.title != "Freigabe nötig: Bash" || got.text != "api-server" {
			t.Errorf("got %+v", got)
		}
		sequence := got.header.Get("X-Sequence-ID")
		if !regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`).MatchString(sequence) || sequence != tries[0].header.Get("X-Sequence-ID") {
			t.Errorf("sequence %q", sequence)
		}
		if all := fmt.Sprint(tries); strings.Contains(all, "rm -rf") || strings.Contains(all, "build") {
			t.Errorf("the command is in it: %s", all)
		}
		if again := arrived(3 * time.Minute); len(again) != 1 || !strings.HasPrefix(again[0].title, "Erinnerung") || again[0].header.Get("X-Sequence-ID") != "" {
			t.Errorf("reminder: %+v", again)
		}
		r.answer("s", "q1")
		if over := arrived(time.Second); len(over) != 1 || over[0].method != http.MethodPut || over[0].path != "/topic/"+sequence+"/clear?up=1" || over[0].header.Get("Authorization") != "Bearer tk_of_hers" {
			t.Errorf("end: %+v", over)
		}

		// One that is too old for that is not said to be broken, nor asked again.
		r.ask("s", "q2")
		if got := arrived(6 * time.Second); len(got) != 1 {
			t.Fatalf("got %+v", got)
		}
		r.answers = []int{http.StatusNotFound}
		r.answer("s", "q2")
		if over := arrived(time.Hour); len(over) != 1 {
			t.Errorf("end: %+v", over)
		}
		if v, _ := r.alerter.View(t.Context(), "ada"); v.Targets[0].Problem != "" {
			t.Errorf("problem %q", v.Targets[0].Problem)
		}

		// A topic that is not hers is said, and not tried for ever.
		r.answers = []int{http.StatusForbidden}
		r.ask("s", "q3")
		if got := arrived(time.Hour); len(got) != 1 {
			t.Errorf("%d tries, want one", len(got))
		}
		if v, _ := r.alerter.View(t.Context(), "ada"); v.Targets[0].Problem != "It answered 403 Forbidden." {
			t.Errorf("problem %q", v.Targets[0].Problem)
		}
	})
}
