package storetest

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store"
)

func links(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("UserAndLinkAreOneStep", func(t *testing.T, st store.Store) {
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
			wantError(t, "of another", err, account.ErrNotFound)
		}
		bob := account.User{UserID: uuid.NewString(), Name: "Bob", Role: account.Viewer, CreatedAt: begin}
		wantError(t, "a link that is known", st.AddLinkedUser(ctx, bob, l), account.ErrExists)
		_, err = st.User(ctx, bob.UserID)
		wantError(t, "its user", err, account.ErrNotFound)
		bob.Name, l.Subject = "Ada", "2"
		wantError(t, "a name that is known", st.AddLinkedUser(ctx, bob, l), account.ErrExists)
		_, err = st.LinkedUser(ctx, l.Issuer, l.Subject)
		wantError(t, "its link", err, account.ErrNotFound)
	})

	s.run("ManualLinksAreRecorded", func(t *testing.T, st store.Store) {
		ada := account.User{UserID: uuid.NewString(), Name: "Ada", Role: account.Member, CreatedAt: begin}
		bob := account.User{UserID: uuid.NewString(), Name: "Bob", Role: account.Member, CreatedAt: begin}
		must(t, st.PutUser(ctx, ada))
		must(t, st.PutUser(ctx, bob))
		entries := func(want int) {
			t.Helper()
			list, err := st.Audit(ctx, 0, 100)
			must(t, err)
			equal(t, "entries on record", len(list), want)
		}
		l := account.Link{Issuer: "https://idp.example", Subject: "1", UserID: ada.UserID, CreatedAt: begin, ByHand: true}
		must(t, st.AddLink(ctx, l, []byte(`{"what":"identity_linked"}`)))
		stolen := l
		stolen.UserID = bob.UserID
		wantError(t, "a link that is known", st.AddLink(ctx, stolen, []byte(`{}`)), account.ErrExists)
		nobody := account.Link{Issuer: l.Issuer, Subject: "2", UserID: uuid.NewString(), CreatedAt: begin}
		wantError(t, "a link of nobody", st.AddLink(ctx, nobody, []byte(`{}`)), account.ErrNotFound)
		entries(1)
		list, err := st.Links(ctx, ada.UserID)
		must(t, err)
		equal(t, "links", list, []account.Link{l})
		got, err := st.LinkedUser(ctx, l.Issuer, l.Subject)
		must(t, err)
		equal(t, "linked user", got.UserID, ada.UserID)

		wantError(t, "unlinked by another", st.RemoveLink(ctx, stolen, "", []byte(`{}`)), account.ErrNotFound)
		entries(1)
		cookies := map[string]bool{"kept": true, "ended": false, "by password": true}
		for name := range cookies {
			c := account.Credential{CredentialID: uuid.NewString(), Kind: account.Cookie, UserID: ada.UserID, Name: name, Hash: account.Hash(name), CreatedAt: begin, Method: account.ByOIDC}
			if name == "by password" {
				c.Method = account.ByPassword
			}
			if name == "kept" {
				c.CredentialID = "kept"
			}
			must(t, st.AddCredential(ctx, c))
		}
		must(t, st.RemoveLink(ctx, l, "kept", []byte(`{"what":"identity_unlinked"}`)))
		entries(2)
		for name, live := range cookies {
			_, _, err := st.Credential(ctx, account.Cookie, account.Hash(name), begin)
			equal(t, name, err == nil, live)
		}
		wantError(t, "unlinked twice", st.RemoveLink(ctx, l, "", []byte(`{}`)), account.ErrNotFound)
		entries(2)
		list, err = st.Links(ctx, ada.UserID)
		must(t, err)
		equal(t, "links that are left", len(list), 0)
	})
}
