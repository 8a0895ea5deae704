package main_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// dexPasswords are people of Dex who sign in with the password "password", in place of the accounts at
// GitHub of the page.
const dexPasswords = `enablePasswordDB: true
staticPasswords:
  - {email: ada@example.org, username: ada, userID: "1", groups: ["example:platform"], hash: "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W"}
  - {email: bob@example.org, username: bob, userID: "2", groups: ["example:developers"], hash: "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W"}
  - {email: eve@example.org, username: eve, userID: "3", groups: ["another:team"], hash: "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W"}
`

var (
	postForm    = regexp.MustCompile(`(?s)<form method="post"(?: action="([^"]*)")?>(.*?)</form>`)
	hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
)

// TestSignInThroughDex runs Dex and the server with the settings of the page about identity providers.
// People sign in with the forms of Dex, and get the roles of their teams.
func TestSignInThroughDex(t *testing.T) {
	nightly(t)
	t.Parallel()
	dex := proxy(t, "dex")
	blocks := recipes(t, "identity-providers.md", "GitHub, through Dex")
	issuer, _ := freeAddress(t)
	// The certificate of the test is for this name.
	const host = "sayso.example.com"
	folder := t.TempDir()
	page := strings.NewReplacer("sayso.example.org", host, "https://dex.example.org", "http://"+issuer, "127.0.0.1:5556", issuer,
		"/var/lib/dex", folder, "/etc/sayso/oidc-secret", filepath.Join(folder, "secret"))
	before, rest, _ := strings.Cut(page.Replace(blockWith(t, blocks, "staticClients")), "connectors:\n")
	_, clients, found := strings.Cut(rest, "staticClients:\n")
	if !found {
		t.Fatal("the recipe has no connector and client")
	}
	for name, text := range map[string]string{
		"dex.yaml": before + dexPasswords + "staticClients:\n" + clients, "sayso.toml": page.Replace(blockWith(t, blocks, "[oidc]")), "secret": "a secret of both\n",
	} {
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	cmd := exec.Command(dex, "serve", filepath.Join(folder, "dex.yaml"))
	cmd.Env = []string{"HOME=" + folder, "DEX_SECRET_OF_SAYSO=a secret of both"}
	aside(t, cmd)

	h := newHarness(t, claudetest.Script{})
	to, _ := freeAddress(t)
	s := h.serveExactly("--config", filepath.Join(folder, "sayso.toml"), "--workspace-root", h.work, "--claude", h.claude, "--listen", to, "--trusted-proxy", "127.0.0.1")
	eventually(t, "the server listens", s.logged("sayso is running at https://"+host))
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: to})
		r.Out.Host = r.In.Host
	}})
	front.StartTLS()
	t.Cleanup(front.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	eventually(t, "Dex listens", func() bool {
		answer, err := http.Get("http://" + issuer + "/.well-known/openid-configuration")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil && answer.StatusCode == http.StatusOK
	})

	for _, person := range []struct {
		name, password, role string
		status               int
	}{
		{"ada", "password", "admin", 200}, {"bob", "password", "member", 200}, {"ada", "password", "admin", 200}, {"eve", "password", "", 403},
	} {
		v := visit(t, "https://"+host, front.Listener.Addr().String(), authority)
		var begun struct{ Address string }
		v.call("POST", "/api/login/oidc/begin", []byte("{}"), 200, &begun)
		back := atDex(t, begun.Address, host, person.name+"@example.org", person.password)
		body, err := json.Marshal(map[string]string{"code": back.Get("code"), "state": back.Get("state")})
		must(t, err)
		var me struct{ User struct{ Name, Role string } }
		v.call("POST", "/api/login/oidc", body, person.status, &me)
		if person.status == 200 && (me.User.Role != person.role || me.User.Name != person.name) {
			t.Errorf("%s is signed in as %+v, want the role %s", person.name, me.User, person.role)
		}
		if person.status == 200 {
			v.call("POST", "/api/login/oidc", body, 400, nil) // nobody uses it twice
		}
	}
}

// atDex goes through the pages of Dex as a browser, and returns the parameters with which it is sent back
// to host.
func atDex(t *testing.T, address, host, login, password string) url.Values {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	browser := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Host == host {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	answer, err := browser.Get(address)
	for range 3 { // the page for the password, and the one for consent
		must(t, err)
		text, err := io.ReadAll(answer.Body)
		must(t, err)
		answer.Body.Close()
		if to, err := answer.Location(); err == nil {
			return to.Query()
		}
		form := postForm.FindStringSubmatch(string(text))
		if answer.StatusCode != http.StatusOK || form == nil {
			t.Fatalf("Dex shows %s at %s: %s", answer.Status, answer.Request.URL, text)
		}
		fields := url.Values{}
		for _, hidden := range hiddenInput.FindAllStringSubmatch(form[2], -1) {
			fields.Set(html.UnescapeString(hidden[1]), html.UnescapeString(hidden[2]))
		}
		if strings.Contains(form[2], `name="password"`) {
			fields.Set("login", login)
			fields.Set("password", password)
		}
		action, err := answer.Request.URL.Parse(html.UnescapeString(form[1]))
		must(t, err)
		answer, err = browser.PostForm(action.String(), fields)
		must(t, err)
	}
	t.Fatal(fmt.Sprint("Dex does not send the browser back, but shows ", answer.Request.URL))
	return nil
}
