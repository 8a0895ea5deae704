package claude_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
)

func TestEnvelopeFindsKeysWhereverTheyStand(t *testing.T) {
	t.Parallel()
	// As 2.1.329 sends a result: type is not the first key.
	line := ` { "duration_api_ms" : 12 , "nested":{"type":"wrong","session_id":["]}\"",{"type":"wrong"}]}, "s":"\\\"type\":\"wrong\\", "\u0074ype":"re\u0073ult", "subtype":"success",
		"session_id":"s1","uuid":"u1","request_id":"r1","parent_tool_use_id":null,"message":{"a":[1,2,{"b":"}"}]},"request":{},"response":[1],"event":"e"} `
	e, err := claude.ReadEnvelope([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join([]string{e.Type, e.Subtype, e.SessionID, e.UUID, e.RequestID, e.ParentToolUseID,
		string(e.Message), string(e.Request), string(e.Response), string(e.Event)}, " ")
	want := `result success s1 u1 r1  {"a":[1,2,{"b":"}"}]} {} [1] "e"`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEnvelopeOfTwoEqualKeysTakesTheLast(t *testing.T) {
	t.Parallel()
	e, err := claude.ReadEnvelope([]byte(`{"type":"user","message":1,"typ\u0065":"result","message":{"x":2}}`))
	if err != nil || e.Type != "result" || string(e.Message) != `{"x":2}` {
		t.Errorf("got %q %s %v", e.Type, e.Message, err)
	}
}

func TestEnvelopeOfOddTypesReadsAsAbsent(t *testing.T) {
	t.Parallel()
	e, err := claude.ReadEnvelope([]byte(`{"type":5,"subtype":null,"session_id":{},"uuid":[],"request_id":true}`))
	if err != nil || e.Type+e.Subtype+e.SessionID+e.UUID+e.RequestID != "" {
		t.Errorf("got %+v %v", e, err)
	}
}

func TestEnvelopeRefusesWhatIsNoObject(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 10_001)
	for _, line := range []string{
		``, `x`, `1`, `"s"`, `[]`, `null`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{"a":1 "b":2}`, `{a:1}`,
		`{"a":"x}`, `{"a":"x\"}`, `{"a":[}`, `{"a":{]}`, `{"a":[{]}]}`, `{"a":1}}`, `{"a":1} x`, `{"a":1}{"b":2}`, `{"a":x}`, `{"\x":1}`,
		`{"a":` + deep + strings.Repeat("]", 10_001) + `}`, `{"a":` + deep,
	} {
		if _, err := claude.ReadEnvelope([]byte(line)); !errors.Is(err, claude.ErrMalformed) {
			t.Errorf("%.40q: got %v, want ErrMalformed", line, err)
		}
	}
}

func TestEnvelopeReadsDeepNesting(t *testing.T) {
	t.Parallel()
	var open, closing strings.Builder
	for i := range 9_000 {
		if i%3 == 0 {
			open.WriteString(`{"k":`)
		} else {
			open.WriteString(`[`)
		}
	}
	for i := 8_999; i >= 0; i-- {
		if i%3 == 0 {
			closing.WriteString(`}`)
		} else {
			closing.WriteString(`]`)
		}
	}
	body := open.String() + "1" + closing.String()
	e, err := claude.ReadEnvelope([]byte(`{"message":` + body + `,"type":"x"}`))
	if err != nil || e.Type != "x" || string(e.Message) != body {
		t.Errorf("got %q %v", e.Type, err)
	}
	// One bracket of the wrong kind, in the middle.
	wrong := strings.Replace(body, "1", "1}", 1)
	if _, err := claude.ReadEnvelope([]byte(`{"message":` + wrong + `}`)); !errors.Is(err, claude.ErrMalformed) {
		t.Errorf("wrong bracket: got %v", err)
	}
}

func TestEnvelopeRecordsInvalidUTF8(t *testing.T) {
	t.Parallel()
	e, err := claude.ReadEnvelope([]byte("{\"type\":\"a\xffb\",\"x\":\"\xe2\x80\"}"))
	if err != nil || !e.InvalidUTF8 || e.Type != "a\uFFFDb" {
		t.Errorf("got %q %v %v", e.Type, e.InvalidUTF8, err)
	}
	if e, _ := claude.ReadEnvelope([]byte(`{"type":"ä"}`)); e.InvalidUTF8 {
		t.Error("valid UTF-8 taken for invalid")
	}
}

var routingSeeds = []string{
	`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"hi\n\"x\" \ud83d\ude00 \ud83d"}]},"session_id":"s","uuid":"u","parent_tool_use_id":null}`,
	`{"duration_api_ms":1,"type":"result","usage":{"input_tokens":1},"session_id":"\u0061"}`,
	`{"t\u0079pe":"user","type":"x","request":{"a":"\\\\\""},"event":[[],{},"",-1.5e3,true,null]}`,
	`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","input":{"command":"echo \"}\""}}}`,
	` { } `, `{"a":"\\"}`, `{"a":"\\\"","type":"b"}`, `{"":0}`, "{\"type\":\"\xff\"}", `{"type":`, `[1]`, `{"a":[[[[{}]]]]}`,
}

// What encoding/json accepts, routing accepts, and finds the same in it.
func FuzzRoute(f *testing.F) {
	for _, s := range routingSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := claude.ReadEnvelope(line)
		var want map[string]json.RawMessage
		if json.Unmarshal(line, &want) != nil || want == nil {
			return // no valid JSON object: routing may refuse it or find out later
		}
		if err != nil {
			t.Fatalf("refused %q: %v", line, err)
		}
		for key, got := range map[string]string{
			"type": e.Type, "subtype": e.Subtype, "request_id": e.RequestID, "session_id": e.SessionID,
			"uuid": e.UUID, "parent_tool_use_id": e.ParentToolUseID,
		} {
			var s string
			_ = json.Unmarshal(want[key], &s) // "" for what is no string
			if got != s {
				t.Errorf("%q: %s: got %q, want %q", line, key, got, s)
			}
		}
		for key, got := range map[string]json.RawMessage{"message": e.Message, "request": e.Request, "response": e.Response, "event": e.Event} {
			if string(got) != string(want[key]) {
				t.Errorf("%q: %s: got %q, want %q", line, key, got, want[key])
			}
		}
	})
}

// Whatever comes, decoding returns.
func FuzzDecode(f *testing.F) {
	for _, s := range append(routingSeeds, messageSeeds...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := claude.Decode(line)
		if (m == nil) == (err == nil) {
			t.Fatalf("%q: got %v and %v", line, m, err)
		}
		if err != nil {
			return
		}
		if u, ok := m.(*claude.User); ok {
			for _, b := range u.Content {
				text, size := b.ResultText(8)
				if len(text) > 8 || len(text) > size {
					t.Errorf("%q: ResultText %q of %d", line, text, size)
				}
			}
		}
	})
}

// Escapes of every length stand at every place of the buffer that decoding uses.
func TestTextWithEscapesAnywhere(t *testing.T) {
	for _, escape := range []string{`\n`, `\u0001`, `\u00e4`, `\u20ac`, `\ud83d\ude00`, `\ud83d`} {
		for plain := range 1100 {
			said := `"\n` + strings.Repeat("x", plain) + escape + `end"`
			var want string
			if err := json.Unmarshal([]byte(said), &want); err != nil {
				t.Fatal(err)
			}
			m, err := claude.Decode([]byte(`{"type":"user","message":{"content":[{"type":"text","text":` + said + `}]}}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := m.(*claude.User).Content[0].Text; got != want {
				t.Fatalf("%d characters, then %s: got %q, want %q", plain, escape, got, want)
			}
		}
	}
}

// Text that a content block says is what encoding/json makes of it.
func FuzzText(f *testing.F) {
	for _, s := range []string{`"a"`, `"\ud83d\ude00\ud83d\ud83dx\udc00"`, `"\u00e4\n\t\"\\\/\b\f\r"`, "\"\xff\xe2\x80\"", `"\ud83d\n"`, `"` + strings.Repeat(`seven b\n\\\"\u20ac`, 90) + `"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, quoted []byte) {
		var want string
		if json.Unmarshal(quoted, &want) != nil {
			return
		}
		said := strings.TrimSpace(string(quoted))
		line := []byte(`{"type":"user","message":{"content":[{"type":"tool_result","content":` + said + `},{"type":"text","text":` + said + `}]}}`)
		m, err := claude.Decode(line)
		if err != nil || string(quoted) == "null" {
			return
		}
		content := m.(*claude.User).Content
		got, size := content[0].ResultText(1 << 20)
		if got != want || size != len(want) {
			t.Errorf("%q: got %q (%d), want %q (%d)", quoted, got, size, want, len(want))
		}
		if content[1].Text != want {
			t.Errorf("%q: got the text %q, want %q", quoted, content[1].Text, want)
		}
	})
}
