package wire

// Changes lists what changed in the folder of a session, compared with a base.
type Changes struct {
	// Repository is found, missing, untrusted or outside. Files is empty unless it is
	// found, or Base is turn.
	Repository string        `json:"repository"`
	Branch     string        `json:"branch"` // "" when HEAD is detached
	Head       string        `json:"head"`   // abbreviated; "" before the first commit
	Base       string        `json:"base"`   // head, branch or turn
	MainBranch string        `json:"main_branch"`
	Files      []ChangedFile `json:"files"`
	More       bool          `json:"more"` // further files were left out
	// Source is the source of the state before a turn: snapshot (all files that Git sees) or checkpoints
	// (only files that Claude's own tools changed). It is absent if the state is unknown, and for any other
	// base.
	Source string `json:"source,omitempty"`
	// Commands is the number of commands that Claude has run since then. Their changes are not listed.
	Commands int `json:"commands,omitempty"`
}

// ChangedFile is a file that differs from the base. Added and Removed are absent for a
// binary file, and for a new file that was not read.
type ChangedFile struct {
	Path        string `json:"path"` // relative to the folder, or absolute outside of it
	OldPath     string `json:"old_path,omitempty"`
	Status      string `json:"status"` // added, modified, deleted, renamed, type_changed, untracked or conflicted
	Added       *int   `json:"added,omitempty"`
	Removed     *int   `json:"removed,omitempty"`
	Uncommitted bool   `json:"uncommitted"` // differs from the last commit
	Readable    bool   `json:"readable"`    // false for a name that is not UTF-8
	Version     string `json:"version"`     // changes when the file changes
}

// FileComparison is a file as it was in the base and as it is now.
type FileComparison struct {
	Before FileContent `json:"before"`
	After  FileContent `json:"after"`
	Digest string      `json:"digest"` // of the current content
}

// FileContent is the text of a file, or the reason why there is none.
type FileContent struct {
	State string `json:"state"` // text, link, missing, binary, large, outside, denied or other
	Text  string `json:"text"`
	Size  int64  `json:"size"` // in bytes
}

// FileDiscard names a file whose changes to discard, and the content that was shown.
type FileDiscard struct {
	Path   string `json:"path" validate:"required,max=4096"`
	Digest string `json:"digest" validate:"required,max=64"`
}

// CommitCreate commits the current content of files.
type CommitCreate struct {
	Message string   `json:"message" validate:"required,max=65536"`
	Paths   []string `json:"paths" validate:"required,min=1,max=1000,dive,required,max=4096"`
}

// CommitCreated is a new commit.
type CommitCreated struct {
	Commit string `json:"commit"` // commit id
}

// Rewind lists the changes that restore the files to their state before a message.
type Rewind struct {
	Files      []RewoundFile `json:"files"`
	Insertions int           `json:"insertions"` // lines, of all files together
	Deletions  int           `json:"deletions"`
	Commands   int           `json:"commands"` // that Claude has run since the message; their effects remain
	Digest     string        `json:"digest"`   // changes when a file changes
}

// RewoundFile is a file that a rewind changes.
type RewoundFile struct {
	Path    string `json:"path"`    // relative to the session's folder, or absolute outside of it
	Missing bool   `json:"missing"` // it was deleted, and will be restored
	Changed bool   `json:"changed"` // it was changed after Claude's last edit; that change will be lost
}

// RewindStart restores the files that were shown.
type RewindStart struct {
	MessageID string `json:"message_id" validate:"required,uuid"`
	Digest    string `json:"digest" validate:"required,max=64"`
}

// FolderEntry is an entry of a folder.
type FolderEntry struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"` // folder, file, link or other
	Readable bool   `json:"readable"`
}

// FolderEntries lists the entries of a folder, folders first.
type FolderEntries struct {
	Entries []FolderEntry `json:"entries"`
	More    bool          `json:"more"` // further entries were left out
}

// FoundFiles lists the paths that match a search, best first.
type FoundFiles struct {
	Paths []string `json:"paths"`
	More  bool     `json:"more"` // further paths were left out
}

// GitState is the summary of a repository.
type GitState struct {
	Repository  string `json:"repository" validate:"oneof=found missing untrusted outside"`
	Branch      string `json:"branch"`      // "" when HEAD is detached
	Head        string `json:"head"`        // the last commit, abbreviated; "" before the first
	Uncommitted int    `json:"uncommitted"` // files that differ from the last commit; a new folder counts as one
	More        bool   `json:"more"`        // further files were not counted
	Base        string `json:"base"`        // the branch that a worktree created here is merged into; else ""
}

// FolderInfo is what a person needs to know about a folder before they start a session in
// it.
type FolderInfo struct {
	Git            GitState `json:"git"`
	Branches       []string `json:"branches"`        // from which a worktree can start, newest first; empty if a worktree is impossible
	PermissionMode string   `json:"permission_mode"` // of this person's last session in the folder; "" for none
	Model          string   `json:"model"`
}

// WorktreeCreate creates a worktree on a new branch.
type WorktreeCreate struct {
	CWD    string `json:"cwd" validate:"required,max=4096"`
	Branch string `json:"branch" validate:"required,max=100"`
	Base   string `json:"base" validate:"required,max=250"` // the branch that it starts from
	// RunnerID is the machine with the folder; "" for the one inside this server.
	RunnerID string `json:"runner_id,omitempty" validate:"max=64"`
}

// WorktreeCreated is a new worktree.
type WorktreeCreated struct {
	CWD string `json:"cwd"` // where to start the session
}

// Worktree is the worktree of a session.
type Worktree struct {
	Branch         string   `json:"branch"` // "" when HEAD is detached
	Base           string   `json:"base"`   // the branch that it is merged into
	Head           string   `json:"head"`
	Folder         string   `json:"folder"`
	Main           string   `json:"main"`             // the folder of the repository's main working tree
	BaseCheckedOut bool     `json:"base_checked_out"` // in main, whose files a merge changes
	Uncommitted    int      `json:"uncommitted"`      // files
	Unmerged       int      `json:"unmerged"`         // commits that base lacks
	Merge          string   `json:"merge" validate:"oneof=ready nothing uncommitted conflicts base_changed base_elsewhere base_missing no_identity"`
	BranchKept     bool     `json:"branch_kept"`  // when the worktree is removed
	Conflicts      []string `json:"conflicts"`    // files, the first 20
	Ignored        []string `json:"ignored"`      // files and folders that are in no commit, the first 20
	MoreIgnored    bool     `json:"more_ignored"` // further files and folders were left out
	Digest         string   `json:"digest"`       // identifies this state
}

// WorktreeSeen identifies the state of a worktree that the person saw before they merge or
// remove it.
type WorktreeSeen struct {
	Digest string `json:"digest" validate:"required,max=64"`
}

// WorktreeRemoved reports what remains of a removed worktree.
type WorktreeRemoved struct {
	Kept       string `json:"kept"`        // the commit with its uncommitted changes; "" for none
	BranchKept bool   `json:"branch_kept"` // because it has commits that its base lacks
}
