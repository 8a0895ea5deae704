// Web streams Claude's answer to GET /?q=question: web 127.0.0.1:8080. The query ends when the visitor
// disconnects.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/sayso-dev/sayso/claude"
)

func main() {
	http.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		// Without a callback, every tool that needs permission is denied.
		o := claude.Options{Tools: []string{}, IncludePartialMessages: true, NoPersistence: true, MaxTurns: 1}
		for m, err := range claude.Query(r.Context(), r.FormValue("q"), o) {
			if err != nil {
				log.Print(err)
				fmt.Fprintln(w, "\nClaude could not answer.")
				return
			}
			if e, ok := m.(*claude.StreamEvent); ok && e.DeltaType == "text_delta" {
				fmt.Fprint(w, e.Text)
				_ = http.NewResponseController(w).Flush()
			}
		}
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
