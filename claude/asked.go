package claude

// Asked says what a line of the CLI does to the permission requests that are open.
type Asked struct {
	Opened    string // the id of the request that it makes, "" for none
	ToolUseID string // of the call that Opened is about
	Withdrawn string // the id of the request that it withdraws, "" for none
}

// ReadAsked reads what a line of the CLI asks. A line that is no message asks nothing.
func ReadAsked(line []byte) Asked {
	e, err := ReadEnvelope(line)
	switch {
	case err != nil:
	case e.Type == "control_cancel_request":
		return Asked{Withdrawn: e.RequestID}
	case e.Type == "control_request":
		fields, err := appendFields(nil, e.Request)
		if err == nil && text(lookup(fields, "subtype")) == "can_use_tool" {
			return Asked{Opened: e.RequestID, ToolUseID: text(lookup(fields, "tool_use_id"))}
		}
	}
	return Asked{}
}
