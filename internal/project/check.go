package project

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/account"
)

// Bounds of a project.
const (
	maxName    = 100 // characters
	maxFolders = 50
	maxMembers = 1000
	maxRules   = 200
	maxPattern = 1000 // bytes, of a tool or a pattern
	maxPath    = 4096
)

func invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Sentence: fmt.Sprintf(format, args...)}
}

// Check makes a project normal and says what is wrong with it: an [InvalidError].
// people are those that there are.
func Check(p Project, people []account.User) (Project, error) {
	known := map[string]bool{}
	for _, u := range people {
		known[u.UserID] = true
	}
	p.Name = strings.TrimSpace(p.Name)
	switch {
	case p.Name == "":
		return p, invalid("name", "Give the project a name.")
	case utf8.RuneCountInString(p.Name) > maxName || strings.ContainsFunc(p.Name, unicode.IsControl):
		return p, invalid("name", "The name may have %d characters and no line breaks.", maxName)
	}
	folders, err := checkFolders(p.Folders)
	if err != nil {
		return p, err
	}
	p.Folders = folders
	if len(p.Members) > maxMembers {
		return p, invalid("members", "A project may have %d members.", maxMembers)
	}
	seen := map[string]bool{}
	for _, m := range p.Members {
		switch {
		case !known[m.UserID]:
			return p, invalid("members", "One of the members is nobody here.")
		case seen[m.UserID]:
			return p, invalid("members", "One of the members is there twice.")
		case !m.Role.AtLeast(account.Viewer):
			return p, invalid("members", "The role of a member is viewer, member or admin.")
		}
		seen[m.UserID] = true
	}
	p.Members = orNone(p.Members)
	whom := func(field string, w Whom) (Whom, error) {
		if w.Role == "" {
			w.Role = account.Member
		}
		if !w.Role.AtLeast(account.Member) {
			return w, invalid(field, "This right is for members or for admins of the project.")
		}
		if slices.ContainsFunc(w.People, func(id string) bool { return !known[id] }) {
			return w, invalid(field, "One of the people is nobody here.")
		}
		w.People = orNone(w.People)
		return w, nil
	}
	if p.Start, err = whom("start", p.Start); err != nil {
		return p, err
	}
	if p.Answer, err = whom("answer", p.Answer); err != nil {
		return p, err
	}
	if len(p.Rules) > maxRules {
		return p, invalid("rules", "A project may have %d rules.", maxRules)
	}
	rules := make([]Rule, 0, len(p.Rules))
	for i, r := range p.Rules {
		r.Tool, r.Pattern = strings.TrimSpace(r.Tool), strings.TrimSpace(r.Pattern)
		switch {
		case r.Tool == "":
			return p, invalid("rules", "Rule %d names no tool. Write * for all.", i+1)
		case len(r.Tool) > maxPattern || len(r.Pattern) > maxPattern:
			return p, invalid("rules", "Rule %d is too long.", i+1)
		case r.Effect != Allow && r.Effect != Deny && r.Effect != TwoPeople:
			return p, invalid("rules", "Rule %d must allow, deny or ask for two people.", i+1)
		case r.Effect == Deny && len(r.People) > 0:
			return p, invalid("rules", "Rule %d lets nobody approve, so it names nobody.", i+1)
		case r.Effect == TwoPeople && len(r.People) == 1:
			return p, invalid("rules", "Rule %d wants two people and names one.", i+1)
		case slices.ContainsFunc(r.People, func(id string) bool { return !known[id] }):
			return p, invalid("rules", "Rule %d names somebody who is nobody here.", i+1)
		}
		r.People = orNone(r.People)
		rules = append(rules, r)
	}
	p.Rules = rules
	if slices.ContainsFunc(p.Bypass, func(id string) bool { return !known[id] }) {
		return p, invalid("bypass", "One of the people is nobody here.")
	}
	p.Bypass = orNone(p.Bypass)
	for field, l := range map[string]Limits{"limits": p.Limits, "each_limits": p.EachLimit} {
		if err := l.check(field); err != nil {
			return p, err
		}
	}
	if t := p.AskTimeout; t != 0 && t != AskForEver && (t < AskShortest || t > AskLongest) {
		return p, invalid("ask_timeout", "A question waits from 30 seconds to 15 minutes, for ever, or as long as the server says.")
	}
	return p, nil
}

func checkFolders(list []string) ([]string, error) {
	if len(list) == 0 {
		return nil, invalid("folders", "Name at least one folder. Sessions that work in it belong to the project.")
	}
	if len(list) > maxFolders {
		return nil, invalid("folders", "A project may have %d folders.", maxFolders)
	}
	folders := make([]string, 0, len(list))
	for _, f := range list {
		f = strings.TrimSpace(f)
		switch {
		case !path.IsAbs(f) || len(f) > maxPath || !utf8.ValidString(f) || strings.ContainsFunc(f, unicode.IsControl):
			return nil, invalid("folders", "A folder is an absolute path on the server.")
		case path.Clean(f) == "/":
			return nil, invalid("folders", "The whole disk is no project: what is in no project is shared already.")
		}
		f = path.Clean(f)
		if slices.Contains(folders, f) {
			return nil, invalid("folders", "The folder %s is there twice.", f)
		}
		folders = append(folders, f)
	}
	return folders, nil
}

// orNone is a list that is never nil, so that it is written as one.
func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
