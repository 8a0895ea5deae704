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

// sendTimeout bounds one attempt.
const sendTimeout = 10 * time.Second

// pushTTL is how long a push service keeps a message for an offline browser.
const pushTTL = 4 * time.Hour

// refusedError is the response of a target that did not accept an alert.
type refusedError struct {
	status     int
	retryAfter time.Duration // from the Retry-After header
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("%v: it answered %d %s", ErrRefused, e.status, http.StatusText(e.status))
}
func (e *refusedError) Is(target error) bool { return target == ErrRefused }

// isGone reports whether the browser's subscription has ended (RFC 8030, 7.3).
func (e *refusedError) isGone() bool {
	return e.status == http.StatusNotFound || e.status == http.StatusGone
}

// isPermanent reports whether another attempt would fail too.
func (e *refusedError) isPermanent() bool {
	return e.status >= 300 && e.status < 500 && e.status != http.StatusRequestTimeout && e.status != http.StatusTooManyRequests
}

// newHTTP returns a client for URLs that people entered. Unless private is set, it connects
// to public addresses only, because people must not reach through the server what they cannot
// reach themselves. It checks the address when it dials, after the name was resolved, and
// follows no redirect.
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

// checkURL refuses an invalid target URL before anything is sent to it.
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

// send delivers one message. It returns ErrRefused when the target did not accept it.
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
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be reused
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return nil
	}
	wait, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	return &refusedError{status: answer.StatusCode, retryAfter: min(time.Duration(max(wait, 0))*time.Second, time.Hour)}
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
	r.Header.Set("TTL", strconv.Itoa(int(pushTTL/time.Second)))
	r.Header.Set("Urgency", "high")
	// A newer message with the same topic replaces one that the push service still holds.
	r.Header.Set("Topic", topicOf(m.Tag))
	r.Header.Set("Authorization", authorization)
	return r, nil
}

// topicOf returns the topic of a tag: 32 letters, digits, - and _. A message that is sent
// twice, because a server died before it stored the result, is shown once.
func topicOf(tag string) string {
	sum := sha256.Sum256([]byte(tag))
	return base64.RawURLEncoding.EncodeToString(sum[:24])
}

// subject returns the contact address of this server's operator for push services. Some of
// them refuse addresses that cannot be real.
func (a *Alerter) subject() string {
	if strings.HasPrefix(a.o.PublicURL, "https://") {
		return a.o.PublicURL
	}
	return "https://github.com/sayso-dev/sayso"
}

// webhookBody is the JSON body of a webhook.
type webhookBody struct {
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
	body, err := json.Marshal(webhookBody{
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
	// The signature covers the time, so that a captured request cannot be replayed later.
	at := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(t.Address.Secret))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	r.Header.Set("Sayso-Signature", "t="+at+",v1="+hex.EncodeToString(mac.Sum(nil)))
	return r, nil
}

// ntfyRequest builds the request for ntfy 2.16 or later, which replaces and clears messages
// by sequence id. An older server shows every message and clears none.
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
	if !m.Renotify { // a replaced message may make no sound
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
