package postgres_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// TestCredentialEndsWithAnAncestorThatEndsMeanwhile revokes a token while a credential is stored that
// descends from it over two others.
func TestCredentialEndsWithAnAncestorThatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t)
	st, conn, watch := openPatient(t, dsn), outside(t, dsn), outside(t, dsn)
	ada := account.User{UserID: uuid.NewString(), Name: "Ada", Role: account.Admin, CreatedAt: time.Now()}
	must(t, st.PutUser(ctx, ada))
	credential := func(n int, kind account.CredentialKind, parent string) account.Credential {
		hash := sha256.Sum256([]byte(fmt.Sprint(n)))
		return account.Credential{CredentialID: uuid.NewString(), Kind: kind, UserID: ada.UserID, Name: "laptop", Hash: hash[:], CreatedAt: time.Now(),
			ParentID: parent, Bound: parent != ""}
	}
	token := credential(1, account.APIToken, "")
	link := credential(2, account.SignInLink, token.CredentialID)
	cookie := credential(3, account.Cookie, link.CredentialID)
	for _, c := range []account.Credential{token, link, cookie} {
		must(t, st.AddCredential(ctx, c))
	}
	late := credential(4, account.APIToken, cookie.CredentialID)

	// Another transaction has stored the same hash, so adding waits after it has locked the parents.
	tx, err := conn.Begin(ctx)
	must(t, err)
	_, err = tx.Exec(ctx, `INSERT INTO credentials SELECT * FROM json_populate_record(
		(SELECT c FROM credentials c WHERE credential_id = $1), json_build_object('credential_id', $2::text, 'hash', '\x'||encode($3::bytea, 'hex')))`,
		token.CredentialID, uuid.NewString(), late.Hash)
	must(t, err)
	added, revoked := make(chan error, 1), make(chan error, 1)
	go func() { added <- st.AddCredential(ctx, late) }()
	waitFor(t, watch, waiting("INSERT INTO credentials"))
	go func() { revoked <- st.RevokeCredential(ctx, token.CredentialID) }()
	waitFor(t, watch, waiting("WITH changed AS (UPDATE credentials SET revoked"))
	must(t, tx.Rollback(ctx))
	must(t, errors.Join(<-added, <-revoked))
	if _, _, err := st.Credential(ctx, late.Kind, late.Hash, time.Now()); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("the credential is live: %v", err)
	}
}
