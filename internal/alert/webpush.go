package alert

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"
)

// Key identifies this server to push services (VAPID, RFC 8292). Browsers bind their
// subscriptions to it: another key invalidates all of them.
type Key struct {
	private *ecdsa.PrivateKey
	public  []byte // uncompressed, 65 bytes
	text    string
}

// OpenKey reads the key from a file. If the file does not exist, OpenKey creates it with a new
// key, readable only by its owner.
func OpenKey(path string) (*Key, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, fmt.Errorf("alert: make the key of push messages: %w", err)
		}
		raw, err := made.Bytes()
		if err != nil {
			return nil, fmt.Errorf("alert: make the key of push messages: %w", err)
		}
		text = []byte(base64.RawURLEncoding.EncodeToString(raw) + "\n")
		if err := writeNew(path, text); err != nil {
			return nil, fmt.Errorf("alert: keep the key of push messages: %w", err)
		}
	} else if err != nil {
		return nil, fmt.Errorf("alert: read the key of push messages: %w", err)
	}
	return ParseKey(path, string(text))
}

// ParseKey parses the text form of a key. place says in an error where the text came from.
func ParseKey(place, text string) (*Key, error) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("alert: %s is no key; remove it, and every browser must allow alerts anew: %w", place, err)
	}
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		return nil, fmt.Errorf("alert: %s is no key; remove it, and every browser must allow alerts anew: %w", place, err)
	}
	public, err := private.PublicKey.Bytes()
	if err != nil {
		return nil, fmt.Errorf("alert: %s: %w", place, err)
	}
	return &Key{private, public, text}, nil
}

// Text returns the text form of the key, for ParseKey.
func (k *Key) Text() string { return k.text }

// writeNew creates a file atomically, because half a key would be read as a key.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Public returns the applicationServerKey for browsers, in base64url without padding.
func (k *Key) Public() string { return base64.RawURLEncoding.EncodeToString(k.public) }

// authorization returns the Authorization header for the push service of an endpoint.
func (k *Key) authorization(endpoint, subject string, now time.Time) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"aud": u.Scheme + "://" + u.Host, "exp": now.Add(12 * time.Hour).Unix(), "sub": subject,
	})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + encode(claims)
	hash := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, k.private, hash[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return "vapid t=" + signed + "." + encode(signature) + ", k=" + k.Public(), nil
}

// Sizes of a push message (RFC 8188, 8291).
const (
	recordSize = 4096
	maxPlain   = recordSize - 16 - 1 // less the tag and the delimiter
)

// encrypt encrypts a message for one browser (RFC 8291, aes128gcm).
func encrypt(plain, browser, auth []byte) ([]byte, error) {
	if len(plain) > maxPlain {
		return nil, fmt.Errorf("alert: a push message of %d bytes", len(plain))
	}
	theirs, err := ecdh.P256().NewPublicKey(browser)
	if err != nil {
		return nil, err
	}
	ours, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	shared, err := ours.ECDH(theirs)
	if err != nil {
		return nil, err
	}
	public := ours.PublicKey().Bytes()
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	key, nonce, err := contentKey(shared, auth, salt, browser, public)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	out := binary.BigEndian.AppendUint32(salt, recordSize)
	out = append(out, byte(len(public)))
	out = append(out, public...)
	return seal.Seal(out, nonce, append(plain, 2), nil), nil
}

// contentKey derives the key and the nonce of the only record.
func contentKey(shared, auth, salt, browser, server []byte) (key, nonce []byte, err error) {
	prk, err := hkdf.Extract(sha256.New, shared, auth)
	if err != nil {
		return nil, nil, err
	}
	ikm, err := hkdf.Expand(sha256.New, prk, "WebPush: info\x00"+string(browser)+string(server), 32)
	if err != nil {
		return nil, nil, err
	}
	if prk, err = hkdf.Extract(sha256.New, ikm, salt); err != nil {
		return nil, nil, err
	}
	if key, err = hkdf.Expand(sha256.New, prk, "Content-Encoding: aes128gcm\x00", 16); err != nil {
		return nil, nil, err
	}
	nonce, err = hkdf.Expand(sha256.New, prk, "Content-Encoding: nonce\x00", 12)
	return key, nonce, err
}
