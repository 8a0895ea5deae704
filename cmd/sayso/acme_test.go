package main_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// acmeDirectory issues certificates as RFC 8555 says, as far as one client needs
// it. The first it gives are due for renewal at once.
type acmeDirectory struct {
	*httptest.Server
	t    *testing.T
	way  string // the challenge that it offers
	key  *ecdsa.PrivateKey
	cert *x509.Certificate

	mu     sync.Mutex // protects following
	nonces map[string]bool
	jwk    json.RawMessage // of the account
	orders []*acmeOrder
	at     string // where the domain leads, once that is known
}

type acmeOrder struct {
	domain, token string
	valid         bool
	chain         []byte
	serial        int64
}

func newACMEDirectory(t *testing.T, way string) *acmeDirectory {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority of the tests"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	d := &acmeDirectory{t: t, way: way, key: key, nonces: map[string]bool{}}
	d.cert, err = x509.ParseCertificate(der)
	must(t, err)
	d.Server = httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(d.Close)
	return d
}

// leads says where the domain leads; until then no order is looked after.
func (d *acmeDirectory) leads(to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = to
}

func (d *acmeDirectory) ordered() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.orders)
}

func (d *acmeDirectory) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	nonce := rand.Text()
	d.nonces[nonce] = true
	w.Header().Set("Replay-Nonce", nonce)
	reply := func(status int, location string, v any) {
		w.Header().Set("Content-Type", "application/json")
		if location != "" {
			w.Header().Set("Location", d.URL+location)
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	if r.URL.Path == "/directory" {
		reply(200, "", map[string]string{"newNonce": d.URL + "/nonce", "newAccount": d.URL + "/account", "newOrder": d.URL + "/order", "revokeCert": d.URL + "/revoke", "keyChange": d.URL + "/change"})
		return
	}
	if r.URL.Path == "/nonce" {
		w.WriteHeader(http.StatusOK)
		return
	}
	var signed struct{ Protected, Payload string }
	var protected struct {
		Nonce, URL string
		JWK        json.RawMessage
	}
	data, _ := io.ReadAll(r.Body)
	header, payload := []byte(nil), []byte(nil)
	if json.Unmarshal(data, &signed) == nil {
		header, _ = base64.RawURLEncoding.DecodeString(signed.Protected)
		payload, _ = base64.RawURLEncoding.DecodeString(signed.Payload)
	}
	if json.Unmarshal(header, &protected) != nil || !d.nonces[protected.Nonce] || protected.URL != d.URL+r.URL.Path {
		reply(400, "", map[string]string{"type": "urn:ietf:params:acme:error:badNonce"})
		return
	}
	delete(d.nonces, protected.Nonce)
	if r.URL.Path == "/account" {
		status := 200
		if d.jwk == nil {
			status, d.jwk = 201, protected.JWK
		}
		reply(status, "/account/1", map[string]string{"status": "valid"})
		return
	}
	if r.URL.Path == "/order" {
		var asked struct {
			Identifiers []struct{ Type, Value string }
		}
		_ = json.Unmarshal(payload, &asked)
		d.orders = append(d.orders, &acmeOrder{domain: asked.Identifiers[0].Value, token: rand.Text()})
		n := len(d.orders) - 1
		reply(201, fmt.Sprintf("/order/%d", n), d.order(n))
		return
	}
	var what string
	var n int
	if _, err := fmt.Sscanf(strings.ReplaceAll(r.URL.Path, "/", " "), " %s %d", &what, &n); err != nil || n >= len(d.orders) {
		reply(404, "", map[string]string{})
		return
	}
	o := d.orders[n]
	switch what {
	case "order":
		reply(200, fmt.Sprintf("/order/%d", n), d.order(n))
	case "authz", "challenge":
		if d.at != "" && !o.valid && what == "authz" {
			d.validate(o)
		}
		status := map[bool]string{true: "valid", false: "pending"}[o.valid]
		challenge := map[string]string{"type": d.way, "url": fmt.Sprintf("%s/challenge/%d", d.URL, n), "token": o.token, "status": status}
		if what == "challenge" {
			reply(200, "", challenge)
			return
		}
		w.Header().Set("Retry-After", "1")
		reply(200, "", map[string]any{"status": status, "identifier": map[string]string{"type": "dns", "value": o.domain}, "challenges": []any{challenge}})
	case "finalize":
		d.issue(o, payload)
		reply(200, fmt.Sprintf("/order/%d", n), d.order(n))
	case "cert":
		w.Header().Set("Content-Type", "application/pem-certificate-chain")
		_, _ = w.Write(o.chain)
	}
}

func (d *acmeDirectory) order(n int) map[string]any {
	o := d.orders[n]
	status := "pending"
	if o.valid {
		status = "ready"
	}
	v := map[string]any{
		"authorizations": []string{fmt.Sprintf("%s/authz/%d", d.URL, n)}, "finalize": fmt.Sprintf("%s/finalize/%d", d.URL, n),
		"identifiers": []map[string]string{{"type": "dns", "value": o.domain}},
	}
	if o.chain != nil {
		status, v["certificate"] = "valid", fmt.Sprintf("%s/cert/%d", d.URL, n)
	}
	v["status"] = status
	return v
}

// validate looks whether the domain proves that it is the account's.
func (d *acmeDirectory) validate(o *acmeOrder) {
	var k struct{ Crv, Kty, X, Y string }
	_ = json.Unmarshal(d.jwk, &k)
	thumb := sha256.Sum256(fmt.Appendf(nil, `{"crv":%q,"kty":%q,"x":%q,"y":%q}`, k.Crv, k.Kty, k.X, k.Y))
	proof := o.token + "." + base64.RawURLEncoding.EncodeToString(thumb[:])
	if d.way == "http-01" {
		r, _ := http.NewRequestWithContext(d.t.Context(), "GET", "http://"+d.at+"/.well-known/acme-challenge/"+o.token, nil)
		r.Host = o.domain
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: waitLimit}).Do(r)
		if err != nil {
			return
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		o.valid = string(text) == proof
		return
	}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: waitLimit}, "tcp", d.at, &tls.Config{ServerName: o.domain, NextProtos: []string{"acme-tls/1"}, InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer conn.Close()
	hash := sha256.Sum256([]byte(proof))
	want, _ := asn1.Marshal(hash[:])
	for _, e := range conn.ConnectionState().PeerCertificates[0].Extensions {
		o.valid = o.valid || e.Id.Equal(asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 31}) && bytes.Equal(e.Value, want)
	}
}

func (d *acmeDirectory) issue(o *acmeOrder, payload []byte) {
	var asked struct{ CSR string }
	_ = json.Unmarshal(payload, &asked)
	der, _ := base64.RawURLEncoding.DecodeString(asked.CSR)
	csr, err := x509.ParseCertificateRequest(der)
	if err != nil || csr.CheckSignature() != nil || !o.valid {
		return
	}
	o.serial = int64(len(d.orders)) + 100
	template := &x509.Certificate{
		SerialNumber: big.NewInt(o.serial), DNSNames: []string{o.domain}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, NotBefore: time.Now().Add(-3 * time.Hour), NotAfter: time.Now().Add(12 * time.Hour),
	}
	if len(d.orders) == 1 {
		template.NotAfter = time.Now().Add(30 * time.Minute)
	}
	made, err := x509.CreateCertificate(rand.Reader, template, d.cert, csr.PublicKey, d.key)
	if err != nil {
		return
	}
	for _, der := range [][]byte{made, d.cert.Raw} {
		o.chain = append(o.chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
}

// serial is that of the certificate with which a server shows itself, 0 for none
// that one could trust.
func (d *acmeDirectory) serial(at, name string) int64 {
	pool := x509.NewCertPool()
	pool.AddCert(d.cert)
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: waitLimit}, "tcp", at, &tls.Config{ServerName: name, RootCAs: pool})
	if err != nil {
		return 0
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

const acmeDomain = "sayso.example.test"

// TestCertificatesByACME: the server gets its certificate, keeps it over a restart,
// and renews it, for its own names only.
func TestCertificatesByACME(t *testing.T) {
	t.Parallel()
	d := newACMEDirectory(t, "tls-alpn-01")
	h := newHarness(t, claudetest.Script{})
	args := []string{"--acme-domain", acmeDomain, "--acme-directory", d.URL + "/directory", "--acme-email", "ops@example.test"}
	s := h.start(args...)
	at := strings.TrimPrefix(s.URL, "https://")
	d.leads(at)
	eventually(t, "it shows a certificate of its name", func() bool { return d.serial(at, acmeDomain) != 0 })
	eventually(t, "which was due and is renewed", func() bool { return d.serial(at, acmeDomain) == 102 })

	pool := x509.NewCertPool()
	pool.AddCert(d.cert)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: acmeDomain}}}
	request, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+at+"/healthz", nil)
	must(t, err)
	request.Host = acmeDomain
	answer, err := client.Do(request)
	must(t, err)
	answer.Body.Close()
	if answer.StatusCode != 200 || answer.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("over HTTPS by its name: got %d", answer.StatusCode)
	}
	if n := d.serial(at, "evil.example.test"); n != 0 {
		t.Errorf("by another name it shows %d", n)
	}
	conn, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true}) // as a browser at 127.0.0.1
	must(t, err)
	conn.Close()

	folder := filepath.Join(h.state, "acme")
	info, err := os.Stat(folder)
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("%s has mode %v", folder, info.Mode())
	}
	files, err := os.ReadDir(folder)
	must(t, err)
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v (%v)", f.Name(), info.Mode(), err)
		}
	}
	before := d.ordered()
	s.stop()
	again := h.start(args...)
	at = strings.TrimPrefix(again.URL, "https://")
	eventually(t, "after a restart it has it still", func() bool { return d.serial(at, acmeDomain) == 102 })
	if n := d.ordered(); n != before || n != 2 {
		t.Errorf("%d certificates were ordered, want 2", n)
	}
}

func TestCertificatesByPlainHTTP(t *testing.T) {
	t.Parallel()
	d := newACMEDirectory(t, "http-01")
	h := newHarness(t, claudetest.Script{})
	s := h.start("--acme-domain", acmeDomain, "--acme-directory", d.URL+"/directory", "--acme-http", "127.0.0.1:0", "--public-url", "https://"+acmeDomain)
	listens := regexp.MustCompile(`ACME directory is answered" listen=(\S+)`)
	var plain []string
	eventually(t, "it listens for plain HTTP", func() bool { plain = listens.FindStringSubmatch(s.said.String()); return plain != nil })
	d.leads(plain[1])
	eventually(t, "certificate ready", s.logged("certificate ready"))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, want := range map[string]string{"/sessions/1?x=y": "https://" + acmeDomain + "/sessions/1?x=y", "//evil.example/": "https://" + acmeDomain + "/evil.example/"} {
		answer, err := client.Get("http://" + plain[1] + path)
		must(t, err)
		answer.Body.Close()
		if to := answer.Header.Get("Location"); answer.StatusCode != 302 || to != want {
			t.Errorf("%s: got %d to %q, want %q", path, answer.StatusCode, to, want)
		}
	}
	answer, err := client.Post("http://"+plain[1]+"/api/login", "application/json", strings.NewReader("{}"))
	must(t, err)
	answer.Body.Close()
	if answer.StatusCode != 400 {
		t.Errorf("a POST without encryption: got %d", answer.StatusCode)
	}
}

func TestSettingsOfACME(t *testing.T) {
	t.Parallel()
	h := newHarness(t, claudetest.Script{})
	h.serve("--acme-email", "a@example.test").refused("need --acme-domain")
	h.serve("--acme-domain", acmeDomain, "--tls-cert", "c", "--tls-key", "k").refused("two ways")
	for _, domain := range []string{"*.example.test", "localhost", "192.0.2.1", "https://sayso.example.test", "sayso.example.test:443"} {
		h.serve("--acme-domain", domain).refused("give a name such as")
	}
	for _, email := range []string{"nomail", "Ops <ops@example.org>", "a@example.org b@example.org"} {
		h.serve("--acme-domain", acmeDomain, "--acme-email", email).refused("give an email address such as")
	}
	h.serve("--acme-domain", acmeDomain, "--acme-directory", "http://acme.example.test/directory").refused("https address of the directory")
}
