package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	osexec "os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/job"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/postgres"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

const jobChildDSN = "SAYSO_TEST_JOB_DSN"

// jobChild is a server that leads until it is killed. It returns in the tests themselves.
func jobChild() {
	dsn := os.Getenv(jobChildDSN)
	if dsn == "" {
		return
	}
	st, err := postgres.Open(ctx, dsn)
	if err == nil {
		leader := job.NewLeader(st, "child", slog.Default())
		leader.Add("say it", func(ctx context.Context, term int64) error {
			fmt.Println(term)
			<-ctx.Done()
			return nil
		})
		err = leader.Run(ctx)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// leads runs a job for the duration of the test, and returns the terms in which it began and a
// function that ends it.
func leads(t *testing.T, st *postgres.Store, name string, jobs map[string]job.Job) (terms <-chan int64, stop func()) {
	t.Helper()
	began := make(chan int64, 10)
	leader := job.NewLeader(st, name, slog.New(slog.DiscardHandler))
	leader.Add("say it", func(ctx context.Context, term int64) error { began <- term; <-ctx.Done(); return nil })
	for name, run := range jobs {
		leader.Add(name, run)
	}
	run, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := leader.Run(run); err != nil {
			t.Error(err)
		}
	})
	stop = func() { cancel(); done.Wait() }
	t.Cleanup(stop)
	return began, stop
}

func awaitTerm(t *testing.T, terms <-chan int64) int64 {
	t.Helper()
	select {
	case term := <-terms:
		return term
	case <-time.After(time.Minute):
		t.Fatal("it does not lead")
		return 0
	}
}

func TestAnotherServerLeadsAfterAKill(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	st := openPatient(t, dsn)
	child := osexec.Command(os.Args[0])
	child.Env = append(os.Environ(), jobChildDSN+"="+dsn)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	var first int64
	_, err = fmt.Fscanln(bufio.NewReader(out), &first)
	must(t, err)
	terms, _ := leads(t, st, "next", nil)
	must(t, child.Process.Kill())
	killed := time.Now()
	_ = child.Wait() // it was killed
	next := awaitTerm(t, terms)
	t.Logf("leads %v after the kill", time.Since(killed).Round(time.Millisecond))
	if time.Since(killed) > 10*time.Second {
		t.Errorf("leads %v after the kill, want 10 s at most", time.Since(killed))
	}
	if next <= first {
		t.Errorf("term %d follows %d", next, first)
	}
}

func TestLeaseBelongsToOneServer(t *testing.T) {
	t.Parallel()
	st := openPatient(t, postgrestest.Schema(t))
	hold := func(server string, ttl time.Duration) int64 {
		t.Helper()
		lease, err := st.HoldLease(ctx, server, ttl)
		must(t, err)
		return lease.Term
	}
	first := hold("a", time.Hour)
	if again, other := hold("a", time.Hour), hold("b", time.Hour); first == 0 || again != first || other != 0 {
		t.Fatalf("terms %d and %d of a, %d of b", first, again, other)
	}
	must(t, st.EndLease(ctx, "b")) // it does not hold it
	if other := hold("b", time.Hour); other != 0 {
		t.Fatalf("b ended the lease of a and got term %d", other)
	}
	must(t, st.EndLease(ctx, "a"))
	second := hold("b", time.Microsecond)
	if second <= first {
		t.Fatalf("term %d follows %d", second, first)
	}
	if third := hold("b", time.Hour); third <= second {
		t.Fatalf("after its lease ended, the same server got term %d after %d", third, second)
	}
	// Two servers that ask at once.
	must(t, st.EndLease(ctx, "b"))
	var got [8]int64
	var asking sync.WaitGroup
	for i := range got {
		asking.Go(func() { got[i] = hold(fmt.Sprint("server ", i), time.Hour) })
	}
	asking.Wait()
	leaders := 0
	for _, term := range got {
		if term != 0 {
			leaders++
		}
	}
	if leaders != 1 {
		t.Errorf("%d servers lead: %v", leaders, got)
	}
}

// TestOutdatedLeaderStoresNothing is about a server that was paused for longer than its lease.
func TestOutdatedLeaderStoresNothing(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	st := openPatient(t, dsn)
	target := alert.Target{TargetID: uuid.NewString(), Way: alert.Ntfy, CreatedAt: time.Now()}
	must(t, st.PutTarget(ctx, target, nil))
	old, err := st.HoldLease(ctx, "paused", time.Hour)
	must(t, err)
	d := alert.Delivery{DeliveryID: uuid.NewString(), TargetID: target.TargetID, State: alert.Queued, CreatedAt: time.Now()}
	must(t, st.PutDelivery(ctx, d, old.Term))

	// A write under way delays the next leader, so that it reads what was written.
	conn := outside(t, dsn)
	writing, err := conn.Begin(ctx)
	must(t, err)
	_, err = writing.Exec(ctx, "SELECT 1 FROM job_lease WHERE term = $1 FOR SHARE", old.Term)
	must(t, err)
	other := outside(t, dsn)
	_, err = other.Exec(ctx, "SET lock_timeout = '100ms'")
	must(t, err)
	if _, err = other.Exec(ctx, "UPDATE job_lease SET term = term + 1, server_id = 'next', expires_at = expires_at + 3600000000"); err == nil {
		t.Error("the lease was taken during a write with its term")
	}
	must(t, writing.Rollback(ctx))
	exec(t, other, "UPDATE job_lease SET term = term + 1, server_id = 'next', expires_at = expires_at + 3600000000")

	d.State = alert.Sent
	if err := st.PutDelivery(ctx, d, old.Term); !errors.Is(err, alert.ErrOutdated) {
		t.Errorf("the paused server stores a delivery: %v", err)
	}
	if list, err := st.Deliveries(ctx); err != nil || len(list) != 1 || list[0].State != alert.Queued {
		t.Errorf("deliveries: %+v, %v", list, err)
	}
}

// TestTwoServersAlertOnce runs the alerters of two servers on one database, and lets the one that
// sends end without a word.
func TestTwoServersAlertOnce(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Schema(t)
	st := openPatient(t, dsn)
	var mu sync.Mutex
	posts := map[string]int{} // by method and sequence
	news := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		posts[r.Method+" "+r.Header.Get("Title")+" "+string(body)]++
		mu.Unlock()
		news <- struct{}{}
	}))
	t.Cleanup(server.Close)
	must(t, st.PutTarget(ctx, alert.Target{TargetID: uuid.NewString(), Way: alert.Ntfy, Address: alert.Address{URL: server.URL + "/topic"}, CreatedAt: time.Now()}, nil))
	key, err := alert.OpenKey(filepath.Join(t.TempDir(), "key"))
	must(t, err)

	id := newSession(t, st)
	_, err = st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: session.AssistantTurn, StartedAt: time.Now(), StateChangedAt: time.Now()})
	must(t, err)
	start := func(name string) (terms <-chan int64, stop func()) {
		a, err := alert.New(alert.Options{
			Store: st, Active: st.ActiveProcesses, State: st.ProcessState, Key: key, PublicURL: "https://sayso.example.org", Private: true,
			Owner:  func(context.Context, string) (string, error) { return "u", nil },
			People: func(context.Context) ([]alert.Person, error) { return nil, nil }, Log: slog.New(slog.DiscardHandler),
		})
		must(t, err)
		n, err := postgres.NewNotifier(dsn, slog.New(slog.DiscardHandler))
		must(t, err)
		n.Listen(a.Touch)
		run, cancel := context.WithCancel(context.Background())
		var done sync.WaitGroup
		done.Go(func() { _ = a.Run(run) })
		done.Go(func() { _ = n.Run(run) })
		terms, resign := leads(t, st, name, map[string]job.Job{"alerts": a.Deliver})
		t.Cleanup(func() { cancel(); done.Wait() })
		return terms, resign
	}
	termsA, stopA := start("a")
	awaitTerm(t, termsA)
	termsB, _ := start("b")

	ask := func(requestID string) {
		t.Helper()
		_, _, err := st.OpenRequest(ctx, pending.Request{
			RequestID: requestID, SessionID: id, RequestType: pending.ToolApproval, ToolName: "Bash", ToolInput: []byte(`{}`),
			InputHash: pending.HashInput([]byte(`{}`)), Status: pending.Open, CreatedAt: time.Now(),
		})
		must(t, err)
	}
	await := func(what string) {
		t.Helper()
		select {
		case <-news:
		case <-time.After(time.Minute):
			t.Fatalf("no alert: %s", what)
		}
	}
	first, second := uuid.NewString(), uuid.NewString()
	ask(first)
	await("the first request")
	stopA()
	awaitTerm(t, termsB)
	ask(second)
	await("the second request, by the other server")
	_, _, err = st.ResolveRequest(ctx, first, pending.Resolution{Status: pending.Denied, Answer: &pending.Answer{Decision: pending.Deny}, Actor: pending.Actor{UserID: "u"}, At: time.Now(), CommandID: uuid.NewString()})
	must(t, err)
	await("the first request is closed, by the other server")
	_, err = st.SaveProcess(ctx, session.ProcessState{SessionID: id, State: session.Dead, Error: "It crashed.", StartedAt: time.Now(), StateChangedAt: time.Now()})
	must(t, err)
	await("it died")
	mu.Lock()
	defer mu.Unlock()
	total := 0
	for n := range maps.Values(posts) {
		total += n
	}
	if total != 4 {
		t.Errorf("%d alerts, want 4: %v", total, posts)
	}
	list, err := st.Deliveries(ctx)
	must(t, err)
	for _, d := range list {
		if d.Attempts != 1 {
			t.Errorf("%d attempts of %s %s", d.Attempts, d.Occasion, d.Step)
		}
	}
}
