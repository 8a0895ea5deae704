package account

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/norm"
)

// maxCanonical bounds the input of CanonicalName, in bytes. Every stored name is shorter.
const maxCanonical = 16 * maxName

// CanonicalName returns the form in which names are compared. It folds case, width and
// compatibility forms and removes invisible characters, like the Nickname profile of
// RFC 8266. Names that the profile forbids have a canonical form too, so that users
// with old names can sign in.
func CanonicalName(name string) string {
	if len(name) > maxCanonical {
		return name
	}
	seen := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Cc, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	key, err := precis.Nickname.CompareKey(seen)
	if err != nil {
		key = strings.Join(strings.Fields(norm.NFKC.String(seen)), " ")
	}
	// Twice, because folding can produce text that normalizes further.
	for range 2 {
		key = norm.NFKC.String(cases.Fold().String(key))
	}
	return key
}

// mixesScripts reports whether a name mixes alphabets with similar letters.
func mixesScripts(name string) bool {
	has := func(table *unicode.RangeTable) bool {
		return strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(table, r) })
	}
	return has(unicode.Latin) && (has(unicode.Cyrillic) || has(unicode.Greek)) || has(unicode.Cyrillic) && has(unicode.Greek)
}

// sameName reports whether two names are equal in canonical form.
func sameName(a, b string) bool { return CanonicalName(a) == CanonicalName(b) }

// FindUser returns the user with exactly the typed name or, if there is none, the first
// with the same canonical name. Only old databases have several of those.
func FindUser(users []User, name string) (User, bool) {
	var found User
	form := CanonicalName(name)
	for _, u := range users {
		if u.Name == name {
			return u, true
		}
		if found.UserID == "" && CanonicalName(u.Name) == form {
			found = u
		}
	}
	return found, found.UserID != ""
}
