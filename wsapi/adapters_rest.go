package wsapi

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/project"
	"github.com/sayso-dev/sayso/session"
)

// The ways to answer of the MAXSIM bridge and of the PromptManager, over our own:
// a person answers, signed in as everywhere.

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
	if err := checkShape(body); err != nil {
		return err
	}
	row, _, err := s.mayRequest(r.Context(), who, project.See, body.QuestionID)
	if err != nil {
		return err
	}
	one, err := onlyQuestion(row)
	if err != nil {
		return err
	}
	answer := Response{ID: one.ID, Text: body.Answer}
	for _, o := range one.Options {
		if o.Value == body.Answer || o.Label == body.Answer {
			answer = Response{ID: one.ID, Values: []string{o.Value}}
		}
	}
	if one.Kind == pending.Confirm {
		answer = Response{ID: one.ID, Values: []string{body.Answer}}
	}
	s.answerQuestion(w, r, who, row, answer)
	return nil
}

// submitAnswer is the body of the PromptManager's POST /claude/submit-answer.
type submitAnswer struct {
	StreamToken     string `json:"streamToken" validate:"required,max=64"`
	Answer          string `json:"answer"`
	SelectedOptions []int  `json:"selectedOptions" validate:"max=100"` // from 0
	QuestionID      string `json:"questionId" validate:"max=200"`      // ours: which of several
}

func (s *Server) postSubmitAnswer(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	body := new(submitAnswer)
	if err := readBody(r, body); err != nil {
		return err
	}
	if err := checkShape(body); err != nil {
		return err
	}
	if p := r.URL.Query().Get("p"); p == "" || len(p) > 18 || strings.Trim(p, "0123456789") != "" {
		return refuseField("p", "The parameter p must be the number of a project.")
	}
	stream, err := s.o.Directory.Agent(r.Context(), body.StreamToken)
	if errors.Is(err, account.ErrRefused) {
		return unknownStream()
	}
	if err != nil {
		return err
	}
	if _, err := s.may(r.Context(), who, project.See, stream.SessionID); err != nil {
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
		return refuse(http.StatusConflict, "stale", "No question of this stream waits for an answer. Your answer was not sent.")
	}
	one, err := onlyQuestion(rows[i])
	if err != nil {
		return err
	}
	answer := Response{ID: one.ID}
	var labels []string
	for _, at := range body.SelectedOptions {
		if at < 0 || at >= len(one.Options) {
			return refuse(http.StatusUnprocessableEntity, "invalid_answer", "There is no such option.")
		}
		answer.Values = append(answer.Values, one.Options[at].Value)
		labels = append(labels, one.Options[at].Label)
	}
	// Beside the options chosen, answer names them once more; what is more is a text
	// of the person's own.
	if text := strings.TrimSpace(body.Answer); text != strings.Join(labels, ", ") && text != strings.Join(answer.Values, ", ") {
		answer.Text = body.Answer
	}
	s.answerQuestion(w, r, who, rows[i], answer)
	return nil
}

func unknownStream() *refusal {
	return refuse(http.StatusForbidden, "forbidden", "This stream is unknown here, or it has ended.")
}

// onlyQuestion is the one question of a request that these ways can answer.
func onlyQuestion(row pending.Request) (pending.Question, error) {
	if row.RequestType != pending.AskUserQuestion {
		return pending.Question{}, pending.ErrNotFound
	}
	if row.Form == nil || len(row.Form.Questions) != 1 {
		return pending.Question{}, refuse(http.StatusUnprocessableEntity, "invalid_answer", "This form is not one question. Answer it in the web app.")
	}
	return row.Form.Questions[0], nil
}

func (s *Server) answerQuestion(w http.ResponseWriter, r *http.Request, who account.Identity, row pending.Request, answer Response) {
	c := &PendingRequestResponse{
		SessionID: row.SessionID, RequestID: row.RequestID, RequestType: row.RequestType, Responses: []Response{answer},
	}
	s.answerCommand(w, r, commandSpecs["pending_request_response"], c, who, http.StatusOK)
}
