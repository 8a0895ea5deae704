package session

// moves is the table of legal changes of State. A process stays in its state
// while requests open and close; a dead session starts again by a resume.
var moves = map[State][]State{
	Starting:      {AssistantTurn, UserTurn, Dead},
	AssistantTurn: {UserTurn, Dead},
	UserTurn:      {AssistantTurn, Dead},
	Dead:          {Starting},
}

// CanMove reports whether a process may change from one state to another.
// Staying is always allowed.
func CanMove(from, to State) bool {
	if from == to {
		return true
	}
	for _, s := range moves[from] {
		if s == to {
			return true
		}
	}
	return false
}
