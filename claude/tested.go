package claude

// Versions of the CLI that the tests run. Versions between them, and newer ones, usually work:
// docs/protocol/versions.md lists the differences observed in newer ones. scripts/versions names the
// same two.
const (
	OldestTested = "2.1.197"
	NewestTested = "2.1.329"
)
