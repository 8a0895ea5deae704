package session

import "github.com/google/uuid"

var projectNamespace = uuid.MustParse("7d1f7a52-1d0e-5f0b-8a55-0c3f5e2a9b10")

// ProjectOf returns the id that groups the sessions of one folder. The same cwd always has the
// same id.
func ProjectOf(cwd string) string {
	return uuid.NewSHA1(projectNamespace, []byte(cwd)).String()
}
