// Command sayso-shim is the parent of one CLI. The server starts one for each session; see
// package shim. It is a separate program, embedded in sayso, because `sayso shim` would
// initialize the whole server.
package main

import (
	"fmt"
	"os"

	"github.com/sayso-dev/sayso/shim"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		fmt.Println(shim.Version)
		return
	}
	if shim.Main(os.Stdin, os.Stdout) != nil { // the error was reported on stdout
		os.Exit(1)
	}
}
