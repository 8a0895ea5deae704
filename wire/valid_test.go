package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// FuzzItemBodies puts any bytes in the place of a body: the frame is JSON, and has the
// fields of the body if, and only if, that is a JSON object.
func FuzzItemBodies(f *testing.F) {
	for _, text := range []string{
		"", "{}", " {} ", "{}\v", `{"a":1}`, `{"a" : [1, 2.5e-3, -0, "\u00e9\n", true, false, null, {}, []]}`, `{"a":01}`, `{"a":1.}`, `{"a":+1}`, `{"a":"`,
		`{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1]`, `[1]`, `"x"`, `{"a":"` + strings.Repeat("long ", 20) + "\x01" + `"}`,
		`{"a":"` + strings.Repeat("\u2028é", 9) + `<>&"}`, "{\"a\":\"\xff\"}", `{"a":tru}`, `{"a":nulll}`, `{"a":1}{}`, `{"a":"b\\"}`, `{"a":1e}`, `{"a":-}`,
		`{"text":"\"items\":[]"}`, strings.Repeat(`{"a":`, 10_001) + "1" + strings.Repeat("}", 10_001), strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		items := wire.NewItems([]session.Item{
			{Seq: 1, Rev: 2, Key: `a"é`, At: time.Unix(5, 0), Kind: session.ItemText, AgentID: "agent", Body: body},
			{Seq: 2, Rev: 3, Key: "b", Kind: session.ItemSubagent, Body: []byte("{}")},
		})
		frame := wire.Transcript{
			Type: "transcript", SessionID: `"items":[]`, Items: items, Total: 2, Live: &wire.Live{Kind: session.ItemText, Text: `"items":[]`},
		}
		text := wire.Encode(frame)
		if bytes.Count(body, []byte("{"))+bytes.Count(body, []byte("[")) > 9_000 {
			return // how deep a body may be is our own
		}
		trimmed := bytes.Trim(body, " \t\r\n")
		isObject := json.Valid(body) && trimmed[0] == '{'
		if passed := bytes.Equal(items[0].Body, trimmed); passed != isObject {
			t.Fatalf("passed as it is: %v, is an object: %v", passed, isObject)
		}
		if !json.Valid(text) {
			t.Fatalf("no JSON: %s", text)
		}
		// By encoding/json, which copies each item without its spaces.
		want := wire.Encode(&frame)
		var compact bytes.Buffer
		if err := json.Compact(&compact, text); err == nil && !bytes.Equal(compact.Bytes(), want) {
			t.Fatalf("got  %s\nwant %s", compact.Bytes(), want)
		}
	})
}

func BenchmarkTranscript(b *testing.B) {
	body := []byte(`{"text":"` + strings.Repeat(`The quick brown fox said \"jump\" over the lazy dog.\n`, 35) + `"}`)
	items := make([]session.Item, 200)
	for i := range items {
		items[i] = session.Item{Seq: int64(i), Rev: int64(i), Key: "00000001-0000-4000-8000-000000000000:0", At: time.Unix(1_763_719_200, 0), Kind: session.ItemText, Body: body}
	}
	b.SetBytes(int64(len(items) * len(body)))
	b.ReportAllocs()
	for b.Loop() {
		wire.Encode(wire.Transcript{Type: "transcript", SessionID: "one", Items: wire.NewItems(items), Total: 200})
	}
}
