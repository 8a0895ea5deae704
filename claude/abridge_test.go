package claude_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
)

// abridge passes a line through an Abridger in parts of random sizes.
func abridge(line []byte, random *rand.Rand, most int) []byte {
	var a claude.Abridger
	var out []byte
	for len(line) > 0 {
		n := min(1+random.IntN(most), len(line))
		out = a.Add(out, line[:n])
		line = line[n:]
	}
	return a.End(out)
}

// result reads the first result in a line.
func result(t *testing.T, line []byte) (text string, size int, user *claude.User) {
	t.Helper()
	m, err := claude.Decode(line)
	if err != nil {
		t.Fatal(err)
	}
	user, ok := m.(*claude.User)
	if !ok || len(user.Content) == 0 {
		t.Fatalf("%T without content", m)
	}
	text, size = user.Content[0].ResultText(64 << 10)
	return text, size + user.OmittedBytes, user
}

func TestAbridge(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	units := []string{`\n`, `\"`, `\\`, `\u0007`, `\u00e9`, `\u20ac`, `\ud83d\ude00`, "x", "é", "€", "😀", "plain words, ", "[]{}:,"}
	text := func(bytes int) string {
		var b strings.Builder
		for b.Len() < bytes {
			u := units[random.IntN(len(units))]
			for range 1 + random.IntN(30) {
				b.WriteString(u)
			}
		}
		return b.String()
	}
	sizes := []int{10, 200_000, 1 << 20, 1<<20 + 7, 3 << 20}
	if os.Getenv("SAYSO_TEST_ALL") != "" {
		sizes = append(sizes, 12<<20)
	}
	for _, size := range sizes {
		long := text(size)
		for name, content := range map[string]string{
			"text": `"` + long + `"`,
			"list": `[{"type":"text","text":"` + long + `"}]`,
		} {
			format := `{"type":"user","uuid":"u","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":%s}]},"parent_tool_use_id":null,"tool_use_result":{"stdout":"%s","interrupted":false}}`
			if random.IntN(2) == 0 { // the order of keys is not fixed
				format = `{"message":{"content":[{"content":%s,"type":"tool_result","tool_use_id":"t"}],"role":"user"},"tool_use_result":{"stdout":"%s","interrupted":false},"type":"user"}`
			}
			line := []byte(fmt.Sprintf(format, content, long))
			short := abridge(line, random, 128<<10)
			if !json.Valid(short) {
				t.Fatalf("%s of %d: no JSON", name, size)
			}
			wantText, wantSize, _ := result(t, line)
			gotText, gotSize, user := result(t, short)
			if gotText != wantText || gotSize != wantSize {
				t.Errorf("%s of %d: %d bytes of %d, want %d of %d", name, size, len(gotText), gotSize, len(wantText), wantSize)
			}
			if size < 1<<20 && !bytes.Equal(short, line) {
				t.Errorf("%s of %d was changed", name, size)
			}
			if len(short) > 8<<20 {
				t.Errorf("%s of %d: %d bytes are left", name, size, len(short))
			}
			var out struct{ Interrupted *bool }
			if err := json.Unmarshal(user.ToolUseResult, &out); err != nil || out.Interrupted == nil {
				t.Errorf("%s of %d: what follows the output is lost: %v", name, size, err)
			}
		}
	}
}

// TestAbridgeLeavesAlone: what a person decides on, and whatever is no result, stays whole.
func TestAbridgeLeavesAlone(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	long := strings.Repeat(`a\n€`, 1<<20)
	for _, line := range []string{
		`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Write","input":{"content":"` + long + `"}}}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Write","input":{"content":"` + long + `"}},{"type":"text","text":"` + long + `"}]}}`,
		`{"type":"user","message":{"content":"` + long + `"}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"image","source":{"data":"` + long + `"}}]}]}}`,
		`{"type":"user","` + long + `":1}`,
		`{"type":"user","message":{"content":[{"content":"` + long, // a line that is not whole
		long, "",
	} {
		got := abridge([]byte(line), random, 100_000)
		if whole := strings.HasSuffix(line, "}"); whole && string(got) != line || !whole && !strings.HasPrefix(line, string(got)) {
			t.Errorf("%.80s was changed", line)
		}
	}
}

func BenchmarkAbridge(b *testing.B) {
	line := []byte(`{"type":"user","message":{"content":[{"type":"tool_result","content":"` + strings.Repeat(strings.Repeat("x", 79)+`\n`, 1<<17) + `"}]}}`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		var a claude.Abridger
		var out []byte
		for rest := line; len(rest) > 0; {
			n := min(128<<10, len(rest))
			out = a.Add(out, rest[:n])
			rest = rest[n:]
		}
		a.End(out)
	}
}
