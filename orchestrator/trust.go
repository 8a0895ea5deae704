package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/claude/folder"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// settleTrust decides what a process loads from its folder. out leaves out the folder's settings
// unless c trusts them. It returns an [UntrustedError] if nobody has decided about these settings
// yet. A decision to trust is stored and recorded in the audit log.
func (o *Orchestrator) settleTrust(ctx context.Context, s session.Session, out bool, c Consent, by pending.Actor) (folderSettings, error) {
	found, err := o.readFolder(ctx, s.CWD)
	if err != nil {
		return folderSettings{}, err
	}
	if s.Demo || c.LeaveOut || out && c.Trust == "" {
		return withoutSettings(s, found)
	}
	settled := folderSettings{digest: found.Digest, checkedAtStart: found.CheckedAtStart}
	if found.Digest == "" {
		return settled, nil
	}
	if found.NeverLoaded {
		return folderSettings{}, untrusted(s.CWD, found, nil)
	}
	if c.Trust == found.Digest {
		items, err := json.Marshal(found.Items)
		if err == nil {
			err = o.o.Store.PutTrust(ctx, workspace.Trust{Folder: s.CWD, Digest: found.Digest, Items: items, By: by, At: time.Now()})
		}
		if err != nil {
			return folderSettings{}, fmt.Errorf("orchestrator: trust a folder: %w", err)
		}
		o.o.Log.InfoContext(ctx, "a folder is trusted", "folder", s.CWD, "digest", found.Digest, "by", by.Name)
		return settled, nil
	}
	before, known, err := o.o.Store.Trust(ctx, s.CWD)
	switch {
	case err != nil:
		return folderSettings{}, fmt.Errorf("orchestrator: trust in a folder: %w", err)
	case !known:
		return folderSettings{}, untrusted(s.CWD, found, nil)
	case before.Digest != found.Digest:
		return folderSettings{}, untrusted(s.CWD, found, &before)
	}
	return settled, nil
}

// TrustedFolder is a folder whose settings a person trusted, with the settings as they were then.
type TrustedFolder struct {
	Folder, Digest, By string
	At                 time.Time
	Items              []FolderItem
}

// TrustedFolders lists all trusted folders, the latest first.
func (o *Orchestrator) TrustedFolders(ctx context.Context) ([]TrustedFolder, error) {
	all, err := o.o.Store.AllTrusts(ctx)
	if err != nil {
		return nil, fmt.Errorf("orchestrator: trusted folders: %w", err)
	}
	list := make([]TrustedFolder, 0, len(all))
	for _, t := range all {
		one := TrustedFolder{Folder: t.Folder, Digest: t.Digest, By: t.By.Name, At: t.At}
		var items []folder.Item
		_ = json.Unmarshal(t.Items, &items) // fails for items of an older version; the digest is still valid
		for _, i := range items {
			one.Items = append(one.Items, itemOf(i))
		}
		list = append(list, one)
	}
	return list, nil
}

// Distrust revokes the trust in a folder with this digest, so that the next start there asks again.
// known is false if there is no such trust.
func (o *Orchestrator) Distrust(ctx context.Context, folder, digest string, by pending.Actor) (known bool, err error) {
	t, known, err := o.o.Store.Trust(ctx, folder)
	if err == nil && known {
		t.Digest = digest
		known, err = o.o.Store.Distrust(ctx, t, by, time.Now())
	}
	if err != nil {
		return false, fmt.Errorf("orchestrator: distrust a folder: %w", err)
	}
	if known {
		o.o.Log.InfoContext(ctx, "the trust in a folder was revoked", "folder", folder, "digest", digest, "by", by.Name)
	}
	return known, nil
}

// Consent stores a person's decision about the settings of a session's folder. The decision
// applies from the next process on.
func (o *Orchestrator) Consent(ctx context.Context, sessionID string, c Consent, by pending.Actor) error {
	s, err := o.ownSession(ctx, sessionID)
	if err != nil {
		return err
	}
	if _, err := o.settleTrust(ctx, s, false, c, by); err != nil {
		return err
	}
	if err := o.o.Store.LeaveOut(ctx, sessionID, c.LeaveOut); err != nil {
		return fmt.Errorf("orchestrator: leave out settings: %w", err)
	}
	return nil
}

// nextSettings decides what the next process of an existing session loads.
func (o *Orchestrator) nextSettings(ctx context.Context, s session.Session) (folderSettings, error) {
	out, err := o.o.Store.LeftOut(ctx, s.SessionID)
	if err != nil {
		return folderSettings{}, fmt.Errorf("orchestrator: settings of a session: %w", err)
	}
	return o.settleTrust(ctx, s, out, Consent{}, pending.Actor{})
}
