package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"github.com/sayso-dev/sayso/internal/problem"
)

// Lengths of a password: minimum in characters, maximum in bytes.
const (
	MinPassword = 12
	MaxPassword = 1000
)

// The parameters of argon2id: of the equivalent sets in OWASP's cheat sheet, the one with
// the least memory, because people who are not signed in can trigger the computation.
const (
	argonMemory  = 7 << 10 // KiB
	argonTime    = 5
	argonThreads = 1
	saltLength   = 16
	keyLength    = 32
)

// maxPasswordChecks bounds the memory of parallel password checks.
const maxPasswordChecks = 2

// errMalformed: the format of a stored password is unknown.
var errMalformed = errors.New("stored password is malformed")

// hashPassword returns the stored form of a password, in the PHC string format.
func (d *Directory) hashPassword(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltLength)
	if _, err := rand.Read(salt); err != nil {
		return "", fmt.Errorf("account: random salt: %w", err)
	}
	key, err := d.derive(ctx, password, salt, argonTime, argonMemory, argonThreads, keyLength)
	if err != nil {
		return "", err
	}
	return encodePHC(salt, key), nil
}

func encodePHC(salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		b64.EncodeToString(salt), b64.EncodeToString(key))
}

// dummyPassword is checked for users who are unknown or cannot sign in, so that the check
// takes as long as for others. No known password has a key of zeros.
var dummyPassword = sync.OnceValue(func() string {
	return encodePHC(make([]byte, saltLength), make([]byte, keyLength))
})

// checkPassword reports whether a password matches a stored one, with the parameters of
// the stored one.
func (d *Directory) checkPassword(ctx context.Context, stored, password string) (bool, error) {
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return false, fmt.Errorf("account: %w", errMalformed)
	}
	var memory, time uint32
	var threads uint8
	_, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &time, &threads)
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	key, keyErr := base64.RawStdEncoding.DecodeString(parts[5])
	if err := errors.Join(err, saltErr, keyErr); err != nil || time == 0 || threads == 0 || len(key) < 16 {
		return false, fmt.Errorf("account: %w", errMalformed)
	}
	got, err := d.derive(ctx, password, salt, time, memory, threads, uint32(len(key)))
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, key) == 1, nil
}

// derive computes a key. It blocks while maxPasswordChecks other keys are being computed.
func (d *Directory) derive(ctx context.Context, password string, salt []byte, time, memory uint32, threads uint8, length uint32) ([]byte, error) {
	select {
	case d.passwordChecks <- struct{}{}:
		defer func() { <-d.passwordChecks }()
	case <-ctx.Done():
		return nil, fmt.Errorf("account: check password: %w", ctx.Err())
	}
	return argon2.IDKey([]byte(password), salt, time, memory, threads, length), nil
}

// checkNewPassword returns a [problem.Error] for an unsuitable password.
func checkNewPassword(name, password string) error {
	switch {
	case !utf8.ValidString(password):
		return problem.For("password", "password_not_text")
	case utf8.RuneCountInString(password) < MinPassword:
		return problem.For("password", "password_too_short", "min", MinPassword)
	case len(password) > MaxPassword:
		return problem.For("password", "password_too_long", "max", MaxPassword)
	case strings.EqualFold(password, name), strings.Count(password, password[:1]) == len(password):
		return problem.For("password", "password_too_easy")
	}
	return nil
}
