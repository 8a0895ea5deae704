package claude

// The versions of the CLI that the tests run. Others between them, and newer ones, usually
// work: docs/protocol/versions.md has what newer ones were seen to do. scripts/versions has the same two.
const (
	OldestTested = "2.1.197"
	NewestTested = "2.1.329"
)
