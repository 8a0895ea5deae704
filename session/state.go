package session

// moves is the table of legal changes of State. Opening and closing requests does not change
// the state. A resume starts a dead session again.
var moves = map[State][]State{
	Starting:      {AssistantTurn, UserTurn, Dead},
	AssistantTurn: {UserTurn, Dead},
	UserTurn:      {AssistantTurn, Dead},
	Dead:          {Starting},
}

// CanMove reports whether a process may change from one state to another. It is true if both
// are the same.
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
