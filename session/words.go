package session

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the search index.
const (
	wordLength     = 64   // characters; longer words are truncated
	maxWords       = 8000 // distinct words of one text
	maxSearchWords = 32   // distinct words of one search
)

// Words returns the words by which a text can be found, without duplicates: runs of letters and
// digits, case-folded. A compound word such as camelCase is also found by each part that begins
// with a capital. In scripts that do not separate words, each character is a word. Both engines
// index only these words, so no character of a search is special to either.
func Words(text string) []string {
	seen := map[string]bool{}
	var list []string
	eachWord(text, func(_ int, word string) bool {
		if !seen[word] {
			seen[word] = true
			list = append(list, word)
		}
		return len(list) < maxWords
	})
	return list
}

// SearchWords returns the words of a search. A text matches if each of them is a prefix of one of
// its [Words].
func SearchWords(search string) []string {
	var list []string
	inRun := -1
	eachWord(search, func(at int, word string) bool {
		// A search for a compound word means the whole word, not its parts.
		if at < inRun {
			return true
		}
		inRun = at + runLength(search[at:])
		if !slices.Contains(list, word) {
			list = append(list, word)
		}
		return len(list) < maxSearchWords
	})
	return list
}

func isWord(c rune) bool {
	if c < utf8.RuneSelf {
		return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
	}
	return unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c)
}

// isUnspaced reports whether a character belongs to a script without spaces between words.
func isUnspaced(c rune) bool {
	const first = 0xE00 // start of the Thai block, the lowest of these scripts
	return c >= first && unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func runLength(text string) int {
	for i, c := range text {
		if !isWord(c) || isUnspaced(c) {
			if i == 0 {
				return utf8.RuneLen(c)
			}
			return i
		}
	}
	return len(text)
}

func fold(c rune) rune {
	if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
		return c
	}
	return unicode.ToLower(unicode.ToUpper(c))
}

// eachWord calls found for each word and the byte offset at which it starts, until found returns
// false.
func eachWord(text string, found func(at int, word string) bool) {
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case c == utf8.RuneError || !isWord(c):
			i += size
		case isUnspaced(c):
			if !found(i, string(fold(c))) {
				return
			}
			i += size
		default:
			n := runLength(text[i:])
			if !eachPart(text[i:i+n], func(at int, word string) bool { return found(i+at, word) }) {
				return
			}
			i += n
		}
	}
}

// eachPart calls found for a run of letters and digits, and for the rest of it from each capital
// that starts another part, until found returns false. It reports whether found never did.
func eachPart(run string, found func(at int, word string) bool) bool {
	const maxParts = 8
	starts := []int{0}
	var before, last rune // the two previous characters
	lastAt := 0
	for i, c := range run {
		if i > 0 && len(starts) < maxParts {
			switch {
			case unicode.IsUpper(c) && !unicode.IsUpper(last):
				starts = append(starts, i)
			case unicode.IsLower(c) && unicode.IsUpper(last) && unicode.IsUpper(before) && starts[len(starts)-1] != lastAt:
				starts = append(starts, lastAt)
			}
		}
		before, last, lastAt = last, c, i
	}
	for _, at := range starts {
		var b strings.Builder
		n := 0
		for _, c := range run[at:] {
			if n++; n > wordLength {
				break
			}
			b.WriteRune(fold(c))
		}
		if !found(at, b.String()) {
			return false
		}
	}
	return true
}

// Excerpt returns the text around the first word that starts with one of asked, on one line. If
// there is none, it returns the beginning of the text.
func Excerpt(text string, asked []string) string {
	const before, after = 60, 160 // characters
	at := 0
	eachWord(text, func(i int, word string) bool {
		for _, a := range asked {
			if strings.HasPrefix(word, a) {
				at = i
				return false
			}
		}
		return true
	})
	start := at
	for n := 0; n < before && start > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(text[:start])
		start -= size
	}
	end := at
	for n := 0; n < after && end < len(text); n++ {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	line := strings.Join(strings.Fields(strings.ToValidUTF8(text[start:end], "\uFFFD")), " ")
	if start > 0 {
		line = "…" + line
	}
	if end < len(text) {
		line += "…"
	}
	return line
}

// TextOf returns the searchable text of an item, "" if it has none.
func TextOf(it Item) string {
	var parts []string
	add := func(list ...string) {
		for _, s := range list {
			if s != "" {
				parts = append(parts, s)
			}
		}
	}
	read := func(body any) bool { return json.Unmarshal(it.Body, body) == nil }
	switch it.Kind {
	case ItemUser:
		var b UserBody
		if read(&b) {
			add(b.Text)
			for _, a := range b.Attachments {
				add(a.Name)
			}
		}
	case ItemText, ItemThinking, ItemPlan:
		var b TextBody
		if read(&b) {
			add(b.Text)
		}
	case ItemToolCall:
		var b ToolCallBody
		if read(&b) {
			add(b.ToolName)
			add(stringsOf(b.Input)...)
			add(b.Result)
		}
	case ItemTodo:
		var b TodoBody
		if read(&b) {
			for _, t := range b.Todos {
				add(t.Content)
			}
		}
	case ItemSubagent:
		var b SubagentBody
		if read(&b) {
			add(b.AgentType, b.Description, b.Result)
		}
	case ItemNote:
		var b NoteBody
		if read(&b) {
			add(b.Text)
		}
	case ItemResolved:
		var b ResolvedBody
		if read(&b) {
			add(b.Summary, b.Message, b.ToolName)
			add(stringsOf(b.ToolInput)...)
		}
	case ItemResult:
		var b ResultBody
		if read(&b) {
			add(b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// stringsOf returns the strings in a JSON text, except the names of fields.
func stringsOf(raw json.RawMessage) []string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	var list []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			list = append(list, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			names := make([]string, 0, len(v))
			for name := range v {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				walk(v[name])
			}
		}
	}
	walk(v)
	return list
}
