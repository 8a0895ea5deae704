package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/wire"
)

type sample struct {
	Name  string            `json:"name,omitempty"`
	Count int               `json:"count,omitempty"`
	Raw   json.RawMessage   `json:"raw,omitempty"`
	Map   map[string]string `json:"map,omitempty"`
	List  []part            `json:"list,omitempty"`
	Part  *part             `json:"part,omitempty"`
	Needs *needs            `json:"needs,omitempty"`
}

// needs has a field of each kind that must be there.
type needs struct {
	Name  string          `json:"name"`
	On    bool            `json:"on"`
	Count int             `json:"count"`
	List  []string        `json:"list"`
	Part  *part           `json:"part"`                             // or null
	Raw   json.RawMessage `json:"raw"`                              // or null
	Free  string          `json:"free" validate:"omitempty,max=10"` // may be missing
	Else  string          `json:"else" validate:"required_without=Name"`
}

type part struct {
	ID string `json:"id"`
}

func TestStrictJSON(t *testing.T) {
	t.Parallel()
	const whole = `{"needs":{"name":"a","on":false,"count":0,"list":[],"part":{"id":"1"},"raw":1}}`
	replaced := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(whole) }
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, row := range []struct {
		name, text string
		want       string // of the sentence; "" when it is taken
	}{
		{"all", `{"name":"a","count":1,"raw":{"any":{"thing":[1,{}]}},"map":{"x y":"z"},"list":[{"id":"1"},{"id":"2"}],"part":{"id":"3"}}`, ""},
		{"nothing", `{}`, ""},
		{"space around", " \n{ \"name\" : \"a\" }\n ", ""},
		{"null for a pointer", `{"part":null}`, ""},
		{"large number kept raw", `{"raw":12345678901234567890}`, ""},
		{"lone surrogate", `{"name":"\ud800"}`, ""},
		{"as deep as may be", `{"raw":` + deep(31) + `}`, ""},
		{"deeper", `{"raw":` + deep(32) + `}`, "nested"},
		{"very deep", `{"raw":` + strings.Repeat(`{"a":`, 100_000) + `1` + strings.Repeat(`}`, 100_000) + `}`, "nested"},
		{"deep and never closed", `{"raw":` + strings.Repeat("[", 100_000), "nested"},
		{"unknown", `{"nme":"a"}`, `"nme" is unknown`},
		{"unknown below", `{"list":[{"id":"1","x":1}]}`, `"list.x" is unknown`},
		{"another case", `{"Name":"a"}`, `"Name" is unknown`},
		{"twice", `{"name":"a","name":"b"}`, `"name" is repeated`},
		{"twice, escaped", `{"name":"a","n\u0061me":"b"}`, `"name" is repeated`},
		{"twice below", `{"raw":{"a":1,"b":{"c":1,"c":2}}}`, `"raw.b.c" is repeated`},
		{"twice in a map", `{"map":{"a":"1","a":"2"}}`, `"map.a" is repeated`},
		{"after", `{} {}`, "after"},
		{"garbage after", `{}x`, "after"},
		{"empty", ``, "too early"},
		{"cut off", `{"name":"a"`, "too early"},
		{"a list", `[]`, "object"},
		{"a string", `"x"`, "object"},
		{"no JSON", `{name:1}`, "not valid"},
		{"trailing comma", `{"name":"a",}`, "not valid"},
		{"comment", `{/**/}`, "not valid"},
		{"NaN", `{"count":NaN}`, "not valid"},
		{"wrong type", `{"name":1}`, `"name" must not be a number`},
		{"fraction", `{"count":1.5}`, `"count"`},
		{"too large a number", `{"count":1e400}`, `"count"`},
		{"all that is needed", whole, ""},
		{"null where it is a value", replaced(`"part":{"id":"1"}`, `"part":null`, `"raw":1`, `"raw":null`), ""},
		{"null for what may be missing", `{"name":null,"count":null,"list":null,"map":null}`, ""},
		{"without a text", replaced(`"name":"a",`, ``), `"needs.name" is missing`},
		{"without a flag", replaced(`"on":false,`, ``), `"needs.on" is missing`},
		{"without a number", replaced(`"count":0,`, ``), `"needs.count" is missing`},
		{"without a list", replaced(`"list":[],`, ``), `"needs.list" is missing`},
		{"without what may be null", replaced(`"part":{"id":"1"},`, ``), `"needs.part" is missing`},
		{"without anything", replaced(`,"raw":1`, ``), `"needs.raw" is missing`},
		{"null for a text", replaced(`"name":"a"`, `"name":null`), `"needs.name" is missing`},
		{"null for a flag", replaced(`"on":false`, `"on":null`), `"needs.on" is missing`},
		{"null for a list", replaced(`"list":[]`, `"list":null`), `"needs.list" is missing`},
		{"null in a list of texts", replaced(`"list":[]`, `"list":["a",null]`), `"needs.list" must not contain null`},
		{"null in a list of objects", `{"list":[null]}`, `"list" must not contain null`},
		{"null in a map", `{"map":{"a":null}}`, `"map.a" must not be null`},
		{"missing in a list", `{"list":[{"id":"1"},{}]}`, `"list.id" is missing`},
		{"not UTF-8", "{\"name\":\"\xff\"}", "UTF-8"},
		{"a name that never ends", `{"` + strings.Repeat("x", 1000) + `":1}`, "xxx…"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var s sample
			start := time.Now()
			err := wire.Decode([]byte(row.text), &s)
			switch {
			case row.want == "" && err != nil:
				t.Errorf("got %v, want it taken", err)
			case row.want != "" && err == nil:
				t.Errorf("taken as %+v, want %q", s, row.want)
			case err != nil && !strings.Contains(err.Error(), row.want):
				t.Errorf("got %q, want %q", err, row.want)
			case err != nil && len(err.Error()) > 200:
				t.Errorf("a sentence of %d bytes", len(err.Error()))
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// FuzzStrictJSON: what is taken, encoding/json takes too and understands alike.
func FuzzStrictJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `{"name":"a","raw":[1,2,{"a":null}]}`, `{"list":[{"id":"1"}],"part":{}}`, `{"map":{"a":"b"}}`, "{\"name\":\"\xff\"}", `{"a":`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var strict, loose sample
		if wire.Decode(data, &strict) != nil {
			return
		}
		if err := json.Unmarshal(data, &loose); err != nil {
			t.Fatalf("took what is no JSON: %v", err)
		}
		if got, want := wire.Encode(strict), wire.Encode(loose); string(got) != string(want) {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}
