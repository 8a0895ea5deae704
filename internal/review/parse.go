package review

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// parsers are reused: a new one is larger than the tree of a typical command.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parseBash returns the syntax tree of a text that bash would run.
func parseBash(text string) (*syntax.File, error) {
	p := parsers.Get().(*syntax.Parser)
	defer parsers.Put(p)
	return p.Parse(strings.NewReader(text), "")
}
