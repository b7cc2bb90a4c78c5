package isolate

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Globs are patterns of paths, read as in a .gitignore: * and ? stay within a name, ** crosses folders, [a-z] and {a,b} are
// choices. One without a slash matches a name in any folder; one with a slash starts at the top, as does one that begins with
// it. What matches a folder matches all in it. There is no negation. The zero value matches nothing.
type Globs struct{ patterns []string }

// NewGlobs reads patterns. The error names the one that cannot be read.
func NewGlobs(patterns []string) (Globs, error) {
	var g Globs
	for _, pattern := range patterns {
		if pattern == "" || strings.Trim(pattern, "/") == "" {
			return Globs{}, fmt.Errorf("glob %q matches nothing; write ** for everything", pattern)
		}
		if strings.HasPrefix(pattern, "!") {
			return Globs{}, fmt.Errorf("glob %q: there is no negation; list what is meant", pattern)
		}
		if !doublestar.ValidatePattern(pattern) {
			return Globs{}, fmt.Errorf("glob %q cannot be read; brackets and braces must be closed", pattern)
		}
		inner := strings.TrimSuffix(pattern, "/")
		if rooted, ok := strings.CutPrefix(inner, "/"); ok {
			inner = rooted
		} else if !strings.Contains(inner, "/") {
			inner = "**/" + inner
		}
		g.patterns = append(g.patterns, inner)
	}
	return g, nil
}

// Match reports whether a path, or a folder that it is in, matches. Paths have slashes and do not begin with one.
func (g Globs) Match(path string) bool {
	for _, pattern := range g.patterns {
		for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '/') {
			if doublestar.MatchUnvalidated(pattern, path[:end]) {
				return true
			}
		}
	}
	return false
}

// folded returns the patterns for paths in lower case.
func (g Globs) folded() Globs {
	var f Globs
	for _, pattern := range g.patterns {
		f.patterns = append(f.patterns, strings.ToLower(pattern))
	}
	return f
}

// DefaultProtect returns the usual places of tests, of what they compare with, and of what decides which of them run. Each is
// where a fix is not expected to be.
//
// It leaves out, on purpose, files that hold a project's dependencies and its build beside its tests, because right fixes
// change them: package.json, pyproject.toml, setup.cfg, go.mod, Cargo.toml, pom.xml, build.gradle, Makefile, CMakeLists.txt, *.csproj.
// So an acceptance command should not be taken from such a file: "npx jest" rather than "npm test", "go test ./..." rather
// than "make test"; or protect that file too. No list protects from code that looks for a test and behaves (an init that
// exits with 0), nor tests that stand in the file that they test, as in Rust.
func DefaultProtect() []string {
	return []string{
		// Folders of tests, in most languages. Java, Kotlin and Scala: src/test. Android and Gradle: src/androidTest, src/integrationTest.
		"test/", "tests/", "Test/", "Tests/", "__tests__/", "spec/", "specs/", "e2e/", "cypress/", "**/src/*Test/", "*.Tests/", "*.Test/", "*.UnitTests/",
		// What tests compare with.
		"testdata/", "fixtures/", "__fixtures__/", "__mocks__/", "__snapshots__/", "golden/", "*.golden", "*.snap", "*.approved.*", "*.verified.*",

		"*_test.go",                      // Go
		"*.test.*", "*.spec.*", "*.cy.*", // JavaScript, TypeScript
		"test_*.py", "*_test.py", "conftest.py", // Python
		"*_spec.rb", "*_test.rb", // Ruby
		"*Test.java", "*Tests.java", "*IT.java", "*Test.kt", "*Tests.kt", "*Spec.scala", "*Spec.groovy", // JVM
		"*Test.cs", "*Tests.cs", // C#
		"*Test.php",                                            // PHP
		"*_test.c", "*_test.cc", "*_test.cpp", "*_unittest.cc", // C, C++
		"*_test.exs", "*_test.dart", "*Tests.swift", "*_test.lua", // Elixir, Dart, Swift, Lua

		// What says which tests run, and how, and nothing else. With go.work other modules can take the place of the real ones.
		"pytest.ini", "tox.ini", "noxfile.py", ".coveragerc", "jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.workspace.*", "playwright.config.*",
		"karma.conf.*", ".mocharc*", "cypress.config.*", "phpunit.xml*", ".rspec", ".golangci.*", "go.work", "nextest.toml",
		// Which bytes a file has when it is checked out: a test's too.
		".gitattributes",

		// Continuous integration.
		".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".gitlab/ci/", ".circleci/", ".buildkite/", ".travis.yml", "azure-pipelines.yml",
		"bitbucket-pipelines.yml", "/.ci/", "Jenkinsfile", "appveyor.yml", ".appveyor.yml", ".drone.yml", ".woodpecker*", ".cirrus.yml",
	}
}
