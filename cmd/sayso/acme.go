package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"github.com/sayso-dev/sayso/internal/ssrf"
)

// acmeSettings configure certificates by ACME.
type acmeSettings struct {
	Domains   []string
	Email     string
	Directory string
	HTTP      string
}

func (a acmeSettings) used() bool { return len(a.Domains) > 0 }

// complete validates the settings.
func (a *acmeSettings) complete(tlsCert string) error {
	if !a.used() {
		if a.Email != "" || a.Directory != "" || a.HTTP != "" {
			return errors.New("the ACME settings need --acme-domain")
		}
		return nil
	}
	if tlsCert != "" {
		return errors.New("--acme-domain and --tls-cert are two ways to get a certificate. Set only one")
	}
	for i, d := range a.Domains {
		_, notAnAddress := netip.ParseAddr(d)
		if notAnAddress == nil || !strings.Contains(d, ".") || strings.ContainsAny(d, "*:/@ ") || strings.HasSuffix(d, ".") {
			return fmt.Errorf("--acme-domain %s: give a name such as sayso.example.org, without a port or an asterisk", d)
		}
		a.Domains[i] = strings.ToLower(d)
	}
	if a.Email != "" {
		if one, err := mail.ParseAddress(a.Email); err != nil || one.Address != a.Email {
			return fmt.Errorf("--acme-email %s: give an email address such as ops@example.org", a.Email)
		}
	}
	if a.Directory != "" {
		u, err := url.Parse(a.Directory)
		if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && ssrf.IsLoopback(u.Hostname())) {
			return fmt.Errorf("--acme-directory %s: give the https address of the directory", a.Directory)
		}
	}
	return nil
}

// publicURL returns the address of the first domain, "" when the port is chosen later.
func (a acmeSettings) publicURL(listen string) string {
	_, port, err := net.SplitHostPort(listen)
	switch {
	case err != nil || port == "0":
		return ""
	case port == "443":
		return "https://" + a.Domains[0]
	}
	return "https://" + net.JoinHostPort(a.Domains[0], port)
}

// acmeCertificates gets certificates from an ACME directory, and renews them while the server
// runs.
type acmeCertificates struct {
	manager *autocert.Manager
	domains []string
	log     *slog.Logger
}

// newACMECertificates returns certificates that are stored in the state folder. Requests to the
// directory end with ctx.
func newACMECertificates(ctx context.Context, s settings, log *slog.Logger) (*acmeCertificates, error) {
	dir := filepath.Join(s.StateDir, "acme")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("certificate folder: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { // it may have existed
		return nil, fmt.Errorf("certificate folder: %w", err)
	}
	directory := s.ACME.Directory
	if directory == "" {
		directory = acme.LetsEncryptURL
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	return &acmeCertificates{domains: s.ACME.Domains, log: log, manager: &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(dir), HostPolicy: autocert.HostWhitelist(s.ACME.Domains...), Email: s.ACME.Email,
		Client: &acme.Client{DirectoryURL: directory, UserAgent: "sayso", HTTPClient: &http.Client{
			Timeout: time.Minute,
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				both, cancel := context.WithCancel(r.Context())
				stop := context.AfterFunc(ctx, cancel)
				end := func() { // otherwise ctx would hold what each request leaves, as long as the server runs
					stop()
					cancel()
				}
				response, err := transport.RoundTrip(r.WithContext(both))
				if err != nil {
					end()
					return nil, err
				}
				response.Body = &endingBody{response.Body, end}
				return response, nil
			}),
		}},
	}}, nil
}

// setUpACME sets up certificates by ACME, if configured, and opens the listener for plain
// HTTP; both results may be nil.
func setUpACME(ctx context.Context, s settings, server *http.Server, log *slog.Logger) (*acmeCertificates, net.Listener, error) {
	if !s.ACME.used() {
		return nil, nil, nil
	}
	certificates, err := newACMECertificates(ctx, s, log)
	if err != nil {
		return nil, nil, err
	}
	server.TLSConfig = certificates.config()
	if s.ACME.HTTP == "" {
		return certificates, nil, nil
	}
	plain, err := net.Listen("tcp", s.ACME.HTTP)
	if err != nil {
		return nil, nil, fmt.Errorf("--acme-http: cannot listen on %s: %w", s.ACME.HTTP, err)
	}
	certificates.manager.HTTPHandler(nil) // allows HTTP challenges from the first order on
	log.Info("browsers are sent to HTTPS, and the ACME directory is answered", "listen", plain.Addr().String())
	return certificates, plain, nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// endingBody is the body of a response that calls end when it is closed.
type endingBody struct {
	io.ReadCloser
	end func()
}

func (b *endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

func (i *acmeCertificates) config() *tls.Config {
	c := i.manager.TLSConfig()
	c.MinVersion = tls.VersionTLS12
	c.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if !slices.Contains(i.domains, strings.ToLower(hello.ServerName)) {
			// For another name, such as the machine's during set-up, no certificate is
			// requested, and the browser gets that of the first domain.
			named := *hello
			named.ServerName, named.SupportedProtos = i.domains[0], nil
			hello = &named
		}
		return i.manager.GetCertificate(hello)
	}
	return c
}

// Run requests the certificates before a browser needs them. It logs each failure and tries again
// until ctx ends.
func (i *acmeCertificates) Run(ctx context.Context) error {
	for _, domain := range i.domains {
		for wait := time.Minute; ; wait = min(2*wait, time.Hour) {
			_, err := i.manager.GetCertificate(&tls.ClientHelloInfo{
				ServerName: domain, SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}, SupportedVersions: []uint16{tls.VersionTLS13},
				SupportedCurves: []tls.CurveID{tls.CurveP256}, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
			})
			if ctx.Err() != nil {
				return nil
			}
			if err == nil {
				i.log.InfoContext(ctx, "certificate ready", "domain", domain)
				break
			}
			i.log.ErrorContext(ctx, "cannot get a certificate; check that the domain points to this server and that port 443 or 80 is open", "domain", domain, "error", err, "again_in", wait)
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
			}
		}
	}
	return nil
}

// redirectHTTP answers the challenges of the ACME directory over plain HTTP, and redirects other
// requests to the address at.
func (i *acmeCertificates) redirectHTTP(at string) http.Handler {
	return i.manager.HTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "Use HTTPS.", http.StatusBadRequest)
			return
		}
		w.Header().Set("Connection", "close")
		http.Redirect(w, r, at+"/"+strings.TrimLeft(r.URL.RequestURI(), "/"), http.StatusFound)
	}))
}
