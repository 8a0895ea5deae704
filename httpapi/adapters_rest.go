package httpapi

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// These routes let a signed-in person answer in the formats of the MAXSIM bridge and of
// PromptManager.

// mcpAnswer is the body of the MAXSIM bridge's POST /api/mcp-answer.
type mcpAnswer struct {
	QuestionID string `json:"questionId" validate:"required,max=64"` // the request
	Answer     string `json:"answer" validate:"required"`            // value or label of an option, or free text
}

func (s *Server) postMCPAnswer(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	body := new(mcpAnswer)
	if err := readBody(r, body); err != nil {
		return err
	}
	row, _, _, err := s.o.Guard.Request(r.Context(), who, project.See, body.QuestionID)
	if err != nil {
		return err
	}
	question, err := onlyQuestion(row)
	if err != nil {
		return err
	}
	c := responseTo(row)
	if slices.ContainsFunc(question.Options, func(o pending.Option) bool { return o.Value == body.Answer }) {
		c.Responses = []wire.Response{{ID: question.ID, Values: []string{body.Answer}}}
	} else {
		c.Answers = map[string]string{question.Question: body.Answer} // a label or free text
	}
	s.answerCommand(w, r, "pending_request_response", c, who, http.StatusOK)
	return nil
}

// submitAnswer is the body of PromptManager's POST /claude/submit-answer.
type submitAnswer struct {
	StreamToken     string `json:"streamToken" validate:"required,max=64"`
	Answer          string `json:"answer,omitempty"`
	SelectedOptions []int  `json:"selectedOptions,omitempty" validate:"max=100"` // from 0
	QuestionID      string `json:"questionId,omitempty" validate:"max=200"`      // added by sayso: selects one of several
}

func (s *Server) postSubmitAnswer(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	body := new(submitAnswer)
	if err := readBody(r, body); err != nil {
		return err
	}
	number, ok := account.ParseStreamProject(r.URL.Query()["p"])
	if !ok {
		return refusal.For("p", "project_number")
	}
	stream, err := s.o.Directory.Agent(r.Context(), body.StreamToken)
	if errors.Is(err, account.ErrRefused) || err == nil && !stream.OfProject(number) {
		return unknownStream()
	}
	if err != nil {
		return err
	}
	if _, _, err := s.o.Guard.Session(r.Context(), who, project.See, stream.SessionID); err != nil {
		if errors.Is(err, session.ErrNotFound) {
			return unknownStream()
		}
		return err
	}
	rows, err := s.o.Requests.Open(r.Context(), stream.SessionID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rows, func(row pending.Request) bool {
		return row.Source == pending.SourceMCP && row.RequestType == pending.AskUserQuestion &&
			(body.QuestionID == "" || strings.HasSuffix(row.AskerRequestID, "/"+body.QuestionID))
	})
	if i < 0 {
		return refusal.New("stream_closed")
	}
	question, err := onlyQuestion(rows[i])
	if err != nil {
		return err
	}
	answer := wire.Response{ID: question.ID}
	var labels []string
	for _, index := range body.SelectedOptions {
		if index < 0 || index >= len(question.Options) {
			return refusal.New("no_such_option")
		}
		answer.Values = append(answer.Values, question.Options[index].Value)
		labels = append(labels, question.Options[index].Label)
	}
	c := responseTo(rows[i])
	if len(labels) == 0 {
		c.Answers = map[string]string{question.Question: body.Answer}
	} else {
		// answer repeats the labels of the selected options; the rest of it is the
		// person's own text.
		chosen, text := strings.Join(labels, ", "), strings.TrimSpace(body.Answer)
		if rest, ok := strings.CutPrefix(text, chosen+", "); ok {
			text = rest
		}
		if text != chosen && text != strings.Join(answer.Values, ", ") {
			answer.Text = text
		}
		if slices.ContainsFunc(question.Options, func(o pending.Option) bool { return o.Label == answer.Text }) {
			return refusal.New("different_options")
		}
		c.Responses = []wire.Response{answer}
	}
	s.answerCommand(w, r, "pending_request_response", c, who, http.StatusOK)
	return nil
}

func unknownStream() *refusal.Refusal {
	return refusal.New("unknown_stream")
}

// onlyQuestion returns the question of a request that has exactly one; these formats
// support no other request.
func onlyQuestion(row pending.Request) (pending.Question, error) {
	if row.RequestType != pending.AskUserQuestion {
		return pending.Question{}, pending.ErrNotFound
	}
	if row.Form == nil || len(row.Form.Questions) != 1 {
		return pending.Question{}, refusal.New("not_one_question")
	}
	return row.Form.Questions[0], nil
}

// responseTo returns an empty answer to a request.
func responseTo(row pending.Request) *wire.PendingRequestResponse {
	return &wire.PendingRequestResponse{SessionID: row.SessionID, RequestID: row.RequestID, RequestType: row.RequestType}
}
