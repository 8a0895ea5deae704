package wsapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// hangingDisk never answers about paths until released is closed.
type hangingDisk struct {
	review.LocalDisk
	released chan struct{}
}

func (d hangingDisk) RealPath(_ context.Context, path string) (review.RealPath, error) {
	<-d.released
	return review.RealPath{Path: path, Known: true}, nil
}

// TestADiskThatHangsDelaysNobody: a request about files of a network disk that does not answer is shown
// as of high risk, other sessions go on, and the server stops.
func TestADiskThatHangsDelaysNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := quietHarness(t)
		disk := hangingDisk{released: make(chan struct{})}
		h.Rules.Levels.Disk = func(string) decision.Disk { return disk }
		p := apitest.NewPipes()
		h.Web = &httptest.Server{URL: "http://127.0.0.1:8787", Listener: p, Config: &http.Server{Handler: h.Server}}
		h.Client = &http.Client{Transport: &http.Transport{DialContext: p.Dial}}
		go func() { _ = h.Web.Config.Serve(p) }()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = h.Hub.Run(ctx) }()
		synctest.Wait()
		hangs, other := h.NewSession("one"), h.NewSession("two")
		tab := h.collect(account.Viewer)
		synctest.Wait()
		h.Ask(hangs, "q", func(r *pending.Request) {
			r.ToolName, r.ToolInput = "Read", json.RawMessage(`{"file_path":"/work/one/a.go"}`)
		})
		h.SetState(other, session.UserTurn)
		time.Sleep(time.Second)
		synctest.Wait()
		states := map[any]map[string]any{}
		for _, f := range tab.of("process_state") {
			states[f["session_id"]] = f
		}
		if f := states[other]; f["state"] != "user_turn" {
			t.Errorf("of the other session the tab got %v", f)
		}
		if open, _ := states[hangs]["pending_request"].(map[string]any); open["risk"] != "high" {
			t.Errorf("the request that waits for the disk is %v", open)
		}
		stop()
		time.Sleep(15 * time.Second)
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Error("the hub does not stop")
		}
		close(disk.released)
		<-done
		h.Client.CloseIdleConnections()
		_ = h.Web.Config.Close()
	})
}
