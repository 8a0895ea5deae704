package wsapi

// The conversions and the strict decoder, for the golden messages.
var (
	WireProcessState = wireProcessState
	WireRequest      = wireRequest
	WireItems        = wireItems
	WireLifecycle    = wireLifecycle
	Encode           = encode
	DecodeStrict     = decodeStrict
)

// RESTBodies lists a value of every type that only REST uses.
func RESTBodies() []any {
	return []any{
		Login{}, Me{}, SessionList{}, SessionPatch{}, MessageList{}, Upload{}, TranscriptPage{}, Outcome{}, PendingList{}, RequestFate{}, Preview{}, PreviewQuestion{}, ProcessList{},
		Environment{}, FolderList{}, TokenList{}, TokenCreate{}, TokenCreated{}, Refusal{},
		SetUp{}, NewPassword{}, SignInList{}, PersonList{}, PersonCreate{}, PersonChange{}, SignInLink{}, AuditPage{},
		GrantList{}, GrantRevoke{}, Revocation{},
		Alerts{}, AlertTargetCreate{}, AlertTest{},
		SignInWays{}, PasskeyChallenge{}, PasskeyLogin{}, PasskeyNew{}, PasskeyCreate{}, Passkey{}, PasskeyList{},
	}
}

// RouteInfo is one row of the table of routes.
type RouteInfo struct {
	Method, Pattern, Policy string
	Limit                   int64
}

// Routes is the table of REST.
func Routes() []RouteInfo {
	var list []RouteInfo
	for _, rt := range routes() {
		limit := rt.limit
		if limit == 0 {
			limit = bodyLimit
		}
		list = append(list, RouteInfo{rt.method, rt.pattern, string(rt.policy), limit})
	}
	return list
}

// CommandRoles is the table of commands.
func CommandRoles() map[string]string {
	roles := map[string]string{}
	for name, spec := range commandSpecs {
		roles[name] = string(spec.role)
	}
	return roles
}

// CommandLimits is the largest message of each command, in bytes.
func CommandLimits() map[string]int64 {
	limits := map[string]int64{}
	for name, spec := range commandSpecs {
		limits[name] = spec.most()
	}
	return limits
}

// Limits and times that tests wait for.
const (
	SmallLimit      = smallLimit
	AnswerLimit     = answerLimit
	MaxSafeInteger  = maxSafeInteger
	WriteDeadline   = writeDeadline
	TranscriptEvery = transcriptEvery
)

// Tabs is how many WebSockets the server has.
func (s *Server) Tabs() int { return s.hub.count() }
