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

// findFolder returns a folder in which a person may start a session. runnerID names its machine, ""
// for this server.
func (s *changesHandlers) findFolder(ctx context.Context, who account.Identity, runnerID, cwd string) (workingtree.Tree, error) {
	book, err := s.guard.Book(ctx)
	if err != nil {
		return workingtree.Tree{}, err
	}
	return s.driver.FolderTree(ctx, runnerID, cwd,
		func(folder string) error { return s.mayStart(ctx, who, folder) },
		view(book, func(projectID string) bool { return access.Sees(book, who, projectID) }))
}

func gitState(s workingtree.Summary) wire.GitState {
	return wire.GitState{Repository: string(s.Repository), Branch: s.Branch, Head: s.Head, Uncommitted: s.Uncommitted, More: s.More, Base: s.Base}
}

// getFolderInfo describes a folder to a person who is about to start a session in it. It responds
// 204 if there is no folder at the path, as while the person is still typing.
func (s *changesHandlers) getFolderInfo(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	query := r.URL.Query()
	t, err := s.findFolder(r.Context(), who, query.Get("runner_id"), query.Get("cwd"))
	if errors.Is(err, problem.Invalid) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err != nil {
		return err
	}
	info := wire.FolderInfo{Branches: []string{}}
	if info.PermissionMode, info.Model, err = s.driver.LastChoice(r.Context(), query.Get("runner_id"), who.User.UserID, t.CWD); err != nil {
		return err
	}
	summary, err := t.TreeSummary(r.Context(), t.Place)
	if err != nil {
		return err
	}
	info.Git = gitState(summary)
	if to := summary.WorktreesFolder; to != "" && s.mayStart(r.Context(), who, to) == nil {
		branches, err := t.Branches(r.Context(), t.Place)
		if err != nil {
			return err
		}
		info.Branches = append(info.Branches, branches...)
	}
	writeJSON(w, http.StatusOK, info)
	return nil
}

// getFolderFiles finds files in a folder by parts of their path.
func (s *changesHandlers) getFolderFiles(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	query := r.URL.Query()
	t, err := s.findFolder(r.Context(), who, query.Get("runner_id"), query.Get("cwd"))
	if err != nil {
		return err
	}
	return s.writeFound(w, r, t)
}

func (s *changesHandlers) postWorktree(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.WorktreeCreate
	if err := readBody(r, &body); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), command.Timeout)
	defer cancel()
	t, err := s.findFolder(ctx, who, body.RunnerID, body.CWD)
	if err != nil {
		return err
	}
	to, err := t.WorktreesFolder(ctx, t.Place)
	if err != nil {
		return err
	}
	// The worktree may belong to the repository's project instead of the folder's.
	if to != "" {
		if err := s.mayStart(ctx, who, to); err != nil {
			return err
		}
	}
	folder, err := s.driver.AddWorktree(ctx, t, body.Branch, body.Base, access.Actor(who))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wire.WorktreeCreated{CWD: folder})
	return nil
}

// getGitState returns which branch is checked out in the folder of a session, and whether the folder
// has uncommitted changes. Every session page requests it, so a deleted folder or a missing git is no
// error.
func (s *changesHandlers) getGitState(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ses, book, err := s.guard.Session(r.Context(), who, project.See, r.PathValue("id"))
	if err != nil {
		return err
	}
	var summary workingtree.Summary
	t, err := s.folder(r.Context(), who, ses, book)
	if err == nil {
		summary, err = t.TreeSummary(r.Context(), t.Place)
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

// getWorktree describes the worktree of a session, or responds 409 if sayso created none for it.
func (s *changesHandlers) getWorktree(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	t, err := s.find(r, who)
	if err != nil {
		return err
	}
	found, err := t.Worktree(r.Context(), t.Place)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Worktree{
		Branch: found.Branch, Base: found.Base, Head: found.Head, Folder: found.Folder, Main: found.Main, BaseCheckedOut: found.BaseCheckedOut,
		Uncommitted: found.Uncommitted, Unmerged: found.Unmerged, Merge: string(found.Merge), BranchKept: found.BranchKept, Conflicts: append([]string{}, found.Conflicts...),
		Ignored: append([]string{}, found.Ignored...), MoreIgnored: found.MoreIgnored, Digest: found.Digest,
	})
	return nil
}

// changeRepository is like change, for actions that also affect the repository's main working tree:
// the person must have the same right in the project of that tree.
func (s *changesHandlers) changeRepository(r *http.Request, who account.Identity, do func(ctx context.Context, ses session.Session, t workingtree.Tree, digest string) error) error {
	var seen wire.WorktreeSeen
	return s.change(r, who, &seen, func(ctx context.Context, ses session.Session, t workingtree.Tree) error {
		to, err := t.WorktreesFolder(ctx, t.Place)
		if err != nil {
			return err
		}
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
		return do(ctx, ses, t, seen.Digest)
	})
}

func (s *changesHandlers) postWorktreeMerge(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var commit string
	if err := s.changeRepository(r, who, func(ctx context.Context, ses session.Session, t workingtree.Tree, digest string) (err error) {
		commit, err = s.driver.MergeWorktree(ctx, ses, t, digest, access.Actor(who))
		return err
	}); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.CommitCreated{Commit: commit})
	return nil
}

func (s *changesHandlers) postWorktreeRemove(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var gone workingtree.RemovedWorktree
	if err := s.changeRepository(r, who, func(ctx context.Context, ses session.Session, t workingtree.Tree, digest string) (err error) {
		gone, err = s.driver.RemoveWorktree(ctx, ses, t, digest, access.Actor(who))
		return err
	}); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.WorktreeRemoved{Kept: gone.Kept, BranchKept: gone.BranchKept})
	return nil
}
