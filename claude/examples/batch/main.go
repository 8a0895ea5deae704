// Batch reviews files, up to four at a time, and prints the total cost: batch FILE…
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/tool"
)

type review struct {
	Problems []string `json:"problems" jsonschema:"one sentence each"`
}

func main() {
	const atOnce = 4
	slots := make(chan bool, atOnce)
	var all sync.WaitGroup
	var mu sync.Mutex
	var cost float64
	for _, file := range os.Args[1:] {
		slots <- true
		all.Go(func() {
			defer func() { <-slots }()
			// Claude may read files without asking, and has no other tools.
			r, result, err := tool.Ask[review](context.Background(), "Review "+file+".", claude.Options{
				Tools: []string{"Read"}, AllowedTools: []string{"Read"}, MaxBudgetUSD: 0.5, NoPersistence: true,
			})
			mu.Lock()
			defer mu.Unlock()
			if result != nil {
				cost += result.TotalCostUSD
			}
			if err != nil {
				log.Printf("%s: %v", file, err)
				return
			}
			for _, problem := range r.Problems {
				fmt.Printf("%s: %s\n", file, problem)
			}
		})
	}
	all.Wait()
	fmt.Printf("$%.2f\n", cost)
}
