package httpapi_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
	"github.com/sayso-dev/sayso/wire/wiretest"
)

// What a client sends is held against its Go type here, one fault at a time: every
// field that is needed left out or null, every enumeration with a word that is none,
// every type with a value of another one, every bound crossed, every object with a
// field too many. The faults follow from the types, so that no new command and no new
// field can forget them.

// fault is a message that must be refused.
type fault struct {
	name    string
	message map[string]any
	field   string // that the refusal names, "" for any
}

// faultsOf lists the faults of a message of a type. named are fields that the address
// of a REST call stands for.
func faultsOf(t *testing.T, typ reflect.Type, message map[string]any, named ...string) []fault {
	t.Helper()
	var faults []fault
	add := func(name, field string, change func(m map[string]any)) {
		all := clone(message).(map[string]any)
		change(all)
		faults = append(faults, fault{name, all, field})
	}
	var walk func(typ reflect.Type, at func(map[string]any) map[string]any, path string)
	walk = func(typ reflect.Type, at func(map[string]any) map[string]any, path string) {
		here := at(message)
		add("unknown field "+path+"nobody_knows_this", "", func(m map[string]any) { at(m)["nobody_knows_this"] = 1 })
		for _, f := range reflect.VisibleFields(typ) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous || name == "" {
				continue
			}
			where, rules := path+name, f.Tag.Get("validate")
			value, there := here[name]
			needed := options == "" && !strings.HasPrefix(rules, "omitempty") && !strings.Contains(rules, "required_with") && !(path == "" && slices.Contains(named, name))
			inner := f.Type
			for inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			set := func(v any) func(map[string]any) { return func(m map[string]any) { at(m)[name] = v } }
			if needed {
				add(where+" missing", where, func(m map[string]any) { delete(at(m), name) })
				if f.Type.Kind() != reflect.Pointer && f.Type != reflect.TypeFor[json.RawMessage]() {
					add(where+" null", where, set(nil))
				}
			}
			if there {
				spelled := strings.ToUpper(name[:1]) + name[1:]
				add(where+" in another case", "", func(m map[string]any) { delete(at(m), name); at(m)[spelled] = value })
			}
			words, enumerated := wiretest.Unions[inner]
			for rule := range strings.SplitSeq(rules, ",") {
				key, parameter, _ := strings.Cut(rule, "=")
				switch key {
				case "oneof":
					words, enumerated = strings.Fields(parameter), true
				case "uuid":
					add(where+" no UUID", where, set("1"))
				case "required":
					if inner.Kind() == reflect.String {
						add(where+" empty", where, set(""))
					}
				case "max", "min":
					limit, err := strconv.ParseFloat(parameter, 64)
					if err != nil {
						t.Fatal(err)
					}
					switch beyond := map[string]float64{"max": 1, "min": -1}[key]; inner.Kind() {
					case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
						add(where+" beyond its "+key, where, set(limit+beyond))
					case reflect.String:
						if key == "max" {
							add(where+" too long", where, set(strings.Repeat("x", int(limit)+1)))
						}
					case reflect.Slice:
						if key == "max" && inner.Elem().Kind() == reflect.String {
							add(where+" too many", "", set(slices.Repeat([]any{"x"}, int(limit)+1)))
						}
					}
				}
				if key == "dive" {
					break // what follows is about elements
				}
			}
			if enumerated && !slices.Contains(words, "") {
				for _, w := range []string{"nobody_knows_this", words[0] + " ", strings.ToUpper(words[0])} {
					add(fmt.Sprintf("%s %q", where, w), where, set(w))
				}
			}
			switch {
			case f.Type == reflect.TypeFor[json.RawMessage]():
				continue // any JSON; what it means is checked elsewhere
			case inner.Kind() == reflect.String || inner == reflect.TypeFor[[]byte]():
				for _, other := range []any{1, true, []any{}, map[string]any{}} {
					add(fmt.Sprintf("%s %v", where, other), "", set(other))
				}
			case inner.Kind() == reflect.Bool:
				for _, other := range []any{"true", 1, []any{}} {
					add(fmt.Sprintf("%s %v", where, other), "", set(other))
				}
			case inner.Kind() == reflect.Struct:
				add(where+" a text", "", set("x"))
				if below, ok := value.(map[string]any); ok && below != nil {
					walk(inner, func(m map[string]any) map[string]any { return at(m)[name].(map[string]any) }, where+".")
				}
			case inner.Kind() == reflect.Slice:
				add(where+" a text", "", set("x"))
				add(where+" holds null", "", set([]any{nil}))
				list, _ := value.([]any)
				if elem := inner.Elem(); elem.Kind() == reflect.Struct && len(list) > 0 {
					walk(elem, func(m map[string]any) map[string]any { return at(m)[name].([]any)[0].(map[string]any) }, where+".")
				} else if _, ok := wiretest.Unions[elem]; ok {
					add(where+" holds a word that is none", "", set([]any{"nobody_knows_this"}))
				}
			case inner.Kind() == reflect.Map:
				add(where+" a list", "", set([]any{"x"}))
				add(where+" holds null", "", set(map[string]any{"x": nil}))
				add(where+" holds a number", "", set(map[string]any{"x": 1}))
			default: // numbers
				for _, other := range []any{"1", true, []any{}} {
					add(fmt.Sprintf("%s %v", where, other), "", set(other))
				}
			}
		}
	}
	walk(typ, func(m map[string]any) map[string]any { return m }, "")
	return faults
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = clone(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = clone(e)
		}
		return l
	}
	return v
}

func asObject(t *testing.T, v any) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(wire.Encode(v), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestEveryFaultOfACommandIsRefused gives the golden commands with one fault each
// over a socket: it is rejected as not understood, and carried out by nobody.
func TestEveryFaultOfACommandIsRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("api-server")
	r, _ := h.Ask(id, "one", nil)
	tab := h.OpenTab(account.Admin)
	seen, count := map[string]bool{}, 0
	for file, c := range wiretest.Commands() {
		message := asObject(t, c)
		kind := message["type"].(string)
		seen[kind] = true
		for _, key := range []string{"session_id", "request_id"} {
			if _, ok := message[key]; ok {
				message[key] = map[string]string{"session_id": id, "request_id": r.RequestID}[key]
			}
		}
		for _, f := range faultsOf(t, reflect.TypeOf(c).Elem(), message) {
			if commandID, ok := f.message["command_id"].(string); !ok || len(commandID) != 36 || f.message["type"] != kind {
				continue // has no ack of its own: see TestSocketRefusesWhatItDoesNotUnderstand
			}
			count++
			f.message["command_id"] = uuid.NewString()
			a := tab.Do(kind, f.message)
			if a.Result != wire.Rejected || a.Error == nil || a.Error.Code != "invalid" && a.Error.Code != "unknown_type" {
				t.Errorf("%s, %s: got %s %+v", file, f.name, a.Result, a.Error)
			} else if f.field != "" && strings.ReplaceAll(a.Error.Field, "[0]", "") != f.field && !strings.Contains(a.Error.Message, strconv.Quote(f.field)) {
				t.Errorf("%s, %s: blames %q: %s", file, f.name, a.Error.Field, a.Error.Message)
			}
		}
	}
	for kind := range apitest.CommandRoles() {
		if !seen[kind] {
			t.Errorf("%s has no golden command", kind)
		}
	}
	if done := h.Driver.Calls(); len(done) > 0 {
		t.Errorf("a faulty command did %v", done)
	}
	if now, err := h.Store.Request(t.Context(), r.RequestID); err != nil || now.Status.Final() {
		t.Errorf("a faulty command ended the request: %+v, %v", now.Status, err)
	}
	t.Logf("%d faults of %d commands", count, len(seen))
}

// TestEveryFaultOfABodyIsRefused does the same with the bodies of REST that are no
// commands.
func TestEveryFaultOfABodyIsRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("api-server")
	r, _ := h.Ask(id, "one", nil)
	text, yes, number, cost := "x", true, 1, 1.0
	role, seq := account.Member, int64(1)
	people := wire.Whom{Role: account.Member, People: []string{}}
	count := 0
	for address, body := range map[string]any{
		"POST /api/login":                               wire.Login{Username: "ada", Password: "x"},
		"POST /api/set_up":                              wire.SetUp{Name: "ada", Password: "x"},
		"POST /api/me/password":                         wire.NewPassword{CurrentPassword: "x", Password: "x"},
		"POST /api/users":                               wire.PersonCreate{Name: "x", Role: role, Password: "x"},
		"PATCH /api/users/x":                            wire.PersonChange{Role: &role, Disabled: &yes, Password: &text, Limits: &wire.OwnLimits{Cost: &cost}},
		"POST /api/tokens":                              wire.TokenCreate{Name: "x", Role: role, ExpiresIn: 60},
		"POST /api/projects":                            wire.ProjectCreate{Name: "x", Folders: []string{"/x"}, Members: []wire.ProjectMember{{UserID: "x", Role: role}}},
		"PATCH /api/projects/x":                         wire.ProjectChange{Version: 1, Start: &people, Rules: &[]wire.ProjectRule{{Tool: "Bash", Effect: "deny", People: []string{}}}, Limits: &wire.Limits{}, AskTimeout: &number},
		"PATCH /api/sessions/" + id:                     wire.SessionPatch{Title: &text, Archived: &yes},
		"POST /api/attachments":                         wire.Upload{Name: "x", Data: []byte("x")},
		"POST /api/templates":                           wire.TemplateText{Text: "x", Name: &text, Place: "reason"},
		"PATCH /api/preferences":                        wire.PreferencesChange{Keys: map[string]string{"send": "x"}, SingleKeys: &yes, Language: &text},
		"PATCH /api/bookmarks":                          wire.BookmarksChange{Bookmarks: []wire.BookmarkChange{{SessionID: id, Pinned: &yes, Seen: &seq, SeenAt: 1}}},
		"PATCH /api/alerts/choices":                     wire.AlertChoices{Quiet: &wire.AlertQuiet{}, Wanted: wire.AlertWanted{Waiting: []alert.Way{}, Finished: []alert.Way{}, Died: []alert.Way{}}},
		"POST /api/alerts/targets":                      wire.AlertTargetCreate{Way: "webhook", URL: "http://127.0.0.1", Priority: 1},
		"POST /api/grants/revoke":                       wire.GrantRevoke{GrantID: "x"},
		"POST /api/trusted_folders/revoke":              wire.TrustRevoke{Folder: "/x", Digest: "x"},
		"PATCH /api/settings":                           wire.SettingChange{Name: "x", Value: "x"},
		"POST /api/pending/" + r.RequestID + "/preview": wire.PreviewQuestion{ToolInput: json.RawMessage(`{}`)},
	} {
		method, path, _ := strings.Cut(address, " ")
		for _, f := range faultsOf(t, reflect.TypeOf(body), asObject(t, body)) {
			count++
			a := h.CallAs(account.Admin, method, path, f.message)
			if a.Status != 400 || !strings.Contains(string(a.Body), `"invalid"`) {
				t.Errorf("%s, %s: got %d %s", address, f.name, a.Status, a.Body)
			}
		}
	}
	t.Logf("%d faults", count)
}
