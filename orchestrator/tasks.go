package orchestrator

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/session"
)

// taskList is the to-do list of CLIs that change it task by task (TaskCreate,
// TaskUpdate), where others write it whole (TodoWrite). People see one list.
type taskList struct {
	Key   string `json:"key"` // of its item
	Tasks []task `json:"tasks"`
}

type task struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	Status  string `json:"status"`
}

// task takes in the result of a call; ok when the list changed.
func (s *scribe) task(c *call, result json.RawMessage, now time.Time) (item session.Item, ok bool) {
	if c.Item.AgentID != "" || c.Tool.Status != session.ToolDone {
		return item, false
	}
	var r struct {
		Task  *task  `json:"task"`
		Tasks []task `json:"tasks"`
		// What was updated is told by its names; the values are in the input.
		Success bool   `json:"success"`
		TaskID  string `json:"taskId"`
		Change  struct {
			To string `json:"to"`
		} `json:"statusChange"`
	}
	if json.Unmarshal(result, &r) != nil {
		return item, false
	}
	list := s.Tasks
	if list == nil {
		list = &taskList{Key: "tasks:" + c.Tool.ToolUseID}
	}
	switch {
	case c.Tool.ToolName == "TaskCreate" && r.Task != nil:
		list.Tasks = append(list.Tasks, task{ID: r.Task.ID, Subject: r.Task.Subject, Status: "pending"})
	case c.Tool.ToolName == "TaskUpdate" && r.Success:
		at := slices.IndexFunc(list.Tasks, func(t task) bool { return t.ID == r.TaskID })
		if at < 0 {
			return item, false // made before this process came
		}
		var input struct {
			Subject string `json:"subject"`
		}
		_ = json.Unmarshal(c.Tool.Input, &input) // without one it keeps its name
		if input.Subject != "" {
			list.Tasks[at].Subject = input.Subject
		}
		if r.Change.To == "deleted" {
			list.Tasks = slices.Delete(list.Tasks, at, at+1)
		} else if r.Change.To != "" {
			list.Tasks[at].Status = r.Change.To
		}
	case c.Tool.ToolName == "TaskList" && r.Tasks != nil:
		list.Tasks = r.Tasks
	default:
		return item, false
	}
	s.Tasks = list
	body := session.TodoBody{Todos: []session.Todo{}}
	for _, t := range list.Tasks {
		body.Todos = append(body.Todos, session.Todo{Content: cut(t.Subject), Status: t.Status})
	}
	return session.Item{Key: list.Key, At: now, Kind: session.ItemTodo, Body: encode(body)}, true
}

// other takes in what has no type of its own in package claude.
func (s *scribe) other(m *claude.Other, now time.Time) heard {
	if m.Type != "rate_limit_event" {
		return heard{}
	}
	var e struct {
		Info struct {
			Status      string  `json:"status"`
			ResetsAt    float64 `json:"resetsAt"` // Unix seconds
			Type        string  `json:"rateLimitType"`
			Utilization float64 `json:"utilization"` // of 1
		} `json:"rate_limit_info"`
	}
	if json.Unmarshal(m.Raw, &e) != nil {
		return heard{}
	}
	which := map[string]string{
		"five_hour": "five-hour", "seven_day": "weekly", "seven_day_opus": "weekly Opus", "seven_day_sonnet": "weekly Sonnet", "overage": "extra usage",
	}[e.Info.Type]
	if which == "" {
		which = "usage"
	}
	reset := ""
	if e.Info.ResetsAt > 0 {
		reset = " It is reset at " + time.Unix(int64(e.Info.ResetsAt), 0).UTC().Format("2006-01-02 15:04") + " UTC."
	}
	level, text := "", ""
	switch e.Info.Status {
	case "rejected":
		level, text = "error", fmt.Sprintf("The %s limit of the Claude account is reached.%s", which, reset)
	case "allowed_warning":
		level, text = "warning", fmt.Sprintf("The %s limit of the Claude account is near.%s", which, reset)
		if e.Info.Utilization > 0 && e.Info.Utilization <= 1 {
			text = fmt.Sprintf("%.0f %% of the %s limit of the Claude account are used.%s", e.Info.Utilization*100, which, reset)
		}
	default:
		return heard{}
	}
	// One note for each limit and its period, kept up to date.
	key := fmt.Sprintf("limit:%s:%.0f", e.Info.Type, e.Info.ResetsAt)
	return heard{items: []session.Item{{Key: key, At: now, Kind: session.ItemNote, Body: encode(session.NoteBody{Level: level, Text: text})}}}
}
