package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
)

// asCLI is the argument with which this program acts as the CLI that a host starts.
const asCLI = "as-cli"

// cliVersion is the version that the CLI reports. It is a recent version, because hosts refuse old ones.
const cliVersion = "2.1.332"

// hello is the first line of a relay.
type hello struct {
	Args []string `json:"args"`
	Dir  string   `json:"dir"`
	PID  int      `json:"pid"`
	// GoesOn means that the host asks a resumed CLI to continue the interrupted turn by itself.
	GoesOn bool `json:"goes_on"`
}

// relay acts as the CLI of a host: it connects its standard streams with the kit, which plays the
// CLI. args are the address of the kit, followed by the arguments from the host.
func relay(args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("no address")
	}
	switch address, args := args[0], args[1:]; {
	case slices.Contains(args, "--version") || slices.Contains(args, "-v"):
		_, err := fmt.Fprintln(out, cliVersion+" (Claude Code)")
		return err
	case len(args) > 1 && args[0] == "auth" && args[1] == "status":
		_, err := fmt.Fprintln(out, `{"loggedIn":true,"authMethod":"api_key","apiProvider":"firstParty"}`)
		return err
	case slices.Contains(args, "--help"):
		return nil
	default:
		return connect(address, args, in, out)
	}
}

func connect(address string, args []string, in io.Reader, out io.Writer) error {
	conn, err := net.Dial("unix", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	line, err := json.Marshal(hello{Args: args, Dir: dir, PID: os.Getpid(), GoesOn: os.Getenv("CLAUDE_CODE_RESUME_INTERRUPTED_TURN") == "1"})
	if err != nil {
		return err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return err
	}
	go func() { // ends with the process, which may still wait for a line
		_, _ = io.Copy(conn, in)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	_, err = io.Copy(out, conn)
	return err
}
