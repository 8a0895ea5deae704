// Package access decides what a signed-in person may see and do, by the projects that
// are in force. Every edge asks it.
package access

import (
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Person returns who acts, as projects know them.
func Person(who account.Identity) project.Person {
	return project.Person{UserID: who.User.UserID, Role: who.User.Role, Most: who.Credential.Role}
}

// PlaceOf returns where a session is.
func PlaceOf(ses session.Session) project.Place {
	return project.Place{ProjectID: ses.InProject, OwnerID: ses.OwnerID, Mode: ses.PermissionMode, Tools: ses.AllowedTools}
}

// Actor returns a person as the record of an answer shows them.
func Actor(id account.Identity) pending.Actor {
	return pending.Actor{UserID: id.User.UserID, Name: id.User.Name, Device: id.Device(), Address: id.From}
}

// PlaceOfProcess returns where a process is. What it may use unasked is not known here.
func PlaceOfProcess(p session.ProcessState) project.Place {
	return project.Place{ProjectID: p.InProject, OwnerID: p.OwnerID, Mode: p.PermissionMode}
}
