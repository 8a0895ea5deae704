package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/cmd/blackbox"
)

const (
	soakActions = 100 * time.Millisecond // between two actions
	soakForms   = 100                    // open forms; above this, no session asks for more
	soakBlocks  = 10                     // of samples, after the warm-up
	warmUp      = 0.3                    // part of the time, in which caches and pools grow
	maxVisit    = time.Minute            // of a tab that only reads
)

// A gauge is a measure that must not grow while sessions and tabs come and go.
type gauge struct {
	name string
	unit float64 // divides the value for the table
	read func(*soak, map[string]float64) (float64, error)
	// noise and part bound its difference between the first and the last block, in units and
	// as a part of its value. A smaller drift would not be noticed in weeks.
	noise, part float64
}

var gauges = []gauge{
	{"memory, MB", 1 << 20, (*soak).memory, 3, 0.05},
	{"heap in use, MB", 1 << 20, metric("go_memstats_heap_inuse_bytes"), 3, 0.10},
	{"goroutines", 1, metric("go_goroutines"), 5, 0.03},
	{"open descriptors", 1, metric("process_open_fds"), 5, 0.03},
	{"folders of shims", 1, func(s *soak, _ map[string]float64) (float64, error) {
		entries, err := os.ReadDir(filepath.Join(s.options.StateDir(), "shims"))
		return float64(len(entries)), err
	}, 2, 0.02},
}

// memory returns the anonymous memory of the server. Pages of files are excluded, because they
// grow with the parts of the program that have run.
func (k *soak) memory(metrics map[string]float64) (float64, error) {
	const name = "\nRssAnon:"
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.serverPID())); err == nil {
		if _, rest, found := strings.Cut(string(text), name); found {
			var kilobytes float64
			_, err := fmt.Sscan(rest, &kilobytes)
			return kilobytes * 1024, err
		}
	}
	return metric("process_resident_memory_bytes")(k, metrics)
}

func metric(name string) func(*soak, map[string]float64) (float64, error) {
	return func(_ *soak, metrics map[string]float64) (float64, error) {
		value, ok := metrics[name]
		if !ok {
			return 0, fmt.Errorf("the server has no metric %s", name)
		}
		return value, nil
	}
}

// sample holds the values of all gauges at one time.
type sample struct {
	at     time.Duration
	values []float64
}

// soak is a run in which sessions and tabs come and go for a long time.
type soak struct {
	*harness
	random   *rand.Rand
	writer   writer
	answer   []*tab
	sessions []string // ids of those that live
	samples  []sample
	did      map[string]int
}

// runSoak runs a server for a long time and returns what has grown.
func runSoak(ctx context.Context, s settings) ([]fault, error) {
	h, err := openHarness(ctx, s, false)
	if err != nil {
		return nil, err
	}
	k := &soak{harness: h, random: s.random(5), writer: writer{random: s.random(1)}, did: map[string]int{}}
	faults, err := k.run(ctx)
	if err != nil {
		faults = append(faults, fault{otherFaults, "run", err.Error()})
	}
	faults = h.close(ctx, k.sessions, faults)
	nameFaults(s.out, faults)
	return faults, nil
}

func (k *soak) run(ctx context.Context) ([]fault, error) {
	for i := range 2 {
		t, err := k.tab(ctx, i, tabOptions{answers: true, holds: k.holds, maxDelay: 200 * time.Millisecond, first: firstBackoff, longest: longestBackoff})
		if err != nil {
			return nil, err
		}
		k.answer = append(k.answer, t)
	}
	playing, stop := context.WithCancel(ctx)
	var players sync.WaitGroup
	defer players.Wait()
	defer stop()
	for _, t := range k.answer {
		players.Go(func() { t.run(playing) })
	}
	for i := range max(0, k.settings.tabs-len(k.answer)) {
		random := k.settings.random(200 + uint64(i))
		players.Go(func() {
			for playing.Err() == nil {
				k.visit(playing, random)
			}
		})
	}
	for range k.settings.sessions {
		if err := k.startSession(ctx); err != nil {
			return nil, err
		}
	}
	began, last := time.Now(), time.Time{}
	every := max(time.Second, k.soakFor/600)
	for time.Since(began) < k.soakFor {
		if now := time.Now(); now.Sub(last) >= every {
			last = now
			if err := k.measure(ctx, now.Sub(began)); err != nil {
				return nil, err
			}
		}
		if err := k.act(ctx); err != nil {
			return nil, err
		}
		select {
		case <-time.After(soakActions):
		case <-k.server.Exited():
			return nil, errors.New("the server ended by itself; it said:\n" + k.server.LogTail())
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return k.verdict(), nil
}

// startSession starts a session.
func (k *soak) startSession(ctx context.Context) error {
	id, err := k.session(ctx, k.message())
	if err == nil {
		k.sessions = append(k.sessions, id)
	}
	return err
}

// message returns a message that causes a few requests.
func (k *soak) message() message {
	k.writer.left = 1 + k.random.IntN(3)
	return k.writer.next(len(k.sessions), k.writer.steps, 3)
}

// act performs a random action of a person. A session that ends is replaced by a new one, so
// their number stays the same.
func (k *soak) act(ctx context.Context) error {
	showing := 0
	for _, t := range k.answer {
		showing = max(showing, t.showing())
	}
	i := k.random.IntN(len(k.sessions))
	id := k.sessions[i]
	path := "/api/sessions/" + id
	switch n := k.random.IntN(20); {
	case n < 1:
		k.did["sessions replaced"]++
		if err := k.persist(ctx, path+"/kill", map[string]any{"force": true}, nil); err != nil {
			return err
		}
		k.sessions = slices.Delete(k.sessions, i, i+1)
		return k.startSession(ctx)
	case n < 2:
		k.did["processes replaced"]++
		if err := k.persist(ctx, path+"/kill", map[string]any{"force": true}, nil); err != nil {
			return err
		}
		for { // the process exits a moment later
			err := k.persist(ctx, path+"/resume", map[string]any{}, nil)
			var refused *blackbox.StatusError
			if !errors.As(err, &refused) || refused.Status != http.StatusConflict {
				return err
			}
			if err := pause(ctx, soakActions); err != nil {
				return err
			}
		}
	case n < 6:
		k.did["pages read"]++
		for _, page := range []string{path, path + "/transcript?limit=100", "/api/sessions?limit=50", "/api/pending"} {
			if err := k.admin.Do(ctx, http.MethodGet, page, nil, nil); err != nil {
				return err
			}
		}
	case showing < soakForms:
		k.did["messages"]++
		return k.persist(ctx, path+"/messages", map[string]any{"text": k.message().Text}, nil)
	}
	return nil
}

// visit opens a tab for a while and closes it, mostly without a closing handshake.
func (k *soak) visit(ctx context.Context, random *rand.Rand) {
	ctx, cancel := context.WithTimeout(ctx, time.Second+time.Duration(random.Float64()*float64(maxVisit)))
	defer cancel()
	conn, err := k.admin.Dial(ctx)
	if err != nil {
		_ = pause(ctx, firstBackoff)
		return
	}
	defer conn.CloseNow()
	for {
		_, r, err := conn.Reader(ctx)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			return
		}
	}
}

// measure adds a sample.
func (k *soak) measure(ctx context.Context, at time.Duration) error {
	metrics, err := k.metrics(ctx)
	if err != nil {
		return err
	}
	s := sample{at: at}
	for _, g := range gauges {
		value, err := g.read(k, metrics)
		if err != nil {
			return err
		}
		s.values = append(s.values, value/g.unit)
	}
	k.samples = append(k.samples, s)
	return nil
}

// metrics reads the server's metrics without labels.
func (k *soak) metrics(ctx context.Context) (map[string]float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, k.admin.URL+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+k.admin.Token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	all := map[string]float64{}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			all[name] = value
		}
	}
	return all, lines.Err()
}

// verdict prints the changes of the gauges and returns those that have grown.
func (k *soak) verdict() (faults []fault) {
	fmt.Fprintf(k.out, "\n## %s with %d sessions and %d tabs, seed %d\n\n", k.soakFor, k.settings.sessions, k.settings.tabs, k.seed)
	k.header("what was done", "")
	for _, name := range []string{"messages", "pages read", "processes replaced", "sessions replaced"} {
		fmt.Fprintf(k.out, "| %s | %d |\n", name, k.did[name])
	}
	settled := 0
	for _, t := range k.answer {
		settled += t.settled()
	}
	fmt.Fprintf(k.out, "| answers | %d |\n\n", settled)
	k.header("gauge", "first sample", "after the warm-up", "at the end", "each hour", "t")
	for i, g := range gauges {
		var at, values []float64
		for _, s := range k.samples {
			if s.at >= time.Duration(warmUp*float64(k.soakFor)) {
				at, values = append(at, s.at.Hours()), append(values, s.values[i])
			}
		}
		d := fitDrift(at, values)
		fmt.Fprintf(k.out, "| %s | %.1f | %.1f | %.1f | %+.1f | %.1f |\n", g.name, k.samples[0].values[i], d.first, d.last, d.slope, d.t)
		if d.grows(g) {
			faults = append(faults, fault{growth, g.name, fmt.Sprintf("from %.1f to %.1f, %+.1f each hour", d.first, d.last, d.slope)})
		}
	}
	return faults
}

// drift describes the change of a value over time.
type drift struct {
	first, last float64 // of the fitted line, at its ends
	slope       float64 // per hour
	t           float64 // slope divided by its standard error
}

// fitDrift fits a line through the medians of blocks of samples. A change within a block is no
// drift, and blocks depend on each other less than samples do.
func fitDrift(at, values []float64) drift {
	var x, y []float64
	for b := range soakBlocks {
		from, to := len(at)*b/soakBlocks, len(at)*(b+1)/soakBlocks
		if from < to {
			x, y = append(x, median(at[from:to])), append(y, median(values[from:to]))
		}
	}
	n := float64(len(x))
	if n < 3 {
		return drift{}
	}
	var mx, my, sxx, sxy, rest float64
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	for i := range x {
		sxx, sxy = sxx+(x[i]-mx)*(x[i]-mx), sxy+(x[i]-mx)*(y[i]-my)
	}
	d := drift{slope: sxy / sxx}
	d.first, d.last = my+d.slope*(x[0]-mx), my+d.slope*(x[len(x)-1]-mx)
	for i := range x {
		e := y[i] - my - d.slope*(x[i]-mx)
		rest += e * e
	}
	switch deviation := math.Sqrt(rest / (n - 2) / sxx); {
	case deviation > 0:
		d.t = d.slope / deviation
	case d.slope != 0:
		d.t = math.Copysign(math.Inf(1), d.slope)
	}
	return d
}

// grows reports whether the slope is significantly above zero (99.5 % for ten blocks) and above
// the noise.
func (d drift) grows(g gauge) bool {
	const significant = 3.36
	return d.t > significant && d.last-d.first > max(g.noise, g.part*d.first)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
