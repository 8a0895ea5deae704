package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/internal/backup"
	"github.com/sayso-dev/sayso/store"
)

// keptState lists the files and folders of the state folder that a backup contains, in addition to
// the database. The others belong to running sessions or are written at each start.
var keptState = []string{"push-key", "runner.json", "acme", "agents", "attachments"}

// Names in a backup.
const (
	aboutFile   = "about.json"
	stateFolder = "state/"
	databaseDir = "database/"
)

// aboutBackup describes a backup to people.
type aboutBackup struct {
	MadeAt  time.Time `json:"made_at"`
	Version string    `json:"version"` // of sayso
	Server  string    `json:"server"`
}

// backUp writes a backup to a new file or to stdout.
func backUp(ctx context.Context, args []string, std streams) (err error) {
	var f serverFlags
	rest, err := parseFlags(newFlags("backup", f.define), args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usageError("it needs one file to write, or - for stdout")
	}
	s, err := f.settings("backup")
	if err != nil {
		return err
	}
	if rest[0] == "-" {
		return writeBackup(ctx, s, std.out)
	}
	if _, err := os.Lstat(rest[0]); err == nil {
		return fmt.Errorf("%s already exists. Choose another name", rest[0])
	}
	part := rest[0] + ".part"
	file, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the backup: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(part))
		}
	}()
	err = writeBackup(ctx, s, file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	info, err := os.Stat(part)
	if err != nil {
		return err
	}
	if err := os.Rename(part, rest[0]); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Backup written to %s (%d KB). It contains keys and hashes of passwords: store it safely.\n", rest[0], (info.Size()+1023)/1024)
	return nil
}

// writeBackup writes a backup of a server, which may be running.
func writeBackup(ctx context.Context, s settings, out io.Writer) error {
	now := time.Now().UTC().Truncate(time.Second)
	w, err := backup.NewWriter(out, now)
	if err != nil {
		return err
	}
	about, err := json.Marshal(aboutBackup{MadeAt: now, Version: versionText(), Server: s.NodeID})
	if err != nil {
		return err
	}
	if err := w.Add(aboutFile, int64(len(about)), bytes.NewReader(about)); err != nil {
		return err
	}
	// Files first: a server moves old attachments from files into the database, not back.
	for _, name := range keptState {
		err := filepath.WalkDir(filepath.Join(s.StateDir, name), func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			return addStateFile(w, s.StateDir, path)
		})
		if err != nil {
			return fmt.Errorf("cannot back up %s: %w", name, err)
		}
	}
	if err := store.Backup(ctx, s.Database, w.Add); err != nil {
		return err
	}
	return w.Close()
}

// addStateFile adds a file of the state folder, unless it is gone.
func addStateFile(w *backup.Writer, dir, file string) error {
	text, err := os.ReadFile(file) // they are small
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	name, err := filepath.Rel(dir, file)
	if err != nil {
		return err
	}
	return w.Add(stateFolder+filepath.ToSlash(name), int64(len(text)), bytes.NewReader(text))
}

// restoreFlags are the flags of sayso restore.
type restoreFlags struct {
	check, replace bool
	serverFlags
}

func (f *restoreFlags) define(flags *flag.FlagSet) {
	flags.BoolVar(&f.check, "check", false, "read the whole backup, and restore nothing")
	flags.BoolVar(&f.replace, "replace", false, "replace the existing database and keys")
	f.serverFlags.define(flags)
}

// restore puts the state of a backup into the state folder and the database of a stopped server.
func restore(ctx context.Context, args []string, std streams) error {
	var f restoreFlags
	rest, err := parseFlags(newFlags("restore", f.define), args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usageError("it needs the file of a backup")
	}
	s, err := f.settings("restore")
	if err != nil {
		return err
	}
	file, err := os.Open(rest[0])
	if err != nil {
		return fmt.Errorf("cannot read the backup: %w", err)
	}
	defer file.Close()
	about, err := readBackup(file)
	if err != nil {
		return fmt.Errorf("%s: %w. Nothing was changed", rest[0], err)
	}
	fmt.Fprintf(std.out, "The backup is intact: made at %s by sayso %s on %s.\n", about.MadeAt.Format(time.RFC3339), about.Version, about.Server)
	if f.check {
		return nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := &restoration{settings: s, replace: f.replace, aside: "-replaced-" + time.Now().UTC().Format("20060102T150405.000")}
	if err := r.run(ctx, file); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Restored to %s. Start the server; it reconnects to sessions that still run.\n", s.StateDir)
	for _, path := range r.kept {
		fmt.Fprintf(std.out, "The previous version is now %s.\n", path)
	}
	return nil
}

// readBackup reads a whole backup.
func readBackup(file io.Reader) (about aboutBackup, err error) {
	hasDatabase := false
	err = backup.Read(file, func(name string, _ int64, content io.Reader) error {
		hasDatabase = hasDatabase || strings.HasPrefix(name, databaseDir)
		if name == aboutFile {
			return json.NewDecoder(content).Decode(&about)
		}
		return nil
	})
	if err == nil && !hasDatabase {
		err = fmt.Errorf("%w: it has no database", backup.ErrDamaged)
	}
	return about, err
}

// restoringFolder returns the folder in which a restore prepares files of the state folder. While it
// exists, a restore is running or was interrupted, and no server starts.
func restoringFolder(stateDir string) string { return filepath.Join(stateDir, "restoring") }

// refuseInterruptedRestore fails if the state folder is only partly restored.
func refuseInterruptedRestore(stateDir string) error {
	if _, err := os.Lstat(restoringFolder(stateDir)); err == nil {
		return fmt.Errorf("restoring a backup to %s was interrupted. Run sayso restore again, or remove the folder %s to start with what is there", stateDir, restoringFolder(stateDir))
	}
	return nil
}

// restoration is a restore in progress.
type restoration struct {
	settings settings
	replace  bool
	aside    string // appended to the names of replaced files
	files    []string
	kept     []string // paths of the replaced files
	unlock   func()
}

// run restores a backup that was already read and verified. It replaces nothing until everything is
// prepared and checked. If it is interrupted after that, the next restore completes it.
func (r *restoration) run(ctx context.Context, file io.Reader) (err error) {
	if err := r.lock(ctx); err != nil {
		return err
	}
	defer r.unlock()
	staging := restoringFolder(r.settings.StateDir)
	_, statErr := os.Lstat(staging)
	interrupted := statErr == nil
	if err := r.refuseUnlessEmpty(ctx, interrupted); err != nil {
		return err
	}
	database, err := store.NewRestorer(ctx, r.settings.Database, r.aside)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	if err := os.Mkdir(staging, 0o700); err != nil {
		return err
	}
	changing := interrupted
	defer func() {
		if err != nil && !changing {
			err = errors.Join(fmt.Errorf("%w. Nothing was changed", err), os.RemoveAll(staging))
		}
	}()
	err = backup.Read(file, func(name string, _ int64, content io.Reader) error {
		if inState, ok := strings.CutPrefix(name, stateFolder); ok {
			return r.stage(staging, inState, content)
		}
		if strings.HasPrefix(name, databaseDir) {
			return database.Put(ctx, name, content)
		}
		return nil // added by a newer version
	})
	if err != nil {
		return err
	}
	if err := database.Check(ctx); err != nil {
		return err
	}
	changing = true
	if err := syncFiles(staging); err != nil {
		return err
	}
	if err := database.Commit(ctx); err != nil {
		return err
	}
	for _, name := range r.files {
		to := filepath.Join(r.settings.StateDir, name)
		if err := os.Rename(to, to+r.aside); err == nil {
			r.kept = append(r.kept, to+r.aside)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Rename(filepath.Join(staging, name), to); err != nil {
			return err
		}
	}
	if path, found := strings.CutPrefix(r.settings.Database, "sqlite:"); found {
		if _, err := os.Stat(path + r.aside); err == nil {
			r.kept = append(r.kept, path+r.aside)
		}
	}
	if err := syncFiles(r.settings.StateDir); err != nil {
		return err
	}
	return os.RemoveAll(staging)
}

// lock keeps servers from using the state folder and the database until r.unlock is called.
func (r *restoration) lock(ctx context.Context) (err error) {
	if info, err := os.Stat(r.settings.StateDir); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
			return fmt.Errorf("the state folder %s belongs to user %d; run sayso restore as that user", r.settings.StateDir, stat.Uid)
		}
	}
	r.unlock, err = lockOutServers(ctx, r.settings.StateDir, r.settings.Database)
	return err
}

// lockOutServers keeps servers from using a state folder and databases until unlock is called. It
// fails if a server uses one of them.
func lockOutServers(ctx context.Context, stateDir string, databases ...string) (unlock func(), err error) {
	var locks []io.Closer
	release := func() {
		for _, l := range slices.Backward(locks) {
			_ = l.Close() // the lock ends with the process anyway
		}
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	state, err := openStateDir(ctx, stateDir)
	if err != nil {
		return nil, err
	}
	locks = append(locks, state)
	for _, address := range databases {
		file, err := lockDatabase(ctx, address)
		if err != nil {
			return nil, err
		}
		if file != nil {
			locks = append(locks, file)
		}
		exclusive, err := store.Exclude(ctx, address, handoverTimeout)
		if err != nil {
			return nil, err
		}
		if exclusive != nil {
			locks = append(locks, exclusive)
		}
	}
	return release, nil
}

// refuseUnlessEmpty fails if the restore would replace a database or files, unless --replace was
// given or an interrupted restore left them.
func (r *restoration) refuseUnlessEmpty(ctx context.Context, interrupted bool) error {
	if r.replace || interrupted {
		return nil
	}
	empty, err := store.IsEmpty(ctx, r.settings.Database)
	if err != nil {
		return err
	}
	if !empty {
		return errors.New("there is a database already. To replace it, add --replace. Nothing was changed")
	}
	for _, name := range keptState {
		path := filepath.Join(r.settings.StateDir, name)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s exists already. To replace it, add --replace. Nothing was changed", path)
		}
	}
	return nil
}

// stage writes a file of the state folder to the folder staging.
func (r *restoration) stage(staging, name string, content io.Reader) error {
	top, _, _ := strings.Cut(name, "/")
	if !filepath.IsLocal(name) || path.Clean(name) != name || !slices.Contains(keptState, top) {
		return fmt.Errorf("%w: it has a file %s, which is none of the state folder", backup.ErrDamaged, name)
	}
	if !slices.Contains(r.files, top) {
		r.files = append(r.files, top)
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	to := filepath.Join(staging, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// syncFiles makes the files of a folder and their names durable. It skips the folders of sessions,
// which shims change.
func syncFiles(folder string) error {
	return filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == "shims" {
			return fs.SkipDir
		}
		if !e.IsDir() && !e.Type().IsRegular() {
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(file.Sync(), file.Close())
	})
}
