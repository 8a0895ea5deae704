package refusal

import (
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/wire"
)

// NewFolderItems converts the items that Claude would load from a folder.
func NewFolderItems(list []orchestrator.FolderItem) []wire.FolderItem {
	out := make([]wire.FolderItem, 0, len(list))
	for _, i := range list {
		out = append(out, wire.FolderItem{
			Kind: wire.FolderItemKind(i.Kind), Danger: wire.FolderDanger(i.Danger), File: i.File, Name: i.Name, Text: i.Text, Cut: i.Cut, New: i.New,
		})
	}
	return out
}

// NewFolderTrust returns the settings that a person must review.
func NewFolderTrust(e *orchestrator.UntrustedError) *wire.FolderTrust {
	w := &wire.FolderTrust{
		Folder: e.Folder, Digest: e.Digest, Items: NewFolderItems(e.Items), Gone: NewFolderItems(e.Gone), Told: e.Instructions, CanLeaveOut: !e.CannotLeaveOut, MachineRefuses: e.NeverLoaded,
	}
	if w.Told == nil {
		w.Told = []string{}
	}
	if e.Before != nil {
		w.Before = &wire.TrustedBy{By: e.Before.By.Name, At: wire.Seconds(e.Before.At)}
	}
	return w
}
