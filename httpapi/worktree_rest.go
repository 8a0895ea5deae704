package httpapi

import (
	"context"
	"errors"
	"net/http"
	"path"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// mayStart checks whether a person may start a session in a folder without symbolic links.
func (s *changesHandlers) mayStart(ctx context.Context, who account.Identity, folder string) error {
	return s.guard.Start(ctx, who, folder, "default", nil)
}

// openFolder opens a folder in which a person may start a session.
func (s *changesHandlers) openFolder(ctx context.Context, who account.Identity, cwd string) (*workingtree.Folder, error) {
	book, err := s.guard.Book(ctx)
	if err != nil {
		return nil, err
	}
	return s.driver.FolderTree(ctx, cwd,
		func(folder string) error { return s.mayStart(ctx, who, folder) },
		func(file string) bool {
			return access.Sees(book, who, book.ProjectIDOf(path.Clean(file)))
		})
}

func gitState(s workingtree.Summary) wire.GitState {
	return wire.GitState{Repository: string(s.Repository), Branch: s.Branch, Head: s.Head, Uncommitted: s.Uncommitted, More: s.More, Base: s.Base}
}

// getFolderInfo says what a person should know of a folder before they start a session in it.
func (s *changesHandlers) getFolderInfo(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	f, err := s.openFolder(r.Context(), who, r.URL.Query().Get("cwd"))
	if err != nil {
		return err
	}
	defer f.Close()
	info := wire.FolderInfo{Branches: []string{}}
	if info.PermissionMode, info.Model, err = s.driver.LastChoice(r.Context(), who.User.UserID, f.Dir()); err != nil {
		return err
	}
	summary, err := f.Summary(r.Context())
	if err != nil {
		return err
	}
	info.Git = gitState(summary)
	if to := f.WorktreesFolder(); to != "" && s.mayStart(r.Context(), who, to) == nil {
		branches, err := f.Branches(r.Context())
		if err != nil {
			return err
		}
		info.Branches = append(info.Branches, branches...)
	}
	writeJSON(w, http.StatusOK, info)
	return nil
}

// getFolderFiles finds files of a folder by parts of their path.
func (s *changesHandlers) getFolderFiles(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	f, err := s.openFolder(r.Context(), who, r.URL.Query().Get("cwd"))
	if err != nil {
		return err
	}
	defer f.Close()
	return s.writeFound(w, r, f)
}

func (s *changesHandlers) postWorktree(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.WorktreeCreate
	if err := readBody(r, &body); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), command.Timeout)
	defer cancel()
	f, err := s.openFolder(ctx, who, body.CWD)
	if err != nil {
		return err
	}
	defer f.Close()
	// The worktree may belong to another project than the folder: to that of the repository.
	if to := f.WorktreesFolder(); to != "" {
		if err := s.mayStart(ctx, who, to); err != nil {
			return err
		}
	}
	folder, err := s.driver.AddWorktree(ctx, f, body.Branch, body.Base, access.Actor(who))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wire.WorktreeCreated{CWD: folder})
	return nil
}

// getGitState says which branch is checked out in the folder of a session, and whether it is clean.
// Every page of a session asks for it, so a folder that is gone or a missing git is no error.
func (s *changesHandlers) getGitState(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ses, book, err := s.guard.Session(r.Context(), who, project.See, r.PathValue("id"))
	if err != nil {
		return err
	}
	var summary workingtree.Summary
	f, err := s.folder(r.Context(), who, ses, book)
	if err == nil {
		defer f.Close()
		summary, err = f.Summary(r.Context())
	}
	if reason := (*problem.Error)(nil); errors.As(err, &reason) {
		summary, err = workingtree.Summary{Repository: workingtree.RepositoryMissing}, nil
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gitState(summary))
	return nil
}

// getWorktree describes the worktree of a session, or answers 409 when it has none of ours.
func (s *changesHandlers) getWorktree(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	f, err := s.open(r, who)
	if err != nil {
		return err
	}
	defer f.Close()
	t, ours, err := f.Worktree(r.Context())
	if err != nil {
		return err
	}
	if !ours {
		return problem.New("worktree_missing")
	}
	writeJSON(w, http.StatusOK, wire.Worktree{
		Branch: t.Branch, Base: t.Base, Head: t.Head, Folder: f.Dir(), Main: t.Main, BaseCheckedOut: t.BaseCheckedOut,
		Uncommitted: t.Uncommitted, Unmerged: t.Unmerged, Merge: string(t.Merge), BranchKept: t.BranchKept, Conflicts: append([]string{}, t.Conflicts...),
		Ignored: append([]string{}, t.Ignored...), MoreIgnored: t.MoreIgnored, Digest: t.Digest,
	})
	return nil
}

// changeRepository is change for what also changes the repository's main working tree, in whose
// project the person must have the same right.
func (s *changesHandlers) changeRepository(r *http.Request, who account.Identity, do func(ctx context.Context, ses session.Session, f *workingtree.Folder, digest string) error) error {
	var seen wire.WorktreeSeen
	return s.change(r, who, &seen, func(ctx context.Context, ses session.Session, f *workingtree.Folder) error {
		to := f.WorktreesFolder()
		if to == "" {
			return problem.New("worktree_missing")
		}
		book, err := s.guard.Book(ctx)
		if err != nil {
			return err
		}
		if err := book.May(access.Person(who), project.Answer, project.Place{ProjectID: book.ProjectIDOf(path.Dir(to))}); err != nil {
			return err
		}
		return do(ctx, ses, f, seen.Digest)
	})
}

func (s *changesHandlers) postWorktreeMerge(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var commit string
	if err := s.changeRepository(r, who, func(ctx context.Context, ses session.Session, f *workingtree.Folder, digest string) (err error) {
		commit, err = s.driver.MergeWorktree(ctx, ses, f, digest, access.Actor(who))
		return err
	}); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.CommitCreated{Commit: commit})
	return nil
}

func (s *changesHandlers) postWorktreeRemove(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var gone workingtree.RemovedWorktree
	if err := s.changeRepository(r, who, func(ctx context.Context, ses session.Session, f *workingtree.Folder, digest string) (err error) {
		gone, err = s.driver.RemoveWorktree(ctx, ses, f, digest, access.Actor(who))
		return err
	}); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.WorktreeRemoved{Kept: gone.Kept, BranchKept: gone.BranchKept})
	return nil
}
