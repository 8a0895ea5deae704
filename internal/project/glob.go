package project

import (
	"slices"
	"strings"
)

// globParts returns the parts for the files that a glob of the shell may match. It resolves the
// links of the folder before the first wildcard, not those of folders that the glob matches.
// hidden means that wildcards match a dot at the start of a name. dir is the folder of a
// relative path, "?" when unknown.
func (p Project) globParts(c Call, glob, dir string, hidden bool) (parts []part) {
	unread := []part{{unread: true}}
	first := strings.IndexAny(glob, "*?[(")
	if first < 0 || len(glob) > maxGlob {
		return unread
	}
	slash := strings.LastIndexByte(glob[:first], '/')
	folder, rest := glob[:slash+1], strings.TrimRight(glob[slash+1:], "/")
	elements := strings.Split(rest, "/")
	for i, name := range elements {
		// "." and ".." lead elsewhere, and ".*" may match them.
		if name == "" || name == "." || name == ".." || i < len(elements)-1 && name[0] == '.' {
			return unread
		}
	}
	if folder == "" {
		folder = "."
	}
	names := c.pathsOf(folder, dir)
	if names == nil {
		return unread
	}
	folders := p.foldersIn(c)
	for _, name := range names {
		whole := strings.TrimSuffix(name, "/") + "/" + rest
		forms := p.namesIn(c, whole)
		tokens := globTokens(strings.ToLower(whole))
		parts = append(parts, part{matches: func(r Rule) bool {
			if !r.restricts() {
				// A pattern that matches the glob's text matches all that the glob does.
				return !strings.ContainsAny(r.Pattern, "?[(") && slices.ContainsFunc(forms, func(form string) bool { return matches(r.Pattern, form) })
			}
			pattern := strings.ToLower(r.Pattern)
			return overlap(pattern, tokens, hidden) || slices.ContainsFunc(folders, func(folder string) bool {
				return overlap(strings.TrimSuffix(strings.ToLower(folder), "/")+"/"+pattern, tokens, hidden)
			})
		}})
	}
	return parts
}

// maxGlob bounds the length of a glob that is compared with rules, in bytes.
const maxGlob = 1000

// Wildcards of a glob; other tokens are bytes.
const (
	anyInName = -1 - iota // any text in a name
	anyPath               // any text, also of several names
	anything              // any text, also hidden names
)

// globTokens parses a glob. It may match more than the shell: ? is like *, ** always descends
// into folders, and from [ or ( on, a glob matches any text.
func globTokens(glob string) (tokens []int) {
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case c == '(' && len(tokens) > 0: // as in @(a|b)
			return append(tokens[:len(tokens)-1], anything)
		case c == '(' || c == '[':
			return append(tokens, anything)
		case strings.HasPrefix(glob[i:], "**"):
			for i+1 < len(glob) && glob[i+1] == '*' {
				i++
			}
			if i+1 < len(glob) && glob[i+1] == '/' {
				i++
			}
			tokens = append(tokens, anyPath)
		case c == '*' || c == '?':
			tokens = append(tokens, anyInName)
		default:
			tokens = append(tokens, int(c))
		}
	}
	return tokens
}

// overlap reports whether a text exists that both a rule's pattern and a glob match. As for any
// path, the pattern may also match the text with a slash at its end. Its time is at most
// proportional to the product of both lengths.
func overlap(pattern string, glob []int, hidden bool) bool {
	type state struct {
		p, g  int  // what the text so far has matched
		start bool // the next character is the first of a name
	}
	seen := map[state]bool{}
	todo := []state{{start: true}}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		if s.g == len(glob) && strings.Trim(strings.Replace(pattern[s.p:], "/", "", 1), "*") == "" {
			return true
		}
		star, wild := s.p < len(pattern) && pattern[s.p] == '*', s.g < len(glob) && glob[s.g] < 0
		if star {
			todo = append(todo, state{s.p + 1, s.g, s.start})
		}
		if wild {
			todo = append(todo, state{s.p, s.g + 1, s.start})
		}
		if s.p == len(pattern) || s.g == len(glob) {
			continue
		}
		switch token, c := glob[s.g], pattern[s.p]; {
		case star && wild:
			todo = append(todo, state{s.p, s.g, false})
			if token != anyInName {
				todo = append(todo, state{s.p, s.g, true})
			}
		case star:
			todo = append(todo, state{s.p, s.g + 1, token == '/'})
		case !wild && token != int(c), wild && c == '/' && token == anyInName, wild && c == '.' && s.start && !hidden && token != anything:
		case wild:
			todo = append(todo, state{s.p + 1, s.g, c == '/'})
		default:
			todo = append(todo, state{s.p + 1, s.g + 1, c == '/'})
		}
	}
	return false
}
