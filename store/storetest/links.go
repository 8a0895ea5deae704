package storetest

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/store"
)

func links(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("AUserWithTheirLinkOrNeither", func(t *testing.T, st store.Store) {
		linked := func(want bool) {
			t.Helper()
			got, err := st.Linked(ctx)
			must(t, err)
			equal(t, "linked", got, want)
		}
		linked(false)
		ada := account.User{UserID: uuid.NewString(), Name: "Ada", Role: account.Admin, CreatedAt: begin}
		l := account.Link{Issuer: "https://idp.example", Subject: "1", UserID: ada.UserID, CreatedAt: begin}
		must(t, st.AddLinkedUser(ctx, ada, l))
		linked(true)
		got, err := st.LinkedUser(ctx, l.Issuer, l.Subject)
		must(t, err)
		equal(t, "linked user", got, ada)
		for _, other := range []account.Link{{Issuer: l.Issuer, Subject: "2"}, {Issuer: "https://other.example", Subject: "1"}} {
			_, err := st.LinkedUser(ctx, other.Issuer, other.Subject)
			is(t, "of another", err, account.ErrNotFound)
		}
		bob := account.User{UserID: uuid.NewString(), Name: "Bob", Role: account.Viewer, CreatedAt: begin}
		is(t, "a link that is known", st.AddLinkedUser(ctx, bob, l), account.ErrExists)
		_, err = st.User(ctx, bob.UserID)
		is(t, "its user", err, account.ErrNotFound)
		bob.Name, l.Subject = "Ada", "2"
		is(t, "a name that is known", st.AddLinkedUser(ctx, bob, l), account.ErrExists)
		_, err = st.LinkedUser(ctx, l.Issuer, l.Subject)
		is(t, "its link", err, account.ErrNotFound)
	})
}
