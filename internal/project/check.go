package project

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
)

// Limits of a project.
const (
	maxName    = 100 // characters
	maxFolders = 50
	maxMembers = 1000
	maxRules   = 200
	maxPattern = 1000 // bytes, of a tool or a pattern
	maxPath    = 4096
)

// Check normalizes a project. It returns a [problem.Error] for an invalid one. people are the
// users of the server.
func Check(p Project, people []account.User) (Project, error) {
	known := map[string]bool{}
	for _, u := range people {
		known[u.UserID] = true
	}
	p.Name = strings.TrimSpace(p.Name)
	switch {
	case p.Name == "":
		return p, problem.For("name", "project_name_missing")
	case utf8.RuneCountInString(p.Name) > maxName || strings.ContainsFunc(p.Name, unicode.IsControl):
		return p, problem.For("name", "project_name_invalid", "max", maxName)
	}
	folders, err := checkFolders(p.Folders)
	if err != nil {
		return p, err
	}
	p.Folders = folders
	if p.Members, err = checkMembers(p.Members, known); err != nil {
		return p, err
	}
	if p.Start, err = checkWhom("start", p.Start, known); err != nil {
		return p, err
	}
	if p.Answer, err = checkWhom("answer", p.Answer, known); err != nil {
		return p, err
	}
	if p.Rules, err = checkRules(p.Rules, known); err != nil {
		return p, err
	}
	if slices.ContainsFunc(p.Bypass, func(id string) bool { return !known[id] }) {
		return p, problem.For("bypass", "person_unknown")
	}
	p.Bypass = nonNil(p.Bypass)
	for field, l := range map[string]Limits{"limits": p.Limits, "each_limits": p.EachLimit} {
		if err := l.check(field); err != nil {
			return p, err
		}
	}
	if t := p.AskTimeout; t != 0 && t != AskNoTimeout && (t < AskShortest || t > AskLongest) {
		return p, problem.For("ask_timeout", "ask_timeout_range")
	}
	return p, nil
}

// checkMembers normalizes the members of a project. known contains the ids of all users.
func checkMembers(list []Member, known map[string]bool) ([]Member, error) {
	if len(list) > maxMembers {
		return nil, problem.For("members", "members_max", "max", maxMembers)
	}
	seen := map[string]bool{}
	for _, m := range list {
		switch {
		case !known[m.UserID]:
			return nil, problem.For("members", "member_unknown")
		case seen[m.UserID]:
			return nil, problem.For("members", "member_twice")
		case !m.Role.AtLeast(account.Viewer):
			return nil, problem.For("members", "member_role")
		}
		seen[m.UserID] = true
	}
	return nonNil(list), nil
}

func checkWhom(field string, w Whom, known map[string]bool) (Whom, error) {
	if w.Role == "" {
		w.Role = account.Member
	}
	if !w.Role.AtLeast(account.Member) {
		return w, problem.For(field, "right_role")
	}
	if slices.ContainsFunc(w.People, func(id string) bool { return !known[id] }) {
		return w, problem.For(field, "person_unknown")
	}
	w.People = nonNil(w.People)
	return w, nil
}

// checkRules normalizes the rules of a project. known contains the ids of all users.
func checkRules(list []Rule, known map[string]bool) ([]Rule, error) {
	if len(list) > maxRules {
		return nil, problem.For("rules", "rules_max", "max", maxRules)
	}
	rules := make([]Rule, 0, len(list))
	for i, r := range list {
		r.Tool, r.Pattern = strings.TrimSpace(r.Tool), strings.TrimSpace(r.Pattern)
		switch {
		case r.Tool == "":
			return nil, problem.For("rules", "rule_no_tool", "rule", i+1)
		case len(r.Tool) > maxPattern || len(r.Pattern) > maxPattern:
			return nil, problem.For("rules", "rule_too_long", "rule", i+1)
		case r.Effect != Allow && r.Effect != Deny && r.Effect != TwoPeople:
			return nil, problem.For("rules", "rule_effect", "rule", i+1)
		case r.Effect == Deny && len(r.People) > 0:
			return nil, problem.For("rules", "rule_deny_people", "rule", i+1)
		case r.Effect == TwoPeople && len(r.People) == 1:
			return nil, problem.For("rules", "rule_two_people", "rule", i+1)
		case slices.ContainsFunc(r.People, func(id string) bool { return !known[id] }):
			return nil, problem.For("rules", "rule_person_unknown", "rule", i+1)
		}
		r.People = nonNil(r.People)
		rules = append(rules, r)
	}
	return rules, nil
}

func checkFolders(list []string) ([]string, error) {
	if len(list) == 0 {
		return nil, problem.For("folders", "project_folders_missing")
	}
	if len(list) > maxFolders {
		return nil, problem.For("folders", "project_folders_max", "max", maxFolders)
	}
	folders := make([]string, 0, len(list))
	for _, f := range list {
		f = strings.TrimSpace(f)
		switch {
		case !path.IsAbs(f) || len(f) > maxPath || !utf8.ValidString(f) || strings.ContainsFunc(f, unicode.IsControl):
			return nil, problem.For("folders", "project_folder_invalid")
		case path.Clean(f) == "/":
			return nil, problem.For("folders", "project_folder_root")
		}
		f = path.Clean(f)
		if slices.Contains(folders, f) {
			return nil, problem.For("folders", "project_folder_twice", "folder", f)
		}
		folders = append(folders, f)
	}
	return folders, nil
}

// nonNil returns an empty list for nil, which JSON would encode as null.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
