package session

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what of a text can be found.
const (
	wordLength     = 64   // characters of a word that count
	maxWords       = 8000 // different ones of a text
	maxSearchWords = 32   // of a search
)

// Words are the words of a text by which it can be found, each once: runs of
// letters and digits without regard to case. Where capitals show that a word is
// made of several it is found by each of them, and scripts that do not part their
// words are found by each character. Both engines index these and nothing else,
// so no character of a search is special to either.
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

// SearchWords are the words of a search; text that begins with each of them in some
// of its [Words] is found.
func SearchWords(search string) []string {
	var list []string
	inRun := -1
	eachWord(search, func(at int, word string) bool {
		// Of a word that is made of several the whole is meant.
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

// isUnspaced reports whether a character is of a script that writes its words without spaces.
func isUnspaced(c rune) bool {
	const first = 0xE00 // Thai is the lowest
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

// eachWord calls found for each word with the place where it begins, until it
// returns false.
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

// eachPart calls found for a run of letters, and for what follows each place in it
// where a word in capitals begins.
func eachPart(run string, found func(at int, word string) bool) bool {
	const mostParts = 8
	starts := []int{0}
	var before, last rune // the two characters before
	lastAt := 0
	for i, c := range run {
		if i > 0 && len(starts) < mostParts {
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

// Excerpt is the place in a text where the first of the words that were asked for
// stands, with what is around it, in one line.
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

// TextOf is what an item says, for a search: "" for what nobody looks for.
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

// stringsOf are the strings in a JSON text, without the names of its fields.
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
