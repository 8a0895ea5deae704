package httpapi_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/wire"
)

// authenticator is a device that makes one passkey and signs with it. What it says
// of itself can be changed, to see whether it is believed.
type authenticator struct {
	t        testing.TB
	key      *ecdsa.PrivateKey
	id, user []byte
	origin   string
	rpID     string
	verified bool // it has seen a finger, or heard a PIN
	count    uint32
	spoiled  bool // the signature is over something else
}

func newAuthenticator(t testing.TB, origin, rpID string) *authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authenticator{t: t, key: key, id: make([]byte, 32), origin: origin, rpID: rpID, verified: true}
	_, _ = rand.Read(a.id)
	return a
}

var b64 = base64.RawURLEncoding

// challenge is what the tests read of the options that the server gave.
type challenge struct {
	Challenge string `json:"challenge"`
	RP        struct {
		ID string `json:"id"`
	} `json:"rp"`
	RPID string `json:"rpId"`
	User struct {
		ID string `json:"id"`
	} `json:"user"`
	Verification string `json:"userVerification"`
	Selection    struct {
		Resident     string `json:"residentKey"`
		Verification string `json:"userVerification"`
	} `json:"authenticatorSelection"`
	Exclude []struct {
		ID string `json:"id"`
	} `json:"excludeCredentials"`
}

func readChallenge(t testing.TB, a apitest.Response) challenge {
	t.Helper()
	var c wire.PasskeyChallenge
	a.Decode(t, &c)
	var o challenge
	if err := json.Unmarshal(c.PublicKey, &o); err != nil || o.Challenge == "" {
		t.Fatalf("no challenge in %d %s: %v", a.Status, a.Body, err)
	}
	return o
}

func (a *authenticator) clientData(kind, challenge string) []byte {
	return wire.Encode(map[string]any{"type": kind, "challenge": challenge, "origin": a.origin, "crossOrigin": false})
}

func (a *authenticator) data(flags byte) []byte {
	hash := sha256.Sum256([]byte(a.rpID))
	flags |= 0x01 // somebody is there
	if a.verified {
		flags |= 0x04
	}
	return binary.BigEndian.AppendUint32(append(hash[:], flags), a.count)
}

// create answers the options of a new passkey.
func (a *authenticator) create(o challenge) json.RawMessage {
	a.t.Helper()
	var err error
	if a.user, err = b64.DecodeString(o.User.ID); err != nil {
		a.t.Fatal(err)
	}
	point, err := a.key.PublicKey.Bytes()
	if err != nil {
		a.t.Fatal(err)
	}
	// CBOR by hand: {1: 2, 3: -7, -1: 1, -2: x, -3: y} is a key for ES256.
	cose := append([]byte{0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20}, point[1:33]...)
	cose = append(append(cose, 0x22, 0x58, 0x20), point[33:]...)
	data := append(a.data(0x40), make([]byte, 16)...) // of no make
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.id)))
	data = append(append(data, a.id...), cose...)
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"), byte(len(data)))
	return a.credential(map[string]any{
		"clientDataJSON": b64.EncodeToString(a.clientData("webauthn.create", o.Challenge)), "attestationObject": b64.EncodeToString(append(object, data...)),
	})
}

// get answers the options of a sign-in, and counts.
func (a *authenticator) get(o challenge) json.RawMessage {
	a.t.Helper()
	data, client := a.data(0), a.clientData("webauthn.get", o.Challenge)
	hash := sha256.Sum256(client)
	signed := append(data[:len(data):len(data)], hash[:]...)
	if a.spoiled {
		signed = append(signed, 0)
	}
	digest := sha256.Sum256(signed)
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	if err != nil {
		a.t.Fatal(err)
	}
	return a.credential(map[string]any{
		"clientDataJSON": b64.EncodeToString(client), "authenticatorData": b64.EncodeToString(data),
		"signature": b64.EncodeToString(signature), "userHandle": b64.EncodeToString(a.user),
	})
}

func (a *authenticator) credential(response map[string]any) json.RawMessage {
	return wire.Encode(map[string]any{
		"id": b64.EncodeToString(a.id), "rawId": b64.EncodeToString(a.id), "type": "public-key", "response": response, "clientExtensionResults": map[string]any{},
	})
}
