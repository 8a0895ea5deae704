// Bot asks in the terminal before Claude runs a tool that needs permission: bot "prompt".
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"

	"github.com/sayso-dev/sayso/claude"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var oneAtATime sync.Mutex // Claude may ask for several tools at once
	keyboard := bufio.NewScanner(os.Stdin)
	o := claude.Options{CanUseTool: func(ctx context.Context, r claude.ToolRequest) (claude.ToolDecision, error) {
		oneAtATime.Lock()
		defer oneAtATime.Unlock()
		if ctx.Err() != nil { // withdrawn while it was waiting
			return claude.ToolDecision{}, context.Cause(ctx)
		}
		fmt.Printf("%s %s\nAllow? [y/N] ", r.ToolName, r.Input)
		if keyboard.Scan() && keyboard.Text() == "y" {
			return claude.Allow(), nil
		}
		return claude.Deny("The person said no."), nil
	}}
	for m, err := range claude.Query(ctx, os.Args[1], o) {
		if err != nil {
			log.Fatal(err)
		}
		if a, ok := m.(*claude.Assistant); ok && a.Text() != "" {
			fmt.Println(a.Text())
		}
	}
}
