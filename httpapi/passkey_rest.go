package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

// The ceremonies of passkeys. A challenge of one is not valid in another.
const (
	signInCeremony   = "passkey-sign-in"
	registerCeremony = "passkey-new"
	setUpCeremony    = "passkey-set-up"
)

// passkeyOwner implements [webauthn.User].
type passkeyOwner struct {
	user account.User
	id   uuid.UUID // known to authenticators; reveals nothing
	keys []webauthn.Credential
}

func (o *passkeyOwner) WebAuthnID() []byte                         { return o.id[:] }
func (o *passkeyOwner) WebAuthnName() string                       { return o.user.Name }
func (o *passkeyOwner) WebAuthnDisplayName() string                { return o.user.Name }
func (o *passkeyOwner) WebAuthnCredentials() []webauthn.Credential { return o.keys }

func newPasskeyOwner(u account.User, passkeys ...account.Passkey) (*passkeyOwner, error) {
	id, err := uuid.Parse(u.UserID)
	if err != nil {
		return nil, err
	}
	o := &passkeyOwner{user: u, id: id}
	for _, p := range passkeys {
		var key webauthn.Credential
		if err := json.Unmarshal(p.Data, &key); err != nil {
			return nil, err
		}
		key.Authenticator.SignCount = p.SignCount
		o.keys = append(o.keys, key)
	}
	return o, nil
}

// passkeyProblem returns why a browser cannot use passkeys at the address of a request, or
// nil. Browsers bind passkeys to a domain name and require HTTPS, except for localhost.
func (s *Server) passkeyProblem(r *http.Request) *problem.Error {
	if public := s.o.PublicURL; public != "" && public != s.origin(r) {
		return problem.New("passkeys_elsewhere", "url", public)
	}
	name := hostName(r.Host)
	if ip, err := netip.ParseAddr(name); err == nil {
		if ip.IsLoopback() && !s.usesHTTPS(r) {
			local := "localhost"
			if _, port, err := net.SplitHostPort(r.Host); err == nil {
				local = net.JoinHostPort(local, port)
			}
			return problem.New("passkeys_loopback", "host", name, "url", "http://"+local)
		}
		return problem.New("passkeys_ip_address", "host", name)
	}
	if !s.usesHTTPS(r) && name != "localhost" {
		return problem.New("passkeys_need_https")
	}
	if protocol.ValidateRPID(name) != nil {
		return problem.New("passkeys_need_domain", "host", name)
	}
	return nil
}

// wirePasskeyProblem converts the result of passkeyProblem.
func wirePasskeyProblem(p *problem.Error) (*string, wire.Reasons) {
	if p == nil {
		return nil, nil
	}
	return &p.Message, wire.Reasons{"problem": {Reason: p.Reason, Params: p.Params}}
}

// relyingParty returns the WebAuthn relying party for the address of a request.
func (s *Server) relyingParty(r *http.Request) (*webauthn.WebAuthn, error) {
	if p := s.passkeyProblem(r); p != nil {
		return nil, p
	}
	timeout := webauthn.TimeoutConfig{Enforce: true, Timeout: ceremonyTTL, TimeoutUVD: ceremonyTTL}
	return webauthn.New(&webauthn.Config{
		RPID: hostName(r.Host), RPDisplayName: "sayso", RPOrigins: []string{s.origin(r)},
		AttestationPreference: protocol.PreferNoAttestation,
		// People type no name to sign in, and a stolen device alone is not enough.
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{Login: timeout, Registration: timeout},
		// Password managers send extension outputs that were not requested.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
}

// getLogin lists the ways to sign in. It is public.
func (s *Server) getLogin(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	p := s.passkeyProblem(r)
	ways := wire.SignInWays{Passkey: wire.PasskeyWay{Available: p == nil}}
	ways.Passkey.Problem, ways.Passkey.Reasons = wirePasskeyProblem(p)
	if s.o.OIDC != nil {
		ways.OIDC = &wire.OIDCWay{Name: s.o.OIDC.Name}
	}
	writeJSON(w, http.StatusOK, ways)
	return nil
}

// postPasskeyChallenge begins a sign-in by passkey.
func (s *Server) postPasskeyChallenge(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	if err := readBody(r, &struct{}{}); err != nil {
		return err
	}
	rp, err := s.relyingParty(r)
	if err != nil {
		return err
	}
	options, sessionData, err := rp.BeginDiscoverableLogin()
	if err != nil {
		return err
	}
	if err := s.beginCeremony(w, r, signInCeremony, sessionData); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.PasskeyChallenge{PublicKey: wire.Encode(options.Response)})
	return nil
}

// postPasskeyLogin finishes a sign-in by passkey. All failures look the same, so that
// they do not reveal who has an account.
func (s *Server) postPasskeyLogin(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	var body wire.PasskeyLogin
	if err := readBody(r, &body); err != nil {
		return err
	}
	rp, err := s.relyingParty(r)
	if err != nil {
		return err
	}
	signed, err := protocol.ParseCredentialRequestResponseBytes(body.Credential)
	if err != nil {
		ref := refusal.For("credential", "passkey_malformed")
		ref.Cause = err
		return ref
	}
	var sessionData webauthn.SessionData
	if err := s.finishCeremony(w, r, signInCeremony, &sessionData); err != nil {
		return err
	}
	succeeded, err := s.beginAttempt(r, "passkey of "+string(signed.Response.UserHandle))
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context())
	var passkey account.Passkey
	var internalErr error // the server failed, not the sign-in
	key, err := rp.ValidateDiscoverableLogin(func(keyID, userHandle []byte) (webauthn.User, error) {
		id, err := uuid.FromBytes(userHandle)
		if err != nil {
			return nil, err
		}
		var user account.User
		if passkey, user, err = s.o.Directory.PasskeyOf(ctx, id.String(), keyID); err != nil {
			if !errors.Is(err, account.ErrRefused) {
				internalErr = err
			}
			return nil, err
		}
		return newPasskeyOwner(user, passkey)
	}, sessionData, signed)
	if internalErr != nil {
		return internalErr
	}
	if err != nil {
		ref := refusal.New("passkey_unknown")
		ref.Cause = err
		s.recordFailure(r, "", ref, account.ByPasskey)
		return ref
	}
	count := signed.Response.AuthenticatorData.Counter
	who, secret, err := s.o.Directory.SignInByPasskey(ctx, passkey, count, wire.Encode(key), deviceName(r.UserAgent()), s.remoteAddress(r))
	if errors.Is(err, account.ErrCloned) {
		s.o.Log.WarnContext(ctx, "a passkey was refused: its counter did not grow, there may be a copy of it", "user", passkey.UserID, "passkey", passkey.PasskeyID)
		ref := refusal.New("passkey_copied")
		ref.Cause = err
		return ref
	}
	if err != nil {
		return err
	}
	succeeded()
	return s.completeSignIn(ctx, w, r, who, secret)
}

// postPasskeyNew begins to register a passkey. It requires proof of identity again, so
// that a stolen browser session cannot become permanent.
func (s *Server) postPasskeyNew(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.PasskeyNew
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := requireBrowser(who); err != nil {
		return err
	}
	rp, err := s.relyingParty(r)
	if err != nil {
		return err
	}
	if err := s.proveOwner(r, who, body.CurrentPassword); err != nil {
		return err
	}
	existing, err := s.o.Directory.Passkeys(r.Context(), who.User.UserID)
	if err != nil {
		return err
	}
	owner, err := newPasskeyOwner(who.User, existing...)
	if err != nil {
		return err
	}
	options, sessionData, err := rp.BeginRegistration(owner, webauthn.WithExclusions(webauthn.Credentials(owner.keys).CredentialDescriptors()))
	if err != nil {
		return err
	}
	if err := s.beginCeremony(w, r, registerCeremony, sessionData); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.PasskeyChallenge{PublicKey: wire.Encode(options.Response)})
	return nil
}

func (s *Server) postPasskey(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.PasskeyCreate
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := requireBrowser(who); err != nil {
		return err
	}
	var sessionData webauthn.SessionData
	p, err := s.finishRegistration(w, r, who, body, registerCeremony, &sessionData, &sessionData)
	if err != nil {
		return err
	}
	p, err = s.o.Directory.AddPasskey(context.WithoutCancel(r.Context()), who, body.Name, p)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wirePasskey(p))
	return nil
}

// finishRegistration finishes a ceremony that registers a passkey. It decodes the state
// of the ceremony into state, which contains session.
func (s *Server) finishRegistration(w http.ResponseWriter, r *http.Request, who account.Identity, body wire.PasskeyCreate, ceremony string, state any, session *webauthn.SessionData) (account.Passkey, error) {
	rp, err := s.relyingParty(r)
	if err != nil {
		return account.Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(body.Credential)
	if err != nil {
		ref := refusal.For("credential", "passkey_malformed")
		ref.Cause = err
		return account.Passkey{}, ref
	}
	if err := s.finishCeremony(w, r, ceremony, state); err != nil {
		return account.Passkey{}, err
	}
	owner, err := newPasskeyOwner(who.User)
	if err != nil {
		return account.Passkey{}, err
	}
	key, err := rp.CreateCredential(owner, *session, parsed)
	if err != nil {
		ref := refusal.For("credential", "passkey_unusable")
		ref.Cause = err
		return account.Passkey{}, ref
	}
	key.Attestation = webauthn.CredentialAttestation{} // not requested
	return account.Passkey{KeyID: key.ID, RPID: session.RelyingPartyID, Data: wire.Encode(key), SignCount: key.Authenticator.SignCount}, nil
}

// passkeySetUp is the state of a set-up by passkey. Name is the admin's name, which the
// device has shown.
type passkeySetUp struct {
	Session webauthn.SessionData `json:"session"`
	Name    string               `json:"name"`
}

// postPasskeySetUpBegin begins to set up the server with a passkey instead of a
// password.
func (s *Server) postPasskeySetUpBegin(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.PasskeySetUp
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := requireSetUpBrowser(who); err != nil {
		return err
	}
	rp, err := s.relyingParty(r)
	if err != nil {
		return err
	}
	// Check first, so that the device stores no passkey that the server would refuse.
	if who.User.Name, err = s.o.Directory.CheckSetUpName(r.Context(), who, body.Name); err != nil {
		return err
	}
	owner, err := newPasskeyOwner(who.User)
	if err != nil {
		return err
	}
	options, session, err := rp.BeginRegistration(owner)
	if err != nil {
		return err
	}
	if err := s.beginCeremony(w, r, setUpCeremony, passkeySetUp{Session: *session, Name: who.User.Name}); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.PasskeyChallenge{PublicKey: wire.Encode(options.Response)})
	return nil
}

func (s *Server) postPasskeySetUp(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.PasskeyCreate
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := requireSetUpBrowser(who); err != nil {
		return err
	}
	var begun passkeySetUp
	p, err := s.finishRegistration(w, r, who, body, setUpCeremony, &begun, &begun.Session)
	if err != nil {
		return err
	}
	who.User, err = s.o.Directory.SetUpByPasskey(context.WithoutCancel(r.Context()), who, begun.Name, body.Name, p)
	if err != nil {
		return err
	}
	me, err := s.wireMe(r.Context(), who)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, me)
	return nil
}

func (s *Server) getPasskeys(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	all, err := s.o.Directory.Passkeys(r.Context(), who.User.UserID)
	if err != nil {
		return err
	}
	list := wire.PasskeyList{Passkeys: make([]wire.Passkey, 0, len(all))}
	list.Problem, list.Reasons = wirePasskeyProblem(s.passkeyProblem(r))
	for _, p := range all {
		list.Passkeys = append(list.Passkeys, wirePasskey(p))
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) deletePasskey(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if err := requireUnlimited(who); err != nil {
		return err
	}
	if err := s.o.Directory.RemovePasskey(context.WithoutCancel(r.Context()), who, r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func wirePasskey(p account.Passkey) wire.Passkey {
	return wire.Passkey{
		PasskeyID: p.PasskeyID, Name: p.Name, Domain: strings.ToLower(p.RPID), CreatedAt: wire.Seconds(p.CreatedAt),
		LastUsedAt: wire.SecondsOrNull(p.LastUsedAt),
	}
}
