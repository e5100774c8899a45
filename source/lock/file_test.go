// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package lock_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/lock"
)

// digest is a digest of one digit.
func digest(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

func sample() lock.File {
	return lock.File{
		Sources: []lock.Source{
			{Type: "oci", Ref: "oci://example.com/web:v1", Revision: "v1@" + digest("b"), Pinned: "oci://example.com/web@" + digest("b"), Digest: digest("2")},
			{Type: "embedded", Ref: "webservice", Digest: digest("3")},
			{Type: "git", Ref: "https://example.com/org/repo.git?semver=>=1.0.0 <2.0.0", Path: "modules/api", Revision: "v1.2.0@sha1:a", Pinned: "https://example.com/org/repo.git?commit=a", Digest: digest("1")},
			{Type: "git", Ref: "https://example.com/org/repo.git?semver=>=1.0.0 <2.0.0", Revision: "v1.2.0@sha1:a", Pinned: "https://example.com/org/repo.git?commit=a", Digest: digest("4")},
		},
		Modules: []lock.Module{
			{Module: "example.com/web", Version: "v0.2.0", Digest: digest("6")},
			{Module: "example.com/base", Version: "v0.1.0", Digest: digest("5")},
		},
	}
}

const sampleText = `# Written by ropewalk lock: what each reference of this project leads to. Commit it, do not edit it.
apiVersion: ropewalk.dev/v1alpha1
kind: Lock
sources:
  - type: embedded
    ref: webservice
    digest: sha256:3333333333333333333333333333333333333333333333333333333333333333
  - type: git
    ref: https://example.com/org/repo.git?semver=>=1.0.0 <2.0.0
    revision: v1.2.0@sha1:a
    pinned: https://example.com/org/repo.git?commit=a
    digest: sha256:4444444444444444444444444444444444444444444444444444444444444444
  - type: git
    ref: https://example.com/org/repo.git?semver=>=1.0.0 <2.0.0
    path: modules/api
    revision: v1.2.0@sha1:a
    pinned: https://example.com/org/repo.git?commit=a
    digest: sha256:1111111111111111111111111111111111111111111111111111111111111111
  - type: oci
    ref: oci://example.com/web:v1
    revision: v1@sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
    pinned: oci://example.com/web@sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
    digest: sha256:2222222222222222222222222222222222222222222222222222222222222222
modules:
  - module: example.com/base
    version: v0.1.0
    digest: sha256:5555555555555555555555555555555555555555555555555555555555555555
  - module: example.com/web
    version: v0.2.0
    digest: sha256:6666666666666666666666666666666666666666666666666666666666666666
`

func TestTheTextIsCanonical(t *testing.T) {
	for range 20 {
		f := sample()
		rand.Shuffle(len(f.Sources), func(i, j int) { f.Sources[i], f.Sources[j] = f.Sources[j], f.Sources[i] })
		rand.Shuffle(len(f.Modules), func(i, j int) { f.Modules[i], f.Modules[j] = f.Modules[j], f.Modules[i] })
		text, err := f.Bytes()
		require.NoError(t, err)
		require.Equal(t, sampleText, string(text))
		back, err := lock.Parse(lock.Name, text)
		require.NoError(t, err)
		require.True(t, back.Equal(f))
	}
}

func TestTextsThatYAMLWouldTakeForSomethingElse(t *testing.T) {
	f := lock.File{}.Add(lock.Source{Type: "git", Ref: "1.0", Path: "yes: # \"é\"\n", Digest: digest("1")}).
		Add(lock.Source{Type: "git", Ref: strings.Repeat("long ", 100), Digest: digest("1")})
	text, err := f.Bytes()
	require.NoError(t, err)
	back, err := lock.Parse(lock.Name, text)
	require.NoError(t, err)
	require.Equal(t, f, back)
}

func TestAnEmptyLock(t *testing.T) {
	text, err := lock.File{}.Bytes()
	require.NoError(t, err)
	f, err := lock.Parse(lock.Name, text)
	require.NoError(t, err)
	require.Equal(t, lock.File{}, f)
}

func TestParseRefuses(t *testing.T) {
	const head = "apiVersion: ropewalk.dev/v1alpha1\nkind: Lock\n"
	entry := "sources:\n- {type: git, ref: r, digest: '" + digest("1") + "'}\n"
	module := "modules:\n- {module: m, version: v1, digest: '" + digest("1") + "'}\n"
	image := "images:\n- {image: a, digest: '" + digest("1") + "'}\n"
	for name, c := range map[string]struct{ text, says string }{
		"nothing":                        {"", "ropewalk.lock: the file is empty"},
		"what is no YAML":                {"a: [", "ropewalk.lock:1: the YAML is not well-formed: "},
		"a list":                         {"- a", "ropewalk.lock:1:1: a Lock: expected a mapping with apiVersion, kind"},
		"text":                           {"hello", "ropewalk.lock:1:1: a Lock: expected a mapping"},
		"another kind":                   {"apiVersion: ropewalk.dev/v1alpha1\nkind: Other\n", `ropewalk.lock:2:7: kind is "Other": expected Lock`},
		"a newer version":                {"apiVersion: ropewalk.dev/v2\nkind: Lock\n", `ropewalk.lock:1:13: apiVersion is "ropewalk.dev/v2"`},
		"no kind":                        {"apiVersion: ropewalk.dev/v1alpha1\n", `the Lock lacks kind`},
		"an unknown field":               {head + "other: 1\n", `ropewalk.lock:3:1: a Lock has no field "other"`},
		"a field twice":                  {head + "kind: Lock\n", `ropewalk.lock:3:1: a Lock has "kind" twice`},
		"an unknown field of an entry":   {head + "sources:\n- type: git\n  rev: x\n", `ropewalk.lock:5:3: a source has no field "rev": it has type, ref, path, revision, pinned, digest`},
		"a source that is text":          {head + "sources:\n- x\n", "ropewalk.lock:4:3: a source: expected a mapping with type, ref"},
		"sources that are a map":         {head + "sources: {}\n", "ropewalk.lock:3:10: sources, modules and images: expected a list"},
		"a reference twice":              {head + entry + "- {type: git, ref: r, digest: '" + digest("2") + "'}\n", "ropewalk.lock:5:3: this entry is in line 4 already"},
		"a module twice":                 {head + module + "- {module: m, version: v1, digest: '" + digest("2") + "'}\n", "ropewalk.lock:5:3: this entry is in line 4 already"},
		"a short digest":                 {head + strings.Replace(entry, "11'", "'", 1), `ropewalk.lock:4:31: "sha256:111`},
		"a digest in capitals":           {head + strings.Replace(entry, "11'", "AA'", 1), "is not a digest"},
		"another algorithm":              {head + strings.Replace(module, "sha256", "sha512", 1), "is not a digest"},
		"no digest":                      {head + "sources:\n- {type: git, ref: r}\n", `ropewalk.lock:4:3: the entry lacks digest`},
		"an empty reference":             {head + "sources:\n- {type: git, ref: '', digest: x}\n", `ref: expected text`},
		"a number for text":              {head + "sources:\n- {type: git, ref: 1, digest: x}\n", `ref: expected text`},
		"a type that is never locked":    {head + strings.Replace(entry, "git", "path", 1), `references of type "path" are never locked`},
		"an image twice":                 {head + image + "- {image: a, digest: '" + digest("2") + "'}\n", "ropewalk.lock:5:3: this entry is in line 4 already"},
		"an image without a digest":      {head + "images:\n- {image: a}\n", `ropewalk.lock:4:3: the entry lacks digest`},
		"an image with a short digest":   {head + strings.Replace(image, "11'", "'", 1), "is not a digest"},
		"an image with a tag":            {head + "images:\n- {image: a, tag: b}\n", `an image has no field "tag": it has image, digest`},
		"images that are nothing":        {head + "images:\n", "ropewalk.lock:3:8: sources, modules and images: expected a list"},
		"two documents":                  {head + "---\n" + head, "ropewalk.lock:3:1: it has more than one document"},
		"an alias":                       {head + "sources:\n- &a {type: git, ref: r, digest: '" + digest("1") + "'}\n- *a\n", "ropewalk.lock:5:3: a source: expected a mapping"},
		"a merge":                        {head + "sources:\n- {<<: {type: git}, ref: r}\n", `a source has no field "<<"`},
		"conflict marks of a merge":      {head + "<<<<<<< HEAD\n", "ropewalk.lock:3:1: a merge conflict begins here"},
		"more than eight million of it":  {strings.Repeat("#", 9<<20), "larger than 8388608 bytes"},
		"a module without a version":     {head + "modules:\n- {module: m, digest: x}\n", `the entry lacks version`},
		"a path that is there and empty": {head + "sources:\n- {type: git, ref: r, path: '', digest: x}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := lock.Parse(lock.Name, []byte(c.text))
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, `delete the file and run "ropewalk lock"`)
		})
	}
}

func TestWhatParseWouldRefuseIsNotWritten(t *testing.T) {
	_, err := lock.File{}.Add(lock.Source{Type: "git", Ref: "r", Digest: "sha256:1"}).Bytes()
	require.ErrorContains(t, err, "is not a digest")
	_, err = lock.File{Modules: []lock.Module{sample().Modules[0], sample().Modules[0]}}.Bytes()
	require.ErrorContains(t, err, "already")
}

func TestAddReplacesAndLeavesTheOldFileAlone(t *testing.T) {
	old := sample()
	before := slices.Clone(old.Sources)
	f := old.Add(lock.Source{Type: "embedded", Ref: "webservice", Digest: digest("9")}).
		AddModule(lock.Module{Module: "example.com/base", Version: "v0.1.0", Digest: digest("9")})
	require.Equal(t, before, old.Sources)
	require.Len(t, f.Sources, 4)
	got, ok := f.Find(source.Ref{Type: "embedded", Ref: "webservice"})
	require.True(t, ok)
	require.Equal(t, digest("9"), got.Digest)
	_, ok = f.Find(source.Ref{Type: "embedded", Ref: "webservice", Path: "sub"})
	require.False(t, ok)
	require.Equal(t, map[string]string{"example.com/base@v0.1.0": digest("9"), "example.com/web@v0.2.0": digest("6")}, f.Locked())
}

func TestDiffSaysWhatMoved(t *testing.T) {
	from := sample()
	to := lock.File{Sources: slices.Clone(from.Sources), Modules: slices.Clone(from.Modules)}
	to.Sources[0].Revision = "v1@" + digest("c")
	to.Sources[1].Digest = digest("9")
	to.Sources[2].Digest = digest("8")
	to.Sources = append(to.Sources[:3], lock.Source{Type: "git", Ref: "https://example.com/new.git", Revision: "main@sha1:b", Digest: digest("1")})
	to.Modules[1].Version = "v0.1.1"
	var lines []string
	for _, c := range from.Diff(to) {
		lines = append(lines, c.String())
	}
	require.Equal(t, []string{
		`embedded "webservice" moved from ` + digest("3") + " to " + digest("9"),
		`git "https://example.com/new.git" is new, at main@sha1:b`,
		`git "https://example.com/org/repo.git?semver=>=1.0.0 <2.0.0" is gone, it was at v1.2.0@sha1:a`,
		`git "https://example.com/org/repo.git?semver=>=1.0.0 <2.0.0", path "modules/api" moved from ` + digest("1") + " to " + digest("8"),
		`oci "oci://example.com/web:v1" moved from v1@` + digest("b") + " to v1@" + digest("c"),
		`module "example.com/base@v0.1.0" is gone, it was at ` + digest("5"),
		`module "example.com/base@v0.1.1" is new, at ` + digest("5"),
	}, lines)
	require.Empty(t, from.Diff(sample()))
	require.False(t, from.Equal(to))
}

func TestImagesAreALastPartThatMayBeEmptyOrAbsent(t *testing.T) {
	f := sample()
	f.Images = []lock.Image{{Image: "nginx:1.27", Digest: digest("8")}, {Image: "1.0", Digest: digest("7")}}
	text, err := f.Bytes()
	require.NoError(t, err)
	require.Equal(t, sampleText+"images:\n  - image: \"1.0\"\n    digest: "+digest("7")+"\n  - image: nginx:1.27\n    digest: "+digest("8")+"\n", string(text))
	back, err := lock.Parse(lock.Name, text)
	require.NoError(t, err)
	require.True(t, back.Equal(f))
	require.False(t, back.Equal(sample()))

	empty := lock.File{Images: []lock.Image{}}
	text, err = empty.Bytes()
	require.NoError(t, err)
	require.Contains(t, string(text), "\nimages: []\n")
	back, err = lock.Parse(lock.Name, text)
	require.NoError(t, err)
	require.Equal(t, empty, back)
	require.False(t, back.Equal(lock.File{}), "a lock with images of a render that runs none is not one without")

	to := sample()
	to.Images = []lock.Image{{Image: "nginx:1.27", Digest: digest("9")}, {Image: "redis", Digest: digest("7")}}
	var lines []string
	for _, c := range f.Diff(to) {
		lines = append(lines, c.String())
	}
	require.Equal(t, []string{
		`image "1.0" is gone, it was at ` + digest("7"),
		`image "nginx:1.27" moved from ` + digest("8") + " to " + digest("9"),
		`image "redis" is new, at ` + digest("7"),
	}, lines)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sampleText))
	f.Add([]byte("apiVersion: ropewalk.dev/v1alpha1\nkind: Lock\nimages: []\n"))
	f.Add([]byte("apiVersion: ropewalk.dev/v1alpha1\nkind: Lock\nsources:\n- &a {type: git}\n- *a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := lock.Parse("x.lock", data)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "x.lock:"), err)
			return
		}
		text, err := file.Bytes()
		require.NoError(t, err)
		again, err := lock.Parse("x.lock", text)
		require.NoError(t, err)
		require.True(t, again.Equal(file))
	})
}

func ExampleFile_Diff() {
	from, _ := lock.Parse(lock.Name, []byte(sampleText))
	to, _ := lock.Parse(lock.Name, []byte(strings.ReplaceAll(sampleText, "v1.2.0@sha1:a", "v1.3.0@sha1:c")))
	fmt.Println(from.Diff(to)[0])
	// Output: git "https://example.com/org/repo.git?semver=>=1.0.0 <2.0.0" moved from v1.2.0@sha1:a to v1.3.0@sha1:c
}
