package wsapi

import (
	"encoding/json"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/alert"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/project"
	"github.com/sayso-dev/sayso/session"
)

// The bodies of REST that are no command.

// Login signs a person in: with the secret of a sign-in link, or with a name
// and a password.
type Login struct {
	Token    string `json:"token,omitempty" validate:"required_without=Username,excluded_with=Username,max=512"`
	Username string `json:"username,omitempty" validate:"max=200"`
	Password string `json:"password,omitempty" validate:"required_with=Username,excluded_without=Username,max=1000"`
}

// Me says who is signed in.
type Me struct {
	User        User   `json:"user"`
	UserID      string `json:"user_id"`
	HasPassword bool   `json:"has_password"`
	// SetUp: nobody else can sign in yet, and POST /api/set_up makes this the
	// first admin.
	SetUp bool `json:"set_up"`
	// NeedsWay: this person came by a sign-in address and has no way to come again.
	NeedsWay bool `json:"needs_way,omitempty"`
}

// SetUp makes whoever came by the first sign-in link the first admin.
type SetUp struct {
	Name     string `json:"name" validate:"required,max=100"`
	Password string `json:"password" validate:"required,max=1000"`
}

// PasskeySetUp begins what SetUp does, with a passkey instead of a password; the
// end is a PasskeyCreate.
type PasskeySetUp struct {
	Name string `json:"name" validate:"required,max=100"`
}

// NewPassword changes one's own password; the present one is needed when there
// is one.
type NewPassword struct {
	CurrentPassword string `json:"current_password,omitempty" validate:"max=1000"`
	Password        string `json:"password" validate:"required,max=1000"`
}

// SignIn is a browser in which a person is signed in.
type SignIn struct {
	SignInID   string   `json:"sign_in_id"`
	Device     string   `json:"device"`
	Address    string   `json:"address"`
	CreatedAt  float64  `json:"created_at"`
	LastUsedAt *float64 `json:"last_used_at"`
	ExpiresAt  *float64 `json:"expires_at"`
	Current    bool     `json:"current"`
	// Method is the way it was got; absent of one that is older than this field.
	Method account.Method `json:"method,omitempty"`
}

// SignInList holds one's own sign-ins, the oldest first.
type SignInList struct {
	SignIns []SignIn `json:"sign_ins"`
}

// SignInWays says how one can sign in at the address that was asked.
type SignInWays struct {
	Passkey PasskeyWay `json:"passkey"`
	OIDC    *OIDCWay   `json:"oidc,omitempty"` // absent without an identity provider
}

// OIDCWay is an identity provider by the name that people know it under.
type OIDCWay struct {
	Name string `json:"name"`
}

// OIDCBegun says where the browser is to sign in.
type OIDCBegun struct {
	Address string `json:"address"`
}

// OIDCLogin is what the browser brought back from there.
type OIDCLogin struct {
	Code  string `json:"code" validate:"required,max=4096"`
	State string `json:"state" validate:"required,max=512"`
}

// LinkNew begins to link an identity; the password is needed when there is one.
type LinkNew struct {
	CurrentPassword string `json:"current_password,omitempty" validate:"max=1000"`
}

// Link is an identity at a provider by which a person signs in. Not by_hand, it
// made the account and says its role.
type Link struct {
	LinkID    string  `json:"link_id"`
	Issuer    string  `json:"issuer"`
	CreatedAt float64 `json:"created_at"`
	ByHand    bool    `json:"by_hand"`
}

// LinkList is one's own identities, and the provider at which one can be linked.
type LinkList struct {
	Links    []Link  `json:"links"`
	Provider *string `json:"provider"` // its name; null without one
}

// PasskeyWay says whether passkeys work at this address; Problem is a sentence
// that says why not.
type PasskeyWay struct {
	Available bool    `json:"available"`
	Problem   *string `json:"problem"`
}

// PasskeyChallenge is what the browser is to sign: the options of WebAuthn in
// their JSON form.
type PasskeyChallenge struct {
	PublicKey json.RawMessage `json:"public_key"`
}

// PasskeyLogin ends a sign-in by passkey with what the browser signed, in the JSON
// form of WebAuthn.
type PasskeyLogin struct {
	Credential json.RawMessage `json:"credential" validate:"required"`
}

// PasskeyNew begins to make a passkey; the password is needed when there is one.
type PasskeyNew struct {
	CurrentPassword string `json:"current_password,omitempty" validate:"max=1000"`
}

// PasskeyCreate keeps a passkey that the browser made.
type PasskeyCreate struct {
	Name       string          `json:"name" validate:"required,max=100"`
	Credential json.RawMessage `json:"credential" validate:"required"`
}

// Passkey is one's own way to sign in without a password. It works at Domain.
type Passkey struct {
	PasskeyID  string   `json:"passkey_id"`
	Name       string   `json:"name"`
	Domain     string   `json:"domain"`
	CreatedAt  float64  `json:"created_at"`
	LastUsedAt *float64 `json:"last_used_at"`
}

// PasskeyList holds one's own passkeys, the oldest first. Problem says why none
// can be made at this address.
type PasskeyList struct {
	Passkeys []Passkey `json:"passkeys"`
	Problem  *string   `json:"problem"`
}

// Person is a user as admins see them.
type Person struct {
	UserID      string       `json:"user_id"`
	Name        string       `json:"name"`
	Role        account.Role `json:"role"`
	Disabled    bool         `json:"disabled"`
	HasPassword bool         `json:"has_password"`
	CreatedAt   float64      `json:"created_at"`
}

// PersonList holds everybody, the oldest first.
type PersonList struct {
	Users []Person `json:"users"`
}

// PersonCreate makes a user. Without a password they come in by a sign-in link.
type PersonCreate struct {
	Name     string       `json:"name" validate:"required,max=100"`
	Role     account.Role `json:"role" validate:"oneof=viewer member admin"`
	Password string       `json:"password,omitempty" validate:"max=1000"`
}

// PersonChange changes what is there of it.
type PersonChange struct {
	Role     *account.Role `json:"role,omitempty" validate:"omitempty,oneof=viewer member admin"`
	Disabled *bool         `json:"disabled,omitempty"`
	Password *string       `json:"password,omitempty" validate:"omitempty,max=1000"`
	Limits   *OwnLimits    `json:"limits,omitempty"` // replaces all that were different
}

// SignInLink holds the secret of a link, which signs a browser in once.
type SignInLink struct {
	Token     string  `json:"token"`
	ExpiresAt float64 `json:"expires_at"`
}

// Session is a conversation we remember, as REST lists it.
type Session struct {
	SessionID      string        `json:"session_id"`
	ProjectID      string        `json:"project_id"`
	ProjectName    string        `json:"project_name,omitempty"` // absent in the default project
	Title          string        `json:"title"`
	CWD            string        `json:"cwd"`
	Model          string        `json:"model"`
	PermissionMode string        `json:"permission_mode"`
	AllowedTools   []string      `json:"allowed_tools"`
	Archived       bool          `json:"archived"`
	Demo           bool          `json:"demo"`
	Kind           session.Kind  `json:"kind,omitempty"` // agent or terminal; absent for ours
	CreatedAt      float64       `json:"created_at"`
	UpdatedAt      float64       `json:"updated_at"`
	ProcessState   *ProcessState `json:"process_state,omitempty"` // of one session, not in lists
	// Rights are what whoever asks may do here; absent in the default project.
	Rights []project.Action `json:"rights,omitempty"`
}

// SessionList is one page of sessions, newest sign of life first.
type SessionList struct {
	Sessions []Session `json:"sessions"`
	Next     *string   `json:"next"` // cursor of the next page
}

// SessionPatch changes the fields that are there.
type SessionPatch struct {
	Title    *string `json:"title,omitempty" validate:"omitempty,min=1,max=500"`
	Archived *bool   `json:"archived,omitempty"`
}

// MessageList is what waits until Claude is done, oldest first.
type MessageList struct {
	Messages []QueuedMessage `json:"messages"`
}

// QueuedMessage is a message that Claude has not got yet.
type QueuedMessage struct {
	MessageID   string                   `json:"message_id"`
	Text        string                   `json:"text"`
	Attachments []session.AttachmentInfo `json:"attachments"`
	By          string                   `json:"by"`
	CreatedAt   float64                  `json:"created_at"`
}

// TerminalSession is a conversation that a Claude elsewhere on the server has saved,
// such as one in a terminal. It can be read, and taken up or forked with
// [CreateSession].
type TerminalSession struct {
	SessionID string  `json:"session_id"`
	Title     string  `json:"title"`
	CWD       string  `json:"cwd"`
	ChangedAt float64 `json:"changed_at"`
	Size      int64   `json:"size"` // bytes
	Running   bool    `json:"running"`
}

// TerminalSessionList holds them, what changed last first.
type TerminalSessionList struct {
	Sessions []TerminalSession `json:"sessions"`
}

// TerminalPage is a piece of such a transcript, from its end on.
type TerminalPage struct {
	Items  []Item `json:"items"`
	Before *int64 `json:"before"` // of the piece before this one; null at the beginning
}

// SearchResults are sessions in which something was found, newest find first.
type SearchResults struct {
	Results []SearchResult `json:"results"`
	Next    *string        `json:"next"` // cursor; a session may come again behind it
}

// SearchResult is what was found in one session, from its end on.
type SearchResult struct {
	SessionID string      `json:"session_id"`
	Title     string      `json:"title"`
	CWD       string      `json:"cwd"`
	Archived  bool        `json:"archived"`
	Hits      []SearchHit `json:"hits"`
	More      bool        `json:"more"` // than the hits that are listed
}

// SearchHit is a block in which something was found. Excerpt is plain text.
type SearchHit struct {
	Seq     int64            `json:"seq"`
	Key     string           `json:"key"`
	Kind    session.ItemKind `json:"kind"`
	At      float64          `json:"at"`
	Excerpt string           `json:"excerpt"`
}

// Upload is a file that a message may attach later; Data is base64.
type Upload struct {
	Name string `json:"name" validate:"required,max=1000"`
	Data []byte `json:"data" ts:"string" validate:"required"`
}

// TranscriptPage is one piece of a transcript.
type TranscriptPage struct {
	Items []Item `json:"items"`
	Next  int64  `json:"next"`
	More  bool   `json:"more"`
	Total int64  `json:"total"`
}

// Outcome answers a command that came over REST.
type Outcome struct {
	CommandID string     `json:"command_id,omitempty"`
	Result    AckResult  `json:"result"`
	SessionID string     `json:"session_id,omitempty"` // of the session that create or fork made
	MessageID string     `json:"message_id,omitempty"`
	ExpiresAt *float64   `json:"expires_at,omitempty"` // of the request that was extended
	HeldUntil *float64   `json:"held_until,omitempty"` // of the answer that is held
	Error     *ErrorBody `json:"error,omitempty"`
	Resolved  *Resolved  `json:"resolved,omitempty"` // with 409: who was first, with what, when
}

// RequestFate says where one request stands, also one that has ended.
type RequestFate struct {
	RequestID string         `json:"request_id"`
	SessionID string         `json:"session_id"`
	Status    pending.Status `json:"status"`
	ExpiresAt *float64       `json:"expires_at"`
	Resolved  *Resolved      `json:"resolved"` // null while it can be answered
}

// PendingRequest is an open request together with the session that waits.
type PendingRequest struct {
	SessionID    string `json:"session_id"`
	SessionTitle string `json:"session_title"`
	Request
}

// PendingList holds every open request the caller may see, oldest first.
type PendingList struct {
	PendingRequests []PendingRequest `json:"pending_requests"`
}

// Process is one row of the admin's table.
type Process struct {
	SessionID    string        `json:"session_id"`
	Title        string        `json:"title"`
	PID          int           `json:"pid"`
	State        session.State `json:"state"`
	Memory       uint64        `json:"memory"`
	CPU          float64       `json:"cpu"`
	StartedAt    float64       `json:"started_at"`
	Age          float64       `json:"age"` // seconds since it started
	OpenRequests int           `json:"open_requests"`
	Tabs         int           `json:"tabs"` // that show it
	WaitsFor     *string       `json:"waits_for"`
	NodeID       string        `json:"node_id"`
	// HeardAt is when Claude said something last.
	HeardAt *float64 `json:"heard_at,omitempty"`
	// Trouble says what is wrong with it: stuck, orphan or unreachable.
	Trouble *ProcessTrouble `json:"trouble,omitempty"`
	// Samples are those of the last five minutes, the oldest first; when asked for.
	Samples []ProcessSample `json:"samples,omitempty"`
}

// ProcessTrouble is what is wrong with a process, with a sentence that says why.
type ProcessTrouble struct {
	Kind   TroubleKind `json:"kind"`
	Reason string      `json:"reason"`
}

// TroubleKind is what may be wrong with a process.
type TroubleKind string

// What may be wrong with a process.
const (
	Stuck       TroubleKind = "stuck"       // it works and gives no sign of life
	Orphan      TroubleKind = "orphan"      // it is gone, and what it asked waits
	Unreachable TroubleKind = "unreachable" // it may run, and this server cannot reach it
)

// ProcessSample is what a process and all it runs took at one moment.
type ProcessSample struct {
	At     float64 `json:"at"`
	Memory uint64  `json:"memory"`
	CPU    float64 `json:"cpu"`
}

// Diagnostics is a report about one session for whoever looks for a fault: no
// inputs, no answers, no secrets.
type Diagnostics struct {
	Text string `json:"text"`
}

// ProcessList is the admin's table.
type ProcessList struct {
	Processes []Process `json:"processes"`
}

// ClaudeInfo says which CLI sessions run on.
type ClaudeInfo struct {
	Path     string  `json:"path,omitempty"`
	Version  string  `json:"version"`
	SignedIn bool    `json:"signed_in"`
	Problem  *string `json:"problem"` // why sessions cannot run
}

// Environment is what a person must know before starting a session.
type Environment struct {
	Claude         ClaudeInfo `json:"claude"`
	DemoAvailable  bool       `json:"demo_available"`
	WorkspaceRoots []string   `json:"workspace_roots"`
	Home           string     `json:"home"`
}

// Folder is one in which the caller may start a session.
type Folder struct {
	Path   string `json:"path"`
	Recent bool   `json:"recent"` // the caller has worked in it
}

// FolderList holds folders that fit to what was typed, recent ones first.
type FolderList struct {
	Folders []Folder `json:"folders"`
	More    bool     `json:"more"` // than are here
}

// TrustedFolder is one whose settings somebody trusts as they were then.
type TrustedFolder struct {
	Folder    string       `json:"folder"`
	Digest    string       `json:"digest"` // of the items
	By        string       `json:"by"`
	TrustedAt float64      `json:"trusted_at"`
	Items     []FolderItem `json:"items"`
}

// TrustedFolderList holds them, what was trusted last first.
type TrustedFolderList struct {
	Folders []TrustedFolder `json:"folders"`
}

// TrustRevoke takes a trust back that was seen in the list.
type TrustRevoke struct {
	Folder string `json:"folder" validate:"required,max=4096"`
	Digest string `json:"digest" validate:"required,max=128"`
}

// Token is an API token without its secret.
type Token struct {
	TokenID    string       `json:"token_id"`
	Name       string       `json:"name"`
	User       string       `json:"user"`
	Role       account.Role `json:"role"`
	CreatedAt  float64      `json:"created_at"`
	ExpiresAt  *float64     `json:"expires_at"`
	LastUsedAt *float64     `json:"last_used_at"`
	Revoked    bool         `json:"revoked"`
}

// TokenList holds all tokens.
type TokenList struct {
	Tokens []Token `json:"tokens"`
}

// TokenCreate asks for a new token. Without Role it acts as its maker, and Scope
// is the most it may do; with Role, which is for admins, it acts as a user of its
// own that has this role and the name of the token.
type TokenCreate struct {
	Name      string       `json:"name" validate:"required,max=100"`
	Role      account.Role `json:"role,omitempty" validate:"omitempty,oneof=viewer member admin"`
	Scope     account.Role `json:"scope,omitempty" validate:"excluded_with=Role,omitempty,oneof=viewer member admin"`
	ExpiresIn float64      `json:"expires_in,omitempty" validate:"min=0,max=315360000"` // seconds; absent: it does not
}

// TokenCreated holds the secret, which is shown this once.
type TokenCreated struct {
	Token
	Secret string `json:"token"`
}

// Alerts is how a person is told that something waits, while they do not look.
type Alerts struct {
	PushKey string        `json:"push_key"` // applicationServerKey of browsers
	Choices AlertChoices  `json:"choices"`
	Targets []AlertTarget `json:"targets"`
}

// AlertChoices are what a person wants to be told of, where and when.
type AlertChoices struct {
	Wanted        AlertWanted `json:"wanted"`
	AllSessions   bool        `json:"all_sessions"`
	ShowText      bool        `json:"show_text"`
	RemindAfter   int         `json:"remind_after"`   // minutes; 0: never
	EscalateAfter int         `json:"escalate_after"` // of the server: minutes until a request is everybody's; 0: never
	Quiet         *AlertQuiet `json:"quiet"`
	Language      string      `json:"language" validate:"max=16"`
}

// AlertWanted says by which ways a person is told of what.
type AlertWanted struct {
	Waiting  []alert.Way `json:"waiting" validate:"max=10"`
	Finished []alert.Way `json:"finished" validate:"max=10"`
	Died     []alert.Way `json:"died" validate:"max=10"`
}

// AlertQuiet is when nobody wants to be told, such as from 22:00 to 07:00 in
// Europe/Berlin.
type AlertQuiet struct {
	From string `json:"from" validate:"max=5"`
	To   string `json:"to" validate:"max=5"`
	Zone string `json:"zone" validate:"max=64"`
}

// AlertTarget is a place at which somebody is told. Its address is not shown again.
type AlertTarget struct {
	TargetID  string    `json:"target_id"`
	Way       alert.Way `json:"way"`
	Name      string    `json:"name"`
	CreatedAt float64   `json:"created_at"`
	SentAt    *float64  `json:"sent_at"` // when one was taken last
	Problem   string    `json:"problem"` // why the last one was not, "" when it was
}

// AlertTargetCreate adds one: a browser with its subscription, or an address.
type AlertTargetCreate struct {
	Way      alert.Way `json:"way" validate:"required,oneof=push webhook ntfy"`
	Name     string    `json:"name,omitempty" validate:"max=100"`
	URL      string    `json:"url" validate:"required,max=2000"`
	P256DH   string    `json:"p256dh,omitempty" validate:"max=200"` // base64url, as the browser gives it
	Auth     string    `json:"auth,omitempty" validate:"max=100"`
	Secret   string    `json:"secret,omitempty" validate:"max=500"` // of the signature, or ntfy's access token
	Priority int       `json:"priority,omitempty" validate:"min=0,max=5"`
}

// AlertTest says what became of a test; problem is "" when it was taken.
type AlertTest struct {
	Problem string `json:"problem"`
}

// AuditEntry is one answer on record. Its hash is the SHA-256 of the hash before
// and of the bytes of Entry as they are here.
type AuditEntry struct {
	Seq   int64           `json:"seq"`
	Hash  string          `json:"hash"` // hexadecimal
	Entry json.RawMessage `json:"entry"`
}

// AuditPage is a piece of the audit trail. Next is the `after` of the next piece,
// which is empty at the end.
type AuditPage struct {
	Entries []AuditEntry `json:"entries"`
	Next    int64        `json:"next"`
}

// Project is a name over folders, with who may do what there.
type Project struct {
	ProjectID  string          `json:"project_id"`
	Name       string          `json:"name"`
	Folders    []string        `json:"folders"`
	Members    []ProjectMember `json:"members"`
	Start      Whom            `json:"start"`
	Answer     Whom            `json:"answer"`
	Rules      []ProjectRule   `json:"rules"`
	Bypass     []string        `json:"bypass"` // user ids
	Limits     Limits          `json:"limits"`
	EachLimits Limits          `json:"each_limits"`
	// AskTimeout is how long a question over MCP waits, in seconds; absent as the server has it, -1 for ever.
	AskTimeout int               `json:"ask_timeout,omitempty"`
	Version    int64             `json:"version"`
	CreatedAt  float64           `json:"created_at"`
	Names      map[string]string `json:"names"`  // of everybody it names, by user id
	Role       account.Role      `json:"role"`   // of whoever asks
	Rights     []project.Action  `json:"rights"` // of whoever asks
	// Use is what its sessions take now; of one project.
	Use *ProjectUse `json:"use,omitempty"`
	// People are those that can be made members; of one project, for who manages it.
	People []ProjectPerson `json:"people,omitempty"`
}

// ProjectUse is what the sessions of a project take.
type ProjectUse struct {
	Sessions int    `json:"sessions"` // with a process
	Memory   uint64 `json:"memory"`   // bytes
	// Cost is that of the day so far, in US dollars. The day begins at 00:00 UTC.
	Cost *float64 `json:"cost,omitempty"`
}

// ProjectPerson is somebody who can be a member.
type ProjectPerson struct {
	UserID     string       `json:"user_id"`
	Name       string       `json:"name"`
	ServerRole account.Role `json:"server_role"`
}

// ProjectMember is a person in a project.
type ProjectMember struct {
	UserID string       `json:"user_id" validate:"required,max=64"`
	Role   account.Role `json:"role" validate:"oneof=viewer member admin"`
}

// Whom names people: those of a role in the project or more; when People is not
// empty, of them only those in it.
type Whom struct {
	Role   account.Role `json:"role" validate:"oneof=member admin"`
	People []string     `json:"people" validate:"max=1000"` // user ids
}

// ProjectRule says who may approve a tool. The first rule that fits decides.
type ProjectRule struct {
	Tool    string         `json:"tool" validate:"required,max=1000"` // * stands for any text
	Pattern string         `json:"pattern" validate:"max=1000"`       // of command, path or address; "" for all
	Effect  project.Effect `json:"effect" validate:"oneof=allow deny two_people"`
	People  []string       `json:"people" validate:"max=1000"` // user ids: nobody else may approve
}

// Limits bound what sessions may take; 0 is no limit.
type Limits struct {
	Sessions int    `json:"sessions" validate:"min=0,max=1000000"`  // with a process, at once
	Memory   uint64 `json:"memory" validate:"max=1125899906842624"` // bytes; none starts above it
	// Cost is in US dollars a day, which begins at 00:00 UTC; no turn begins above it.
	// In a change, one that is absent stays as it is.
	Cost *float64 `json:"cost,omitempty" validate:"omitempty,min=0,max=1000000"`
}

// OwnLimits are limits of one person that are not those of everybody; what is absent
// is as for everybody.
type OwnLimits struct {
	Sessions *int     `json:"sessions,omitempty" validate:"omitempty,min=0,max=1000000"`
	Memory   *uint64  `json:"memory,omitempty" validate:"omitempty,max=1125899906842624"` // bytes
	Cost     *float64 `json:"cost,omitempty" validate:"omitempty,min=0,max=1000000"`      // US dollars a day
}

// LimitUse is a limit and what is taken of it now.
type LimitUse struct {
	Limits Limits     `json:"limits"`
	Use    ProjectUse `json:"use"`
}

// LimitList is what whoever asks may take, and takes.
type LimitList struct {
	Mine     LimitUse       `json:"mine"`     // all their sessions together
	Projects []ProjectLimit `json:"projects"` // that they may see, and that have limits
	NextDay  float64        `json:"next_day"` // when costs are counted anew
	// Everybody holds those for whom nothing is different, and People all people; for
	// an admin.
	Everybody *Limits       `json:"everybody,omitempty"`
	People    []PersonLimit `json:"people,omitempty"`
}

// ProjectLimit is what the sessions of a project may take: all, and those of whoever
// asks.
type ProjectLimit struct {
	ProjectID string   `json:"project_id"`
	Name      string   `json:"name"`
	Folders   []string `json:"folders"`
	All       LimitUse `json:"all"`
	Mine      LimitUse `json:"mine"`
}

// PersonLimit is what the sessions of a person may take.
type PersonLimit struct {
	UserID string     `json:"user_id"`
	Name   string     `json:"name"`
	Limits Limits     `json:"limits"`
	Use    ProjectUse `json:"use"`
	Own    OwnLimits  `json:"own"` // what is different for them
}

// ProjectList holds the projects that whoever asks may see.
type ProjectList struct {
	Projects []Project `json:"projects"`
}

// ProjectCreate makes a project.
type ProjectCreate struct {
	Name    string          `json:"name" validate:"required,max=400"`
	Folders []string        `json:"folders" validate:"required,max=50,dive,max=4096"`
	Members []ProjectMember `json:"members,omitempty" validate:"max=1000,dive"`
}

// ProjectChange changes what is there of it. Version is that of the project that
// was changed; another one is refused.
type ProjectChange struct {
	Version    int64            `json:"version" validate:"required"`
	Name       *string          `json:"name,omitempty" validate:"omitempty,max=400"`
	Folders    *[]string        `json:"folders,omitempty" validate:"omitempty,max=50,dive,max=4096"`
	Members    *[]ProjectMember `json:"members,omitempty" validate:"omitempty,max=1000,dive"`
	Start      *Whom            `json:"start,omitempty"`
	Answer     *Whom            `json:"answer,omitempty"`
	Rules      *[]ProjectRule   `json:"rules,omitempty" validate:"omitempty,max=200,dive"`
	Bypass     *[]string        `json:"bypass,omitempty" validate:"omitempty,max=1000"`
	Limits     *Limits          `json:"limits,omitempty"`
	EachLimits *Limits          `json:"each_limits,omitempty"`
	// AskTimeout is in seconds, 30 to 900; 0 as the server has it, -1 for ever.
	AskTimeout *int `json:"ask_timeout,omitempty" validate:"omitempty,min=-1,max=900"`
}

// Refusal is the body of every refusal.
type Refusal struct {
	Error ErrorBody `json:"error"`
}
