package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"testing"

	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/launch/launchtest"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/runner/link"
	"github.com/sayso-dev/sayso/runner/remote"
)

// Each method of a launch.Runner is called on the other host by its own name, with its own arguments.
func TestMethodsAreCalledByTheirNames(t *testing.T) {
	t.Parallel()
	type call struct{ name, args string }
	var mu sync.Mutex
	var calls []call
	serve := func(_ context.Context, c *link.Call) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, call{c.Name, string(c.Args)})
		return nil, launch.ErrHung
	}
	methods := reflect.TypeFor[launch.Runner]()
	c, _ := pair(t, serve, func() {})
	there := reflect.ValueOf(remote.NewRunner(c))
	for i := range methods.NumMethod() {
		m := methods.Method(i)
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		given := []any{}
		for k := 1; k < m.Type.NumIn(); k++ {
			arg := reflect.New(m.Type.In(k)).Elem()
			switch { // so that two of a type are told apart
			case arg.Kind() == reflect.String:
				arg.SetString(fmt.Sprint("argument ", k))
			case arg.CanInt():
				arg.SetInt(int64(k))
			}
			args, given = append(args, arg), append(given, arg.Interface())
		}
		want, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		out := there.MethodByName(m.Name).Call(args)
		if err, _ := out[len(out)-1].Interface().(error); !errors.Is(err, launch.ErrHung) {
			t.Errorf("%s returned %v", m.Name, err)
		}
		if len(calls) != i+1 || calls[i] != (call{m.Name, string(want)}) {
			t.Errorf("%s called %v with %s", m.Name, calls[i:], want)
		}
	}
}

// What a runner does over a connection is what it does here.
func TestRunnerOverAConnection(t *testing.T) {
	t.Parallel()
	launchtest.TestRunner(t, func(t *testing.T, cli *launch.CLI, own workspace.Roots) launch.Runner {
		there, err := launch.NewRunner(cli, own)
		if err != nil {
			t.Fatal(err)
		}
		methods, err := runner.MethodsOf(there)
		if err != nil {
			t.Fatal(err)
		}
		c, _ := pair(t, methods.Serve, func() {})
		return remote.NewRunner(c)
	})
}

// A runner of an earlier release does not know which files are its own.
func TestPrivateFilesOfAnEarlierRunner(t *testing.T) {
	t.Parallel()
	host := remote.NewHost(&scripts{})
	for name, serve := range map[string]func(context.Context, *link.Call) (any, error){
		"a runner":                host.Serve,
		"a server in between":     runner.Methods{}.Serve,
		"one that cannot be read": func(context.Context, *link.Call) (any, error) { return nil, os.ErrPermission },
	} {
		c, _ := pair(t, serve, func() {})
		files, err := remote.NewRunner(c).PrivateFiles(t.Context())
		if len(files) > 0 || (err != nil) != (name == "one that cannot be read") {
			t.Errorf("%s: %q, %v", name, files, err)
		}
	}
}

// So are its processes.
func TestProcessesOverAConnection(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("here", func(t *testing.T) {
		t.Parallel()
		launchtest.TestLauncher(t, exe, func(_ *testing.T, s *launch.Starter) launch.Launcher { return s })
	})
	t.Run("there", func(t *testing.T) {
		t.Parallel()
		launchtest.TestLauncher(t, exe, func(t *testing.T, s *launch.Starter) launch.Launcher {
			l, _ := connect(t, s)
			return l
		})
	})
}
