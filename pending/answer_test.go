package pending_test

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
)

// survey has one question of each kind.
func survey() pending.Request {
	return questions("r1", "s1",
		pending.Question{ID: "format", Question: "How should I format the output?", Header: "Format", Kind: pending.Select, Required: true, FreeText: true,
			Options: options("Summary", "Detailed")},
		pending.Question{ID: "sections", Question: "Which sections?", Header: "Sections", Kind: pending.MultiSelect, Required: true, FreeText: true,
			Options: options("Intro", "Intro, long", "Methods", "Conclusion")},
		pending.Question{ID: "region", Question: "Which region?", Kind: pending.Select,
			Options: []pending.Option{{Label: "Europe", Value: "eu"}, {Label: "America", Value: "us"}}},
		pending.Question{ID: "sure", Question: "Are you sure?", Kind: pending.Confirm},
		pending.Question{ID: "name", Question: "What is its name?", Kind: pending.Text},
	)
}

func answers(pairs ...string) pending.Submission {
	s := pending.Submission{RequestType: pending.AskUserQuestion, Answers: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		s.Answers[pairs[i]] = pairs[i+1]
	}
	return s
}

func responses(list ...pending.Response) pending.Submission {
	return pending.Submission{RequestType: pending.AskUserQuestion, Responses: list}
}

func picked(id string, values ...string) pending.Response {
	return pending.Response{ID: id, Values: append([]string{}, values...)}
}

func written(id, text string) pending.Response {
	return pending.Response{ID: id, Values: []string{}, Text: text}
}

func TestShortAndExactFormOfAnAnswerAreOne(t *testing.T) {
	t.Parallel()
	r := survey()
	want := pending.Answer{Decision: pending.Allow, Responses: []pending.Response{
		picked("format", "Summary"), picked("sections", "Intro, long", "Conclusion"), picked("region", "us"), picked("sure", "yes"), written("name", "x, y\nz"),
	}}
	short := answers("How should I format the output?", "Summary", "Which sections?", "Intro, long, Conclusion",
		"Which region?", "America", "Are you sure?", "Yes", "What is its name?", "x, y\nz")
	exact := responses(reversed(want.Responses)...)
	labels := responses(picked("format", "Summary"), picked("sections", "Intro, long", "Conclusion"), picked("region", "America"), picked("sure", "YES"), written("name", "x, y\nz"))
	mixed := responses(picked("region", "us"), written("name", "x, y\nz"))
	mixed.Answers = maps.Clone(short.Answers)
	delete(mixed.Answers, "Which region?")
	delete(mixed.Answers, "What is its name?")
	for name, s := range map[string]pending.Submission{"short": short, "exact": exact, "labels": labels, "mixed": mixed} {
		got, err := pending.Normalise(r, s)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	wantText := map[string]string{"How should I format the output?": "Summary", "Which sections?": "Intro, long, Conclusion",
		"Which region?": "America", "Are you sure?": "Yes", "What is its name?": "x, y\nz"}
	if got := pending.AnswersByText(r, want); !reflect.DeepEqual(got, wantText) {
		t.Errorf("for Claude: got %v", got)
	}
	if got, want := want.Summary(r), "Format: Summary; Sections: Intro, long, Conclusion; Which region?: America; Are you sure?: Yes; What is its name?: x, y z"; got != want {
		t.Errorf("summary: got %q, want %q", got, want)
	}
}

func TestLabelsAreFoundInTheShortForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		labels []string
		text   string
		values []string
		rest   string
	}{
		"one":                              {[]string{"A", "B"}, "B", []string{"B"}, ""},
		"in the order given":               {[]string{"A", "B"}, "B, A", []string{"B", "A"}, ""},
		"label with the separator":         {[]string{"Yes, all", "No"}, "Yes, all, No", []string{"Yes, all", "No"}, ""},
		"prefixes of each other":           {[]string{"A", "A, B", "B, C", "C"}, "A, B, C", []string{"A, B", "C"}, ""},
		"shorter label for an exact cover": {[]string{"A", "A, B", "B, C"}, "A, B, C", []string{"A", "B, C"}, ""},
		"own text behind":                  {[]string{"A", "B"}, "A, B, and mine, too", []string{"A", "B"}, "and mine, too"},
		"own text alone":                   {[]string{"A", "B"}, "mine", nil, "mine"},
		"own text before stays whole":      {[]string{"A", "B"}, "not A, B", nil, "not A, B"},
		"part of a word":                   {[]string{"A", "B"}, "Ax, B", nil, "Ax, B"},
		"separator without its space":      {[]string{"A", "B"}, "A,B", nil, "A,B"},
		"separator at the end":             {[]string{"A", "B"}, "A, ", []string{"A"}, ""},
		"not ASCII":                        {[]string{"né", "é"}, "é, né, 日本", []string{"é", "né"}, "日本"},
	} {
		r := questions("r1", "s1", pending.Question{Question: "Which?", Kind: pending.MultiSelect, Required: true, FreeText: true, Options: options(c.labels...)})
		got, err := pending.Normalise(r, answers("Which?", c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if a := got.Responses[0]; !slices.Equal(a.Values, c.values) || a.Text != c.rest {
			t.Errorf("%s: got %q and %q, want %q and %q", name, a.Values, a.Text, c.values, c.rest)
		}
	}
}

// TestTheShortFormReachesClaudeAsItWasSent joins labels in any order. They must be found again, or
// read as other labels with the same text, and Claude must get exactly the text that the person
// sent.
func TestTheShortFormReachesClaudeAsItWasSent(t *testing.T) {
	t.Parallel()
	label := rapid.StringMatching(`[ab](, ?[ab])?`)
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfNDistinct(label, 1, 6, rapid.ID).Draw(t, "labels")
		chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(labels), 0, len(labels), rapid.ID).Draw(t, "chosen")
		text := strings.Join(chosen, ", ")
		if own := rapid.StringMatching(`([a-c][ab, ]*[a-c])?`).Draw(t, "own"); own != "" {
			if text != "" {
				text += ", "
			}
			text += own
		}
		if strings.TrimSpace(text) == "" {
			return
		}
		r := questions("r1", "s1", pending.Question{Question: "Which?", Kind: pending.MultiSelect, Required: true, FreeText: true, Options: options(labels...)})
		a, err := pending.Normalise(r, answers("Which?", text))
		if err != nil {
			if strings.Contains(err.Error(), "selected twice") {
				return // ambiguous, with a label used twice: such answers must be sent by id
			}
			t.Fatalf("%q of %q: %v", text, labels, err)
		}
		if got := pending.AnswersByText(r, a)["Which?"]; got != text {
			t.Fatalf("%q of %q: got %q from %+v", text, labels, got, a)
		}
	})
}

// invalidCase is a submission that must be refused with an error that names the problem.
type invalidCase struct {
	s        pending.Submission
	says     string
	question string // id
}

func checkInvalid(t *testing.T, r pending.Request, cases map[string]invalidCase) {
	t.Helper()
	for name, c := range cases {
		a, err := pending.Normalise(r, c.s)
		var invalid *problem.Error
		if !errors.As(err, &invalid) {
			t.Errorf("%s: got %+v, %v", name, a, err)
			continue
		}
		if !strings.Contains(invalid.Message, c.says) || !strings.HasSuffix(invalid.Message, ".") || strings.ContainsAny(invalid.Message, "\n\r") {
			t.Errorf("%s: says %q, want %q", name, invalid.Message, c.says)
		}
		if invalid.Field != c.question {
			t.Errorf("%s: blames %q, want %q", name, invalid.Field, c.question)
		}
		if !reflect.DeepEqual(a, pending.Answer{}) {
			t.Errorf("%s: an answer came with the error: %+v", name, a)
		}
	}
}

func TestAnswersThatDoNotFitTheQuestions(t *testing.T) {
	t.Parallel()
	with := func(change func(*pending.Submission)) pending.Submission {
		s := responses(picked("format", "Summary"), picked("sections", "Intro"))
		change(&s)
		return s
	}
	and := func(more ...pending.Response) pending.Submission {
		return responses(append([]pending.Response{picked("format", "Summary"), picked("sections", "Intro")}, more...)...)
	}
	long := strings.Repeat("x", pending.MaxTextBytes+1)
	checkInvalid(t, survey(), map[string]invalidCase{
		"in both forms":           {with(func(s *pending.Submission) { s.Answers = map[string]string{"Which sections?": "Conclusion"} }), "answered twice", "sections"},
		"alike in both forms":     {with(func(s *pending.Submission) { s.Answers = map[string]string{"Which sections?": "Intro"} }), "answered twice", "sections"},
		"another type":            {with(func(s *pending.Submission) { s.RequestType = pending.ToolApproval }), "tool_approval", ""},
		"unknown decision":        {with(func(s *pending.Submission) { s.Decision = "maybe" }), "allow or deny", ""},
		"message with answers":    {with(func(s *pending.Submission) { s.Message = "hello" }), "message", ""},
		"interrupt with answers":  {with(func(s *pending.Submission) { s.Interrupt = true }), "end the turn", ""},
		"declined with answers":   {with(func(s *pending.Submission) { s.Decision = pending.Deny }), "not both", ""},
		"edited input":            {with(func(s *pending.Submission) { s.UpdatedInput = []byte(`{}`) }), "can't be edited", ""},
		"permissions":             {with(func(s *pending.Submission) { s.UpdatedPermissions = []byte(`[]`) }), "ermission rules", ""},
		"allow without answers":   {pending.Submission{RequestType: pending.AskUserQuestion, Decision: pending.Allow}, "How should I format the output?", "format"},
		"nothing at all":          {pending.Submission{RequestType: pending.AskUserQuestion}, "needs an answer", "format"},
		"missing required":        {responses(picked("format", "Summary")), "“Which sections?” needs an answer", "sections"},
		"blank text":              {responses(written("format", " \n\t"), picked("sections", "Intro")), "needs an answer", "format"},
		"blank short form":        {answers("How should I format the output?", "", "Which sections?", "Intro"), "needs an answer", "format"},
		"no values, no text":      {responses(picked("format"), picked("sections", "Intro")), "needs an answer", "format"},
		"unknown id":              {and(picked("colour", "red")), "no question with the ID “colour”", "colour"},
		"unknown text":            {with(func(s *pending.Submission) { s.Answers = map[string]string{"Which colour?": "red"} }), "no question “Which colour?”", ""},
		"id twice":                {and(picked("format", "Detailed")), "answered twice", "format"},
		"two of a single select":  {responses(picked("format", "Summary", "Detailed"), picked("sections", "Intro")), "only one option", "format"},
		"not an option":           {responses(picked("format", "Poem"), picked("sections", "Intro")), "“Poem” is not an option", "format"},
		"empty value":             {responses(picked("format", ""), picked("sections", "Intro")), "not an option", "format"},
		"option and own text":     {responses(pending.Response{ID: "format", Values: []string{"Summary"}, Text: "mine"}, picked("sections", "Intro")), "not both", "format"},
		"short, option and own":   {answers("How should I format the output?", "Summary, mine", "Which sections?", "Intro"), "not both", "format"},
		"short, two of a single":  {answers("How should I format the output?", "Summary, Detailed", "Which sections?", "Intro"), "only one option", "format"},
		"short, one twice":        {answers("How should I format the output?", "Summary, Summary", "Which sections?", "Intro"), "selected twice", "format"},
		"confirm and own text":    {and(pending.Response{ID: "sure", Values: []string{"yes"}, Text: "but"}), "yes or no", "sure"},
		"option twice":            {responses(picked("format", "Summary"), picked("sections", "Intro", "Intro")), "selected twice", "sections"},
		"own text not allowed":    {and(written("region", "Asia")), "“Asia” is not an option", "region"},
		"short text not allowed":  {with(func(s *pending.Submission) { s.Answers = map[string]string{"Which region?": "Asia"} }), "“Asia” is not an option", "region"},
		"confirm with maybe":      {and(picked("sure", "maybe")), "yes or no", "sure"},
		"confirm with a text":     {and(written("sure", "yes")), "yes or no", "sure"},
		"confirm with both":       {and(picked("sure", "yes", "no")), "yes or no", "sure"},
		"short confirm with more": {with(func(s *pending.Submission) { s.Answers = map[string]string{"Are you sure?": "yes, but"} }), "yes or no", "sure"},
		"text with values":        {and(picked("name", "x")), "no options", "name"},
		"text too long":           {and(written("name", long)), "longer than 100 kB", "name"},
		"short text too long":     {with(func(s *pending.Submission) { s.Answers = map[string]string{"What is its name?": long} }), "longer than 100 kB", "name"},
		"text not UTF-8":          {and(written("name", "\xff")), "invalid characters", "name"},
		"text with NUL":           {and(written("name", "a\x00b")), "invalid characters", "name"},
		"decline too long":        {pending.Submission{RequestType: pending.AskUserQuestion, Decision: pending.Deny, Message: long}, "longer than 100 kB", ""},
	})
}

func TestAnEmptyAnswerToOptionalQuestionsIsNoAnswer(t *testing.T) {
	t.Parallel()
	r := questions("r1", "s1", pending.Question{Question: "Any more?", Kind: pending.Text}, pending.Question{Question: "Which?", Kind: pending.Select, Options: options("A")})
	checkInvalid(t, r, map[string]invalidCase{
		"nothing": {answers(), "at least one", ""},
		"blanks":  {responses(written("q1", " "), picked("q2")), "at least one", ""},
	})
	got, err := pending.Normalise(r, answers("Which?", "A", "Any more?", ""))
	if want := (pending.Answer{Decision: pending.Allow, Responses: []pending.Response{picked("q2", "A")}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("one of two: got %+v, %v", got, err)
	}
}

func TestQuestionsThatShareATextAreAnsweredById(t *testing.T) {
	t.Parallel()
	q := pending.Question{Question: "Which?", Kind: pending.Select, Required: true, Options: options("A", "B")}
	r := questions("r1", "s1", q, q)
	checkInvalid(t, r, map[string]invalidCase{
		"by text":          {answers("Which?", "A"), "responses", "q1"},
		"half by id":       {pending.Submission{RequestType: r.RequestType, Answers: map[string]string{"Which?": "A"}, Responses: []pending.Response{picked("q1", "A")}}, "responses", "q2"},
		"one by id, alone": {responses(picked("q1", "A")), "needs an answer", "q2"},
	})
	a, err := pending.Normalise(r, responses(picked("q2", "B"), picked("q1", "A")))
	if err != nil {
		t.Fatal(err)
	}
	if got := pending.AnswersByText(r, a); len(got) != 1 || got["Which?"] != "A; B" {
		t.Errorf("for Claude: got %v", got)
	}
}

func TestAMultiSelectTakesOptionsAndATextOfOnesOwn(t *testing.T) {
	t.Parallel()
	r := questions("r1", "s1", pending.Question{Question: "Which?", Header: "Parts", Kind: pending.MultiSelect, FreeText: true,
		Options: []pending.Option{{Label: "Apple", Value: "a"}, {Label: "Beer", Value: "b"}}})
	a, err := pending.Normalise(r, responses(pending.Response{ID: "q1", Values: []string{"b", "Apple"}, Text: "and cheese"}))
	if err != nil {
		t.Fatal(err)
	}
	if got := pending.AnswersByText(r, a)["Which?"]; got != "Beer, Apple, and cheese" {
		t.Errorf("for Claude: got %q", got)
	}
	if got := a.Summary(r); got != "Parts: Beer, Apple, and cheese" {
		t.Errorf("summary: got %q", got)
	}
}

func editable() pending.Request {
	r := bash("r1", "s1")
	r.ToolInput = json.RawMessage(`{"command":"git push","timeout":1000,"nested":{"a":[1,2.50]},"big":12345678901234567890}`)
	r.PermissionSuggestions = json.RawMessage(`[
		{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"git push:*"}],"behavior":"allow","destination":"localSettings"},
		{"type":"setMode","mode":"bypassPermissions","destination":"session"},
		{"type":"addDirectories","directories":["/srv"],"destination":"cliArg"}]`)
	return r
}

func approve(input, permissions string) pending.Submission {
	return pending.Submission{RequestType: pending.ToolApproval, Decision: pending.Allow,
		UpdatedInput: json.RawMessage(input), UpdatedPermissions: json.RawMessage(permissions)}
}

func TestApprovalsAsTheyAreStored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s       pending.Submission
		want    pending.Answer
		summary string
	}{
		"plain":       {approve("", ""), pending.Answer{Decision: pending.Allow}, "Approved"},
		"nulls":       {approve("null", " null "), pending.Answer{Decision: pending.Allow}, "Approved"},
		"no rules":    {approve("", "[]"), pending.Answer{Decision: pending.Allow}, "Approved"},
		"not changed": {approve(`{"big":12345678901234567890,"nested":{"a":[1.0,2.5]},"timeout":1e3, "command":"git\u0020push"}`, ""), pending.Answer{Decision: pending.Allow}, "Approved"},
		"changed": {approve("{\n \"command\": \"git push -n\"\n}", ""),
			pending.Answer{Decision: pending.Allow, UpdatedInput: json.RawMessage(`{"command":"git push -n"}`)}, "Approved, edited"},
		"line breaks of JavaScript": {approve("{\"command\":\"a\u2028b\u2029c\"}", ""),
			pending.Answer{Decision: pending.Allow, UpdatedInput: json.RawMessage(`{"command":"a\u2028b\u2029c"}`)}, "Approved, edited"},
		"a large number changed in its last digit": {approve(`{"command":"git push","timeout":1000,"nested":{"a":[1,2.50]},"big":12345678901234567891}`, ""),
			pending.Answer{Decision: pending.Allow, UpdatedInput: json.RawMessage(`{"command":"git push","timeout":1000,"nested":{"a":[1,2.50]},"big":12345678901234567891}`)}, "Approved, edited"},
		"rule as suggested": {approve("", `[{"behavior":"allow","destination":"localSettings","rules":[{"ruleContent":"git push:*","toolName":"Bash"}],"type":"addRules"}]`),
			pending.Answer{Decision: pending.Allow, UpdatedPermissions: json.RawMessage(`[{"behavior":"allow","destination":"localSettings","rules":[{"ruleContent":"git push:*","toolName":"Bash"}],"type":"addRules"}]`)}, "Approved, with permissions"},
		"rule for the session": {approve("", `[ {"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"git push:*"}],"behavior":"allow","destination":"session"} ]`),
			pending.Answer{Decision: pending.Allow, UpdatedPermissions: json.RawMessage(`[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"git push:*"}],"behavior":"allow","destination":"session"}]`)}, "Approved, with permissions"},
		"mode and edit": {approve(`{"command":"ls"}`, `[{"type":"setMode","mode":"acceptEdits","destination":"session"}]`),
			pending.Answer{Decision: pending.Allow, UpdatedInput: json.RawMessage(`{"command":"ls"}`), UpdatedPermissions: json.RawMessage(`[{"type":"setMode","mode":"acceptEdits","destination":"session"}]`)}, "Approved, edited, with permissions"},
		"exactly a suggestion that nobody could choose": {approve("", `[{"type":"addDirectories","directories":["/srv"],"destination":"cliArg"}]`),
			pending.Answer{Decision: pending.Allow, UpdatedPermissions: json.RawMessage(`[{"type":"addDirectories","directories":["/srv"],"destination":"cliArg"}]`)}, "Approved, with permissions"},
		"denied":           {pending.Submission{RequestType: pending.ToolApproval, Decision: pending.Deny}, pending.Answer{Decision: pending.Deny}, "Denied"},
		"denied with word": {pending.Submission{RequestType: pending.ToolApproval, Decision: pending.Deny, Message: "use\npnpm"}, pending.Answer{Decision: pending.Deny, Message: "use\npnpm"}, "Denied: use pnpm"},
		"denied and stopped": {pending.Submission{RequestType: pending.ToolApproval, Decision: pending.Deny, Message: "no", Interrupt: true},
			pending.Answer{Decision: pending.Deny, Message: "no", Interrupt: true}, "Denied and stopped: no"},
	} {
		got, err := pending.Normalise(editable(), c.s)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v", name, got, err)
			continue
		}
		if got := got.Summary(editable()); got != c.summary {
			t.Errorf("%s: summary %q, want %q", name, got, c.summary)
		}
	}
}

func TestApprovalsThatAreRefused(t *testing.T) {
	t.Parallel()
	denied := func(change func(*pending.Submission)) pending.Submission {
		s := pending.Submission{RequestType: pending.ToolApproval, Decision: pending.Deny}
		change(&s)
		return s
	}
	allowed := func(change func(*pending.Submission)) pending.Submission {
		s := approve("", "")
		change(&s)
		return s
	}
	rule := func(content, behavior, destination string) pending.Submission {
		return approve("", `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"`+content+`"}],"behavior":"`+behavior+`","destination":"`+destination+`"}]`)
	}
	checkInvalid(t, editable(), map[string]invalidCase{
		"no decision":                {allowed(func(s *pending.Submission) { s.Decision = "" }), "allow or deny", ""},
		"unknown decision":           {allowed(func(s *pending.Submission) { s.Decision = "always" }), "allow or deny", ""},
		"answers":                    {allowed(func(s *pending.Submission) { s.Answers = map[string]string{"a": "b"} }), "There is no question here", ""},
		"responses":                  {allowed(func(s *pending.Submission) { s.Responses = []pending.Response{picked("q1", "a")} }), "There is no question here", ""},
		"allowed with a message":     {allowed(func(s *pending.Submission) { s.Message = "ok" }), "message", ""},
		"allowed with an interrupt":  {allowed(func(s *pending.Submission) { s.Interrupt = true }), "end the turn", ""},
		"denied with an edit":        {denied(func(s *pending.Submission) { s.UpdatedInput = []byte(`{"command":"ls"}`) }), "edited input", ""},
		"denied with permissions":    {denied(func(s *pending.Submission) { s.UpdatedPermissions = []byte(`[]`) }), "ermission rules", ""},
		"denied at length":           {denied(func(s *pending.Submission) { s.Message = strings.Repeat("x", pending.MaxTextBytes+1) }), "longer than 100 kB", ""},
		"denied with rubbish":        {denied(func(s *pending.Submission) { s.Message = "\xff" }), "invalid characters", ""},
		"edit not JSON":              {approve(`{"command":`, ""), "can't be read", ""},
		"edit not UTF-8":             {approve("{\"command\":\"\xff\"}", ""), "UTF-8", ""},
		"edit a text":                {approve(`"ls"`, ""), "object", ""},
		"edit a list":                {approve(`[]`, ""), "object", ""},
		"edit empty":                 {approve(`{}`, ""), "empty", ""},
		"edit with a new field":      {approve(`{"command":"ls","dangerouslyDisableSandbox":true}`, ""), "dangerouslyDisableSandbox", ""},
		"edit with another case":     {approve(`{"Command":"ls"}`, ""), "Command", ""},
		"edit with a key twice":      {approve(`{"command":"ls","command":"rm -rf /"}`, ""), "there twice", ""},
		"edit with a key twice, \\u": {approve(`{"command":"ls","\u0063ommand":"rm -rf /"}`, ""), "there twice", ""},
		"edit with a key twice deep": {approve(`{"nested":{"a":1,"a":2}}`, ""), "there twice", ""},
		"edit and more":              {approve(`{"command":"ls"}{"command":"rm"}`, ""), "can't be read", ""},
		"edit too large":             {approve(`{"command":"`+strings.Repeat("x", pending.MaxUpdatedInputBytes)+`"}`, ""), "larger than 4 MB", ""},
		"edit too deep":              {approve(`{"command":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+`}`, ""), "can't be read", ""},
		"permissions not JSON":       {approve("", `[`), "can't be read", ""},
		"permissions an object":      {approve("", `{}`), "list", ""},
		"permission a text":          {approve("", `["Bash"]`), "Permission rule 1 is not an object", ""},
		"permission empty":           {approve("", `[{}]`), "not offered", ""},
		"permission broader":         {rule("git:*", "allow", "session"), "Permission rule 1 was not offered", ""},
		"permission turned around":   {rule("git push:*", "deny", "session"), "not offered", ""},
		"destination unknown":        {rule("git push:*", "allow", "policySettings"), "not offered", ""},
		"destination cliArg":         {rule("git push:*", "allow", "cliArg"), "not offered", ""},
		"destination null":           {approve("", `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"git push:*"}],"behavior":"allow","destination":null}]`), "not offered", ""},
		"second not offered":         {approve("", `[{"type":"setMode","mode":"plan","destination":"session"},{"type":"addRules"}]`), "Permission rule 2", ""},
		"bypass, though suggested":   {approve("", `[{"type":"setMode","mode":"bypassPermissions","destination":"session"}]`), "bypassed", ""},
		"bypass behind a double key": {approve("", `[{"type":"setMode","mode":"plan","mode":"bypassPermissions","destination":"session"}]`), "there twice", ""},
		"mode unknown":               {approve("", `[{"type":"setMode","mode":"auto","destination":"session"}]`), "not offered", ""},
		"mode for good":              {approve("", `[{"type":"setMode","mode":"acceptEdits","destination":"userSettings"}]`), "not offered", ""},
		"mode with more":             {approve("", `[{"type":"setMode","mode":"plan","destination":"session","rules":[]}]`), "not offered", ""},
		"permissions too many":       {approve("", `[`+strings.Repeat(`{"type":"setMode","mode":"plan","destination":"session"},`, pending.MaxPermissions)+`{}]`), "Up to 100", ""},
		"permissions too large":      {approve("", `["`+strings.Repeat("x", pending.MaxPermissionsBytes)+`"]`), "larger than 1 MB", ""},
	})
	plain := bash("r1", "s1")
	checkInvalid(t, plain, map[string]invalidCase{
		"nothing was suggested": {rule("git push:*", "allow", "session"), "not offered", ""},
	})
	odd := bash("r1", "s1")
	odd.ToolInput = json.RawMessage(`[1]`)
	checkInvalid(t, odd, map[string]invalidCase{
		"an input that cannot be edited": {approve(`{"a":1}`, ""), "can't be edited", ""},
	})
}

func TestASummaryIsOneShortLine(t *testing.T) {
	t.Parallel()
	r := questions("r1", "s1", pending.Question{Question: "Which\n\u202eone?", Header: "A\r\nB", Kind: pending.Text})
	for _, text := range []string{strings.Repeat("word\n", 1000), "a\u2028b\u2029c\x1b[31m\u202e", "👩‍👩‍👧"} {
		a, err := pending.Normalise(r, responses(written("q1", text)))
		if err != nil {
			t.Fatal(err)
		}
		got := a.Summary(r)
		if strings.ContainsAny(got, "\r\n\u2028\u2029\x1b\u202e") || len([]rune(got)) > 200 || !strings.HasPrefix(got, "A B: ") {
			t.Errorf("got %q", got)
		}
		if strings.Contains(text, "👩") && !strings.Contains(got, text) {
			t.Errorf("got %q, want %q whole", got, text)
		}
	}
}

func reversed(list []pending.Response) []pending.Response {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}
