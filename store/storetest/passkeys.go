package storetest

import (
	"context"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store"
)

func passkey(u account.User, key string) account.Passkey {
	return account.Passkey{
		PasskeyID: uuid.NewString(), UserID: u.UserID, Name: "laptop", KeyID: []byte(key), RPID: "sayso.example",
		Data: []byte("public\x00half"), CreatedAt: begin,
	}
}

func passkeys(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("KeepsEveryField", func(t *testing.T, st store.Store) {
		ada, bob := newUser(t, st, "Ada"), newUser(t, st, "Bob")
		p, later, his := passkey(ada, "a\x00key"), passkey(ada, "b"), passkey(bob, "c")
		p.CreatedBy = "the maker"
		p.SignCount, p.LastUsedAt, later.CreatedAt, his.CreatedAt = 4_000_000_000, after(1), after(2), after(3)
		for _, k := range []account.Passkey{later, his, p} {
			must(t, st.AddPasskey(ctx, k))
		}
		hers, err := st.Passkeys(ctx, ada.UserID)
		must(t, err)
		equal(t, "hers", hers, []account.Passkey{p, later})
		all, err := st.Passkeys(ctx, "")
		must(t, err)
		equal(t, "all", all, []account.Passkey{p, later, his})

		wantError(t, "a key that is known", st.AddPasskey(ctx, passkey(bob, "a\x00key")), account.ErrExists)
		wantError(t, "of nobody", st.AddPasskey(ctx, passkey(account.User{UserID: uuid.NewString()}, "d")), account.ErrNotFound)
	})

	s.run("CounterNeverDecreases", func(t *testing.T, st store.Store) {
		ada := newUser(t, st, "Ada")
		p, silent := passkey(ada, "a"), passkey(ada, "b")
		silent.CreatedAt = after(1)
		must(t, st.AddPasskey(ctx, p))
		must(t, st.AddPasskey(ctx, silent))
		must(t, st.UsePasskey(ctx, p.PasskeyID, 7, []byte("new"), after(2)))
		for _, count := range []uint32{7, 6, 0} {
			wantError(t, "a counter that does not grow", st.UsePasskey(ctx, p.PasskeyID, count, p.Data, after(3)), account.ErrCloned)
		}
		for range 2 {
			must(t, st.UsePasskey(ctx, silent.PasskeyID, 0, silent.Data, after(3)))
		}
		wantError(t, "unknown", st.UsePasskey(ctx, uuid.NewString(), 1, nil, begin), account.ErrNotFound)
		p.SignCount, p.Data, p.LastUsedAt, silent.LastUsedAt = 7, []byte("new"), after(2), after(3)
		list, err := st.Passkeys(ctx, ada.UserID)
		must(t, err)
		equal(t, "passkeys", list, []account.Passkey{p, silent})
	})

	s.run("CounterIsUsedOnce", func(t *testing.T, st store.Store) {
		p := passkey(newUser(t, st, "Ada"), "a")
		must(t, st.AddPasskey(ctx, p))
		var wg sync.WaitGroup
		var errs [8]error
		for i := range errs {
			wg.Go(func() { errs[i] = st.UsePasskey(ctx, p.PasskeyID, 1, p.Data, after(1)) })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				wantError(t, "the others", err, account.ErrCloned)
			}
		}
		equal(t, "winners", won, 1)
	})

	s.run("RemovalEndsItsSignIns", func(t *testing.T, st store.Store) {
		ada, bob := newUser(t, st, "Ada"), newUser(t, st, "Bob")
		p := passkey(ada, "a")
		must(t, st.AddPasskey(ctx, p))
		kept, made, other := credential(ada, account.Cookie, 1), credential(ada, account.Cookie, 2), credential(ada, account.Cookie, 3)
		kept.Method, kept.MethodID = account.ByPasskey, p.PasskeyID
		made.Method, made.MethodID = account.ByPasskey, p.PasskeyID
		for _, c := range []account.Credential{kept, made, other} {
			must(t, st.AddCredential(ctx, c))
		}
		wantError(t, "of somebody else", st.RemovePasskey(ctx, bob.UserID, p.PasskeyID, ""), account.ErrNotFound)
		_, _, err := st.Credential(ctx, made.Kind, made.Hash, begin)
		must(t, err)
		must(t, st.RemovePasskey(ctx, ada.UserID, p.PasskeyID, kept.CredentialID))
		wantError(t, "again", st.RemovePasskey(ctx, ada.UserID, p.PasskeyID, ""), account.ErrNotFound)
		for _, c := range []account.Credential{kept, other} {
			_, _, err := st.Credential(ctx, c.Kind, c.Hash, begin)
			must(t, err)
		}
		_, _, err = st.Credential(ctx, made.Kind, made.Hash, begin)
		wantError(t, "what it made", err, account.ErrNotFound)
		list, err := st.Passkeys(ctx, "")
		must(t, err)
		equal(t, "passkeys", len(list), 0)
	})

	s.run("IncidentsAreRecorded", func(t *testing.T, st store.Store) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { must(t, st.AddIncident(ctx, []byte(`{"what":"passkey_refused","why":"é"}`))) })
		}
		wg.Wait()
		list := readAudit(t, st)
		equal(t, "entries", len(list), 4)
		equal(t, "what", list[3].What, "passkey_refused")
	})
}
