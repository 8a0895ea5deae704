package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/ellipsis"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/session"
)

// Note returns a note item. level is info, warning or error.
func Note(key, level, text string, at time.Time) session.Item {
	text = truncate(text)
	body := session.NoteBody{Level: level, Text: text, Reasons: statement.Reasons("text", text)}
	return session.Item{Key: key, At: at, Kind: session.ItemNote, Body: Encode(body)}
}

// MessageKey returns the key of the item of a message. The CLI keeps the id with which a message was
// sent.
func MessageKey(messageID string) string { return "message:" + messageID }

// UserMessage returns the item of a person's message. snapshot names the state of the folder before the
// message; "" for none.
func UserMessage(m session.Message, snapshot string, at time.Time) session.Item {
	body := session.UserBody{Text: m.Text, By: m.By.Name, Snapshot: snapshot}
	for _, a := range m.Attachments {
		body.Attachments = append(body.Attachments, a.Info())
	}
	return session.Item{Key: MessageKey(m.MessageID), At: at, Kind: session.ItemUser, Body: Encode(body)}
}

// Encode returns a value as JSON. It panics if the type cannot be encoded.
func Encode(body any) json.RawMessage {
	b, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("transcript: encode %T: %v", body, err))
	}
	return b
}

// truncate trims the white space around a text and limits the text to session.MaxShown bytes.
func truncate(s string) string {
	return ellipsis.Bytes(strings.TrimSpace(s), session.MaxShown)
}

// encodeText encodes text as a [session.TextBody], with the same result as Encode, but copies a
// long text only once.
func encodeText(text string) json.RawMessage {
	const long, step = 256 << 10, 64 << 10
	if len(text) < long {
		return Encode(session.TextBody{Text: text})
	}
	const head, tail = `{"text":"`, `"}`
	out := append(make([]byte, 0, len(head)+quotedSize(text)+len(tail)), head...)
	var part bytes.Buffer // reused, because a buffer for each step would double the garbage
	parts := json.NewEncoder(&part)
	for len(text) > 0 {
		n := min(step, len(text))
		for n < len(text) && n > step-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		part.Reset()
		_ = parts.Encode(text[:n]) // encoding a string to memory cannot fail
		quoted := bytes.TrimSuffix(part.Bytes(), []byte("\n"))
		out, text = append(out, quoted[1:len(quoted)-1]...), text[n:]
	}
	return append(out, tail...)
}

// quotedSize returns the length of a text as a JSON string in the format of encoding/json,
// without the quotes. For invalid UTF-8 it may return less.
func quotedSize(text string) int {
	size := len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"', c == '\\', c == '\n', c == '\t', c == '\r', c == '\b', c == '\f':
			size++
		case c < ' ', c == '<', c == '>', c == '&':
			size += 5
		case c == 0xe2 && (strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029")):
			size += 3
		}
	}
	return size
}

// SameInput compares two inputs as JSON, ignoring the order of keys.
func SameInput(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	canonical := func(v json.RawMessage) ([]byte, bool) {
		d := json.NewDecoder(bytes.NewReader(v))
		d.UseNumber() // keeps 1e400 and 2^53+1 exact
		var x any
		if d.Decode(&x) != nil {
			return nil, false
		}
		out, err := json.Marshal(x) // sorts keys
		return out, err == nil
	}
	x, ok := canonical(a)
	y, also := canonical(b)
	return ok && also && bytes.Equal(x, y)
}
