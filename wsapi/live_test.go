package wsapi_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/seedtest"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
	"github.com/sayso-dev/sayso/wsapi"
)

// message is what Claude streams in the tests of one that grows: pieces of a text of
// 58 kB, which come 20 times a second.
func message() (pieces []string) {
	for i := range 400 {
		pieces = append(pieces, fmt.Sprintf("%d: Größe, \"quotes\", `<code>` and %s.\n", i, strings.Repeat("some more words ", 7)))
	}
	return pieces
}

// A message that grows costs a tab twice its size, from its first word to its item.
func TestMessageCostsTwiceItsSize(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, h *harness) {
		id := h.NewSession("one")
		tab, old := h.collect(account.Viewer), h.collect(account.Viewer)
		tab.Send("subscribe", map[string]any{"session_id": id, "live_append": true})
		old.Send("subscribe", map[string]any{"session_id": id})
		time.Sleep(time.Second)
		before, oldBefore := tab.received(), old.received()
		text := ""
		for _, piece := range message() {
			text += piece
			h.Driver.Write(id, text)
			time.Sleep(wsapi.TranscriptEvery)
		}
		h.AppendText(id, 1, text+"The end.") // the last words and the item come at once
		h.Driver.WriteBlock(id, nil)
		time.Sleep(time.Second)
		for name, c := range map[string]*collector{"new": tab, "old": old} {
			got := readTranscript(t, c)
			if len(got.items) != 1 || got.items[0]["text"] != text+"The end." || got.live != nil {
				t.Errorf("the %s tab ends with %d items and %v", name, len(got.items), got.live)
			}
		}
		if ratio := float64(tab.received()-before) / float64(len(text)); ratio > 2 {
			t.Errorf("a message of %d bytes cost %.2f times its size, want at most 2 times", len(text), ratio)
		}
		if len(old.of("live_append")) != 0 || len(old.of("transcript")) < 300 {
			t.Errorf("the old tab got %d appended pieces and %d blocks, want whole blocks alone", len(old.of("live_append")), len(old.of("transcript")))
		}
		t.Logf("%d bytes: %.2f times for a tab, %.0f times for an old one", len(text),
			float64(tab.received()-before)/float64(len(text)), float64(old.received()-oldBefore)/float64(len(text)))
	})
}

// shown is the transcript that a tab shows.
type shown struct {
	items  []map[string]any // in the order of seq
	cursor float64
	live   map[string]any
}

// readTranscript does what the web app does with the frames of one connection, and fails
// the test for one that does not fit what came before.
func readTranscript(t *testing.T, c *collector) (s shown) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.frames {
		switch f["type"] {
		case "live_append":
			if s.live == nil || s.live["rev"] != f["after"] {
				t.Fatalf("%v follows a block at %v", f, s.live)
			}
			s.live = map[string]any{"kind": s.live["kind"], "tool": s.live["tool"], "text": s.live["text"].(string) + f["text"].(string), "rev": f["rev"]}
		case "transcript":
			if f["from"].(float64) > s.cursor {
				t.Fatalf("a frame from %v follows one to %v", f["from"], s.cursor)
			}
			if rev := f["live_rev"]; rev != nil && (s.live == nil || s.live["rev"] != rev) {
				t.Fatalf("a frame for a block at %v follows %v", rev, s.live)
			}
			for _, it := range f["items"].([]any) {
				item := it.(map[string]any)
				if f["live_item"] == item["key"] {
					item["text"] = s.live["text"].(string) + item["text"].(string)
					delete(f, "live_item") // the frames may be read again
					delete(f, "live_rev")
				}
				at, there := slices.BinarySearchFunc(s.items, item, func(a, b map[string]any) int { return int(a["seq"].(float64) - b["seq"].(float64)) })
				if there {
					s.items[at] = item
				} else {
					s.items = slices.Insert(s.items, at, item)
				}
			}
			s.cursor = f["next"].(float64)
			if live, _ := f["live"].(map[string]any); live != nil || f["live_rev"] == nil {
				s.live = live
			}
		}
	}
	return s
}

// Whatever Claude does and whenever tabs read, come or subscribe again, each ends with the
// transcript of the database and the block that grows.
func TestBlocksEndAsTheDatabaseHasThem(t *testing.T) {
	t.Parallel()
	seed := seedtest.New(t)
	for i := range uint64(12) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, h *harness) { streamAtRandom(t, h, rand.New(rand.NewPCG(seed, i))) })
		})
	}
}

func streamAtRandom(t *testing.T, h *harness, random *rand.Rand) {
	id := h.NewSession("one")
	var tabs []*collector
	subscribe := func(c *collector, after float64, appends bool) {
		fields := map[string]any{"session_id": id, "after": int(after)}
		if appends {
			fields["live_append"] = true
		}
		c.Send("subscribe", fields)
	}
	open := func(appends bool) {
		c := h.collect(account.Viewer)
		tabs = append(tabs, c)
		subscribe(c, 0, appends)
	}
	open(true)
	open(true)
	open(false)
	put := func(it session.Item) string {
		it.Key, it.At = uuid.NewString(), time.Now()
		if err := h.Store.PutItems(t.Context(), id, []session.Item{it}); err != nil {
			t.Fatal(err)
		}
		return it.Key
	}
	body := func(text string) json.RawMessage { return wire.Encode(session.TextBody{Text: text}) }
	var live *session.Live
	kinds := []session.ItemKind{session.ItemText, session.ItemText, session.ItemThinking, session.ItemToolCall}
	resumeAt := -1
	for step := range 200 {
		if step == resumeAt {
			resumeAt = -1
			tabs[0].resume()
		}
		switch n := random.IntN(20); {
		case n < 9 && live != nil:
			grown := *live
			grown.Text += strings.Repeat("Wörter <& ", 1+random.IntN(40))
			live = &grown
			h.Driver.WriteBlock(id, live)
		case n < 11: // also in the middle of a block, as after an interrupt
			live = &session.Live{Kind: kinds[random.IntN(len(kinds))], Began: time.Now(), Text: strings.Repeat("x", random.IntN(2))}
			h.Driver.WriteBlock(id, live)
		case n < 14 && live != nil && live.Kind != session.ItemToolCall:
			it := session.Item{Kind: live.Kind, Body: body(live.Text + strings.Repeat("!", random.IntN(3)))}
			if random.IntN(4) == 0 {
				it.Body = body("not what was streamed")
			}
			key := put(it)
			if random.IntN(2) == 0 { // as the orchestrator has it for a moment
				ended := *live
				ended.Key = key
				h.Driver.WriteBlock(id, &ended)
				time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
			}
			live = nil
			if random.IntN(3) == 0 {
				live = &session.Live{Kind: session.ItemText, Began: time.Now(), Text: "And "}
			}
			h.Driver.WriteBlock(id, live)
			h.Notifier.Notify(id)
		case n == 14:
			live = nil
			h.Driver.WriteBlock(id, nil)
		case n == 15:
			put(session.Item{Kind: session.ItemNote, Body: wire.Encode(session.NoteBody{Text: "note"})})
			h.Notifier.Notify(id)
		case n == 16 && resumeAt < 0:
			resumeAt = step + 1 + random.IntN(20)
			tabs[0].pause()
		case n == 18:
			synctest.Wait()
			subscribe(tabs[1], readTranscript(t, tabs[1]).cursor, true)
		case n == 19 && len(tabs) < 6:
			open(random.IntN(2) == 0)
		}
		time.Sleep(time.Duration(random.IntN(120)) * time.Millisecond)
	}
	tabs[0].resume()
	time.Sleep(time.Second)
	synctest.Wait()
	page, err := h.Store.Transcript(t.Context(), id, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var want []map[string]any
	if err := json.Unmarshal(wire.Encode(wire.NewItems(page.Items)), &want); err != nil {
		t.Fatal(err)
	}
	for i, c := range tabs {
		got := readTranscript(t, c)
		if len(got.items) != len(want) {
			t.Errorf("tab %d has %d items, want %d", i, len(got.items), len(want))
		}
		for j := range min(len(got.items), len(want)) {
			if !reflect.DeepEqual(got.items[j], want[j]) {
				t.Errorf("tab %d has the item %v, want %v", i, got.items[j], want[j])
			}
		}
		text := ""
		if live != nil {
			text = live.Text
		}
		if (got.live == nil) != (live == nil) || live != nil && got.live["text"] != text {
			t.Errorf("tab %d shows %v, want %v", i, got.live, live)
		}
	}
}
