// Package statement holds the sentences for people that are not errors: about processes,
// requests and settings. They are stored and sent in English. Find returns the reason and
// parameters of a text, with which the web app translates it. A text stored by an earlier
// version in other words has no reason and stays English, because a table of former texts
// would only grow.
package statement

import (
	"strconv"
	"strings"
	"sync"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
	"github.com/sayso-dev/sayso/internal/problem"
)

// Reason identifies a sentence in the table of this package or of package problem.
type Reason struct {
	Reason string         `json:"reason"`
	Params map[string]any `json:"params,omitempty" ts:"Record<string, string | number | string[]>"`
}

// Entry is one sentence. Names in braces are parameters as in [problem.Entry]. A part in
// brackets is omitted if its parameter is absent or "".
type Entry struct {
	Reason string
	Text   string
}

// Entries returns the table, in order.
func Entries() []Entry { return append([]Entry(nil), table...) }

// New returns the text of a reason. params alternates names and values; the names are those in
// the table's text.
func New(reason string, params ...any) string {
	values := map[string]any{}
	for i := 0; i+1 < len(params); i += 2 {
		if params[i+1] != "" {
			values[params[i].(string)] = params[i+1]
		}
	}
	text := optional.ReplaceAllStringFunc(byReason()[reason], func(group string) string {
		name := optional.FindStringSubmatch(group)[2]
		if _, given := values[name]; !given {
			return ""
		}
		return group[1 : len(group)-1]
	})
	return problem.Render(text, values)
}

// Find returns the reason and parameters of a text made by New or a [problem.Error], nil
// for any other text. If several match, the one with the most literal text wins.
func Find(text string) *Reason {
	var best *Reason
	most := 0
	for _, p := range patterns() {
		if len(p.parts.literal) > most && p.parts.fits(text) {
			if params, ok := p.parts.match(text); ok {
				best, most = &Reason{p.reason, params}, len(p.parts.literal)
			}
		}
	}
	return best
}

// Reasons returns the reasons of texts, by name; nil if none has one. namesAndTexts
// alternates names and texts.
func Reasons(namesAndTexts ...string) map[string]Reason {
	var all map[string]Reason
	for i := 0; i+1 < len(namesAndTexts); i += 2 {
		// Most texts are empty, and this runs for every state that is sent.
		if namesAndTexts[i+1] == "" {
			continue
		}
		if found := Find(namesAndTexts[i+1]); found != nil {
			if all == nil {
				all = map[string]Reason{}
			}
			all[namesAndTexts[i]] = *found
		}
	}
	return all
}

// optional matches a part in brackets and captures the part and the name of its parameter.
var optional = lazyregexp.New(`\[([^\[\]]*\{(\w+)[^\[\]]*)\]`)

var byReason = sync.OnceValue(func() map[string]string {
	m := make(map[string]string, len(table))
	for _, e := range table {
		m[e.Reason] = e.Text
	}
	return m
})

type pattern struct {
	reason string
	parts  parts
}

// patterns returns the texts of both tables, those with optional parts with and without
// each part.
var patterns = sync.OnceValue(func() (all []pattern) {
	for _, e := range table {
		for _, text := range variants(e.Text) {
			all = append(all, pattern{e.Reason, split(text)})
		}
	}
	// A pattern with too little literal text would match other texts.
	const minLiteral = 12
	for _, e := range problem.Entries() {
		if p := split(e.Text); len(p.literal) >= minLiteral {
			all = append(all, pattern{e.Reason, p})
		}
	}
	return all
})

func variants(text string) []string {
	at := optional.FindStringSubmatchIndex(text)
	if at == nil {
		return []string{text}
	}
	var all []string
	for _, rest := range variants(text[at[1]:]) {
		all = append(all, text[:at[0]]+text[at[0]+1:at[1]-1]+rest, text[:at[0]]+rest)
	}
	return all
}

// parts is a text with parameters: texts[0] names[0] texts[1] names[1] … texts[n].
type parts struct {
	texts, names, formats []string
	literal               string // all texts
}

var placeholder = lazyregexp.New(`\{(\w+)(?::(\w+))?\}`)

func split(text string) parts {
	var p parts
	end := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		p.texts = append(p.texts, text[end:m[0]])
		p.names = append(p.names, text[m[2]:m[3]])
		format := ""
		if m[4] >= 0 {
			format = text[m[4]:m[5]]
		}
		p.formats = append(p.formats, format)
		end = m[1]
	}
	p.texts = append(p.texts, text[end:])
	p.literal = strings.Join(p.texts, "")
	return p
}

// fits quickly checks the beginning and end of a text.
func (p parts) fits(text string) bool {
	last := p.texts[len(p.texts)-1]
	return len(text) >= len(p.literal) && strings.HasPrefix(text, p.texts[0]) && strings.HasSuffix(text, last)
}

// match returns the parameters of a text: each as short as possible, none empty.
func (p parts) match(text string) (map[string]any, bool) {
	if len(p.names) == 0 {
		return nil, text == p.texts[0]
	}
	params := map[string]any{}
	rest := text[len(p.texts[0]):]
	for i, name := range p.names {
		next, at := p.texts[i+1], -1
		if i == len(p.names)-1 {
			at = len(rest) - len(next)
		} else if len(rest) > 0 {
			at = 1 + strings.Index(rest[1:], next)
		}
		if at < 1 {
			return nil, false
		}
		value, ok := parse(rest[:at], p.formats[i])
		if before, twice := params[name]; !ok || twice && before != value {
			return nil, false
		}
		params[name], rest = value, rest[at+len(next):]
	}
	return params, true
}

// parse parses a value as problem.Render formats it.
func parse(text, format string) (any, bool) {
	switch format {
	case "usd":
		amount, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
		return amount, err == nil
	case "span":
		return problem.ParseSpan(text)
	}
	return text, true
}
