//go:build embedshim

package embedded

import _ "embed"

// scripts/build-shim writes both files.
var (
	//go:embed sayso-shim
	program string
	//go:embed sayso-shim.sha256
	sum string
)
