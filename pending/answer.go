package pending

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/ellipsis"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/statement"
)

// DeniedAction is the text for an agent whose tool call was denied without a reason, as the
// protocol of pending requests defines it.
const DeniedAction = "User denied this action"

// Limits of an answer.
const (
	MaxTextBytes         = 100_000 // of a free text or the reason of a denial
	MaxUpdatedInputBytes = 4 << 20 // of an edited tool input: a whole file fits
	MaxPermissionsBytes  = 1 << 20 // of the rules granted with an allow
	MaxPermissions       = 100     // number of those rules
)

const (
	maxSummaryRunes = 200 // of a one-line summary of an answer
	maxNameRunes    = 60  // of a question's name in a sentence
	yes, no         = "yes", "no"
)

// planTool asks to leave plan mode. Its approval may include the next mode.
const planTool = "ExitPlanMode"

// separator separates the labels of one answer, as in the CLI.
const separator = ", "

// Normalise validates a submission against the request it answers and returns it in the form
// that is stored: labels are resolved to values, responses are in the order of the form, and
// an edit that changes nothing is dropped. Every error is a [problem.Error] that is
// [ErrInvalid].
//
// It checks neither ids nor hash nor status; [Registry.Answer] does.
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
	return Answer{}, problem.New("answer_decision_unknown", "decision", singleLine(string(s.Decision), maxNameRunes))
}

// normaliseInput returns the edited input, nil when nothing is edited. A person may change
// only the fields that the agent sent: a new field would make it a different call from the one
// that was shown.
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
		// The CLI treats {} as the original input, which is not what the person sees.
		return nil, problem.New("input_empty")
	}
	for _, key := range sortedKeys(object) {
		if _, ok := known[key]; !ok {
			return nil, problem.New("input_new_field", "name", singleLine(key, maxNameRunes))
		}
	}
	return compact(edited), nil
}

// normalisePermissions returns the granted rules, nil when there are none. A person can only
// grant suggested rules, choose their scope, and switch the mode of the session.
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

// isSessionMode reports whether the grant switches the mode of this session only, to a mode in
// which Claude still asks.
func isSessionMode(grant map[string]any) bool {
	if len(grant) != 3 || grant["type"] != "setMode" || grant["destination"] != "session" {
		return false
	}
	return grant["mode"] == "default" || grant["mode"] == "acceptEdits" || grant["mode"] == "plan"
}

// covers reports whether the grant equals the offer, except for a destination that a person
// may choose.
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
	return same(withoutKey(o, "destination"), withoutKey(grant, "destination"))
}

func withoutKey(object map[string]any, key string) map[string]any {
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
		return Answer{}, problem.New("answer_decision_unknown", "decision", singleLine(string(s.Decision), maxNameRunes))
	}
	if r.Form == nil || len(r.Form.Questions) == 0 {
		return Answer{}, problem.New("questions_unreadable")
	}
	given, err := collectResponses(r.Form, s)
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
			return Answer{}, problem.For(q.ID, "question_unanswered", "question", displayName(q))
		}
	}
	if r.Source == SourceElicitation {
		// If all questions are optional, an answer may be empty, but the submission must contain
		// a decision or empty answers.
		if s.Decision == "" && s.Answers == nil && s.Responses == nil {
			return Answer{}, problem.New("answer_missing")
		}
		return answer, checkElicitation(r, answer)
	}
	if len(answer.Responses) == 0 {
		return Answer{}, problem.New("answer_none")
	}
	return answer, nil
}

// collectResponses returns the responses by question id, with the short form expanded.
func collectResponses(form *Form, s Submission) (map[string]Response, error) {
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
			return nil, problem.For(response.ID, "question_id_unknown", "id", singleLine(response.ID, maxNameRunes))
		}
		if _, twice := given[q.ID]; twice {
			return nil, problem.For(q.ID, "question_answered_twice", "question", displayName(q))
		}
		given[q.ID] = response
	}
	for _, text := range sortedKeys(s.Answers) {
		questions := byText[text]
		if len(questions) == 0 {
			return nil, problem.New("question_unknown", "question", singleLine(text, maxNameRunes))
		}
		open := slices.DeleteFunc(slices.Clone(questions), func(q Question) bool {
			_, answered := given[q.ID]
			return answered
		})
		switch {
		case len(open) == 0:
			return nil, problem.For(questions[0].ID, "question_answered_twice", "question", displayName(questions[0]))
		case len(questions) > 1:
			return nil, problem.For(open[0].ID, "question_asked_twice", "question", displayName(open[0]))
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

// parseShortForm converts the short form of one answer to a response.
func parseShortForm(q Question, text string) (Response, error) {
	response := Response{ID: q.ID}
	// Checked first, because the search below takes longer for longer texts.
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
		if o, ok := optionByLabel(q, text); ok {
			response.Values = []string{o.Value}
			return response, nil
		}
		// A label followed by more text is a choice and a text, or several choices;
		// normaliseResponse refuses both.
		response.Values, text = splitLabels(q, text)
	case MultiSelect:
		response.Values, text = splitLabels(q, text)
	}
	response.Text = text
	return response, nil
}

// optionByLabel finds an option by its label, else by its value.
func optionByLabel(q Question, text string) (Option, bool) {
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

// splitLabels splits labels joined by the separator. Labels may contain it, and one may be a
// prefix of another. It chooses the split that covers most of the text and, among those, the
// one with the longest labels first. rest is the uncovered end, so joining the labels and rest
// gives the text again.
func splitLabels(q Question, text string) (values []string, rest string) {
	// pick[i] is the best label that starts at i, reach[i] the end of the covered text if it
	// is chosen.
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

// normaliseResponse validates the response to one question. A question without an answer has
// neither values nor text.
func normaliseResponse(q Question, given Response) (Response, error) {
	if err := checkAnswerText(q, given.Text); err != nil {
		return Response{}, err
	}
	response := Response{ID: q.ID, Values: []string{}, Text: given.Text}
	if strings.TrimSpace(given.Text) == "" {
		response.Text = "" // a blank "Other" is no answer
	}
	switch q.Kind {
	case Text:
		if len(given.Values) > 0 {
			return Response{}, problem.For(q.ID, "question_no_options", "question", displayName(q))
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
		return Response{}, problem.For(q.ID, "question_yes_or_no", "question", displayName(q))
	case Select, MultiSelect:
	default:
		return Response{}, problem.For(q.ID, "question_not_shown", "question", displayName(q))
	}
	for _, v := range given.Values {
		o, ok := optionByValue(q, v)
		switch {
		case !ok:
			return Response{}, problem.For(q.ID, "option_unknown", "option", singleLine(v, maxNameRunes), "question", displayName(q))
		case slices.Contains(response.Values, o.Value):
			return Response{}, problem.For(q.ID, "option_twice", "option", singleLine(o.Label, maxNameRunes), "question", displayName(q))
		}
		response.Values = append(response.Values, o.Value)
	}
	switch {
	case response.Text != "" && !q.FreeText:
		return Response{}, problem.For(q.ID, "option_unknown", "option", singleLine(response.Text, maxNameRunes), "question", displayName(q))
	case q.Kind == Select && len(response.Values) > 1:
		return Response{}, problem.For(q.ID, "question_one_option", "question", displayName(q))
	case q.Kind == Select && len(response.Values) == 1 && response.Text != "":
		return Response{}, problem.For(q.ID, "question_option_or_text", "question", displayName(q))
	}
	return response, nil
}

// optionByValue finds an option by its value, else by its label.
func optionByValue(q Question, v string) (Option, bool) {
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

// Summary describes an answer in one line of at most 200 characters.
func (a Answer) Summary(r Request) string {
	if a.Decision == Deny {
		message := singleLine(a.Message, maxSummaryRunes)
		text := ""
		switch asked := r.RequestType == AskUserQuestion; {
		case asked && a.Interrupt:
			text = statement.New("record_declined_stopped", "why", message)
		case asked && message != "":
			text = statement.New("declined_why", "by", "", "why", message)
		case asked:
			text = statement.New("record_declined")
		case a.Interrupt:
			text = statement.New("record_stopped", "why", message)
		case message != "":
			text = statement.New("denied_why", "by", "", "why", message)
		default:
			text = statement.New("record_denied")
		}
		return singleLine(text, maxSummaryRunes)
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
	var parts []string
	for _, q := range r.Form.Questions {
		if response, ok := a.response(q.ID); ok {
			head := q.Header
			if strings.TrimSpace(head) == "" {
				head = singleLine(q.Question, maxNameRunes)
			}
			parts = append(parts, head+": "+displayText(q, response))
		}
	}
	return singleLine(strings.Join(parts, "; "), maxSummaryRunes)
}

// AnswersByText returns the answer to each answered question, by its text: labels joined with
// ", ", followed by any free text. Claude's AskUserQuestion takes answers in this form. If
// two questions have the same text, their answers are joined with "; ", because they share
// one key.
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
		words := displayText(q, response)
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

// displayText returns a response as people read it.
func displayText(q Question, r Response) string {
	words := make([]string, 0, len(r.Values)+1)
	for _, v := range r.Values {
		o, ok := optionByValue(q, v)
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

func displayName(q Question) string { return singleLine(q.Question, maxNameRunes) }

// checkMessage refuses a message that is too long or that a database cannot store.
func checkMessage(text string) error {
	switch {
	case len(text) > MaxTextBytes:
		return problem.New("message_too_long", "max", MaxTextBytes/1000)
	case !isStorableText(text):
		return problem.New("message_not_text")
	}
	return nil
}

// checkAnswerText refuses an answer's text that is too long or that a database cannot store.
func checkAnswerText(q Question, text string) error {
	switch {
	case len(text) > MaxTextBytes:
		return problem.For(q.ID, "answer_too_long", "question", displayName(q), "max", MaxTextBytes/1000)
	case !isStorableText(text):
		return problem.For(q.ID, "answer_not_text", "question", displayName(q))
	}
	return nil
}

// isStorableText reports whether a database can store a text.
func isStorableText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// singleLine joins the lines of an untrusted text and truncates it to limit characters.
func singleLine(text string, limit int) string {
	fields := strings.FieldsFunc(text, func(c rune) bool {
		// Bidi_Control: it could change how a line reads.
		return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)
	})
	return ellipsis.Runes(strings.Join(fields, " "), limit)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
