package claude

import (
	"maps"
	"slices"
)

// Task is a subagent, a background command or another task of the CLI.
type Task struct {
	ID           string // for an agent, equal to [ToolRequest.AgentID]
	ToolUseID    string // of the call that started it
	Type         string // local_agent, local_bash, …; "" from an older CLI
	SubagentType string
	Description  string
	Background   bool
	Status       string // pending, running or paused
}

// Tasks tracks the running tasks from the messages of the CLI. A result ends a turn, but background
// agents continue, and start another turn of the CLI when they end. The zero Tasks is ready to use.
type Tasks struct {
	running map[string]Task
}

// Apply updates the tasks with one message.
func (t *Tasks) Apply(m Message) {
	switch m := m.(type) {
	case *TaskStarted:
		t.put(Task{
			ID: m.TaskID, ToolUseID: m.ToolUseID, Type: m.TaskType, SubagentType: m.SubagentType, Description: m.Description,
			Background: m.IsBackgrounded, Status: "running",
		})
	case *TaskUpdated:
		task, known := t.running[m.TaskID]
		switch s := m.Patch.Status; {
		case !known:
		case s == "completed" || s == "failed" || s == "stopped" || s == "killed":
			delete(t.running, m.TaskID)
		default:
			if s != "" {
				task.Status = s
			}
			if m.Patch.IsBackgrounded != nil {
				task.Background = *m.Patch.IsBackgrounded
			}
			t.put(task)
		}
	case *TaskNotification:
		delete(t.running, m.TaskID)
	case *User:
		t.returned(m)
	case *BackgroundTasksChanged:
		listed := map[string]bool{}
		for _, b := range m.Tasks {
			listed[b.TaskID] = true
			task, known := t.running[b.TaskID]
			if !known {
				task = Task{ID: b.TaskID, SubagentType: b.SubagentType, Description: b.Description, Status: "running"}
			}
			task.Background = true
			if b.TaskType != "" {
				task.Type = b.TaskType
			}
			t.put(task)
		}
		maps.DeleteFunc(t.running, func(id string, task Task) bool { return task.Background && !listed[id] })
	}
}

// returned updates the tasks whose tool call has returned: a foreground agent has ended, a background
// agent continues.
func (t *Tasks) returned(m *User) {
	for id, task := range t.running {
		for _, b := range m.Content {
			if b.ToolUseID == "" || b.ToolUseID != task.ToolUseID || task.Background {
				continue
			}
			var result struct {
				IsAsync bool `json:"isAsync"`
			}
			if lenient(m.ToolUseResult, &result) == nil && result.IsAsync {
				task.Background = true
				t.running[id] = task
			} else if task.Type == "local_agent" {
				delete(t.running, id)
			}
		}
	}
}

func (t *Tasks) put(task Task) {
	if t.running == nil {
		t.running = map[string]Task{}
	}
	t.running[task.ID] = task
}

// Running returns the running tasks, sorted by id.
func (t *Tasks) Running() []Task {
	return slices.SortedFunc(maps.Values(t.running), func(a, b Task) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
}

// agents reports whether an agent is running. It ignores background commands, which may run forever.
func (t *Tasks) agents() bool {
	for _, task := range t.running {
		if task.Type == "local_agent" || task.Type == "local_workflow" || task.Type == "" && task.SubagentType != "" {
			return true
		}
	}
	return false
}

// runState tracks whether the CLI has something to do.
type runState struct {
	tasks      Tasks
	waiting    bool   // a prompt was sent, and its turn has not begun
	turn       bool   // a turn is running
	result     bool   // a turn has ended since the last prompt
	seenState  bool   // the CLI reports its state
	stateIdle  bool   // the last reported state is idle
	failReason string // Assistant.Error of the turn
}

// prompted records that a prompt was sent.
func (s *runState) prompted() { s.waiting, s.result = true, false }

// apply updates the state with one message. It returns an error if the message ends a failed turn.
func (s *runState) apply(m Message) *ResultError {
	s.tasks.Apply(m)
	switch m := m.(type) {
	case *SystemInit:
		s.turn, s.waiting, s.failReason = true, false, ""
	case *Assistant:
		if m.Error != "" && m.ParentToolUseID == "" {
			s.failReason = m.Error
		}
	case *TaskNotification:
		if !s.turn && m.Status != "stopped" && !m.Ambient && !m.SkipTranscript {
			s.result = false // it wakes the CLI for another turn
		}
	case *SessionStateChanged:
		s.seenState, s.stateIdle = true, m.State == "idle"
	case *Result:
		s.turn, s.waiting, s.result = false, false, true
		if m.IsError {
			return &ResultError{Result: m, Reason: s.failReason}
		}
	}
	return nil
}

// over reports whether a turn has ended and nothing else will happen without another prompt.
func (s *runState) over() bool { return s.result && s.idle() }

// idle reports whether nothing is running. 2.1.197 reports idle while background agents run, so the
// tasks count as well.
func (s *runState) idle() bool {
	return !s.turn && !s.waiting && (!s.seenState || s.stateIdle) && !s.tasks.agents()
}

// answers reports whether the result belongs to the turn of a prompt. An older CLI does not name the
// prompts, and a newer one names none for a turn that no prompt started, for example when a
// background agent has ended.
func (m *Result) answers(promptUUID string) bool {
	if len(m.PromptUUIDs) == 0 {
		return m.Origin.Kind == "" || m.Origin.Kind == "human"
	}
	return slices.Contains(m.PromptUUIDs, promptUUID)
}
