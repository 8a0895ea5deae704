package decision

import (
	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
)

// ServerAction is what a person does to an MCP server of a session.
type ServerAction string

// The actions, as the wire names them.
const (
	EnableServer    ServerAction = "enable"
	DisableServer   ServerAction = "disable"
	ReconnectServer ServerAction = "reconnect"
	SignInServer    ServerAction = "sign_in"
	FinishSignIn    ServerAction = "finish_sign_in"
)

// ServerActions lists all actions.
var ServerActions = []ServerAction{EnableServer, DisableServer, ReconnectServer, SignInServer, FinishSignIn}

// MayChangeServer checks whether a person may do something to the MCP servers of a session.
// It returns [project.ErrHidden] or a [problem.Error] when they may not. Disabling an MCP server
// only takes tools from Claude; enabling or reconnecting it runs a program or opens a
// connection, as a message to Claude may. A sign-in applies to all sessions on the sayso server,
// so only an admin of that server can start or finish one.
func MayChangeServer(book *project.Book, me project.Person, action ServerAction, ses session.Session) error {
	needed := project.Run
	if action == DisableServer {
		needed = project.Tend
	}
	if err := book.May(me, needed, access.PlaceOf(ses)); err != nil {
		return err
	}
	if action == SignInServer || action == FinishSignIn {
		return book.May(me, project.Manage, project.Place{})
	}
	return nil
}
