package workingtree

import (
	"context"
	"encoding/json"
	"errors"
)

// Trees reads and changes the working trees of a host. Each call names the [Place] of a tree. It
// returns a [problem.Error] for a folder outside the roots, and when git is missing or too slow. Calls
// that change a tree come in pairs: one returns a plan, which the caller records, and one executes
// it, or refuses if the plan would be different by then. See the methods of [Folder].
type Trees interface {
	TreeSummary(ctx context.Context, p Place) (Summary, error)
	// TreeStatus returns [ErrNoSnapshot] for a snapshot that is gone.
	TreeStatus(ctx context.Context, p Place, base Base) (Status, error)
	// CompareFile returns [ErrNoSnapshot] for a snapshot that is gone.
	CompareFile(ctx context.Context, p Place, base Base, path, oldPath string) (Comparison, error)
	ListTree(ctx context.Context, p Place, folder string) (Listing, error)
	SearchTree(ctx context.Context, p Place, query string) (Found, error)
	ReadTreeFile(ctx context.Context, p Place, path string, maxBytes int64) (File, error)
	// Snapshot stores the content of a folder, see [Git.Snapshot].
	Snapshot(ctx context.Context, p Place) (Base, error)

	PlanDiscard(ctx context.Context, p Place, path, seen string) (Discarded, error)
	Discard(ctx context.Context, p Place, d Discarded) error
	PlanCommit(ctx context.Context, p Place, message string, paths []string) ([]string, error)
	Commit(ctx context.Context, p Place, message string, paths []string) (id string, err error)

	// InspectFiles describes files by their absolute paths, in this order, see [Folder.Inspect].
	InspectFiles(ctx context.Context, p Place, paths []string) ([]FileInfo, error)
	KeepFiles(ctx context.Context, p Place, paths []string) (objects map[string]string, err error)

	Branches(ctx context.Context, p Place) ([]string, error)
	WorktreesFolder(ctx context.Context, p Place) (folder string, err error)
	PlanWorktree(ctx context.Context, p Place, branch, base string) (NewWorktree, error)
	AddWorktree(ctx context.Context, p Place, w NewWorktree) (folder string, err error)
	// Worktree returns a [problem.Error] for a working tree that AddWorktree has not created.
	Worktree(ctx context.Context, p Place) (Worktree, error)
	PlanMerge(ctx context.Context, p Place, digest string) (Merge, error)
	MergeWorktree(ctx context.Context, p Place, m Merge) (commit string, err error)
	PlanRemoval(ctx context.Context, p Place, digest string) (RemovedWorktree, error)
	RemoveWorktree(ctx context.Context, p Place, w RemovedWorktree) (RemovedWorktree, error)
}

// Tree is a working tree as a person may see it. Callers pass its Place to the methods of its Trees.
type Tree struct {
	Trees
	Place
}

// MarshalJSON returns the place only: the receiver has its own Trees.
func (t Tree) MarshalJSON() ([]byte, error) { return json.Marshal(t.Place) }

// UnmarshalJSON sets the place.
func (t *Tree) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &t.Place) }

// ErrNoSnapshot means that a repository no longer has what Snapshot stored.
var ErrNoSnapshot = errors.New("the stored state of the folder is gone")

// inFolder calls f with the folder of a place.
func inFolder[T any](ctx context.Context, g *Git, p Place, f func(*Folder) (T, error)) (result T, err error) {
	folder, err := g.Open(ctx, p)
	if err != nil {
		return result, err
	}
	defer folder.Close()
	return f(folder)
}

// since is inFolder for a comparison with a base. It returns [ErrNoSnapshot] for a snapshot that
// is gone.
func since[T any](ctx context.Context, g *Git, p Place, base Base, f func(*Folder) (T, error)) (T, error) {
	return inFolder(ctx, g, p, func(folder *Folder) (none T, err error) {
		if base != BaseHead && base != BaseBranch {
			if has, err := folder.HasSnapshot(ctx, base); err != nil {
				return none, err
			} else if !has {
				return none, ErrNoSnapshot
			}
		}
		return f(folder)
	})
}

func (g *Git) TreeSummary(ctx context.Context, p Place) (Summary, error) {
	return inFolder(ctx, g, p, func(f *Folder) (Summary, error) { return f.Summary(ctx) })
}

func (g *Git) TreeStatus(ctx context.Context, p Place, base Base) (Status, error) {
	return since(ctx, g, p, base, func(f *Folder) (Status, error) { return f.Status(ctx, base) })
}

func (g *Git) CompareFile(ctx context.Context, p Place, base Base, path, oldPath string) (Comparison, error) {
	return since(ctx, g, p, base, func(f *Folder) (Comparison, error) { return f.Compare(ctx, base, path, oldPath) })
}

func (g *Git) ListTree(ctx context.Context, p Place, folder string) (Listing, error) {
	return inFolder(ctx, g, p, func(f *Folder) (l Listing, err error) {
		l.Entries, l.More, err = f.List(folder)
		return l, err
	})
}

func (g *Git) SearchTree(ctx context.Context, p Place, query string) (Found, error) {
	return inFolder(ctx, g, p, func(f *Folder) (found Found, err error) {
		found.Paths, found.More, err = f.Search(ctx, query)
		return found, err
	})
}

func (g *Git) ReadTreeFile(ctx context.Context, p Place, path string, maxBytes int64) (File, error) {
	return inFolder(ctx, g, p, func(f *Folder) (file File, err error) {
		file.Content, file.Data, err = f.Read(path, maxBytes)
		return file, err
	})
}

func (g *Git) PlanDiscard(ctx context.Context, p Place, path, seen string) (Discarded, error) {
	return inFolder(ctx, g, p, func(f *Folder) (Discarded, error) { return f.PlanDiscard(ctx, path, seen) })
}

func (g *Git) Discard(ctx context.Context, p Place, d Discarded) error {
	_, err := inFolder(ctx, g, p, func(f *Folder) (struct{}, error) { return struct{}{}, f.Discard(ctx, d) })
	return err
}

func (g *Git) PlanCommit(ctx context.Context, p Place, message string, paths []string) ([]string, error) {
	return inFolder(ctx, g, p, func(f *Folder) ([]string, error) { return f.PlanCommit(ctx, message, paths) })
}

func (g *Git) Commit(ctx context.Context, p Place, message string, paths []string) (id string, err error) {
	return inFolder(ctx, g, p, func(f *Folder) (string, error) { return f.Commit(ctx, message, paths) })
}

func (g *Git) InspectFiles(ctx context.Context, p Place, paths []string) ([]FileInfo, error) {
	return inFolder(ctx, g, p, func(f *Folder) (all []FileInfo, err error) {
		for _, path := range paths {
			info, err := f.Inspect(path)
			if err != nil {
				return nil, err
			}
			all = append(all, info)
		}
		return all, nil
	})
}

func (g *Git) KeepFiles(ctx context.Context, p Place, paths []string) (map[string]string, error) {
	return inFolder(ctx, g, p, func(f *Folder) (map[string]string, error) { return f.Keep(ctx, paths) })
}

func (g *Git) Branches(ctx context.Context, p Place) ([]string, error) {
	return inFolder(ctx, g, p, func(f *Folder) ([]string, error) { return f.Branches(ctx) })
}

func (g *Git) WorktreesFolder(ctx context.Context, p Place) (string, error) {
	return inFolder(ctx, g, p, func(f *Folder) (string, error) { return f.WorktreesFolder(), nil })
}

func (g *Git) PlanWorktree(ctx context.Context, p Place, branch, base string) (NewWorktree, error) {
	return inFolder(ctx, g, p, func(f *Folder) (NewWorktree, error) { return f.PlanWorktree(ctx, branch, base) })
}

func (g *Git) AddWorktree(ctx context.Context, p Place, w NewWorktree) (folder string, err error) {
	return inFolder(ctx, g, p, func(f *Folder) (string, error) { return f.AddWorktree(ctx, w) })
}

func (g *Git) Worktree(ctx context.Context, p Place) (Worktree, error) {
	return inFolder(ctx, g, p, func(f *Folder) (Worktree, error) { return f.Worktree(ctx) })
}

func (g *Git) PlanMerge(ctx context.Context, p Place, digest string) (Merge, error) {
	return inFolder(ctx, g, p, func(f *Folder) (Merge, error) { return f.PlanMerge(ctx, digest) })
}

func (g *Git) MergeWorktree(ctx context.Context, p Place, m Merge) (commit string, err error) {
	return inFolder(ctx, g, p, func(f *Folder) (string, error) { return f.MergeWorktree(ctx, m) })
}

func (g *Git) PlanRemoval(ctx context.Context, p Place, digest string) (RemovedWorktree, error) {
	return inFolder(ctx, g, p, func(f *Folder) (RemovedWorktree, error) { return f.PlanRemoval(ctx, digest) })
}

func (g *Git) RemoveWorktree(ctx context.Context, p Place, w RemovedWorktree) (RemovedWorktree, error) {
	return inFolder(ctx, g, p, func(f *Folder) (RemovedWorktree, error) { return f.RemoveWorktree(ctx, w) })
}
