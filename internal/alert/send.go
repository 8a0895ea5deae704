package alert

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/ssrf"
)

// sendTimeout is how long one place may take.
const sendTimeout = 10 * time.Second

// lifeOfPush is how long a push service keeps a message for a browser that is away.
const lifeOfPush = 4 * time.Hour

// refusedError is the answer of a place that did not take an alert.
type refusedError struct {
	status int
	again  time.Duration // it asked to wait so long
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("%v: it answered %d %s", ErrRefused, e.status, http.StatusText(e.status))
}
func (e *refusedError) Is(target error) bool { return target == ErrRefused }

// gone: the browser gave its subscription up (RFC 8030, 7.3).
func (e *refusedError) gone() bool {
	return e.status == http.StatusNotFound || e.status == http.StatusGone
}

// final: the same again would be refused again.
func (e *refusedError) final() bool {
	return e.status >= 300 && e.status < 500 && e.status != http.StatusRequestTimeout && e.status != http.StatusTooManyRequests
}

// newHTTP makes a client that reaches public addresses alone, unless private is
// set: what it asks for was typed by people, who must not reach through the
// server what they cannot reach themselves. The address is checked when it is
// dialled, after its name was looked up, and no redirect is followed.
func newHTTP(private bool) *http.Client {
	dialer := &net.Dialer{Timeout: sendTimeout}
	if !private {
		dialer.Control = ssrf.Control
	}
	return &http.Client{
		Timeout: sendTimeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 20, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: sendTimeout, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// checkURL refuses what is no address of a place, before anything is sent there.
func checkURL(text string, private bool) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || len(text) > 2000 || u.User != nil || u.Fragment != "":
		return problem.For("url", "url_invalid")
	case u.Scheme != "https" && (u.Scheme != "http" || !private):
		return problem.For("url", "url_not_https")
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, err := netip.ParseAddr(host)
	if !private && (err == nil && !ssrf.Public(ip) || host == "localhost" || strings.HasSuffix(host, ".localhost")) {
		return problem.For("url", "url_private")
	}
	return nil
}

// send delivers one message. ErrRefused when it arrived and was not taken.
func (a *Alerter) send(ctx context.Context, t Target, d Delivery, m Message) error {
	if err := checkURL(t.Address.URL, a.o.Private); err != nil {
		return err
	}
	var r *http.Request
	var err error
	switch t.Way {
	case Push:
		r, err = a.pushRequest(ctx, t, m)
	case Webhook:
		r, err = a.webhookRequest(ctx, t, d, m)
	case Ntfy:
		r, err = a.ntfyRequest(ctx, t, d, m)
	default:
		err = fmt.Errorf("alert: a target of way %q", t.Way)
	}
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", "sayso")
	answer, err := a.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be used again
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return nil
	}
	wait, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	return &refusedError{status: answer.StatusCode, again: min(time.Duration(max(wait, 0))*time.Second, time.Hour)}
}

func (a *Alerter) pushRequest(ctx context.Context, t Target, m Message) (*http.Request, error) {
	plain, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	body, err := encrypt(plain, t.Address.P256DH, t.Address.Auth)
	if err != nil {
		return nil, err
	}
	authorization, err := a.o.Key.authorization(t.Address.URL, a.subject(), time.Now())
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Address.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Encoding", "aes128gcm")
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("TTL", strconv.Itoa(int(lifeOfPush/time.Second)))
	r.Header.Set("Urgency", "high")
	// One that waits at the push service is replaced by what is newer of its tag.
	r.Header.Set("Topic", topicOf(m.Tag))
	r.Header.Set("Authorization", authorization)
	return r, nil
}

// topicOf names what a message is about in 32 letters, digits, - and _. What is sent
// twice, because a server died before it noted that it was sent, is seen once.
func topicOf(tag string) string {
	sum := sha256.Sum256([]byte(tag))
	return base64.RawURLEncoding.EncodeToString(sum[:24])
}

// subject is how a push service reaches who runs this server; some refuse one
// that cannot be a real address.
func (a *Alerter) subject() string {
	if strings.HasPrefix(a.o.PublicURL, "https://") {
		return a.o.PublicURL
	}
	return "https://github.com/sayso-dev/sayso"
}

// hook is the body of a webhook.
type hook struct {
	Type       string   `json:"type"` // first, reminder, fold, close, test
	DeliveryID string   `json:"delivery_id"`
	Occasion   Occasion `json:"occasion"`
	SessionID  string   `json:"session_id,omitempty"`
	RequestID  string   `json:"request_id,omitempty"`
	Title      string   `json:"title"`
	Body       string   `json:"body,omitempty"`
	URL        string   `json:"url"`
}

func (a *Alerter) webhookRequest(ctx context.Context, t Target, d Delivery, m Message) (*http.Request, error) {
	body, err := json.Marshal(hook{
		Type: string(d.Step), DeliveryID: d.DeliveryID, Occasion: d.Occasion, SessionID: d.SessionID, RequestID: d.RequestID,
		Title: m.Title, Body: m.Body, URL: a.link(m.Path),
	})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Address.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Sayso-Delivery", d.DeliveryID)
	// The time is signed with it, so that what was overheard cannot be sent again later.
	at := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(t.Address.Secret))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	r.Header.Set("Sayso-Signature", "t="+at+",v1="+hex.EncodeToString(mac.Sum(nil)))
	return r, nil
}

// ntfyRequest speaks to ntfy from 2.16 on, which replaces and clears messages by a
// sequence id; one that is older shows each and clears none.
func (a *Alerter) ntfyRequest(ctx context.Context, t Target, d Delivery, m Message) (*http.Request, error) {
	if d.Step == Close {
		u, err := url.Parse(t.Address.URL)
		if err != nil {
			return nil, err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, u.JoinPath(topicOf(m.Tag), "clear").String(), http.NoBody)
		if err == nil && t.Address.Secret != "" {
			r.Header.Set("Authorization", "Bearer "+t.Address.Secret)
		}
		return r, err
	}
	text := m.Body
	if text == "" {
		text = m.Title
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Address.URL, strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Title", mime.BEncoding.Encode("utf-8", m.Title))
	r.Header.Set("Click", a.link(m.Path))
	r.Header.Set("Tags", "hourglass_flowing_sand")
	if !m.Renotify { // what takes the place of another may not be heard
		r.Header.Set("X-Sequence-ID", topicOf(m.Tag))
	}
	if t.Address.Priority > 0 {
		r.Header.Set("Priority", strconv.Itoa(t.Address.Priority))
	}
	if t.Address.Secret != "" {
		r.Header.Set("Authorization", "Bearer "+t.Address.Secret)
	}
	return r, nil
}

func (a *Alerter) link(path string) string { return strings.TrimSuffix(a.o.PublicURL, "/") + path }
