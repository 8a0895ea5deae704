// Guard lets Claude edit the files of a folder without questions and refuses others: guard "prompt".
// Links in the folder may lead elsewhere; a sandbox is the stronger wall.
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
