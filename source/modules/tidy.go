// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/mod/module"
)

// check reports what the module file lacks or has too old for the modules that
// were fetched, as cue mod tidy would have written it.
func (m *mainModule) check(fsys fs.FS, held []string, got []*archive) error {
	if err := m.overlap(got); err != nil {
		return err
	}
	listed := map[string]module.Version{}
	for _, mv := range m.deps {
		listed[mv.Path()] = mv
	}
	for _, a := range got {
		for _, need := range a.deps {
			if have, ok := listed[need.Path()]; ok && have.Compare(need) < 0 {
				return m.untidy(fmt.Sprintf("module %q needs %q, and it says %s", a.version.String(), need.String(), have.Version()))
			}
		}
	}
	t := tidy{main: m, held: held, got: got, seen: map[string]bool{}}
	for _, name := range held {
		if strings.HasSuffix(name, ".cue") && !below(name, modFolder) && !t.nested(name) {
			text, err := fs.ReadFile(fsys, path.Join(m.root, name))
			if err != nil {
				return err
			}
			if err := t.follow(nil, name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// overlap refuses two modules that hold the same folder, of which only one could
// be meant.
func (m *mainModule) overlap(got []*archive) error {
	for _, a := range got {
		for _, f := range a.files {
			name := path.Join(a.version.BasePath(), f.name)
			if owner := m.owner(name); owner != a.version.BasePath() {
				return fmt.Errorf("%s: modules %q and %q both hold the folder %q: an import of it could mean either",
					m.file(), a.version.String(), owner, owner)
			}
		}
	}
	return nil
}

func (m *mainModule) untidy(why string) error {
	return fmt.Errorf("%s is not tidy: %s: run %q", m.file(), why, "cue mod tidy")
}

// tidy follows imports from the main module through those that were fetched. A
// dependency that a module lists and no imported package uses is not missed:
// cue mod tidy does not list it either.
type tidy struct {
	main *mainModule
	held []string
	got  []*archive
	seen map[string]bool // folders of packages
}

// nested reports whether a file belongs to a module in a folder of this one.
func (t *tidy) nested(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if slices.Contains(t.held, path.Join(dir, modFile)) {
			return true
		}
	}
	return false
}

// follow looks at the imports of a file; from is nil for the main module.
func (t *tidy) follow(from *archive, name string, text []byte) error {
	for _, spec := range imports(text) {
		pkg, major := splitImport(spec)
		first, _, _ := strings.Cut(pkg, "/")
		if !strings.Contains(first, ".") || below(pkg, t.main.path) {
			continue
		}
		if from != nil {
			if err := t.wanted(from, name, pkg, major); err != nil {
				return err
			}
		}
		if err := t.enter(pkg); err != nil {
			return err
		}
	}
	return nil
}

// enter follows the imports of a package of a module that was fetched.
func (t *tidy) enter(pkg string) error {
	if t.seen[pkg] {
		return nil
	}
	t.seen[pkg] = true
	i := slices.IndexFunc(t.got, func(a *archive) bool { return t.main.owner(pkg) == a.version.BasePath() })
	if i < 0 {
		return nil
	}
	a := t.got[i]
	for _, f := range a.files {
		if strings.HasSuffix(f.name, ".cue") && path.Dir(path.Join(a.version.BasePath(), f.name)) == pkg {
			if err := t.follow(a, f.name, f.data); err != nil {
				return err
			}
		}
	}
	return nil
}

// wanted checks that what a dependency imports is what the main module lists.
// Imports of modules that the dependency itself does not list are left to
// evaluation, which knows what it provides.
func (t *tidy) wanted(from *archive, name, pkg, major string) error {
	need, ok := from.provider(pkg, major)
	if !ok || slices.Contains(t.main.provided, need.BasePath()) || t.local(pkg) {
		return nil
	}
	if slices.ContainsFunc(t.main.deps, func(mv module.Version) bool { return mv.Path() == need.Path() }) {
		return nil
	}
	where := fmt.Sprintf("module %q imports %q (%s)", from.version.String(), pkg, name)
	for _, have := range t.main.deps {
		if have.BasePath() == need.BasePath() {
			return fmt.Errorf("%s: %s of %q, and it lists %q: cue.mod/pkg has one folder for both, so raise %q to a version that uses the newer one",
				t.main.file(), where, need.Path(), have.String(), from.version.BasePath())
		}
	}
	return t.main.untidy(fmt.Sprintf("%s, and it does not list %q", where, need.String()))
}

// local reports whether cue.mod of the main module holds the package.
func (t *tidy) local(pkg string) bool {
	return slices.ContainsFunc(t.held, func(name string) bool {
		inside, ok := localPackage(name)
		return ok && path.Dir(inside) == pkg
	})
}

// provider is the dependency that an import of a means: that with the longest
// path, in the major version that the import names, or else in the one that the
// module file says.
func (a *archive) provider(pkg, major string) (best module.Version, ok bool) {
	longest := a.version.BasePath() // its own packages, unless a module inside of it has them
	if !below(pkg, longest) {
		longest = ""
	}
	for _, mv := range a.deps {
		p := mv.BasePath()
		if !below(pkg, p) || len(p) <= len(longest) {
			continue
		}
		if want := cmp.Or(major, a.majors[p]); want == "" || mv.Path() == p+"@"+want {
			best, longest, ok = mv, p, true
		}
	}
	return best, ok
}

// splitImport takes the name of the package and the major version off an import:
// example.com/a@v1:b.
func splitImport(spec string) (pkg, major string) {
	spec, _, _ = strings.Cut(spec, ":")
	pkg, major, _ = strings.Cut(spec, "@")
	return pkg, major
}

// imports is the import paths of a CUE file: those of the declarations that may
// stand before all else (CUE specification, Import declarations). A file that
// is no CUE gives what it gives; evaluation says what is wrong with it.
func imports(text []byte) []string {
	s := scanner{rest: string(text)}
	var out []string
	word := s.next()
	if word == "package" {
		s.next()
		word = s.next()
	}
	for word == "import" {
		word = s.next()
		group := word == "("
		if group {
			word = s.next()
		}
		for word != "" && word != ")" {
			if !strings.HasPrefix(word, `"`) {
				word = s.next() // the name that the file gives the package
			}
			if spec, err := strconv.Unquote(word); err == nil && strings.HasPrefix(word, `"`) {
				out = append(out, spec)
			}
			if !group {
				break
			}
			word = s.next()
		}
		word = s.next()
	}
	return out
}

// scanner cuts the head of a CUE file into words: names, strings with their
// quotes, single characters. Comments and attributes are skipped.
type scanner struct{ rest string }

// next is the next word, "" at the end.
func (s *scanner) next() string {
	for {
		s.rest = strings.TrimLeft(s.rest, " \t\r\n,;")
		switch {
		case s.rest == "":
			return ""
		case strings.HasPrefix(s.rest, "//"):
			_, s.rest, _ = strings.Cut(s.rest, "\n")
		case s.rest[0] == '@':
			s.attribute()
		case s.rest[0] == '"':
			return s.take(quoted(s.rest))
		default:
			n := strings.IndexFunc(s.rest, func(r rune) bool { return !isName(r) })
			if n < 0 {
				n = len(s.rest)
			}
			return s.take(max(n, 1))
		}
	}
}

func (s *scanner) take(n int) string {
	word := s.rest[:n]
	s.rest = s.rest[n:]
	return word
}

// attribute skips @name(…) with the parentheses and strings in it.
func (s *scanner) attribute() {
	_, after, ok := strings.Cut(s.rest, "(")
	if !ok {
		s.rest = ""
		return
	}
	s.rest = after
	for depth := 1; depth > 0 && s.rest != ""; {
		n := 1
		switch s.rest[0] {
		case '(':
			depth++
		case ')':
			depth--
		case '"':
			n = quoted(s.rest)
		}
		s.take(n)
	}
}

// quoted is how long the string is that text begins with.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"', '\n':
			return i + 1
		}
	}
	return len(text)
}

func isName(r rune) bool {
	return r == '_' || r == '$' || r == '#' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f
}
