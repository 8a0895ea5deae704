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

// The ceremonies of passkeys; a challenge of one is none of the others.
const (
	signInCeremony   = "passkey-sign-in"
	registerCeremony = "passkey-new"
	setUpCeremony    = "passkey-set-up"
)

// passkeyOwner is a person as the library of WebAuthn wants them.
type passkeyOwner struct {
	user account.User
	id   uuid.UUID // what authenticators know the user by: it tells nobody anything
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

// passkeyProblem says why browsers can have no passkey for the address of a
// request, nil when they can. Browsers bind passkeys to a name and need HTTPS,
// but for localhost.
func (s *Server) passkeyProblem(r *http.Request) *problem.Error {
	if public := s.o.PublicURL; public != "" && public != s.origin(r) {
		return problem.New("passkeys_elsewhere", "url", public)
	}
	name := hostName(r.Host)
	if ip, err := netip.ParseAddr(name); err == nil {
		if ip.IsLoopback() && !s.https(r) {
			local := "localhost"
			if _, port, err := net.SplitHostPort(r.Host); err == nil {
				local = net.JoinHostPort(local, port)
			}
			return problem.New("passkeys_loopback", "host", name, "url", "http://"+local)
		}
		return problem.New("passkeys_ip_address", "host", name)
	}
	if !s.https(r) && name != "localhost" {
		return problem.New("passkeys_need_https")
	}
	if protocol.ValidateRPID(name) != nil {
		return problem.New("passkeys_need_domain", "host", name)
	}
	return nil
}

// passkeyProblem converts why there are no passkeys, nil where there are.
func passkeyProblem(p *problem.Error) (*string, wire.Reasons) {
	if p == nil {
		return nil, nil
	}
	return &p.Message, wire.Reasons{"problem": {Reason: p.Reason, Params: p.Params}}
}

// relyingParty is who passkeys at the address of a request are for.
func (s *Server) relyingParty(r *http.Request) (*webauthn.WebAuthn, error) {
	if p := s.passkeyProblem(r); p != nil {
		return nil, p
	}
	timeout := webauthn.TimeoutConfig{Enforce: true, Timeout: ceremonyLife, TimeoutUVD: ceremonyLife}
	return webauthn.New(&webauthn.Config{
		RPID: hostName(r.Host), RPDisplayName: "sayso", RPOrigins: []string{s.origin(r)},
		AttestationPreference: protocol.PreferNoAttestation,
		// Nobody types a name first, and a found device alone opens nothing.
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{Login: timeout, Registration: timeout},
		// Password managers answer what nobody asked.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
}

// getLogin says how one can sign in here, to whoever asks.
func (s *Server) getLogin(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	p := s.passkeyProblem(r)
	ways := wire.SignInWays{Passkey: wire.PasskeyWay{Available: p == nil}}
	ways.Passkey.Problem, ways.Passkey.Reasons = passkeyProblem(p)
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
	options, kept, err := rp.BeginDiscoverableLogin()
	if err != nil {
		return err
	}
	s.begin(w, r, signInCeremony, kept)
	writeJSON(w, http.StatusOK, wire.PasskeyChallenge{PublicKey: wire.Encode(options.Response)})
	return nil
}

// postPasskeyLogin ends it. Whatever is wrong with a passkey, the answer is the
// same: it tells nobody who is known here.
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
	var kept webauthn.SessionData
	if err := s.finish(w, r, signInCeremony, &kept); err != nil {
		return err
	}
	succeeded, err := s.attempt(r, "passkey of "+string(signed.Response.UserHandle))
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context())
	var passkey account.Passkey
	var fault error // of ours
	key, err := rp.ValidateDiscoverableLogin(func(keyID, userHandle []byte) (webauthn.User, error) {
		id, err := uuid.FromBytes(userHandle)
		if err != nil {
			return nil, err
		}
		var user account.User
		if passkey, user, err = s.o.Directory.PasskeyOf(ctx, id.String(), keyID); err != nil {
			if !errors.Is(err, account.ErrRefused) {
				fault = err
			}
			return nil, err
		}
		return newPasskeyOwner(user, passkey)
	}, kept, signed)
	if fault != nil {
		return fault
	}
	if err != nil {
		ref := refusal.New("passkey_unknown")
		ref.Cause = err
		s.noteFailure(r, "", ref, account.ByPasskey)
		return ref
	}
	count := signed.Response.AuthenticatorData.Counter
	who, secret, err := s.o.Directory.SignInByPasskey(ctx, passkey, count, wire.Encode(key), device(r.UserAgent()), s.remoteAddress(r))
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
	return s.letIn(ctx, w, r, who, secret)
}

// postPasskeyNew begins to make a passkey. Whoever has only got hold of a browser
// that is signed in must not be able to stay.
func (s *Server) postPasskeyNew(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.PasskeyNew
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := inBrowser(who); err != nil {
		return err
	}
	rp, err := s.relyingParty(r)
	if err != nil {
		return err
	}
	if err := s.provesOwner(r, who, body.CurrentPassword); err != nil {
		return err
	}
	have, err := s.o.Directory.Passkeys(r.Context(), who.User.UserID)
	if err != nil {
		return err
	}
	owner, err := newPasskeyOwner(who.User, have...)
	if err != nil {
		return err
	}
	options, kept, err := rp.BeginRegistration(owner, webauthn.WithExclusions(webauthn.Credentials(owner.keys).CredentialDescriptors()))
	if err != nil {
		return err
	}
	s.begin(w, r, registerCeremony, kept)
	writeJSON(w, http.StatusOK, wire.PasskeyChallenge{PublicKey: wire.Encode(options.Response)})
	return nil
}

func (s *Server) postPasskey(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.PasskeyCreate
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := inBrowser(who); err != nil {
		return err
	}
	var kept webauthn.SessionData
	p, err := s.newPasskey(w, r, who, body, registerCeremony, &kept, &kept)
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

// newPasskey ends a ceremony that makes a passkey. What it kept is read into kept,
// of which session is a part.
func (s *Server) newPasskey(w http.ResponseWriter, r *http.Request, who account.Identity, body wire.PasskeyCreate, ceremony string, kept any, session *webauthn.SessionData) (account.Passkey, error) {
	rp, err := s.relyingParty(r)
	if err != nil {
		return account.Passkey{}, err
	}
	made, err := protocol.ParseCredentialCreationResponseBytes(body.Credential)
	if err != nil {
		ref := refusal.For("credential", "passkey_malformed")
		ref.Cause = err
		return account.Passkey{}, ref
	}
	if err := s.finish(w, r, ceremony, kept); err != nil {
		return account.Passkey{}, err
	}
	owner, err := newPasskeyOwner(who.User)
	if err != nil {
		return account.Passkey{}, err
	}
	key, err := rp.CreateCredential(owner, *session, made)
	if err != nil {
		ref := refusal.For("credential", "passkey_unusable")
		ref.Cause = err
		return account.Passkey{}, ref
	}
	key.Attestation = webauthn.CredentialAttestation{} // nobody asked for it
	return account.Passkey{KeyID: key.ID, RPID: session.RelyingPartyID, Data: wire.Encode(key), SignCount: key.Authenticator.SignCount}, nil
}

// settingUp is what a set-up by passkey was begun with: the device shows the name
// that the admin will have.
type settingUp struct {
	Session webauthn.SessionData `json:"session"`
	Name    string               `json:"name"`
}

// postPasskeySetUpBegin begins to make the first admin with a passkey instead of a
// password.
func (s *Server) postPasskeySetUpBegin(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.PasskeySetUp
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := setsUp(who); err != nil {
		return err
	}
	rp, err := s.relyingParty(r)
	if err != nil {
		return err
	}
	// Before the device keeps a passkey that the server would not take.
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
	s.begin(w, r, setUpCeremony, settingUp{Session: *session, Name: who.User.Name})
	writeJSON(w, http.StatusOK, wire.PasskeyChallenge{PublicKey: wire.Encode(options.Response)})
	return nil
}

func (s *Server) postPasskeySetUp(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.PasskeyCreate
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := setsUp(who); err != nil {
		return err
	}
	var kept settingUp
	p, err := s.newPasskey(w, r, who, body, setUpCeremony, &kept, &kept.Session)
	if err != nil {
		return err
	}
	who.User, err = s.o.Directory.SetUpByPasskey(context.WithoutCancel(r.Context()), who, kept.Name, body.Name, p)
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
	list.Problem, list.Reasons = passkeyProblem(s.passkeyProblem(r))
	for _, p := range all {
		list.Passkeys = append(list.Passkeys, wirePasskey(p))
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) deletePasskey(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if err := whole(who); err != nil {
		return err
	}
	if err := s.o.Directory.RemovePasskey(context.WithoutCancel(r.Context()), who, r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// inBrowser refuses an API token what only makes sense in a browser.
func inBrowser(who account.Identity) error {
	if who.Credential.Kind != account.Cookie || who.Credential.Limited() {
		return refusal.New("browser_only")
	}
	return nil
}

func wirePasskey(p account.Passkey) wire.Passkey {
	return wire.Passkey{
		PasskeyID: p.PasskeyID, Name: p.Name, Domain: strings.ToLower(p.RPID), CreatedAt: wire.Seconds(p.CreatedAt),
		LastUsedAt: wire.SecondsOrNull(p.LastUsedAt),
	}
}
