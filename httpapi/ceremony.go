package httpapi

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"
)

// ceremonyTTL is how long a person may take between the two calls of a two-step
// sign-in.
const ceremonyTTL = 5 * time.Minute

// ceremonies store the state of a two-step sign-in encrypted in a cookie of the browser
// that began it, so only that browser can finish it, and unfinished ones take no
// memory. Each can be finished once. A restart of the server invalidates all.
type ceremonies struct {
	aead cipher.AEAD

	mu   sync.Mutex
	used map[string]time.Time // nonce → expiry
}

func newCeremonies() *ceremonies {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has a length of AES
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // the block is AES
	}
	return &ceremonies{aead: aead, used: map[string]time.Time{}}
}

// sealedCeremony is the plaintext of the cookie.
type sealedCeremony struct {
	Until time.Time       `json:"until"`
	Value json.RawMessage `json:"value"`
}

// useOnce reports whether a ceremony has not expired and is finished for the first
// time.
func (c *ceremonies) useOnce(nonce string, until, now time.Time) bool {
	if !now.Before(until) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.used[nonce]; used {
		return false
	}
	for other, expiry := range c.used {
		if now.After(expiry) {
			delete(c.used, other)
		}
	}
	c.used[nonce] = until
	return true
}
