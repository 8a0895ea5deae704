package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// seed fills databases with as much data as a team has after years. Everything goes through the
// store, so that the database is as a server would have left it.
type seed struct {
	st       store.Store
	random   *rand.Rand
	sessions []string
	bytes    int // of text so far
	items    int
	recent   time.Time // when textUpTo began to write what /api/lately returns
}

// seeding opens a database, calls do to fill it, and closes it.
func seeding(ctx context.Context, dsn string, do func(*seed) error) error {
	st, err := store.Open(ctx, dsn)
	if err != nil {
		return err
	}
	s := &seed{st: st, random: rand.New(rand.NewPCG(1, 2))}
	return errors.Join(do(s), st.Close())
}

// sessionsUpTo creates sessions until there are count.
func (s *seed) sessionsUpTo(ctx context.Context, count int) error {
	now := time.Now()
	for len(s.sessions) < count {
		at := now.Add(-time.Duration(count-len(s.sessions)) * time.Minute)
		id := uuid.NewString()
		if err := s.st.CreateSession(ctx, session.Session{
			SessionID: id, ProjectID: "project", Title: s.text(40), CWD: "/work/project", PermissionMode: "default", CreatedAt: at, UpdatedAt: at,
		}); err != nil {
			return err
		}
		s.sessions = append(s.sessions, id)
	}
	return nil
}

// textUpTo writes transcripts until they contain a number of bytes, then some recent tool calls, and
// indexes everything for searches.
func (s *seed) textUpTo(ctx context.Context, bytes int) error {
	const together, size = 50, 2000 // items of a transaction, bytes of an item
	for s.bytes < bytes {
		items := make([]session.Item, together)
		for i := range items {
			text := s.text(size)
			s.items++
			if s.items%100 == 0 {
				text += " percentum"
			}
			if s.items%5000 == 0 {
				text += " rarissimum"
			}
			body, err := json.Marshal(session.TextBody{Text: text})
			if err != nil {
				return err
			}
			items[i] = session.Item{Key: fmt.Sprint(s.items), At: time.Now().Add(-72 * time.Hour), Kind: session.ItemText, Body: body}
		}
		// A thousand sessions hold all of it.
		if err := s.st.PutItems(ctx, s.sessions[s.random.IntN(min(1000, len(s.sessions)))], items); err != nil {
			return err
		}
		s.bytes += together * size
	}
	// Recent tool calls, which are all that a person who was away asks for.
	s.recent = time.Now()
	for n := range min(50, len(s.sessions)) {
		items := make([]session.Item, together)
		for i := range items {
			body, err := json.Marshal(session.ToolCallBody{ToolName: "Bash", Input: []byte(`{"command":"go test ./..."}`), Status: session.ToolDone, Result: s.text(200)})
			if err != nil {
				return err
			}
			s.items++
			items[i] = session.Item{Key: fmt.Sprint(s.items), At: time.Now(), Kind: session.ItemToolCall, Body: body}
		}
		if err := s.st.PutItems(ctx, s.sessions[n], items); err != nil {
			return err
		}
	}
	for more := true; more; {
		var err error
		if more, err = s.st.IndexTranscripts(ctx, 1000); err != nil {
			return err
		}
	}
	return nil
}

// frequent are the most frequent words of English; the others are made up.
var frequent = strings.Fields("the of and to in is it that for was on are as with his they be at one have this from or had by not word but what some we can out other were all there when up use your how said an each she")

// text returns about the given number of bytes of words. Words later in the list are rarer.
func (s *seed) text(bytes int) string {
	var b strings.Builder
	for b.Len() < bytes {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		if s.random.IntN(2) == 0 {
			b.WriteString(frequent[min(s.random.IntN(len(frequent)), s.random.IntN(len(frequent)))])
			continue
		}
		const syllables = "bacodufegihojukalemonipuqaresotuvewixoyuza"
		for range 2 + s.random.IntN(2) {
			at := 2 * s.random.IntN(len(syllables)/2)
			b.WriteString(syllables[at : at+2])
		}
	}
	return b.String()
}

// Size of the largest database that is measured.
const (
	manySessions = 100_000
	searchedMB   = 200 // of transcripts; with its index the file is about 500 MB
)

// benchDatabase measures a server with a large SQLite database.
func benchDatabase(ctx context.Context, s settings) error {
	folder, err := os.MkdirTemp("", "sayso-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "large.db")
	s.flags = []string{"--database", "sqlite:" + path}
	search := curve{Part: "database", Name: "search_by_size", What: "Search for a frequent word", X: "MB of the file", Unit: "ms"}
	starts := curve{Part: "database", Name: "start_by_size", What: "Later start", X: "MB of the file", Unit: "ms"}
	list := curve{Part: "database", Name: "list_by_sessions", What: "First page of the session list", X: "sessions", Unit: "ms"}
	var rows []measurement
	err = seeding(ctx, "sqlite:"+path, func(to *seed) error {
		for _, step := range []struct{ sessions, mb int }{{10, 1}, {100, 10}, {1000, 50}, {10_000, 50}, {manySessions, searchedMB}} {
			began := time.Now()
			if err := to.sessionsUpTo(ctx, step.sessions); err != nil {
				return err
			}
			if err := to.textUpTo(ctx, step.mb*1_000_000); err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "bench: %d sessions and %d MB of transcripts were written, after %s\n", step.sessions, step.mb, time.Since(began).Round(time.Second))
			found, err := benchReads(ctx, s, folder, to.recent)
			if err != nil {
				return err
			}
			file, err := os.Stat(path)
			if err != nil {
				return err
			}
			x := math.Round(mega(int(file.Size())))
			search.Points = append(search.Points, point{X: x, Samples: samplesOf(found["search_the"].Rounds)})
			starts.Points = append(starts.Points, point{X: x, Samples: samplesOf(found["start"].Rounds)})
			list.Points = append(list.Points, point{X: float64(step.sessions), Samples: samplesOf(found["list"].Rounds)})
			if step.sessions == manySessions {
				found["start"] = found["start"].named("start_large", fmt.Sprintf("later start with a database of %.0f MB", x))
				for _, name := range []string{"search_prefix", "search_the", "search_percent", "search_rare", "list", "lately", "start"} {
					rows = append(rows, found[name])
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	measurementHead(fmt.Sprintf("%d sessions and %d MB of transcripts", manySessions, searchedMB))
	for _, m := range rows {
		m.Part = "database"
		s.report.add(m)
	}
	search.Points = uniqueX(search.Points)
	starts.Points = uniqueX(starts.Points)
	list.Points = uniqueX(list.Points)
	for _, c := range []curve{search, starts, list} {
		s.report.draw(c)
	}
	return nil
}

func (m measurement) named(name, what string) measurement {
	m.Name, m.What = name, what
	return m
}

// uniqueX keeps the last of several points with the same X.
func uniqueX(points []point) (kept []point) {
	for i, p := range points {
		if i+1 == len(points) || points[i+1].X != p.X {
			kept = append(kept, p)
		}
	}
	return kept
}

func samplesOf(rounds []round) (all []float64) {
	for _, r := range rounds {
		all = append(all, r.Samples...)
	}
	return all
}

// benchReads starts a server on the database that the settings name, and measures the start and the
// requests that read most.
func benchReads(ctx context.Context, s settings, folder string, recent time.Time) (found map[string]measurement, err error) {
	found = map[string]measurement{}
	var starts []float64
	for n := range s.rounds {
		v, err := startServer(ctx, s, folder)
		if err != nil {
			return nil, err
		}
		starts = append(starts, inUnit(time.Millisecond, []time.Duration{v.took})...)
		if n < s.rounds-1 {
			if err := v.stop(); err != nil {
				return nil, err
			}
			continue
		}
		defer func() { err = errors.Join(err, v.stop()) }()
		for _, m := range []struct {
			measurement
			path string
		}{
			{measurement{Name: "search_prefix", What: "search for a prefix of two letters", Floor: 300}, "/api/search?q=ba"},
			{measurement{Name: "search_the", What: "search for “the”", Floor: 300}, "/api/search?q=the"},
			{measurement{Name: "search_percent", What: "search for a word in one of 100 items", Floor: 300}, "/api/search?q=percentum"},
			{measurement{Name: "search_rare", What: "search for a word in one of 5,000 items", Floor: 300}, "/api/search?q=rarissimum"},
			{measurement{Name: "list", What: "first page of the session list", Floor: 20}, "/api/sessions?limit=50"},
			{measurement{Name: "lately", What: "/api/lately, 50 sessions with 50 calls each", Floor: 20}, fmt.Sprintf("/api/lately?since=%d", recent.Unix())},
		} {
			m.Unit = "ms"
			for range s.rounds {
				took, err := v.gets(ctx, m.path, 4)
				if err != nil {
					return nil, err
				}
				m.Rounds = append(m.Rounds, round{Samples: took})
			}
			found[m.Name] = m.measurement
		}
	}
	found["start"] = measurement{Name: "start", What: "later start", Unit: "ms", Floor: 200, Rounds: []round{{Samples: starts}}}
	return found, nil
}
