package isolate

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// A run's folder is in the root, and its name says whose it is: r<pid>-<start>-<random>, with the process's start as the
// system tells it. A name is there as soon as the folder is, so that no crash can leave a folder without an owner.
//
//	owner.json   of which machine, and of which repository
//	kept         it is to stay
//	j/           what is being applied; see journal
//	h/           everything else, each under a random name; it cannot be listed without changing its mode
//	h/…/NAME     a tree or an examination
//	h/….git      our repository
const (
	ownerFile   = "owner.json"
	keptFile    = "kept"
	journalsDir = "j"
	hiddenDir   = "h"
	patchesDir  = "patches" // of the root: patches that could not be applied, for people
)

// owner is what is known of a run beside its name.
type owner struct {
	Host      string `json:"host"`
	PID       int    `json:"pid"`
	Dir       string `json:"dir"`                  // what is isolated
	Run       string `json:"run"`                  // its folder, which gets another name when it is cleaned
	CommonDir string `json:"common_dir,omitempty"` // of its repository, where worktrees are registered
}

func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// newRun makes the folder of a run.
func newRun(root string, of owner) (string, error) {
	name, err := runName()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	of.Host, of.PID, of.Run = machine(), os.Getpid(), dir
	data, err := json.Marshal(of)
	if err != nil {
		return "", err
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, ownerFile), data, 0o600),
		os.Mkdir(filepath.Join(dir, journalsDir), 0o700),
		os.Mkdir(filepath.Join(dir, hiddenDir), 0o300),
	)
	if err != nil {
		_ = removeAll(dir)
		return "", err
	}
	return dir, nil
}

// runName returns a name that says that this process is the owner.
func runName() (string, error) {
	start, err := processStart(os.Getpid())
	if err != nil {
		return "", fmt.Errorf("when this process started: %w", err)
	}
	return fmt.Sprintf("r%d-%s-%s", os.Getpid(), start, random(3)), nil
}

// machine tells where numbers of processes mean something else: on another host, or in another container.
func machine() string {
	host, _ := os.Hostname()                     // without a name every machine is the same
	space, _ := os.Readlink("/proc/self/ns/pid") // on Linux
	return strings.TrimSpace(host + " " + space)
}

// run is a folder of the root, as Clean sees it.
type run struct {
	dir   string
	owner owner // the zero value when it was not yet written
	alive bool  // its process runs, or may run on another machine
	kept  bool
}

// runsIn returns the runs of a root, those of other machines as alive.
func runsIn(root string) ([]run, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var runs []run
	for _, entry := range entries {
		pid, start, ok := parseRunName(entry.Name())
		if !ok || !entry.IsDir() {
			continue
		}
		r := run{dir: filepath.Join(root, entry.Name())}
		data, err := os.ReadFile(filepath.Join(r.dir, ownerFile))
		if err == nil {
			err = json.Unmarshal(data, &r.owner)
		}
		switch {
		case err == nil && r.owner.Host != machine():
			r.alive = true
		default:
			now, startErr := processStart(pid)
			r.alive = startErr == nil && now == start || startErr != nil && !errors.Is(startErr, fs.ErrNotExist)
		}
		_, err = os.Lstat(filepath.Join(r.dir, keptFile))
		r.kept = err == nil
		runs = append(runs, r)
	}
	return runs, nil
}

func parseRunName(name string) (pid int, start string, ok bool) {
	rest, ok := strings.CutPrefix(name, "r")
	if !ok {
		return 0, "", false
	}
	first, rest, ok := strings.Cut(rest, "-")
	if !ok {
		return 0, "", false
	}
	start, tail, ok := strings.Cut(rest, "-")
	pid, err := strconv.Atoi(first)
	return pid, start, ok && err == nil && pid > 0 && start != "" && len(tail) == 6
}

// rootFor returns the root to use, made if need be. It is never within what is isolated, where it would be part of it.
func rootFor(given, isolated string) (string, error) {
	if given != "" {
		root, err := makeRoot(given, isolated)
		if err != nil {
			return "", fmt.Errorf("folder for trees: %w", err)
		}
		return root, nil
	}
	var problems []error
	for _, candidate := range DefaultRoots() {
		root, err := makeRoot(candidate, isolated)
		if err == nil {
			err = ours(root)
		}
		if err == nil {
			return root, nil
		}
		problems = append(problems, err)
	}
	return "", fmt.Errorf("no folder for trees: %w", errors.Join(problems...))
}

// makeRoot makes a folder outside of what is isolated, and returns its name free of symbolic links.
func makeRoot(name, isolated string) (string, error) {
	root, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	missing := "" // what is not yet there
	for {
		real, err := filepath.EvalSymlinks(root)
		if err == nil {
			root = filepath.Join(real, missing)
			break
		}
		parent := filepath.Dir(root)
		if !errors.Is(err, fs.ErrNotExist) || parent == root {
			return "", err
		}
		root, missing = parent, filepath.Join(filepath.Base(root), missing)
	}
	if within(isolated, root) {
		return "", fmt.Errorf("%s is within %s; choose one outside of it", root, isolated)
	}
	return root, os.MkdirAll(root, 0o700)
}

// DefaultRoots are the folders that stand for a Root of "": the first that can be used is. Clean looks at all of them.
func DefaultRoots() []string {
	var roots []string
	if cache, err := os.UserCacheDir(); err == nil && filepath.IsAbs(cache) {
		roots = append(roots, filepath.Join(cache, "firstgood"))
	}
	return append(roots, filepath.Join(os.TempDir(), "firstgood-"+strconv.Itoa(os.Getuid())))
}

// ours refuses a folder that others may write to: a temporary folder's names can be taken by anybody.
func ours(root string) error {
	info, err := os.Lstat(root)
	if err != nil {
		return err
	}
	if !info.IsDir() || runtime.GOOS != "windows" && (info.Mode().Perm()&0o022 != 0 || !ownedByUs(info)) {
		return fmt.Errorf("%s: not a folder that this user alone can write to", root)
	}
	return nil
}

// within reports whether a path is a folder or in it. Both are absolute and free of symbolic links.
func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// removeAll removes a folder, also where the modes of folders within would forbid it, such as in a module cache. It never
// follows a symbolic link.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(name, 0o700) // before it is read: WalkDir calls first, then reads
		}
		return nil
	})
	return os.RemoveAll(dir)
}
