// Package access decides what a signed-in person may see and do in each project. The edges
// (wsapi, httpapi) ask it before every command.
package access

import (
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Person converts an identity to the person that package project decides about.
func Person(who account.Identity) project.Person {
	return project.Person{UserID: who.User.UserID, Role: who.User.Role, MaxRole: who.Credential.Role}
}

// PlaceOf returns the place of a session, for package project.
func PlaceOf(ses session.Session) project.Place {
	return project.Place{ProjectID: ses.InProject, OwnerID: ses.OwnerID, Mode: ses.PermissionMode, Tools: ses.AllowedTools, RunnerID: ses.RunnerID}
}

// Sees reports whether a person may see the sessions of a project.
func Sees(book *project.Book, who account.Identity, projectID string) bool {
	return book.May(Person(who), project.See, project.Place{ProjectID: projectID}) == nil
}

// Actor converts an identity to the actor that is stored with an answer.
func Actor(id account.Identity) pending.Actor {
	return pending.Actor{UserID: id.User.UserID, Name: id.User.Name, Device: id.Device(), Address: id.From}
}

// PlaceOfProcess returns the place of a process's session. Its Tools are unknown and stay
// empty.
func PlaceOfProcess(p session.ProcessState) project.Place {
	return project.Place{ProjectID: p.InProject, OwnerID: p.OwnerID, Mode: p.PermissionMode, RunnerID: p.RunnerID}
}
