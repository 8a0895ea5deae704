package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/visible"
	"github.com/sayso-dev/sayso/session"
)

// followEvery is how often sayso logs --follow reads new entries.
const followEvery = time.Second

// logsFlags are the flags of sayso logs.
type logsFlags struct {
	remoteFlags
	follow bool
	last   int
}

func (f *logsFlags) define(flags *flag.FlagSet) {
	flags.BoolVar(&f.follow, "follow", false, "keep printing new entries until you press Ctrl+C")
	flags.BoolVar(&f.follow, "f", false, "the same as --follow")
	flags.IntVar(&f.last, "last", 0, "start with the last `number` entries; 0 for all")
	f.remoteFlags.define(flags)
}

// loggedItem is an entry of a transcript, as the server sends it. The fields depend on the kind.
type loggedItem struct {
	Seq        int64              `json:"seq"`
	Rev        int64              `json:"rev"`
	Key        string             `json:"key"`
	At         float64            `json:"at"`
	Kind       session.ItemKind   `json:"kind"`
	AgentID    *string            `json:"agent_id"`
	Text       string             `json:"text"`
	By         string             `json:"by"`
	Level      string             `json:"level"`
	ToolName   string             `json:"tool_name"`
	Input      json.RawMessage    `json:"input"`
	InputBytes int                `json:"input_bytes"`
	Status     session.ToolStatus `json:"status"`
	Result     string             `json:"result"`
	Summary    string             `json:"summary"`
	Todos      []session.Todo     `json:"todos"`

	Description string `json:"description"`
}

// logPage is a page of a transcript.
type logPage struct {
	Items []json.RawMessage `json:"items"`
	Next  int64             `json:"next"`
	More  bool              `json:"more"`
}

// logs prints the transcript of a session.
func logs(ctx context.Context, args []string, std streams) error {
	var f logsFlags
	rest, err := parseFlags(newFlags("logs", f.define), args)
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return usageError("it needs the id of one session; 'sayso sessions' lists them")
	case f.last < 0:
		return usageError("--last: give a number from 0 on")
	}
	r, err := f.connect()
	if err != nil {
		return err
	}
	defer r.Close()
	id, err := findSession(ctx, r, rest[0])
	if err != nil {
		return err
	}
	to := newScreen(std.out, os.Getenv)
	printed := map[string]session.ToolStatus{} // by key: entries change while Claude works
	printItem := func(raw json.RawMessage) error {
		if f.json {
			_, err := std.out.Write(append(visible.JSON(raw), '\n'))
			return err
		}
		var it loggedItem
		if err := json.Unmarshal(raw, &it); err != nil {
			return err
		}
		before, again := printed[it.Key]
		if again && before == it.Status {
			return nil
		}
		printed[it.Key] = it.Status
		it.print(to, again)
		return nil
	}
	next, first := int64(0), true
	for {
		var items []json.RawMessage
		for more := true; more; {
			page, err := get[logPage](ctx, r, "/api/sessions/"+id+"/transcript?limit=500&after="+strconv.FormatInt(next, 10))
			if ctx.Err() != nil {
				return nil // Ctrl+C
			}
			if err != nil {
				return err
			}
			items, next, more = append(items, page.Items...), page.Next, page.More
			if !first || f.last == 0 { // each page as it arrives
				for _, raw := range items {
					if err := printItem(raw); err != nil {
						return err
					}
				}
				items = nil
			} else if len(items) > f.last {
				items = append([]json.RawMessage(nil), items[len(items)-f.last:]...)
			}
		}
		for _, raw := range items {
			if err := printItem(raw); err != nil {
				return err
			}
		}
		first = false
		if !f.follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

// print prints an entry. again means that it was printed before, and has changed.
func (it loggedItem) print(to *screen, again bool) {
	who, text, style := "", it.Text, ""
	switch it.Kind {
	case session.ItemUser:
		who = "You"
		if it.By != "" {
			who = visible.Line(it.By)
		}
	case session.ItemText:
		who = "Claude"
	case session.ItemThinking:
		who, style = "Thinking", dim
	case session.ItemPlan:
		who = "Plan"
	case session.ItemToolCall:
		who = visible.Line(it.ToolName)
		switch {
		case it.Status == session.ToolRunning:
			text = inputText(it.Input)
			if len(it.Input) == 0 {
				text = count(it.InputBytes, "byte", "bytes") + " of input, too large to show here"
			}
		case again:
			who, text = who+" "+string(it.Status), it.Result
		default:
			who, text = who+" "+string(it.Status), strings.TrimRight(inputText(it.Input), "\n")+"\n"+it.Result
		}
		if it.Status == session.ToolFailed {
			style = red
		}
	case session.ItemTodo:
		who = "To do"
		for _, todo := range it.Todos {
			text += map[string]string{"completed": "[x] ", "in_progress": "[>] "}[todo.Status]
			if todo.Status == "pending" {
				text += "[ ] "
			}
			text += todo.Content + "\n"
		}
	case session.ItemSubagent:
		who, text = "Subagent "+string(it.Status), it.Description+"\n"+it.Result
	case session.ItemNote:
		who, style = "Note", dim
		if it.Level == "error" {
			style = red
		}
	case session.ItemResolved:
		who, text, style = "Decision", it.ToolName+": "+it.Summary, bold
		if it.By != "" {
			text += " by " + it.By
		}
	case session.ItemResult:
		who, text, style = "End of turn", "", dim // an earlier entry has the text
	default:
		who = visible.Line(string(it.Kind))
	}
	at := time.UnixMicro(int64(it.At * 1e6)).Format("15:04:05")
	to.printf("%s %s\n", to.styled(dim, at), to.styled(cmp.Or(style, bold), who))
	shown := visible.Prose(text)
	if it.Kind == session.ItemToolCall {
		shown = visible.Code(text)
	}
	to.quoted(strings.TrimRight(shown, "\n"))
}
