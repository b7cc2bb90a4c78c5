package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// repository is what there is to know of the user's repository. It is only read.
type repository struct {
	top       string // of the work tree
	prefix    string // of Config.Dir in it, "." for the top
	gitDir    string // of this work tree
	commonDir string // of the repository; the same unless this is a linked worktree
	format    string // of object names: sha1 or sha256
	objects   []string
	settings  []setting // as git sees them here, in its order
	head      string    // the commit, "" when unborn
	branch    string    // the full name of what HEAD is on, "" when it is detached
}

type setting struct{ key, value string }

// discover finds the repository of a folder.
func discover(ctx context.Context, dir string) (*repository, error) {
	here := git{}.in(dir)
	said, err := here.line(ctx, "rev-parse", "--is-inside-work-tree", "--is-bare-repository", "--show-object-format", "--absolute-git-dir")
	if err != nil {
		return nil, notFound(dir, err)
	}
	answers := strings.SplitN(said, "\n", 4) // a path may hold newlines, so it is the last
	if len(answers) != 4 {
		return nil, fmt.Errorf("git rev-parse: cannot read %q", said)
	}
	switch {
	case answers[1] == "true":
		return nil, fmt.Errorf("%w: %s is bare, so there are no files to work on; make a work tree of it first (git worktree add)", ErrUnsupported, dir)
	case answers[0] != "true":
		return nil, fmt.Errorf("%w: %s is within the repository's own folder; use the folder of its files", ErrUnsupported, dir)
	}
	r := &repository{format: answers[2], gitDir: filepath.FromSlash(answers[3])}
	if r.top, err = here.line(ctx, "rev-parse", "--show-toplevel"); err != nil {
		return nil, fmt.Errorf("find the work tree: %w", err)
	}
	if r.top, err = filepath.EvalSymlinks(filepath.FromSlash(r.top)); err != nil {
		return nil, fmt.Errorf("find the work tree: %w", err)
	}
	if r.prefix, err = filepath.Rel(r.top, dir); err != nil || r.prefix != "." && !filepath.IsLocal(r.prefix) {
		return nil, fmt.Errorf("%w: %s is not in its own work tree %s (core.worktree?)", ErrUnsupported, dir, r.top)
	}
	if r.commonDir, err = commonDir(r.gitDir); err != nil {
		return nil, err
	}
	if r.objects, err = withAlternates(filepath.Join(r.commonDir, "objects")); err != nil {
		return nil, err
	}
	listed, err := here.run(ctx, "", "config", "--list", "-z")
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	for _, entry := range fields(listed) {
		key, value, found := strings.Cut(entry, "\n")
		if !found {
			value = "true"
		}
		r.settings = append(r.settings, setting{key, value})
	}
	if r.head, err = optional(here.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")); err != nil {
		return nil, fmt.Errorf("read HEAD: %w", err)
	}
	if r.branch, err = optional(here.line(ctx, "symbolic-ref", "--quiet", "HEAD")); err != nil {
		return nil, fmt.Errorf("read HEAD: %w", err)
	}
	return r, nil
}

// optional makes "" of git's way to say that there is nothing: exit status 1 without a word.
func optional(out string, err error) (string, error) {
	var refusal *gitError
	if errors.As(err, &refusal) && refusal.code == 1 && refusal.said == "" {
		return "", nil
	}
	return out, err
}

// notFound says why there is no repository to be used.
func notFound(dir string, err error) error {
	var refusal *gitError
	if !errors.As(err, &refusal) {
		return err
	}
	switch {
	case strings.Contains(refusal.said, "dubious ownership"):
		return fmt.Errorf("%w: it belongs to another user, and git does not trust it: git config --global --add safe.directory %s says that you do: %w",
			ErrUnsupported, dir, err)
	case strings.Contains(refusal.said, "not a git repository"):
		return fmt.Errorf("%w: %s; isolate: copy works without one, or make one (git init)", ErrNoRepository, dir)
	}
	return fmt.Errorf("%w: %w", ErrUnsupported, err)
}

// commonDir returns the repository's folder, given that of a work tree.
func commonDir(gitDir string) (string, error) {
	said, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if os.IsNotExist(err) {
		return gitDir, nil
	}
	if err != nil {
		return "", err
	}
	dir := filepath.FromSlash(strings.TrimSuffix(string(said), "\n"))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(gitDir, dir)
	}
	return filepath.Clean(dir), nil
}

// withAlternates returns a folder of objects and all those that it borrows from. Git refuses relative paths below the first
// level, so they are made absolute here.
func withAlternates(objects string) ([]string, error) {
	all := []string{objects}
	for i := 0; i < len(all); i++ {
		data, err := os.ReadFile(filepath.Join(all[i], "info", "alternates"))
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			if line == "" || line[0] == '#' {
				continue
			}
			if line[0] == '"' {
				return nil, fmt.Errorf("%w: it borrows objects from a folder whose name is quoted in %s", ErrUnsupported, filepath.Join(all[i], "info", "alternates"))
			}
			dir := filepath.FromSlash(line)
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(all[i], dir)
			}
			if !slices.Contains(all, dir) {
				all = append(all, dir)
			}
		}
	}
	if i := slices.IndexFunc(all, func(dir string) bool { return strings.ContainsRune(dir, '\n') }); i >= 0 {
		return nil, fmt.Errorf("%w: the name of the folder %q has a newline, so that its objects cannot be borrowed; rename it", ErrUnsupported, all[i])
	}
	return all, nil
}

// value returns the last value of a setting.
func (r *repository) value(key string) string {
	for _, s := range slices.Backward(r.settings) {
		if s.key == key {
			return s.value
		}
	}
	return ""
}

// fidelity are the settings that decide which bytes a file has, which files there are, and who commits. They are all that a
// clone gets.
var fidelity = []string{
	"core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode",
	"core.excludesfile", "core.attributesfile", "core.trustctime", "core.checkstat", "core.protecthfs", "core.protectntfs",
	"core.bigfilethreshold", "core.checkroundtripencoding", "core.longpaths", "core.sparsecheckout", "core.sparsecheckoutcone",
	"user.name", "user.email", "author.name", "author.email", "committer.name", "committer.email",
}

// faithful returns the settings to copy, each but once: conditional includes of the user's have been followed.
func (r *repository) faithful() []setting {
	var copied []setting
	for _, s := range r.settings {
		if !slices.Contains(fidelity, s.key) && !strings.HasPrefix(s.key, "filter.") {
			continue
		}
		copied = slices.DeleteFunc(copied, func(other setting) bool { return other.key == s.key })
		copied = append(copied, s)
	}
	return copied
}

// configFile writes settings as git reads them.
func configFile(settings []setting) string {
	var b strings.Builder
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
	for _, s := range settings {
		section, rest, _ := strings.Cut(s.key, ".")
		name := rest
		header := "[" + section + "]"
		if i := strings.LastIndexByte(rest, '.'); i >= 0 {
			name = rest[i+1:]
			header = "[" + section + ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(rest[:i]) + `"]`
		}
		b.WriteString(header + "\n\t" + name + ` = "` + quote.Replace(s.value) + "\"\n")
	}
	return b.String()
}

// layout is a repository to be made: without git init, which takes templates, and without a process.
type layout struct {
	dir      string // what is .git elsewhere
	bare     bool
	format   string
	head     string // what HEAD says
	borrows  []string
	settings []setting
	from     *repository // whose info/exclude, info/attributes, info/sparse-checkout and shallow are copied; may be nil
}

func (l layout) make() error {
	info := filepath.Join(l.dir, "info")
	for _, dir := range []string{filepath.Join(l.dir, "objects", "info"), filepath.Join(l.dir, "objects", "pack"), filepath.Join(l.dir, "refs", "heads"), filepath.Join(l.dir, "refs", "tags"), info} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	config := "[core]\n\tbare = false\n\trepositoryformatversion = 0\n"
	if l.bare {
		config = strings.Replace(config, "bare = false", "bare = true", 1)
	}
	if l.format == "sha256" {
		config = strings.Replace(config, "formatversion = 0", "formatversion = 1", 1) + "[extensions]\n\tobjectFormat = sha256\n"
	}
	files := map[string]string{
		filepath.Join(l.dir, "HEAD"):   l.head + "\n",
		filepath.Join(l.dir, "config"): config + configFile(l.settings),
	}
	if len(l.borrows) > 0 {
		files[filepath.Join(l.dir, "objects", "info", "alternates")] = filepath.ToSlash(strings.Join(l.borrows, "\n")) + "\n"
	}
	for name, content := range files {
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			return err
		}
	}
	if l.from == nil {
		return nil
	}
	return errors.Join(
		copyIfThere(filepath.Join(l.from.commonDir, "info", "exclude"), filepath.Join(info, "exclude")),
		copyIfThere(filepath.Join(l.from.commonDir, "info", "attributes"), filepath.Join(info, "attributes")),
		copyIfThere(filepath.Join(l.from.gitDir, "info", "sparse-checkout"), filepath.Join(info, "sparse-checkout")),
		copyIfThere(filepath.Join(l.from.commonDir, "shallow"), filepath.Join(l.dir, "shallow")),
	)
}

// copyIfThere copies a file with its time, which git compares with those of other files.
func copyIfThere(from, to string) error {
	source, err := os.Open(from)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	if err := writeFrom(to, source, 0o666); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
