package mcpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Names of the tools.
const (
	toolAskUser             = "ask_user"
	toolAskUserThreeMinutes = "AskUser"
	toolAskQuestion         = "ask_question"
	toolWait                = "ask_user_wait"
	toolLifecycle           = "submit_lifecycle_event"
	toolStatus              = "get_phase_status"
	toolApproval            = "approval_prompt"
)

// ToolNames lists the tools of this server, as tools/list does.
func ToolNames() []string {
	return []string{toolAskUser, toolAskUserThreeMinutes, toolAskQuestion, toolWait, toolLifecycle, toolStatus, toolApproval}
}

// tool is a tool and its implementation.
type tool struct {
	tool *mcp.Tool
	do   func(s *Server, ctx context.Context, c *call, req *mcp.CallToolRequest) (*mcp.CallToolResult, error)
}

func (t tool) handler(s *Server) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c, ok := ctx.Value(callKey{}).(*call)
		if !ok {
			return nil, errors.New("mcpapi: a tool was called outside of a call")
		}
		return t.do(s, ctx, c, req)
	}
}

// The input schemas have no oneOf, because model APIs do not accept it at the top level. The
// SDK does not check them, because its messages differ from those of the replaced systems.
const (
	askUserSchema = `{"type":"object","properties":{
"question":{"type":"string","description":"The question to ask the user. Give this for one question, or questions for several."},
"options":{"type":"array","description":"Optional list of choices for the user, with question","items":{"type":"object","required":["label"],"properties":{
	"label":{"type":"string","description":"Short label for the option"},
	"description":{"type":"string","description":"Longer explanation of what this option means"}}}},
"multiSelect":{"type":"boolean","default":false,"description":"Whether the user can select multiple options, with question"},
"questions":{"type":"array","description":"Array of questions to ask the user","minItems":1,"maxItems":10,"items":{"type":"object","required":["question"],"properties":{
	"id":{"type":"string","description":"Optional unique ID for this question"},
	"question":{"type":"string","description":"The question text to display"},
	"type":{"type":"string","enum":["text","select","multi-select","confirm"],"default":"text","description":"Type of input to collect"},
	"options":{"type":"array","items":{"type":"string"},"description":"Options for select/multi-select types"},
	"required":{"type":"boolean","default":true,"description":"Whether an answer is required"},
	"placeholder":{"type":"string","description":"Placeholder text for text inputs"}}}},
"title":{"type":"string","maxLength":100,"description":"Optional title for the question dialog, with questions"},
"timeout":{"type":"integer","minimum":10000,"maximum":1800000,"default":300000,"description":"Timeout in milliseconds, with questions (default: 300000 = 5 minutes)"}}}`

	threeMinutesSchema = `{"type":"object","required":["question"],"properties":{"question":{"type":"string","description":"The question to ask the user"}}}`

	askQuestionSchema = `{"type":"object","required":["question"],"properties":{
"question":{"type":"string","description":"The question text, supports markdown"},
"options":{"type":"array","items":{"type":"object","required":["value","label"],"properties":{
	"value":{"type":"string","description":"option identifier"},
	"label":{"type":"string","description":"display label"},
	"description":{"type":"string","description":"optional description"}}}},
"allow_free_text":{"type":"boolean","default":true,"description":"whether free-text input is shown"}}}`

	waitSchema = `{"type":"object","required":["ticket"],"properties":{"ticket":{"type":"string","description":"The ticket that a question which nobody has answered yet returned"}}}`

	approvalSchema = `{"type":"object","required":["tool_name","input"],"properties":{
"tool_name":{"type":"string","description":"The tool that wants to run"},
"input":{"type":"object","description":"Its input"},
"tool_use_id":{"type":"string","description":"The id of its use"}}}`
)

// lifecycleTypes are the event types that the bridge documents or implements.
var lifecycleTypes = []string{"phase-started", "phase-completed", "plan-started", "plan-completed", "task-started", "task-completed",
	"verification-started", "verification-completed", "phase-complete", "plan-complete"}

var lifecycleSchema = `{"type":"object","required":["event_type"],"properties":{
"event_type":{"type":"string","enum":["` + strings.Join(lifecycleTypes, `","`) + `"]},
"phase_name":{"type":"string","description":"human-readable phase name"},
"phase_number":{"type":"string","description":"phase number (e.g., '33')"},
"step":{"type":"number","description":"current step index"},
"total_steps":{"type":"number","description":"total steps in sequence"}}}`

func (s *Server) tools() []tool {
	// Claude runs tools concurrently only if they declare to change nothing, which is true of
	// asking.
	asks := &mcp.ToolAnnotations{ReadOnlyHint: true}
	def := func(name, description, schema string, notes *mcp.ToolAnnotations) *mcp.Tool {
		return &mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema), Annotations: notes}
	}
	// New CLIs show the model only the names of tools, and the model looks up the rest. The tool
	// that the prompt mentions should be available at once.
	atHand := func(t *mcp.Tool) *mcp.Tool {
		t.Meta = mcp.Meta{"anthropic/alwaysLoad": true}
		return t
	}
	return []tool{
		{atHand(def(toolAskUser, "Ask the user a question, or several at once, and wait for the response. Use this when you need clarification, "+
			"a choice between options, or confirmation before proceeding. The tool blocks until the user responds.", askUserSchema, asks)), (*Server).askUser},
		{def(toolAskUserThreeMinutes, "Ask the user a question and wait up to 3 minutes for the answer. Use it only when a wrong guess would be "+
			"costly or irreversible; otherwise proceed.", threeMinutesSchema, asks), (*Server).askThreeMinutes},
		{def(toolAskQuestion, "Present a question to the user and block until they answer. There is no timeout.", askQuestionSchema, asks), (*Server).askQuestion},
		{def(toolWait, "Go on waiting for the answer to a question that returned a ticket.", waitSchema, asks), (*Server).waitFor},
		{def(toolLifecycle, "Report how far the work has come, for the status bar. Returns at once.", lifecycleSchema, nil), (*Server).lifecycle},
		{def(toolStatus, "Return how many questions are pending and the last lifecycle event.", `{"type":"object","properties":{}}`, asks), (*Server).phaseStatus},
		{def(toolApproval, "Ask the user whether a tool may run, for --permission-prompt-tool.", approvalSchema, nil), (*Server).approve},
	}
}

func (s *Server) askUser(ctx context.Context, c *call, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return s.askForm(ctx, c, req, toolAskUser, func(input object) (*pending.Form, time.Duration, error) {
		key, _ := c.key(toolAskUser, arguments(req))
		return parseAskUser(input, s.policyOf(ctx, c), key)
	})
}

func (s *Server) askThreeMinutes(ctx context.Context, c *call, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return s.askForm(ctx, c, req, toolAskUserThreeMinutes, func(input object) (*pending.Form, time.Duration, error) {
		text, err := questionText(input, maxLoneQuestion)
		return &pending.Form{Questions: []pending.Question{{ID: "q1", Question: text, Kind: pending.Text, Required: true, FreeText: true}}}, threeMinutes, err
	})
}

func (s *Server) askQuestion(ctx context.Context, c *call, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return s.askForm(ctx, c, req, toolAskQuestion, func(input object) (*pending.Form, time.Duration, error) {
		form, err := parseAskQuestion(input)
		return form, 0, err
	})
}

// askForm asks the form that read parses from the arguments.
func (s *Server) askForm(ctx context.Context, c *call, req *mcp.CallToolRequest, name string, read func(object) (*pending.Form, time.Duration, error)) (*mcp.CallToolResult, error) {
	input, err := parseInput(req.Params.Arguments)
	if err != nil {
		return invalidResult(err), nil
	}
	form, timeout, err := read(input)
	if err != nil {
		return invalidResult(err), nil
	}
	return s.ask(ctx, c, req, question{
		tool: name, requestType: pending.AskUserQuestion, toolName: name, input: arguments(req), toolUseID: c.toolUseID,
		form: form, timeout: timeout, mayIssueTicket: true,
	})
}

// arguments returns the raw arguments of a call.
func arguments(req *mcp.CallToolRequest) json.RawMessage {
	if isMissing(req.Params.Arguments) {
		return json.RawMessage(`{}`)
	}
	return req.Params.Arguments
}

// approve asks whether a tool may run. Its caller accepts only a decision, so it gets no
// ticket.
func (s *Server) approve(ctx context.Context, c *call, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	input, err := parseInput(req.Params.Arguments)
	if err != nil {
		return invalidResult(err), nil
	}
	name, err := input.text("tool_name", 500)
	if err == nil && strings.TrimSpace(name) == "" {
		err = errors.New("tool_name is required")
	}
	if err != nil {
		return invalidResult(err), nil
	}
	if what, err := parseObject(input["input"]); err != nil || what == nil || !input.has("input") {
		return invalidResult(errors.New("input must be an object")), nil
	}
	useID, err := input.text("tool_use_id", 200)
	if err != nil {
		return invalidResult(err), nil
	}
	if useID == "" {
		useID = c.toolUseID
	} else if c.toolUseID == "" {
		c.toolUseID = useID // of the tool that waits for the decision, so it identifies this call too
	}
	return s.ask(ctx, c, req, question{
		tool: toolApproval, requestType: pending.ToolApproval, toolName: name, input: input["input"], toolUseID: useID,
	})
}

func (s *Server) lifecycle(ctx context.Context, c *call, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	l, err := lifecycleOf(req.Params.Arguments)
	if err != nil {
		return invalidResult(err), nil
	}
	l.At = time.Now()
	if err := s.o.Store.SetLifecycle(ctx, c.session.SessionID, l); err != nil {
		s.o.Log.ErrorContext(ctx, "cannot store the progress of an agent", "error", err)
		return errorResult("The event could not be stored because of a technical problem."), nil
	}
	s.o.Notifier.Notify(c.session.SessionID)
	return textResult(`{"status":"ok"}`), nil
}

func lifecycleOf(arguments json.RawMessage) (l session.Lifecycle, err error) {
	input, err := parseInput(arguments)
	if err != nil {
		return l, err
	}
	if l.EventType, err = input.text("event_type", 100); err != nil {
		return l, err
	}
	if !slices.Contains(lifecycleTypes, l.EventType) {
		return l, fmt.Errorf("event_type must be one of %s", strings.Join(lifecycleTypes, ", "))
	}
	if l.PhaseName, err = input.text("phase_name", 500); err != nil {
		return l, err
	}
	if n, failed := input.number("phase_number"); failed == nil && n != nil {
		l.PhaseNumber = strconv.FormatFloat(*n, 'f', -1, 64) // models write 33 for "33"
	} else if l.PhaseNumber, err = input.text("phase_number", 50); err != nil {
		return l, err
	}
	if l.Step, err = input.number("step"); err != nil {
		return l, err
	}
	l.TotalSteps, err = input.number("total_steps")
	return l, err
}

func (s *Server) phaseStatus(ctx context.Context, c *call, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	open, err := s.o.Requests.Open(ctx, c.session.SessionID)
	if err != nil {
		s.o.Log.ErrorContext(ctx, "cannot read the open questions of an agent", "error", err)
		return errorResult("The status could not be read because of a technical problem."), nil
	}
	type event struct {
		EventType   string   `json:"event_type"`
		PhaseName   string   `json:"phase_name,omitempty"`
		PhaseNumber string   `json:"phase_number,omitempty"`
		Step        *float64 `json:"step,omitempty"`
		TotalSteps  *float64 `json:"total_steps,omitempty"`
	}
	status := struct {
		PendingQuestions   int    `json:"pendingQuestions"`
		LastLifecycleEvent *event `json:"lastLifecycleEvent"`
	}{}
	for _, row := range open {
		if row.RequestType == pending.AskUserQuestion {
			status.PendingQuestions++
		}
	}
	if l := c.session.Lifecycle; l != nil {
		status.LastLifecycleEvent = &event{l.EventType, l.PhaseName, l.PhaseNumber, l.Step, l.TotalSteps}
	}
	return textResult(encodeJSON(status)), nil
}
