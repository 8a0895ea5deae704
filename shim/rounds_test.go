package shim_test

import "os"

// rounds is how often a tree is started and killed; kills is how often a server is.
var rounds, kills = func() (int, int) {
	if os.Getenv("SAYSO_TEST_ALL") != "" {
		return 1000, 1000
	}
	return 40, 40
}()
