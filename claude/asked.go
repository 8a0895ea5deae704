package claude

// RequestChange is the effect of a line of the CLI on its open permission requests.
type RequestChange struct {
	Opened    string // id of the request that the line opens, or ""
	ToolUseID string // of the tool call that Opened is about
	Withdrawn string // id of the request that the line withdraws, or ""
}

// ReadRequestChange returns the effect of a line of the CLI. A line that is not a message has none.
func ReadRequestChange(line []byte) RequestChange {
	e, err := ReadEnvelope(line)
	switch {
	case err != nil:
	case e.Type == "control_cancel_request":
		return RequestChange{Withdrawn: e.RequestID}
	case e.Type == "control_request":
		fields, err := appendFields(nil, e.Request)
		if err == nil && text(lookup(fields, "subtype")) == "can_use_tool" {
			return RequestChange{Opened: e.RequestID, ToolUseID: text(lookup(fields, "tool_use_id"))}
		}
	}
	return RequestChange{}
}
