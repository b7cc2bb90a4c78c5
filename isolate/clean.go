package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// CleanConfig says where to clean.
type CleanConfig struct {
	Root string // as in Config; "" is all that Config's "" can stand for
	Kept bool   // remove trees too that were kept on purpose, of runs that have ended
}

// Report is what Clean did and found.
type Report struct {
	Removed  []string // folders of runs
	Finished []string // folders in which a patch was half applied, and now is in whole
	Undone   []string // folders in which a patch was half applied, and now is not
	Killed   []int    // processes
	Kept     []string // folders of runs that were kept on purpose and still are
	Alive    []string // folders of runs that are still going on, here or, as far as can be known, on another machine or in another container
	Patches  []string // patches that could not be applied, for people to take by hand; they are not removed
}

// Clean removes what runs left whose process is dead: trees, examinations, registrations of worktrees, and, on Linux,
// processes that they started with [Tree.Env]. A patch that was half applied is undone when the placing of files had not
// begun, and finished when it had; a commit is finished when the branch was moved. Nothing is done to runs of living
// processes, whose identity is the number and the start. It is safe to call at any time, and by several at once.
//
// Clean goes on after an error; what it returns joins them all. A run that could not be cleaned stays for the next time.
func Clean(ctx context.Context, config CleanConfig) (Report, error) {
	roots := []string{config.Root}
	if config.Root == "" {
		roots = DefaultRoots()
	}
	var report Report
	var problems []error
	for _, root := range roots {
		root, err := filepath.Abs(root)
		if err == nil {
			root, err = filepath.EvalSymlinks(root)
		}
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = report.clean(ctx, root, config.Kept)
		}
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return report, fmt.Errorf("clean: %w", err)
	}
	return report, nil
}

func (r *Report) clean(ctx context.Context, root string, kept bool) error {
	runs, err := runsIn(root)
	if err != nil {
		return err
	}
	patches, err := filepath.Glob(filepath.Join(escapeGlob(root), patchesDir, "*.patch"))
	if err != nil {
		return err
	}
	r.Patches = append(r.Patches, patches...)
	var problems []error
	for _, found := range runs {
		switch {
		case found.alive:
			r.Alive = append(r.Alive, found.dir)
		case found.kept && !kept:
			r.Kept = append(r.Kept, found.dir)
		default:
			if err := r.cleanRun(ctx, root, found); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", found.dir, err))
			}
		}
		if err := context.Cause(ctx); err != nil {
			return errors.Join(append(problems, err)...)
		}
	}
	return errors.Join(problems...)
}

func (r *Report) cleanRun(ctx context.Context, root string, found run) (err error) {
	// Under a new name the folder is ours: who else cleans either finds it gone or finds us alive.
	name, err := runName()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, name)
	if err := os.Rename(found.dir, dir); os.IsNotExist(err) {
		return nil
	} else if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Rename(dir, found.dir)) // for the next time
		}
	}()
	was := found.owner.Run
	if was != "" {
		killed, err := killMarked(marker + filepath.Base(was))
		r.Killed = append(r.Killed, killed...)
		if err != nil {
			return err
		}
	}
	journals, err := journalsOf(dir)
	if err != nil {
		return err
	}
	for _, j := range journals {
		if err := r.settle(ctx, j); err != nil {
			return fmt.Errorf("a patch was half applied to %s: %w; it is in %s, and files as they were before may be beside yours as .firstgood-*", j.Top, err, j.patchFile())
		}
	}
	if found.owner.CommonDir != "" && was != "" {
		if err := unregister(found.owner.CommonDir, was); err != nil {
			return err
		}
	}
	if err := removeAll(dir); err != nil {
		return err
	}
	r.Removed = append(r.Removed, found.dir)
	return nil
}

// settle finishes or undoes what was half applied.
func (r *Report) settle(ctx context.Context, j *journal) error {
	top, err := os.OpenRoot(j.Top)
	if os.IsNotExist(err) {
		return j.remove()
	}
	if err != nil {
		return err
	}
	defer top.Close()
	finish := j.Phase == placing
	if finish && j.Commit != nil {
		if finish, err = j.Commit.moved(ctx); err != nil {
			return err
		}
	}
	if !finish {
		if err := j.undo(top); err != nil {
			return err
		}
		r.Undone = append(r.Undone, j.Top)
		return nil
	}
	for _, s := range j.Steps { // all of it, or nothing more
		if _, err := j.expect(top, s, true); err != nil {
			return err
		}
	}
	if err := j.place(top, true); err != nil {
		return err
	}
	if err := j.finish(top); err != nil {
		return err
	}
	r.Finished = append(r.Finished, j.Top)
	return nil
}
