package main_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
	"github.com/sayso-dev/sayso/internal/attachment"
)

// recipes returns the blocks of code below a heading of a page in docs/operating, up to the next one.
func recipes(t *testing.T, page, heading string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operating", page))
	must(t, err)
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, match := range regexp.MustCompile("(?ms)^```\\w*\n(.*?)^```").FindAllStringSubmatch(section, -1) {
		blocks = append(blocks, match[1])
	}
	return blocks
}

// proxy returns the path of a program that scripts/proxies fetches.
func proxy(t *testing.T, name string) string {
	t.Helper()
	fetched, err := filepath.Abs(filepath.Join("..", "..", ".tools", "proxies", name))
	must(t, err)
	for _, path := range []string{name, "/usr/sbin/" + name, fetched} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	t.Fatalf("%s is missing. Type: scripts/proxies", name)
	return ""
}

// saysoArgs returns the arguments of the one `sayso serve` in a recipe, with replacements.
func saysoArgs(t *testing.T, recipe string, replace ...string) []string {
	t.Helper()
	var found [][]string
	for line := range strings.Lines(strings.NewReplacer(replace...).Replace(recipe)) {
		if args, ok := strings.CutPrefix(strings.TrimSpace(line), "sayso serve "); ok {
			found = append(found, strings.Fields(args))
		}
	}
	if len(found) != 1 {
		t.Fatalf("the recipe has %d commands sayso serve: %s", len(found), recipe)
	}
	return found[0]
}

// aside starts a proxy that runs until the end of the test.
func aside(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	said := &words{}
	cmd.Stdout, cmd.Stderr = said, said
	must(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Errorf("%s said:\n%s", filepath.Base(cmd.Path), said)
		}
	})
}

// visitor is a browser that trusts one authority and reaches a public address over another.
type visitor struct {
	t      *testing.T
	public string // such as https://sayso.example.org
	client *http.Client
	key    string // of the page
}

// elsewhere is the address from which a visitor of a proxy comes: another than that of the proxy, which
// the server believes.
const elsewhere = "127.0.0.3"

// visit returns a visitor of a public address. dial is where it connects to, "" for the address itself.
func visit(t *testing.T, public, dial string, authority []byte) *visitor {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		t.Fatal("the authority has no certificate")
	}
	jar, err := cookiejar.New(nil)
	must(t, err)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}
	if dial != "" {
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(elsewhere)}}).DialContext(ctx, network, dial)
		}
	}
	return &visitor{t: t, public: public, client: &http.Client{Transport: transport, Jar: jar}}
}

// try calls the server and returns the answer with its body; err is that of the connection.
func (v *visitor) try(method, path string, body []byte, headers ...string) (answer *http.Response, text []byte, err error) {
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.public+path, bytes.NewReader(body))
	must(v.t, err)
	r.Header.Set("X-Sayso-Page-Key", v.key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", v.public)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if answer, err = v.client.Do(r); err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	return answer, text, err
}

// call is try for an answer with a status; out is decoded from it unless it is nil.
func (v *visitor) call(method, path string, body []byte, status int, out any, headers ...string) http.Header {
	v.t.Helper()
	answer, text, err := v.try(method, path, body, headers...)
	must(v.t, err)
	if answer.StatusCode != status {
		v.t.Fatalf("%s %s: got %d, want %d: %.300s", method, path, answer.StatusCode, status, text)
	}
	if out != nil {
		must(v.t, json.Unmarshal(text, out))
	}
	return answer.Header
}

// tab opens a tab and returns its first message.
func (v *visitor) tab(origin string) (string, error) {
	v.t.Helper()
	conn, answer, err := websocket.Dial(v.t.Context(), "wss"+strings.TrimPrefix(v.public, "https")+"/ws", &websocket.DialOptions{
		HTTPClient: v.client, HTTPHeader: http.Header{"Origin": {origin}}, Subprotocols: []string{"sayso", "sayso.page-key." + v.key},
	})
	if answer != nil && answer.Body != nil {
		defer answer.Body.Close()
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.CloseNow() }()
	_, first, err := conn.Read(v.t.Context())
	return string(first), err
}

// uses goes through what a person needs of a public address: the sign-in, the address that the server
// sees, live messages, the largest attachment, and all of it again after a restart of the server.
func (v *visitor) uses(address string, restart func()) {
	v.t.Helper()
	var me struct {
		PageKey string `json:"page_key"`
	}
	header := v.call("POST", "/api/login", []byte(`{"token":"`+blackbox.Token+`"}`), 200, &me, "X-Forwarded-For", "203.0.113.7")
	if cookie := header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-sayso=") || !strings.Contains(cookie, "Secure") {
		v.t.Errorf("the cookie is %q", cookie)
	}
	if header.Get("Strict-Transport-Security") == "" {
		v.t.Error("the browser is not told to use HTTPS from now on")
	}
	v.key = me.PageKey
	var list struct {
		SignIns []struct{ Address string } `json:"sign_ins"`
	}
	v.call("GET", "/api/sign_ins", nil, 200, &list)
	if len(list.SignIns) != 1 || list.SignIns[0].Address != address {
		v.t.Errorf("the sign-ins are %+v, want one from %s", list.SignIns, address)
	}
	v.call("POST", "/api/logout", []byte("{}"), 403, nil, "Origin", "https://evil.example")
	if _, err := v.tab("https://evil.example"); err == nil {
		v.t.Error("a tab of another origin is let in")
	}

	data := make([]byte, attachment.MaxSize)
	_, _ = rand.Read(data) // never fails
	copy(data, "%PDF-1.7\n")
	upload, err := json.Marshal(map[string]any{"name": "large.pdf", "data": data})
	must(v.t, err)
	var kept struct {
		ID string `json:"attachment_id"`
	}
	v.call("POST", "/api/attachments", upload, 201, &kept)
	if _, got, err := v.try("GET", "/api/attachments/"+kept.ID, nil); err != nil || !bytes.Equal(got, data) {
		v.t.Errorf("of %d bytes, %d came back, %v", len(data), len(got), err)
	}
	for range 2 {
		first, err := v.tab(v.public)
		if err != nil || !strings.Contains(first, `"type":"hello"`) {
			v.t.Fatalf("a tab was told %.200q, %v", first, err)
		}
		restart()
		eventually(v.t, "the server is back", func() bool {
			answer, _, err := v.try("GET", "/api/me", nil)
			return err == nil && answer.StatusCode == 200
		})
	}
}

// ownAddress returns an address of this machine in a network.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	must(t, err)
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			return n.IP.String()
		}
	}
	t.Log("this machine is in no network, so it is reached by a loopback address")
	return "127.0.0.2"
}

func freeAddress(t *testing.T) (address, port string) {
	t.Helper()
	address, err := blackbox.FreeAddress()
	must(t, err)
	_, port, err = net.SplitHostPort(address)
	must(t, err)
	return address, port
}

// authority makes an authority with the commands of the page for phones, which do not touch what this
// machine trusts, and runs those that make a certificate. It returns the folder of the files.
func authority(t *testing.T, recipe string, replace ...string) (folder string, root []byte) {
	t.Helper()
	folder = t.TempDir()
	mkcert := proxy(t, "mkcert")
	run := func(args ...string) string {
		cmd := exec.Command(mkcert, args...)
		cmd.Dir = folder
		cmd.Env = []string{"HOME=" + folder, "PATH=" + folder, "CAROOT=" + filepath.Join(folder, "root"), "TRUST_STORES=nss"}
		said := &bytes.Buffer{}
		cmd.Stderr = said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("mkcert %s: %v: %s", args, err, said)
		}
		return strings.TrimSpace(string(out))
	}
	commands := 0
	for line := range strings.Lines(strings.NewReplacer(replace...).Replace(recipe)) {
		if args, ok := strings.CutPrefix(strings.TrimSpace(line), "mkcert "); ok {
			run(strings.Fields(args)...)
			commands++
		}
	}
	if commands != 2 {
		t.Fatalf("the recipe has %d commands of mkcert", commands)
	}
	root, err := os.ReadFile(filepath.Join(run("-CAROOT"), "rootCA.pem"))
	must(t, err)
	return folder, root
}

func TestRecipeForTheLocalNetwork(t *testing.T) {
	nightly(t)
	t.Parallel()
	blocks := recipes(t, "phone.md", "Local network")
	ip := ownAddress(t)
	_, port := freeAddress(t)
	folder, root := authority(t, blocks[0], "192.168.1.7", ip)
	args := saysoArgs(t, blocks[0], "192.168.1.7", ip, ":8787", ":"+port, "sayso.pem", filepath.Join(folder, "sayso.pem"), "sayso.key", filepath.Join(folder, "sayso.key"))
	h := newHarness(t, claudetest.Script{})
	start := func() *server {
		s := h.serveExactly(append([]string{"--workspace-root", h.work, "--claude", h.claude}, args...)...)
		eventually(t, "the server listens", s.logged("sayso is running at"))
		return s
	}
	s := start()
	v := visit(t, "https://"+net.JoinHostPort(ip, port), "", root)
	v.uses(ip, func() {
		s.stop()
		if _, _, err := v.try("GET", "/api/me", nil); err == nil {
			t.Error("a stopped server answers")
		}
		s = start()
	})
}

// behind starts a server with the command of the page behind a proxy, and uses it through the proxy.
// start starts the proxy, which forwards to an address, and returns its own and its authority.
func behind(t *testing.T, start func(to string) (address string, root []byte)) {
	t.Helper()
	blocks := recipes(t, "network.md", "Behind a proxy")
	page := recipes(t, "phone.md", "Reverse proxy")
	args := saysoArgs(t, blocks[0])
	for _, other := range []string{page[0], recipes(t, "phone.md", "Cloudflare Tunnel")[0]} {
		if got := saysoArgs(t, other); !slices.Equal(got, args) {
			t.Errorf("phone.md has %q, network.md %q", got, args)
		}
	}
	to, _ := freeAddress(t)
	h := newHarness(t, claudetest.Script{})
	serve := func() *server {
		s := h.serveExactly(append([]string{"--workspace-root", h.work, "--claude", h.claude, "--listen", to}, args...)...)
		eventually(t, "the server listens", s.logged("sayso is running at https://sayso.example.org"))
		return s
	}
	s := serve()
	address, root := start(to)
	v := visit(t, "https://sayso.example.org", address, root)
	eventually(t, "the proxy listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	v.uses(elsewhere, func() {
		s.stop()
		if answer, _, err := v.try("GET", "/api/me", nil); err == nil && answer.StatusCode != http.StatusBadGateway {
			t.Errorf("without a server, the proxy answers %d", answer.StatusCode)
		}
		s = serve()
	})
}

// blockWith returns the one recipe that contains words.
func blockWith(t *testing.T, blocks []string, words string) string {
	t.Helper()
	found := slices.DeleteFunc(slices.Clone(blocks), func(b string) bool { return !strings.Contains(b, words) })
	if len(found) != 1 {
		t.Fatalf("%d recipes contain %q", len(found), words)
	}
	return found[0]
}

func TestRecipeForNginx(t *testing.T) {
	nightly(t)
	t.Parallel()
	nginx := proxy(t, "nginx")
	behind(t, func(to string) (string, []byte) {
		address, _ := freeAddress(t)
		folder, root := authority(t, blockWith(t, recipes(t, "phone.md", "Local network"), "mkcert"), "192.168.1.7", "sayso.example.org")
		site := strings.NewReplacer("listen 443 ", "listen "+address+" ", "127.0.0.1:8787", to, "/etc/ssl/", folder+"/").
			Replace(blockWith(t, recipes(t, "network.md", "Behind a proxy"), "proxy_pass"))
		if !strings.Contains(site, address) || !strings.Contains(site, to) {
			t.Fatalf("the recipe names other addresses: %s", site)
		}
		startNginx(t, nginx, folder, site)
		return address, root
	})
}

// startNginx starts nginx with a site and its files in a folder.
func startNginx(t *testing.T, nginx, folder, site string) {
	t.Helper()
	var config strings.Builder
	if os.Getuid() == 0 {
		config.WriteString("user root;\n")
	}
	fmt.Fprintf(&config, "daemon off;\nmaster_process off;\npid %[1]s/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n", folder)
	for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&config, "%s_temp_path %s/%[1]s;\n", of, folder)
	}
	config.WriteString(site + "}\n")
	file := filepath.Join(folder, "nginx.conf")
	must(t, os.WriteFile(file, []byte(config.String()), 0o600))
	aside(t, exec.Command(nginx, "-p", folder, "-e", "stderr", "-c", file))
}

func TestRecipeForTraefik(t *testing.T) {
	nightly(t)
	t.Parallel()
	traefik := proxy(t, "traefik")
	behind(t, func(to string) (string, []byte) {
		address, _ := freeAddress(t)
		folder, root := authority(t, blockWith(t, recipes(t, "phone.md", "Local network"), "mkcert"), "192.168.1.7", "sayso.example.org")
		site := strings.ReplaceAll(blockWith(t, recipes(t, "network.md", "Behind a proxy"), "loadBalancer"), "127.0.0.1:8787", to)
		// As on the page, with the certificate of the test.
		site += fmt.Sprintf("tls:\n  certificates:\n    - {certFile: %[1]s/sayso.pem, keyFile: %[1]s/sayso.key}\n", folder)
		file := filepath.Join(folder, "dynamic.yaml")
		must(t, os.WriteFile(file, []byte(site), 0o600))
		cmd := exec.Command(traefik, "--entryPoints.websecure.address="+address, "--providers.file.filename="+file,
			"--global.checkNewVersion=false", "--global.sendAnonymousUsage=false", "--log.level=WARN")
		cmd.Env = []string{"HOME=" + folder}
		cmd.Dir = folder
		aside(t, cmd)
		eventually(t, "it has read the recipe", func() bool { return isCertified(address, root) })
		return address, root
	})
}

// isCertified reports whether a proxy shows a certificate of an authority.
func isCertified(address string, authority []byte) bool {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return false
	}
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, ServerName: "sayso.example.org"})
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func TestRecipeForCaddy(t *testing.T) {
	nightly(t)
	t.Parallel()
	caddy := proxy(t, "caddy")
	behind(t, func(to string) (string, []byte) {
		address, port := freeAddress(t)
		_, plain := freeAddress(t)
		folder := t.TempDir()
		site := strings.ReplaceAll(blockWith(t, recipes(t, "network.md", "Behind a proxy"), "reverse_proxy"), "127.0.0.1:8787", to)
		// As on the page, but with an authority of its own instead of one in the internet.
		config := fmt.Sprintf("{\nadmin off\nlocal_certs\nskip_install_trust\ndefault_bind 127.0.0.1\nhttp_port %s\nhttps_port %s\nstorage file_system %s\n}\n%s", plain, port, folder, site)
		file := filepath.Join(folder, "Caddyfile")
		must(t, os.WriteFile(file, []byte(config), 0o600))
		cmd := exec.Command(caddy, "run", "--config", file, "--adapter", "caddyfile")
		cmd.Env = []string{"HOME=" + folder, "XDG_DATA_HOME=" + folder, "XDG_CONFIG_HOME=" + folder}
		aside(t, cmd)
		var root []byte
		eventually(t, "it has an authority, and a certificate of it", func() bool {
			root, _ = os.ReadFile(filepath.Join(folder, "pki", "authorities", "local", "root.crt"))
			return isCertified(address, root)
		})
		return address, root
	})
}
