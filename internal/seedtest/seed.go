// Package seedtest gives tests the seed of what they do at random, and says how to repeat one that
// failed. Property tests of rapid draw their own seed, which make sim sets too.
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

// Variable names the variable with the seed of every test.
const Variable = "SAYSO_TEST_SEED"

// New returns the seed of [Variable], else a random one. A test that fails prints the command
// that runs it with this seed again.
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

// command returns the command that repeats the test of a name in the current folder.
func command(test string, seed uint64) string {
	name, _, _ := strings.Cut(test, "/")
	return fmt.Sprintf("make sim SEED=%d PACKAGE=%s RUN=%s", seed, packagePath(), name)
}

// packagePath returns the current folder as go test takes it at the root of the module, or ./...
// outside of one.
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
