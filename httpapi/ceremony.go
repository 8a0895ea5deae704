package httpapi

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
)

// ceremonyTTL bounds the time between the two calls of a two-step sign-in.
const ceremonyTTL = 5 * time.Minute

// ceremonyCipher returns the cipher that encrypts the state of a two-step sign-in into a
// cookie. Only the browser that began the sign-in has the cookie and can finish it, and
// unfinished sign-ins take no memory. All servers of the database share the key, so any
// of them can finish it.
func ceremonyCipher(ctx context.Context, store account.Ceremonies) (cipher.AEAD, error) {
	key, err := store.CeremonyKey(ctx)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// sealedCeremony is the plaintext of the cookie.
type sealedCeremony struct {
	Until time.Time       `json:"until"`
	Value json.RawMessage `json:"value"`
}
