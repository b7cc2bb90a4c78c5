package isolate

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyTree copies a folder: files with their modes and times, symbolic links as they are, empty folders. What is neither (a
// socket, a pipe, a device) and everything named .git is left out. Where the file system can share blocks between files, Go's
// copy makes it do so on Linux.
func copyTree(ctx context.Context, from, to string) error {
	type made struct {
		dir  string
		mode fs.FileMode
	}
	var dirs []made
	err := filepath.WalkDir(from, func(name string, found fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if found.Name() == ".git" && rel != "." {
			if found.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := found.Info()
		if err != nil {
			return err
		}
		switch info.Mode().Type() {
		case fs.ModeDir:
			dirs = append(dirs, made{target, info.Mode().Perm()})
			return os.Mkdir(target, info.Mode().Perm()|0o700)
		case fs.ModeSymlink:
			points, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(points, target)
		case 0:
			return copyFile(name, target, info)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range dirs { // only now: a folder may be one that nobody may write to
		if err := os.Chmod(d.dir, d.mode); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string, info fs.FileInfo) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := writeFrom(to, source, info.Mode().Perm()|0o200); err != nil {
		return err
	}
	if err := os.Chtimes(to, info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	return os.Chmod(to, info.Mode().Perm())
}

// writeFrom makes a new file of what it reads, or overwrites one.
func writeFrom(to string, source io.Reader, mode fs.FileMode) error {
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, source); err != nil {
		file.Close()
		return fmt.Errorf("write %s: %w", to, err)
	}
	return file.Close()
}
