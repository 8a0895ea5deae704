// Package seedtest gives tests a random seed, and prints the command that repeats a failed test with
// the same seed. Property tests of rapid draw their own seed, which make sim sets, too.
package seedtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Variable is the name of the environment variable that sets the seed of every test.
const Variable = "SAYSO_TEST_SEED"

// New returns the seed in [Variable], or a random one if it is not set. If t fails, it logs the
// command that runs the test with this seed again.
func New(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(Variable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 0, 64); err != nil {
			t.Fatalf("%s: %v", Variable, err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("To repeat it: " + command(t.Name(), seed))
		}
	})
	return seed
}

// command returns the command that repeats the test with this name in the current folder.
func command(test string, seed uint64) string {
	name, _, _ := strings.Cut(test, "/")
	return fmt.Sprintf("make sim SEED=%d PACKAGE=%s RUN=%s", seed, packagePath(), name)
}

// packagePath returns the path of the current folder relative to the root of its module, as go test
// expects it, or ./... outside a module.
func packagePath() string {
	here, err := os.Getwd()
	for root := here; err == nil; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			below, err := filepath.Rel(root, here)
			if err != nil {
				break
			}
			return "./" + filepath.ToSlash(below)
		}
		if root == filepath.Dir(root) {
			break
		}
	}
	return "./..."
}
