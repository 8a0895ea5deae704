//go:build failpoints

package matrix_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// sayso is the program under test, with the points in it.
var sayso string

func TestMain(m *testing.M) {
	if folder := os.Getenv(asCLI); folder != "" {
		os.Exit(playCLI(folder, os.Args[1:]))
	}
	folder, err := os.MkdirTemp("", "sayso-matrix-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sayso = filepath.Join(folder, "sayso")
	build := exec.Command("go", "build", "-tags", "failpoints", "-o", sayso, "../../../cmd/sayso")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "cannot build sayso with its failpoints:", err)
		os.RemoveAll(folder)
		os.Exit(1)
	}
	status := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.RemoveAll(folder)
	os.Exit(status)
}
