package isolate

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExam_CheatsAreRestored has the ways to pass by changing the exam, on a project in Go whose test fails.
func TestExam_CheatsAreRestored(t *testing.T) {
	t.Parallel()
	goProgram, err := exec.LookPath("go")
	if err != nil {
		t.Skip("go is not here")
	}
	const test = "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestAdd(t *testing.T) {\n\twant, err := os.ReadFile(\"testdata/want.golden\")\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tif got := Add(1, 2); string(want) != string(rune('0'+got)) {\n\t\tt.Errorf(\"got %d, want %s\", got, want)\n\t}\n}\n"
	repo := newRepo(t, files{
		"go.mod": "module example.org/p\n\ngo 1.21\n", "add.go": "package p\n\nfunc Add(a, b int) int { return a - b }\n", "add_test.go": test, "testdata/want.golden": "3",
	})
	b := open(t, Config{Dir: repo})
	right := "package p\n\nfunc Add(a, b int) int { return a + b }\n"
	for name, test := range map[string]struct {
		changed  files
		restored []string
		passes   bool
	}{
		"nothing":              {nil, nil, false},
		"right fix":            {files{"add.go": right}, nil, true},
		"broken build":         {files{"add.go": "package p\n\nfunc Add("}, nil, false},
		"test deleted":         {files{"add_test.go": "-"}, []string{"add_test.go"}, false},
		"test renamed":         {files{"add_test.go": "-", "add_test.go.off": test}, []string{"add_test.go"}, false},
		"test skipped":         {files{"add_test.go": strings.Replace(test, "{\n\twant", "{\n\tt.Skip()\n\twant", 1)}, []string{"add_test.go"}, false},
		"test hidden by a tag": {files{"add_test.go": "//go:build never\n\n" + test}, []string{"add_test.go"}, false},
		"TestMain exits 0":     {files{"main_test.go": "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(*testing.M) { os.Exit(0) }\n"}, []string{"main_test.go"}, false},
		"golden overwritten":   {files{"testdata/want.golden": "/"}, []string{"testdata/want.golden"}, false},
		"golden a link":        {files{"testdata": "→/tmp"}, []string{"testdata", "testdata/want.golden"}, false},
		"folder in the place":  {files{"add_test.go": "-", "add_test.go/x.go": "package x\n"}, []string{"add_test.go", "add_test.go/x.go"}, false},
		"attributes":           {files{".gitattributes": "*_test.go working-tree-encoding=UTF-16\n", "add.go": right}, []string{".gitattributes"}, true},
		"fix and cheat":        {files{"add.go": right, "add_test.go": "-"}, []string{"add_test.go"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := patchOf(t, b, test.changed)
			exam, err := b.Exam(t.Context(), p, DefaultProtect())
			must(t, err)
			if !slices.Equal(exam.Restored, test.restored) {
				t.Errorf("restored: got %q, want %q", exam.Restored, test.restored)
			}
			for _, file := range exam.Patch.Files {
				if slices.Contains(exam.Restored, file.Path) || slices.Contains(exam.Restored, file.Old) {
					t.Errorf("%s is restored and in the patch", file.Path)
				}
			}
			same(t, snapshotOf(worktree(t, exam.Dir()), "testdata"), snapshotOf(worktree(t, repo), "testdata"), "testdata")
			cmd := exec.Command(goProgram, "test", ".")
			cmd.Dir = exam.Dir()
			cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
			out, err := cmd.CombinedOutput()
			if passes := err == nil; passes != test.passes {
				t.Errorf("passes: got %v, want %v: %s", passes, test.passes, out)
			}
			must(t, exam.Remove(t.Context()))
		})
	}
}

// TestExam_AttributesOfThePatch: what is as in the base is written as the base says, whatever the list protects.
func TestExam_AttributesOfThePatch(t *testing.T) {
	repo := newRepo(t, files{"check.txt": "one\ntwo\n", "code.txt": "x\n"})
	b := open(t, Config{Dir: repo})
	p := patchOf(t, b, files{".gitattributes": "* text eol=crlf\n", "code.txt": "y\n"})
	exam, err := b.Exam(t.Context(), p, []string{"check.txt"})
	must(t, err)
	if got, _ := os.ReadFile(filepath.Join(exam.Dir(), "check.txt")); string(got) != "one\ntwo\n" {
		t.Errorf("got %q", got)
	}
}

func TestExam_IsAClean(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "a\n", "sub/b.txt": "b\n"})
	put(t, repo, files{"u.txt": "uncommitted\n"})
	b := open(t, Config{Dir: filepath.Join(repo, "sub")})
	tree := newTree(t, b)
	put(t, tree.Top(), files{"a.txt": "A\n"})
	runGit(t, tree.Top(), "commit", "-q", "-am", "of the agent")
	p, err := tree.Patch(t.Context())
	must(t, err)
	exam, err := b.Exam(t.Context(), p, nil)
	must(t, err)
	if filepath.Base(exam.Dir()) != "sub" || exam.Restored != nil || string(exam.Patch.Diff) != string(p.Diff) {
		t.Errorf("got %s, %q, %s", exam.Dir(), exam.Restored, exam.Patch.Diff)
	}
	if got := runGit(t, exam.Dir(), "status", "--porcelain"); got != " M a.txt\n?? u.txt" {
		t.Errorf("status: got %q", got)
	}
	if got := runGit(t, exam.Dir(), "log", "--all", "--format=%s"); got != "first" {
		t.Errorf("log: got %q", got)
	}
	must(t, exam.Remove(t.Context()))
	if _, err := os.Lstat(exam.Dir()); err == nil {
		t.Error("it is there")
	}
	if _, err := b.Apply(t.Context(), exam.Patch, PatchTree, Options{}); err != nil {
		t.Error(err)
	}
}

func TestExam_RenamedOutOfProtection(t *testing.T) {
	text := strings.Repeat("line\n", 10)
	repo := newRepo(t, files{"tests/a.txt": text, "code.txt": strings.Repeat("code\n", 10)})
	b := open(t, Config{Dir: repo})
	p := patchOf(t, b, files{"tests/a.txt": "-", "moved.txt": text, "code.txt": "-", "tests/code.txt": strings.Repeat("code\n", 10)})
	exam, err := b.Exam(t.Context(), p, []string{"tests/"})
	must(t, err)
	if !slices.Equal(exam.Restored, []string{"tests/a.txt", "tests/code.txt"}) {
		t.Errorf("restored: got %q", exam.Restored)
	}
	var left []string
	for _, file := range exam.Patch.Files {
		left = append(left, string(file.Status)+" "+file.Path)
	}
	if want := []string{"deleted code.txt", "added moved.txt"}; !slices.Equal(left, want) {
		t.Errorf("left: got %q, want %q", left, want)
	}
}

func TestExam_Refuses(t *testing.T) {
	repo := newRepo(t, simple)
	b, other := open(t, Config{Dir: repo}), open(t, Config{Dir: repo})
	p := patchOf(t, b, change)
	for name, call := range map[string]func() error{
		"bad glob":        func() error { _, err := b.Exam(t.Context(), p, []string{"[a"}); return err },
		"of another base": func() error { _, err := other.Exam(t.Context(), p, nil); return err },
		"nil":             func() error { _, err := b.Exam(t.Context(), nil, nil); return err },
		"apply another":   func() error { _, err := other.Apply(t.Context(), p, PatchTree, Options{}); return err },
		"unknown how":     func() error { _, err := b.Apply(t.Context(), p, "push", Options{}); return err },
	} {
		if err := call(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestGlobs(t *testing.T) {
	for _, test := range []struct {
		pattern, path string
		want          bool
	}{
		{"*_test.go", "a_test.go", true}, {"*_test.go", "x/y/a_test.go", true}, {"*_test.go", "x_test.go/y", true}, {"*_test.go", "a_test.goo", false},
		{"**/*_test.go", "a_test.go", true}, {"**/*_test.go", "x/a_test.go", true},
		{"tests/**", "tests/a/b", true}, {"tests/**", "tests", true}, {"tests/**", "x/tests/a", false},
		{"tests", "x/tests/a", true}, {"tests/", "x/tests/a", true}, {"/tests", "x/tests/a", false}, {"/tests", "tests/a", true},
		{"pkg/**", "pkg/a.go", true}, {"pkg/*", "pkg/a/b.go", true}, {"pkg/*.go", "pkg/a/b.go", false},
		{".github/workflows/", ".github/workflows/ci.yml", true}, {"*.{snap,golden}", "x/a.snap", true}, {"*.[ch]", "a.h", true}, {"a?c", "abc", true}, {"a?c", "a/c", false},
		{"**", "anything/at/all", true}, {`with\*star`, "with*star", true}, {`with\*star`, "withastar", false},
		{"x\n*", "x\ny", true}, {"*", "bad\xff", true},
	} {
		g, err := NewGlobs([]string{test.pattern})
		must(t, err)
		if got := g.Match(test.path); got != test.want {
			t.Errorf("%q and %q: got %v, want %v", test.pattern, test.path, got, test.want)
		}
	}
	for _, bad := range []string{"", "/", "!x", "[a", "{a,b", `a\`} {
		if _, err := NewGlobs([]string{bad}); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	if (Globs{}).Match("x") {
		t.Error("the zero value matches")
	}
}

func TestDefaultProtect(t *testing.T) {
	g, err := NewGlobs(DefaultProtect())
	must(t, err)
	for _, path := range []string{
		"a/b_test.go", "a/testdata/x", "src/x.test.ts", "src/x.spec.tsx", "src/__tests__/a.js", "src/__snapshots__/a.snap", "tests/test_a.py", "pkg/test_a.py", "conftest.py", "spec/a_spec.rb", "test/a_test.rb",
		"tests/it.rs", "src/test/java/A.java", "app/src/androidTest/B.kt", "Foo.Tests/A.cs", "FooTest.php", "x_test.cc", "test/x_test.exs", "Tests/FooTests/A.swift", "cypress/e2e/a.cy.ts",
		".github/workflows/ci.yml", ".gitlab-ci.yml", "pytest.ini", "jest.config.js", "go.work", "a/.gitattributes", "fixtures/a.json", "a/golden/x", ".ci/run",
	} {
		if !g.Match(path) {
			t.Errorf("%s is not protected", path)
		}
	}
	for _, path := range []string{"main.go", "pkg/tester.go", "src/testing.ts", "lib/contest.py", "package.json", "pyproject.toml", "go.mod", "Makefile", "Cargo.toml", "latest/a.go", "src/attest.rs", "README.md", "src/spectrum.js"} {
		if g.Match(path) {
			t.Errorf("%s is protected", path)
		}
	}
}

func FuzzGlobs(f *testing.F) {
	f.Add("**/*_test.go", "a/b_test.go")
	f.Add("{a,b}/[!c]*", "a/d")
	f.Add("\\", "x")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern) > 100 || len(path) > 100 || strings.Count(pattern, "*") > 8 {
			return
		}
		g, err := NewGlobs([]string{pattern})
		if err == nil && path != "" && g.Match(path) && !g.Match(path+"/below") {
			t.Errorf("%q matches %q and not what is in it", pattern, path)
		}
	})
}
