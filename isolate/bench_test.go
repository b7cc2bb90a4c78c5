package isolate

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// manyFiles makes a repository of n files of about 2 KB in folders of 50.
func manyFiles(t testing.TB, n int) string {
	content := files{}
	for i := range n {
		content[fmt.Sprintf("d%03d/f%05d.txt", i/50, i)] = strings.Repeat(fmt.Sprintf("line of file %d\n", i), 100)
	}
	return newRepo(t, content)
}

// BenchmarkAttempt is what isolation costs besides the agent's own time, on 5,000 files: everything (as a run of one attempt),
// and then its parts.
func BenchmarkAttempt(b *testing.B) {
	repo := manyFiles(b, 5000)
	ctx := context.Background()
	config := Config{Dir: repo, Root: b.TempDir()}
	change := files{"d001/f00050.txt": "changed\n", "d099/new.txt": "new\n"}
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			base, err := Open(ctx, config)
			must(b, err)
			tree, err := base.Tree(ctx, "a")
			must(b, err)
			put(b, tree.Top(), change)
			b.StopTimer()
			nextSecond()
			b.StartTimer()
			p, err := tree.Patch(ctx)
			must(b, err)
			exam, err := base.Exam(ctx, p, DefaultProtect())
			must(b, err)
			must(b, tree.Remove(ctx))
			must(b, exam.Remove(ctx))
			must(b, base.Close(ctx))
		}
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			base, err := Open(ctx, config)
			must(b, err)
			b.StopTimer()
			must(b, base.Close(ctx))
			b.StartTimer()
		}
	})
	base, err := Open(ctx, config)
	must(b, err)
	defer base.Close(ctx)
	b.Run("tree", func(b *testing.B) {
		for b.Loop() {
			tree, err := base.Tree(ctx, "a")
			must(b, err)
			b.StopTimer()
			must(b, tree.Remove(ctx))
			b.StartTimer()
		}
	})
	tree, err := base.Tree(ctx, "a")
	must(b, err)
	put(b, tree.Top(), change)
	nextSecond()
	p, err := tree.Patch(ctx)
	must(b, err)
	b.Run("patch", func(b *testing.B) {
		for b.Loop() {
			_, err := tree.Patch(ctx)
			must(b, err)
		}
	})
	b.Run("exam", func(b *testing.B) {
		for b.Loop() {
			exam, err := base.Exam(ctx, p, DefaultProtect())
			must(b, err)
			b.StopTimer()
			must(b, exam.Remove(ctx))
			b.StartTimer()
		}
	})
	b.Run("remove", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			tree, err := base.Tree(ctx, "a")
			must(b, err)
			b.StartTimer()
			must(b, tree.Remove(ctx))
		}
	})
	b.Run("branch", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			_, err := base.Apply(ctx, p, Branch, Options{Name: fmt.Sprintf("b%d", i)})
			must(b, err)
		}
	})
}

// nextSecond stands for the agent's own time: what it has written is not of the second in which the tree was made, which
// would have git read all files once more.
func nextSecond() {
	now := time.Now()
	<-time.After(now.Truncate(time.Second).Add(time.Second + time.Millisecond).Sub(now))
}

// BenchmarkLarge is one attempt on 50,000 files.
func BenchmarkLarge(b *testing.B) {
	if testing.Short() {
		b.Skip("it takes long")
	}
	repo := manyFiles(b, 50000)
	ctx := context.Background()
	root := b.TempDir()
	for b.Loop() {
		base, err := Open(ctx, Config{Dir: filepath.Join(repo, "d001"), Root: root})
		must(b, err)
		tree, err := base.Tree(ctx, "a")
		must(b, err)
		put(b, tree.Dir(), files{"new.txt": "new\n"})
		p, err := tree.Patch(ctx)
		must(b, err)
		exam, err := base.Exam(ctx, p, DefaultProtect())
		must(b, err)
		must(b, exam.Remove(ctx))
		must(b, base.Close(ctx))
	}
}
