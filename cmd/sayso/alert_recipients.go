package main

import (
	"context"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/store"
)

// alertRecipients lists the people who may answer, with their sessions.
func alertRecipients(directory *account.Directory, known store.Store) func(context.Context) ([]alert.Person, error) {
	return func(ctx context.Context) (list []alert.Person, err error) {
		users, err := directory.Users(ctx)
		if err != nil {
			return nil, err
		}
		projects, err := known.Projects(ctx)
		if err != nil {
			return nil, err
		}
		book := project.NewBook(projects, users)
		for _, u := range users {
			if u.Disabled || !u.Role.AtLeast(account.Member) {
				continue
			}
			who := project.Person{UserID: u.UserID, Role: u.Role}
			list = append(list, alert.Person{UserID: u.UserID, MayAnswer: func(sessionID string) bool {
				if len(projects) == 0 {
					return true
				}
				s, err := known.Session(ctx, sessionID)
				return err == nil && book.May(who, project.Answer, project.Place{ProjectID: s.InProject, OwnerID: s.OwnerID}) == nil
			}})
		}
		return list, nil
	}
}
