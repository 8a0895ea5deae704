package transcript

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/session"
)

// TaskList is the to-do list of CLIs that change it task by task (TaskCreate,
// TaskUpdate), where others write it whole (TodoWrite). People see one list.
type TaskList struct {
	Key   string `json:"key"` // of its item
	Tasks []Task `json:"tasks"`
}

// Task is one entry of a [TaskList].
type Task struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	Status  string `json:"status"`
}

// updateTasks takes in the result of a call, and returns the item of the list when it
// changed.
func (b *Builder) updateTasks(c *Call, result json.RawMessage, now time.Time) (item session.Item, ok bool) {
	if c.Item.AgentID != "" || c.Tool.Status != session.ToolDone {
		return item, false
	}
	var r struct {
		Task  *Task  `json:"task"`
		Tasks []Task `json:"tasks"`
		// An update names the changed fields; the values are in the input.
		Success bool   `json:"success"`
		TaskID  string `json:"taskId"`
		Change  struct {
			To string `json:"to"`
		} `json:"statusChange"`
	}
	if json.Unmarshal(result, &r) != nil {
		return item, false
	}
	list := b.Tasks
	if list == nil {
		list = &TaskList{Key: "tasks:" + c.Tool.ToolUseID}
	}
	switch {
	case c.Tool.ToolName == "TaskCreate" && r.Task != nil:
		list.Tasks = append(list.Tasks, Task{ID: r.Task.ID, Subject: r.Task.Subject, Status: "pending"})
	case c.Tool.ToolName == "TaskUpdate" && r.Success:
		at := slices.IndexFunc(list.Tasks, func(t Task) bool { return t.ID == r.TaskID })
		if at < 0 {
			return item, false // created by an earlier process
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
	b.Tasks = list
	body := session.TodoBody{Todos: []session.Todo{}}
	for _, t := range list.Tasks {
		body.Todos = append(body.Todos, session.Todo{Content: truncate(t.Subject), Status: t.Status})
	}
	return session.Item{Key: list.Key, At: now, Kind: session.ItemTodo, Body: Encode(body)}, true
}
