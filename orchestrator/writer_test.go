package orchestrator_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/session"
)

// journaled gives the processes of a launcher a journal, of which only the length is kept.
type journaled struct {
	*launcher
	last *journaledConn
}

func (l *journaled) Open(ctx context.Context, p launch.Process) (launch.Conn, error) {
	conn, err := l.launcher.Open(ctx, p)
	l.last = &journaledConn{Conn: conn}
	return l.last, err
}

type journaledConn struct {
	launch.Conn
	offset, committed atomic.Int64
}

var _ launch.JournaledConn = (*journaledConn)(nil)

func (c *journaledConn) Recv() ([]byte, error) {
	line, err := c.Conn.Recv()
	c.offset.Add(int64(len(line)) + 1)
	return line, err
}

func (c *journaledConn) Offset() int64                               { return c.offset.Load() }
func (c *journaledConn) Commit(offset int64)                         { c.committed.Store(offset) }
func (c *journaledConn) Committed(context.Context) (int64, error)    { return c.committed.Load(), nil }
func (c *journaledConn) Wrote(context.Context, string) (bool, error) { return false, nil }
func (c *journaledConn) IsAhead() bool                               { return false }
func (c *journaledConn) Detach() error                               { return c.Conn.Kill() }
func (c *journaledConn) Remove(context.Context) error                { return nil }

// counting counts what is written of processes.
type counting struct {
	orchestrator.Store
	writes atomic.Int64
	stored atomic.Int64 // the place in the journal
}

func (s *counting) SaveProgress(ctx context.Context, id string, p session.Progress) (uint64, error) {
	s.writes.Add(1)
	version, err := s.Store.SaveProgress(ctx, id, p)
	if p.Mark != nil {
		s.stored.Store(p.Mark.Offset)
	}
	return version, err
}

// A block that grows word by word is no reason to write to the disk at each word, or to
// say that the session changed; the place in the journal follows all the same.
func TestDeltasAreStoredInBatches(t *testing.T) {
	const words = 200
	event := func(body string) claudetest.Step {
		return claudetest.Step{Raw: `{"type":"stream_event","parent_tool_use_id":null,"event":` + body + `}`}
	}
	turn := []claudetest.Step{
		event(`{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}`),
		event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
	}
	for range words {
		turn = append(turn, event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}`), claudetest.Step{SleepMS: 20})
	}
	turn = append(turn, claudetest.Step{SleepMS: 20_000}, claudetest.Step{Text: "Done."})
	stored := &counting{}
	var from *journaled
	var changes, growths atomic.Int64
	withBench(t, claudetest.Script{Turn: turn}, nil, func(b *bench) {
		id := b.start("count")
		b.wait(id, in(session.AssistantTurn))
		time.Sleep(time.Second)
		before, changesBefore, growthsBefore := stored.writes.Load(), changes.Load(), growths.Load()
		time.Sleep(words*20*time.Millisecond + 12*time.Second)
		live, ok := b.Live(id)
		if got := strings.Count(live.Text, "word"); !ok || got != words {
			t.Errorf("people see %d words, want %d", got, words)
		}
		if writes := stored.writes.Load() - before; writes == 0 || writes > 2 {
			t.Errorf("%d writes in 16 s, want at least one and about one in 10 s", writes)
		}
		if n := changes.Load() - changesBefore; n != 0 {
			t.Errorf("%d times the session is said to have changed, want none", n)
		}
		if n := growths.Load() - growthsBefore; n < words/2 {
			t.Errorf("%d times the block is said to have grown, of %d words", n, words)
		}
		if got, want := stored.stored.Load(), from.last.Offset(); got != want {
			t.Errorf("the place stored is %d, want %d, all that was read", got, want)
		}
		b.wait(id, in(session.UserTurn))
	}, func(o *orchestrator.Options) {
		stored.Store, o.Store = o.Store, stored
		from = &journaled{launcher: o.Launcher.(*launcher)}
		o.Launcher = from
		notifier := o.Notifier.(*session.LocalNotifier)
		notifier.Listen(func(string) { changes.Add(1) })
		notifier.ListenLive(func(string) { growths.Add(1) })
	})
}

// slow takes a second for what it stores of a text.
type slow struct {
	orchestrator.Store
}

func (s slow) SaveProgress(ctx context.Context, id string, p session.Progress) (uint64, error) {
	if slices.ContainsFunc(p.Items, func(it session.Item) bool { return it.Kind == session.ItemText }) {
		time.Sleep(time.Second)
	}
	return s.Store.SaveProgress(ctx, id, p)
}

// A text is never nowhere: its block stays until its item is stored, and the block after
// it waits so long.
func TestBlockStaysUntilItIsStored(t *testing.T) {
	event := func(body string) claudetest.Step {
		return claudetest.Step{Raw: `{"type":"stream_event","parent_tool_use_id":null,"event":` + body + `}`}
	}
	start := event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	delta := func(text string) claudetest.Step {
		return event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`)
	}
	turn := []claudetest.Step{
		start, delta("one "), delta("two"), {SleepMS: 500}, {Text: "one two"}, start, delta("three"), {SleepMS: 500}, delta(" four"), {SleepMS: 2_000}, {Text: "three four"},
	}
	withBench(t, claudetest.Script{Turn: turn}, nil, func(b *bench) {
		id := b.start("count")
		texts := func() (stored string) {
			for _, it := range b.items(id) {
				if it.Kind == session.ItemText {
					stored += string(it.Body)
				}
			}
			return stored
		}
		var seen []string
		b.wait(id, func(s session.ProcessState) bool {
			stored := texts() // before the block, which goes only afterwards
			live, _ := b.Live(id)
			if now := stored + live.Text; len(seen) == 0 || seen[len(seen)-1] != now {
				seen = append(seen, now)
			}
			return s.State == session.UserTurn
		})
		for i, now := range seen {
			if i > 0 && !strings.Contains(now, "one two") && strings.Contains(seen[i-1], "one two") {
				t.Errorf("of %q, what was said first is gone in %q", seen, now)
			}
		}
		want := `{"text":"one two"}three four`
		if !slices.Contains(seen, want) {
			t.Errorf("people see %q, want %q among it", seen, want)
		}
	}, func(o *orchestrator.Options) { o.Store = slow{o.Store} })
}
