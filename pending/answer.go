package pending

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
)

// DeniedAction is what an agent reads whose tool was denied without a reason: the
// sentence of the protocol of pending requests.
const DeniedAction = "User denied this action"

// Bounds of an answer.
const (
	MaxTextBytes         = 100_000 // of a free text or the reason of a deny
	MaxUpdatedInputBytes = 4 << 20 // of an edited tool input: a whole file fits
	MaxPermissionsBytes  = 1 << 20 // of the rules granted with an allow
	MaxPermissions       = 100     // number of those rules
)

const (
	summaryRunes = 200 // of a line that sums up an answer
	nameRunes    = 60  // of a question named in a sentence
	yes, no      = "yes", "no"
)

// planTool asks to leave plan mode: the mode to go to is a part of its approval.
const planTool = "ExitPlanMode"

// separator stands between the labels of one answer, here as in the CLI.
const separator = ", "

// Normalise holds a submission against the request it answers and returns it in
// the one form that is stored: labels are resolved to values, responses stand in
// the order of the form, an edit that changes nothing is no edit. Every error is
// a [problem.Error] that is [ErrInvalid].
//
// It looks at neither ids nor hash nor status; that is [Registry.Answer].
func Normalise(r Request, s Submission) (Answer, error) {
	if s.RequestType != r.RequestType {
		return Answer{}, problem.New("answer_type", "got", string(s.RequestType), "want", string(r.RequestType))
	}
	if err := checkMessage(s.Message); err != nil {
		return Answer{}, err
	}
	if s.Decision != Deny {
		switch {
		case s.Message != "":
			return Answer{}, problem.New("answer_message_without_deny")
		case s.Interrupt:
			return Answer{}, problem.New("answer_interrupt_without_deny")
		}
	}
	switch r.RequestType {
	case ToolApproval:
		return normaliseApproval(r, s)
	case AskUserQuestion:
		return normaliseQuestions(r, s)
	}
	return Answer{}, problem.New("answer_type_unknown", "type", string(r.RequestType))
}

func normaliseApproval(r Request, s Submission) (Answer, error) {
	if len(s.Answers) > 0 || len(s.Responses) > 0 {
		return Answer{}, problem.New("answer_no_question")
	}
	switch s.Decision {
	case Deny:
		switch {
		case !isNull(s.UpdatedInput):
			return Answer{}, problem.New("answer_input_without_allow")
		case !isNull(s.UpdatedPermissions):
			return Answer{}, problem.New("answer_rules_without_allow")
		}
		return Answer{Decision: Deny, Message: s.Message, Interrupt: s.Interrupt}, nil
	case Allow:
		input, err := normaliseInput(r.ToolInput, s.UpdatedInput)
		if err != nil {
			return Answer{}, err
		}
		permissions, err := normalisePermissions(r.PermissionSuggestions, s.UpdatedPermissions)
		if err != nil {
			return Answer{}, err
		}
		if permissions != nil && r.Policy != nil && r.Policy.SuppressAlwaysAllowRule && r.ToolName != planTool {
			return Answer{}, problem.New("answer_rules_refused")
		}
		return Answer{Decision: Allow, UpdatedInput: input, UpdatedPermissions: permissions}, nil
	case "":
		return Answer{}, problem.New("answer_decision_missing")
	}
	return Answer{}, problem.New("answer_decision_unknown", "decision", line(string(s.Decision), nameRunes))
}

// normaliseInput returns the edited input, nil when nothing is edited. A person
// changes what the agent asked for; a key that it did not ask for is another
// call than the one that was shown.
func normaliseInput(original, edited json.RawMessage) (json.RawMessage, error) {
	if isNull(edited) {
		return nil, nil
	}
	if len(edited) > MaxUpdatedInputBytes {
		return nil, problem.New("input_too_large", "max", MaxUpdatedInputBytes>>20)
	}
	value, err := decode(edited)
	if err != nil {
		return nil, problem.New("input_malformed", "detail", err.Error())
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, problem.New("input_not_object")
	}
	asked, err := decode(original)
	if err != nil {
		return nil, problem.New("input_not_editable").WithCause(err)
	}
	if same(asked, value) {
		return nil, nil
	}
	known, ok := asked.(map[string]any)
	switch {
	case !ok:
		return nil, problem.New("input_not_editable")
	case len(object) == 0:
		// The CLI takes {} for "as asked", which is not what the person sees.
		return nil, problem.New("input_empty")
	}
	for _, key := range sortedKeys(object) {
		if _, ok := known[key]; !ok {
			return nil, problem.New("input_new_field", "name", line(key, nameRunes))
		}
	}
	return compact(edited), nil
}

// normalisePermissions returns the granted rules, nil when there are none. A
// person can grant what was suggested, choose for how long it holds, and switch
// the mode of the session; never more.
func normalisePermissions(suggested, granted json.RawMessage) (json.RawMessage, error) {
	if isNull(granted) {
		return nil, nil
	}
	if len(granted) > MaxPermissionsBytes {
		return nil, problem.New("rules_too_large", "max", MaxPermissionsBytes>>20)
	}
	value, err := decode(granted)
	if err != nil {
		return nil, problem.New("rules_malformed", "detail", err.Error())
	}
	list, ok := value.([]any)
	switch {
	case !ok:
		return nil, problem.New("rules_not_a_list")
	case len(list) == 0:
		return nil, nil
	case len(list) > MaxPermissions:
		return nil, problem.New("rules_too_many", "count", len(list), "max", MaxPermissions)
	}
	var offers []any
	if !isNull(suggested) {
		if v, err := decode(suggested); err == nil {
			offers, _ = v.([]any)
		}
	}
	for i, item := range list {
		grant, ok := item.(map[string]any)
		switch {
		case !ok:
			return nil, problem.New("rules_not_an_object", "rule", i+1)
		case grant["type"] == "setMode" && grant["mode"] == "bypassPermissions":
			return nil, problem.New("rules_bypass")
		case !isSessionMode(grant) && !slices.ContainsFunc(offers, func(offer any) bool { return covers(offer, grant) }):
			return nil, problem.New("rules_not_offered", "rule", i+1)
		}
	}
	return compact(granted), nil
}

// isSessionMode reports whether the grant is a switch of mode, for this session
// alone, to one that still asks.
func isSessionMode(grant map[string]any) bool {
	if len(grant) != 3 || grant["type"] != "setMode" || grant["destination"] != "session" {
		return false
	}
	return grant["mode"] == "default" || grant["mode"] == "acceptEdits" || grant["mode"] == "plan"
}

// covers reports whether the grant is the offer, or the offer for another
// destination that a person may choose.
func covers(offer any, grant map[string]any) bool {
	if same(offer, grant) {
		return true
	}
	o, ok := offer.(map[string]any)
	if !ok {
		return false
	}
	switch grant["destination"] {
	case "session", "localSettings", "projectSettings", "userSettings":
	default:
		return false
	}
	return same(without(o, "destination"), without(grant, "destination"))
}

func without(object map[string]any, key string) map[string]any {
	rest := make(map[string]any, len(object))
	for k, v := range object {
		if k != key {
			rest[k] = v
		}
	}
	return rest
}

func normaliseQuestions(r Request, s Submission) (Answer, error) {
	switch {
	case !isNull(s.UpdatedInput):
		return Answer{}, problem.New("question_input_not_editable")
	case !isNull(s.UpdatedPermissions):
		return Answer{}, problem.New("rules_need_tool")
	}
	switch s.Decision {
	case Allow, "":
	case Deny:
		if len(s.Answers) > 0 || len(s.Responses) > 0 {
			return Answer{}, problem.New("answer_twice")
		}
		return Answer{Decision: Deny, Message: s.Message, Interrupt: s.Interrupt}, nil
	default:
		return Answer{}, problem.New("answer_decision_unknown", "decision", line(string(s.Decision), nameRunes))
	}
	if r.Form == nil || len(r.Form.Questions) == 0 {
		return Answer{}, problem.New("questions_unreadable")
	}
	given, err := gather(r.Form, s)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Decision: Allow}
	for _, q := range r.Form.Questions {
		response, err := normaliseResponse(q, given[q.ID])
		if err != nil {
			return Answer{}, err
		}
		switch empty := len(response.Values) == 0 && response.Text == ""; {
		case !empty:
			answer.Responses = append(answer.Responses, response)
		case q.Required:
			return Answer{}, problem.For(q.ID, "question_unanswered", "question", name(q))
		}
	}
	if r.Source == SourceElicitation {
		// All its questions may be optional: then an empty answer accepts, too, if it says
		// that it is one.
		if s.Decision == "" && s.Answers == nil && s.Responses == nil {
			return Answer{}, problem.New("answer_missing")
		}
		return answer, fitElicitation(r, answer)
	}
	if len(answer.Responses) == 0 {
		return Answer{}, problem.New("answer_none")
	}
	return answer, nil
}

// gather returns the responses by question id, the short form spelled out.
func gather(form *Form, s Submission) (map[string]Response, error) {
	byID := make(map[string]Question, len(form.Questions))
	byText := make(map[string][]Question, len(form.Questions))
	for _, q := range form.Questions {
		byID[q.ID] = q
		byText[q.Question] = append(byText[q.Question], q)
	}
	given := make(map[string]Response, len(form.Questions))
	for _, response := range s.Responses {
		q, ok := byID[response.ID]
		if !ok {
			return nil, problem.For(response.ID, "question_id_unknown", "id", line(response.ID, nameRunes))
		}
		if _, twice := given[q.ID]; twice {
			return nil, problem.For(q.ID, "question_answered_twice", "question", name(q))
		}
		given[q.ID] = response
	}
	for _, text := range sortedKeys(s.Answers) {
		questions := byText[text]
		if len(questions) == 0 {
			return nil, problem.New("question_unknown", "question", line(text, nameRunes))
		}
		open := slices.DeleteFunc(slices.Clone(questions), func(q Question) bool {
			_, answered := given[q.ID]
			return answered
		})
		switch {
		case len(open) == 0:
			return nil, problem.For(questions[0].ID, "question_answered_twice", "question", name(questions[0]))
		case len(questions) > 1:
			return nil, problem.For(open[0].ID, "question_asked_twice", "question", name(open[0]))
		default:
			response, err := parseShortForm(open[0], s.Answers[text])
			if err != nil {
				return nil, err
			}
			given[open[0].ID] = response
		}
	}
	return given, nil
}

// parseShortForm turns the short form of one answer into a response.
func parseShortForm(q Question, text string) (Response, error) {
	response := Response{ID: q.ID}
	// Before the search below, whose time grows with the length.
	if err := checkAnswerText(q, text); err != nil {
		return Response{}, err
	}
	switch q.Kind {
	case Confirm:
		if strings.TrimSpace(text) != "" {
			response.Values = []string{text}
		}
		return response, nil
	case Select:
		if o, ok := chosen(q, text); ok {
			response.Values = []string{o.Value}
			return response, nil
		}
		// A label with more behind it is a choice and a text, or several choices:
		// normaliseResponse refuses both.
		response.Values, text = split(q, text)
	case MultiSelect:
		response.Values, text = split(q, text)
	}
	response.Text = text
	return response, nil
}

// chosen finds an option by what people see, its label, else by its value.
func chosen(q Question, text string) (Option, bool) {
	for _, o := range q.Options {
		if o.Label == text {
			return o, true
		}
	}
	for _, o := range q.Options {
		if o.Value == text {
			return o, true
		}
	}
	return Option{}, false
}

// split reads labels joined by the separator, which labels may contain and
// which may begin like each other. Of all readings it takes the one that covers
// most of the text, and of those the one with the longest labels first; what
// follows the covered part is returned as it stands. So the labels and the rest,
// joined again, are the text.
func split(q Question, text string) (values []string, rest string) {
	// pick[i] is the best label at a place where one can begin, reach[i] where
	// the reading that goes on with it ends.
	type choice struct{ pick, reach int }
	best := make(map[int]choice)
	at := func(i int) bool { return i == 0 || strings.HasSuffix(text[:i], separator) }
	for i := len(text) - 1; i >= 0; i-- {
		if !at(i) {
			continue
		}
		c := choice{pick: -1, reach: -1}
		for n, o := range q.Options {
			if o.Label == "" || !strings.HasPrefix(text[i:], o.Label) {
				continue
			}
			end := i + len(o.Label)
			if end < len(text) && !strings.HasPrefix(text[end:], separator) {
				continue
			}
			reach := end
			if further, ok := best[end+len(separator)]; ok {
				reach = max(reach, further.reach)
			}
			if reach > c.reach || reach == c.reach && len(o.Label) > len(q.Options[c.pick].Label) {
				c = choice{pick: n, reach: reach}
			}
		}
		if c.pick >= 0 {
			best[i] = c
		}
	}
	i := 0
	for {
		c, ok := best[i]
		if !ok {
			break
		}
		values = append(values, q.Options[c.pick].Value)
		i += len(q.Options[c.pick].Label) + len(separator)
	}
	return values, text[min(i, len(text)):]
}

// normaliseResponse checks the response to one question. An unanswered one has
// neither values nor text.
func normaliseResponse(q Question, given Response) (Response, error) {
	if err := checkAnswerText(q, given.Text); err != nil {
		return Response{}, err
	}
	response := Response{ID: q.ID, Values: []string{}, Text: given.Text}
	if strings.TrimSpace(given.Text) == "" {
		response.Text = "" // a blank "Other" says nothing
	}
	switch q.Kind {
	case Text:
		if len(given.Values) > 0 {
			return Response{}, problem.For(q.ID, "question_no_options", "question", name(q))
		}
		return response, nil
	case Confirm:
		if len(given.Values) == 0 && response.Text == "" {
			return response, nil
		}
		if len(given.Values) == 1 && response.Text == "" {
			for _, v := range []string{yes, no} {
				if strings.EqualFold(given.Values[0], v) {
					response.Values = append(response.Values, v)
					return response, nil
				}
			}
		}
		return Response{}, problem.For(q.ID, "question_yes_or_no", "question", name(q))
	case Select, MultiSelect:
	default:
		return Response{}, problem.For(q.ID, "question_not_shown", "question", name(q))
	}
	for _, v := range given.Values {
		o, ok := valued(q, v)
		switch {
		case !ok:
			return Response{}, problem.For(q.ID, "option_unknown", "option", line(v, nameRunes), "question", name(q))
		case slices.Contains(response.Values, o.Value):
			return Response{}, problem.For(q.ID, "option_twice", "option", line(o.Label, nameRunes), "question", name(q))
		}
		response.Values = append(response.Values, o.Value)
	}
	switch {
	case response.Text != "" && !q.FreeText:
		return Response{}, problem.For(q.ID, "option_unknown", "option", line(response.Text, nameRunes), "question", name(q))
	case q.Kind == Select && len(response.Values) > 1:
		return Response{}, problem.For(q.ID, "question_one_option", "question", name(q))
	case q.Kind == Select && len(response.Values) == 1 && response.Text != "":
		return Response{}, problem.For(q.ID, "question_option_or_text", "question", name(q))
	}
	return response, nil
}

// valued finds an option by its value, else by its label.
func valued(q Question, v string) (Option, bool) {
	for _, o := range q.Options {
		if o.Value == v {
			return o, true
		}
	}
	for _, o := range q.Options {
		if o.Label == v {
			return o, true
		}
	}
	return Option{}, false
}

// Summary says in one line of at most 200 characters how a person answered.
func (a Answer) Summary(r Request) string {
	if a.Decision == Deny {
		message := line(a.Message, summaryRunes)
		said := ""
		switch asked := r.RequestType == AskUserQuestion; {
		case asked && a.Interrupt:
			said = statement.New("record_declined_stopped", "why", message)
		case asked && message != "":
			said = statement.New("declined_why", "by", "", "why", message)
		case asked:
			said = statement.New("record_declined")
		case a.Interrupt:
			said = statement.New("record_stopped", "why", message)
		case message != "":
			said = statement.New("denied_why", "by", "", "why", message)
		default:
			said = statement.New("record_denied")
		}
		return line(said, summaryRunes)
	}
	if r.RequestType != AskUserQuestion || r.Form == nil {
		switch edited, granted := a.UpdatedInput != nil, a.UpdatedPermissions != nil; {
		case edited && granted:
			return statement.New("record_edited_granted")
		case edited:
			return statement.New("record_edited")
		case granted:
			return statement.New("record_granted")
		}
		return statement.New("record_approved")
	}
	var said []string
	for _, q := range r.Form.Questions {
		if response, ok := a.response(q.ID); ok {
			head := q.Header
			if strings.TrimSpace(head) == "" {
				head = line(q.Question, nameRunes)
			}
			said = append(said, head+": "+inWords(q, response))
		}
	}
	return line(strings.Join(said, "; "), summaryRunes)
}

// AnswersByText gives each answered question of a request, by its text, what was
// answered: labels joined with ", ", a free text behind them. It is the form in
// which Claude's AskUserQuestion takes answers. Where two questions share a text,
// their answers are joined with "; ", because one key is all there is.
func AnswersByText(r Request, a Answer) map[string]string {
	answers := map[string]string{}
	if r.Form == nil {
		return answers
	}
	for _, q := range r.Form.Questions {
		response, ok := a.response(q.ID)
		if !ok {
			continue
		}
		words := inWords(q, response)
		if before, twice := answers[q.Question]; twice {
			words = before + "; " + words
		}
		answers[q.Question] = words
	}
	return answers
}

func (a Answer) response(questionID string) (Response, bool) {
	i := slices.IndexFunc(a.Responses, func(r Response) bool { return r.ID == questionID })
	if i < 0 {
		return Response{}, false
	}
	return a.Responses[i], true
}

// inWords is a response as people read it.
func inWords(q Question, r Response) string {
	words := make([]string, 0, len(r.Values)+1)
	for _, v := range r.Values {
		o, ok := valued(q, v)
		switch {
		case ok:
			v = o.Label
		case q.Kind == Confirm && v == yes:
			v = "Yes"
		case q.Kind == Confirm && v == no:
			v = "No"
		}
		words = append(words, v)
	}
	if r.Text != "" {
		words = append(words, r.Text)
	}
	return strings.Join(words, separator)
}

func name(q Question) string { return line(q.Question, nameRunes) }

// checkMessage refuses a message that is too long or that a database cannot keep.
func checkMessage(text string) error {
	switch {
	case len(text) > MaxTextBytes:
		return problem.New("message_too_long", "max", MaxTextBytes/1000)
	case !isText(text):
		return problem.New("message_not_text")
	}
	return nil
}

// checkAnswerText refuses the text of an answer that is too long or that a database
// cannot keep.
func checkAnswerText(q Question, text string) error {
	switch {
	case len(text) > MaxTextBytes:
		return problem.For(q.ID, "answer_too_long", "question", name(q), "max", MaxTextBytes/1000)
	case !isText(text):
		return problem.For(q.ID, "answer_not_text", "question", name(q))
	}
	return nil
}

// isText reports whether a database can keep a text.
func isText(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

// line makes one line of at most limit characters out of a text from outside.
func line(text string, limit int) string {
	fields := strings.FieldsFunc(text, func(c rune) bool {
		// Bidi_Control: it could make a line read otherwise than it is.
		return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)
	})
	runes := []rune(strings.Join(fields, " "))
	if len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return string(runes)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
