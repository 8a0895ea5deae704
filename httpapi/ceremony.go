package httpapi

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
)

// ceremonyTTL is how long a person may take between the two calls of a two-step
// sign-in.
const ceremonyTTL = 5 * time.Minute

// ceremonyCipher encrypts the state of a two-step sign-in for a cookie of the browser
// that began it, so only that browser can finish it, and unfinished ones take no memory.
// Every server of the database has the key, so any can finish it.
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
