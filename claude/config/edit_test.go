package config_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sayso-dev/sayso/claude/config"
)

const file = `{
  "numStartups": 12345678901234567890,
  "cost": 0.10000000000000000001,
  "z": {"a": [1, {"b": "}\"{"}], "e": 1E+2},
  "projects": {
    "/home/ann/api": {
      "allowedTools": [],
      "mcpServers": {}
    },
    "/home/ann/ünïcode \"x\"": {
      "mcpServers": {
        "other": {
          "type": "http",
          "url": "http://localhost:1/mcp"
        },
        "sayso": {"command": "old"}
      }
    }
  },
  "last": null
}
`

func TestSet(t *testing.T) {
	t.Parallel()
	entry := json.RawMessage(`{"type":"stdio","args":["a"],"n":1.0}`)
	api := []string{"projects", "/home/ann/api", "mcpServers", "sayso"}
	uni := []string{"projects", "/home/ann/ünïcode \"x\"", "mcpServers", "sayso"}
	for _, c := range []struct {
		name, data string
		path       []string
		value      json.RawMessage
		// old, new: what alone changed in data; an old of "" means that new is all.
		old, new string
	}{
		{"into an empty object", file, api, entry, `"mcpServers": {}`,
			"\"mcpServers\": {\n        \"sayso\": {\n          \"type\": \"stdio\",\n          \"args\": [\n            \"a\"\n          ],\n          \"n\": 1.0\n        }\n      }"},
		{"over another", file, uni, json.RawMessage(`1`), `{"command": "old"}`, `1`},
		{"behind the others", file, []string{"projects", "/home/ann/api", "x"}, json.RawMessage(`true`),
			"\"mcpServers\": {}\n", "\"mcpServers\": {},\n      \"x\": true\n"},
		{"a project that is new", file, []string{"projects", "/new", "mcpServers", "sayso"}, json.RawMessage(`{}`),
			"    }\n  },\n  \"last\"", "    },\n    \"/new\": {\n      \"mcpServers\": {\n        \"sayso\": {}\n      }\n    }\n  },\n  \"last\""},
		{"no file yet", "{}\n", []string{"a", "b"}, json.RawMessage(`1`), "", "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"},
		{"on one line", `{"a":{"b":1}}`, []string{"a", "c"}, json.RawMessage(`{ "d": 2 }`), "", `{"a":{"b":1,"c":{"d":2}}}`},
		{"remove the last", file, uni, nil, ",\n        \"sayso\": {\"command\": \"old\"}", ""},
		{"remove the first", file, []string{"numStartups"}, nil, "\"numStartups\": 12345678901234567890,\n  ", ""},
		{"remove the only one", `{"a": { "b" : 1 } }`, []string{"a", "b"}, nil, "", `{"a": {} }`},
		{"remove what is not there", file, api, nil, "x", "x"},
		{"remove below what is not there", file, []string{"no", "no"}, nil, "x", "x"},
		{"the same key twice: the last counts", `{"a":1,"a":2}`, []string{"a"}, json.RawMessage(`3`), "", `{"a":1,"a":3}`},
		{"the same key twice: both go", `{"a":1,"b":0,"a":2}`, []string{"a"}, nil, "", `{"b":0}`},
		{"an escaped key", `{"\u0061":1}`, []string{"a"}, json.RawMessage(`2`), "", `{"\u0061":2}`},
		{"four spaces", "{\n    \"a\": {}\n}", []string{"a", "b"}, json.RawMessage(`1`), "", "{\n    \"a\": {\n        \"b\": 1\n    }\n}"},
		{"a tag stays a tag", `{"x":1}`, []string{"<b>"}, json.RawMessage(`1`), "", `{"x":1,"<b>":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := c.new
			if c.old != "" {
				want = strings.Replace(c.data, c.old, c.new, 1)
			}
			got, err := config.Set([]byte(c.data), c.value, c.path...)
			if err != nil || string(got) != want {
				t.Errorf("got error %v and\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]error{
		"": config.ErrNotJSON, "{": config.ErrNotJSON, "[]": config.ErrNotJSON, "null": config.ErrNotJSON,
		"\xef\xbb\xbf{}": config.ErrNotJSON, "// hello\n{}": config.ErrNotJSON, "{} {}": config.ErrNotJSON,
		`{"a":[]}`: config.ErrShape, `{"a":null}`: config.ErrShape, `{"a":"b"}`: config.ErrShape,
	} {
		if _, err := config.Set([]byte(data), json.RawMessage("1"), "a", "b"); !errors.Is(err, want) {
			t.Errorf("Set in %q: got %v, want %v", data, err, want)
		}
		if _, err := config.Get([]byte(data), "a", "b"); !errors.Is(err, want) {
			t.Errorf("Get in %q: got %v, want %v", data, err, want)
		}
	}
	if _, err := config.Set([]byte("{}"), json.RawMessage("{"), "a"); err == nil {
		t.Error("a broken value was written")
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path []string
		want string
	}{
		{[]string{"numStartups"}, "12345678901234567890"},
		{[]string{"z", "a"}, `[1, {"b": "}\"{"}]`},
		{[]string{"projects", "/home/ann/ünïcode \"x\"", "mcpServers", "sayso"}, `{"command": "old"}`},
		{[]string{"last"}, "null"},
		{[]string{"z", "b"}, ""},
	} {
		got, err := config.Get([]byte(file), c.path...)
		if err != nil || string(got) != c.want || (got == nil) != (c.want == "") {
			t.Errorf("%v: got %s, %v, want %s", c.path, got, err, c.want)
		}
	}
}

// Against encoding/json on any file: Set changes the one value, and taking it
// away again leaves what was there.
func TestSetMeansWhatItSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SampledFrom([]string{"a", "b", `q"\`, "ü", "</script>", ""})
		var value func(depth int) *rapid.Generator[any]
		value = func(depth int) *rapid.Generator[any] {
			plain := []*rapid.Generator[any]{
				rapid.Just[any](nil), rapid.Just[any](true), rapid.Map(rapid.String(), func(s string) any { return s }),
				rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
			}
			if depth > 0 {
				plain = append(plain,
					rapid.Map(rapid.MapOfN(keys, rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) }), 0, 4), func(m map[string]any) any { return m }),
					rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) }), 0, 3), func(l []any) any { return l }))
			}
			return rapid.OneOf(plain...)
		}
		document := rapid.MapOfN(keys, value(3), 0, 5).Draw(t, "document")
		data, err := json.Marshal(document)
		if err == nil && rapid.Bool().Draw(t, "indented") {
			data, err = json.MarshalIndent(document, "", rapid.SampledFrom([]string{" ", "  ", "\t"}).Draw(t, "unit"))
		}
		if err != nil {
			t.Fatal(err)
		}
		path := rapid.SliceOfN(keys, 1, 4).Draw(t, "path")
		added := value(2).Draw(t, "value")
		raw, _ := json.Marshal(added)

		before, err := config.Get(data, path...)
		if errors.Is(err, config.ErrShape) {
			if _, err := config.Set(data, raw, path...); !errors.Is(err, config.ErrShape) {
				t.Fatalf("Get: ErrShape, Set: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		after, err := config.Set(data, raw, path...)
		if err != nil {
			t.Fatal(err)
		}
		placeIn(document, path, added)
		wanted, _ := json.Marshal(document)
		var got, meant any
		must(t, json.Unmarshal(after, &got))
		must(t, json.Unmarshal(wanted, &meant))
		if !reflect.DeepEqual(got, meant) {
			t.Fatalf("Set %v = %s in\n%s\ngave\n%s\nwant\n%s", path, raw, data, after, wanted)
		}
		back, err := config.Set(after, before, path...)
		must(t, err)
		now, err := config.Get(back, path...)
		must(t, err)
		if !sameJSON(now, before) {
			t.Fatalf("put back %s, found %s", before, now)
		}
	})
}

// placeIn is Set on the decoded form.
func placeIn(object map[string]any, path []string, value any) {
	for _, key := range path[:len(path)-1] {
		next, ok := object[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			object[key] = next
		}
		object = next
	}
	object[path[len(path)-1]] = value
}

func sameJSON(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func must(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func FuzzSet(f *testing.F) {
	f.Add([]byte(file), "projects", "x")
	f.Add([]byte(`{"a":{"a":[{"b":"\\"}]}}`), "a", "a")
	f.Fuzz(func(t *testing.T, data []byte, a, b string) {
		after, err := config.Set(data, json.RawMessage(`"new"`), a, b)
		if err != nil {
			return
		}
		if !json.Valid(after) {
			t.Fatalf("%q became %q", data, after)
		}
		gone, err := config.Set(after, nil, a, b)
		if err != nil || !json.Valid(gone) {
			t.Fatalf("%q became %q: %v", after, gone, err)
		}
	})
}
