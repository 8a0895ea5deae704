package account

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/norm"
)

// maxCanonical bounds the length of what is brought into canonical form, in bytes;
// no name is as long.
const maxCanonical = 16 * maxName

// CanonicalName returns the form in which names are compared: two names of one form
// are one name. It folds case, width and compatibility forms and leaves out what
// cannot be seen, as the Nickname profile of RFC 8266 does and somewhat beyond: a
// name that the profile forbids has a form, too, so that who has one from before can
// still sign in.
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
	// Twice, because folding can make what is to be composed anew.
	for range 2 {
		key = norm.NFKC.String(cases.Fold().String(key))
	}
	return key
}

// mixesScripts reports whether a name has Latin letters beside those of an alphabet
// that has many of the same looks.
func mixesScripts(name string) bool {
	has := func(table *unicode.RangeTable) bool {
		return strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(table, r) })
	}
	return has(unicode.Latin) && (has(unicode.Cyrillic) || has(unicode.Greek)) || has(unicode.Cyrillic) && has(unicode.Greek)
}

// sameName reports whether two names are one.
func sameName(a, b string) bool { return CanonicalName(a) == CanonicalName(b) }

// FindUser returns the user whom a typed name means: the one of exactly that name
// or, when nobody has it, the one of its canonical form. Of several that are older
// than the rule against it the first counts.
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
