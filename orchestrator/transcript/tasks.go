package transcript

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/session"
)

// TaskList is the to-do list of CLIs that change one task at a time (TaskCreate, TaskUpdate); other
// CLIs write the whole list (TodoWrite). People see one list.
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

// updateTasks applies the result of a call to the task list, and returns the item of the list if
// the list changed.
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
			return item, false // an earlier process created the task
		}
		var input struct {
			Subject string `json:"subject"`
		}
		_ = json.Unmarshal(c.Tool.Input, &input) // without a subject, the task keeps its own
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
