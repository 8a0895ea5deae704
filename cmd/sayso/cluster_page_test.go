package main_test

import (
	"database/sql"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// clusterOfPage starts the two servers of the page about several servers, and returns their addresses
// and what starts each again.
func clusterOfPage(t *testing.T, proxy string) (servers [2]*server, addresses [2]string, again [2]func() *server) {
	t.Helper()
	dsn := postgrestest.Database(t)
	var push []byte
	blocks := recipes(t, "cluster.md", "Start them")
	for i := range servers {
		addresses[i], _ = freeAddress(t)
		h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "done"}}})
		args := saysoArgs(t, blocks[i], "10.0.0.11:8787", addresses[i], "10.0.0.12:8787", addresses[i], "10.0.0.5", proxy, "'postgres://sayso@db.example.org/sayso'", dsn)
		key := filepath.Join(h.state, "push-key")
		if i > 0 {
			must(t, os.WriteFile(key, push, 0o600))
		}
		again[i] = func() *server {
			s := h.serveExactly(append([]string{"--workspace-root", h.work, "--claude", h.claude}, args...)...)
			eventually(t, "the server listens", s.logged("sayso is running at https://sayso.example.org"))
			return s
		}
		servers[i] = again[i]()
		var err error
		push, err = os.ReadFile(key)
		must(t, err)
	}
	return servers, addresses, again
}

// TestClusterPage runs the commands of the page about several servers: two servers start, a runner dials
// either, and the query of the page works.
func TestClusterPage(t *testing.T) {
	t.Parallel()
	servers, addresses, _ := clusterOfPage(t, "127.0.0.1")
	for i, s := range servers {
		s.URL = "http://" + addresses[i]
		check, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/readyz", nil)
		must(t, err)
		check.Host = "sayso.example.org"
		answer, err := http.DefaultClient.Do(check)
		must(t, err)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("server %d answers the load balancer with %s", i, answer.Status)
		}
	}
	f := newFar(servers[0], newHarness(t, claudetest.Script{}))
	args := strings.NewReplacer("https://a.sayso.example.org", servers[0].URL, "https://b.sayso.example.org", servers[1].URL,
		"/etc/sayso/token", f.tokenFile, "/srv/work", f.work).Replace(strings.TrimSpace(recipes(t, "cluster.md", "Runners")[0]))
	words := strings.Fields(args)
	cmd := f.command(words[1], append(words[2:], "--claude", f.claude)...)
	aside(t, cmd)
	f.ready(servers[0])

	db, err := sql.Open("pgx", postgrestest.Database(t))
	must(t, err)
	defer db.Close()
	rows, err := db.Query(strings.TrimSpace(recipes(t, "cluster.md", "Failover of PostgreSQL")[0]))
	must(t, err)
	must(t, rows.Close())
}

// TestClusterBehindNginx loses one server of two after the other, behind the load balancer of the page.
func TestClusterBehindNginx(t *testing.T) {
	nightly(t)
	t.Parallel()
	nginx := proxy(t, "nginx")
	servers, addresses, again := clusterOfPage(t, "127.0.0.1")
	address, _ := freeAddress(t)
	folder, root := authority(t, blockWith(t, recipes(t, "phone.md", "Local network"), "mkcert"), "192.168.1.7", "sayso.example.org")
	site := strings.NewReplacer("listen 443 ", "listen "+address+" ", "10.0.0.11:8787", addresses[0], "10.0.0.12:8787", addresses[1], "/etc/ssl/", folder+"/").
		Replace(recipes(t, "cluster.md", "Load balancer")[0])
	startNginx(t, nginx, folder, site)
	v := visit(t, "https://sayso.example.org", address, root)
	eventually(t, "the proxy listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	turn := 0
	v.uses(elsewhere, func() {
		lost := turn % 2
		turn++
		servers[lost].stop()
		eventually(t, "the other server has taken its place", func() bool {
			answer, _, err := v.try("GET", "/api/me", nil)
			return err == nil && answer.StatusCode == 200
		})
		if first, err := v.tab(v.public); err != nil || !strings.Contains(first, `"type":"hello"`) {
			t.Errorf("a tab of the other server was told %.200q, %v", first, err)
		}
		servers[lost] = again[lost]()
	})
}
