// Guard lets Claude edit the files in a folder without asking, and denies all others: guard "prompt".
// Symbolic links in the folder may lead elsewhere; only a sandbox prevents that.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sayso-dev/sayso/claude"
)

func main() {
	dir, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	inFolder := func(_ context.Context, in claude.HookInput) (claude.HookOutput, error) {
		var input struct {
			FilePath string `json:"file_path"`
		}
		if err := json.Unmarshal(in.ToolInput, &input); err != nil {
			return claude.HookOutput{}, err // refused
		}
		if path, err := filepath.Rel(dir, input.FilePath); err != nil || !filepath.IsLocal(path) {
			return claude.HookOutput{Permission: claude.HookDeny, PermissionReason: "Stay in the folder."}, nil
		}
		return claude.HookOutput{Permission: claude.HookAllow}, nil
	}
	r, err := claude.Ask(context.Background(), os.Args[1], claude.Options{
		Dir: dir, Tools: []string{"Read", "Write", "Edit"},
		Hooks: []claude.Hook{{Event: claude.EventPreToolUse, Run: inFolder}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Text)
}
