package wsapi

import (
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/wire"
)

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
	for _, kind := range command.Kinds() {
		spec, _ := command.Find(kind)
		roles[kind] = string(spec.Role)
	}
	return roles
}

// CommandLimits is the largest message of each command, in bytes.
func CommandLimits() map[string]int64 {
	limits := map[string]int64{}
	for _, kind := range command.Kinds() {
		limits[kind] = maxBytes(kind)
	}
	return limits
}

// Limits and times that tests wait for.
const (
	SmallLimit      = command.SmallLimit
	LargeOfOne      = command.MaxLargePerUser
	AnswerLimit     = command.AnswerLimit
	MaxSafeInteger  = wire.MaxSafeInteger
	WriteDeadline   = writeDeadline
	TranscriptEvery = transcriptEvery
)

// Tabs is how many WebSockets the server has.
func (s *Server) Tabs() int { return s.hub.count() }
