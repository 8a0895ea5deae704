package session

import "github.com/google/uuid"

var projectNamespace = uuid.MustParse("7d1f7a52-1d0e-5f0b-8a55-0c3f5e2a9b10")

// ProjectOf derives the id by which sessions of one folder are grouped.
func ProjectOf(cwd string) string {
	return uuid.NewSHA1(projectNamespace, []byte(cwd)).String()
}
