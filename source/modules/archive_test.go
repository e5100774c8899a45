// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"cuelang.org/go/mod/module"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
)

const moduleText = "module: \"example.com/a@v0\"\nlanguage: version: \"v0.17.0\"\n"

// zipOf is a zip of names and contents, in pairs.
func zipOf(t testing.TB, pairs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		f, err := w.Create(pairs[i])
		require.NoError(t, err)
		_, err = f.Write([]byte(pairs[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestUnpackRefuses(t *testing.T) {
	link := func() []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		_, err := w.Create(modFile)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	bomb := zipOf(t, modFile, moduleText, "a.cue", strings.Repeat("//", 1<<20))
	for _, c := range []struct {
		name string
		data []byte
		is   error
		says string
	}{
		{"what is no zip", []byte("hello"), source.ErrDigest, "its zip is damaged"},
		{"nothing", nil, source.ErrDigest, "its zip is damaged"},
		{"a path that leaves the root", zipOf(t, modFile, moduleText, "../a.cue", ""), source.ErrDigest, "../a.cue"},
		{"an absolute path", zipOf(t, modFile, moduleText, "/a.cue", ""), source.ErrDigest, "/a.cue"},
		{"a folder of Git", zipOf(t, modFile, moduleText, ".git/config", ""), source.ErrPath, "goes through a folder of Git"},
		{"a file twice", zipOf(t, modFile, moduleText, "a.cue", "", "a.cue", ""), source.ErrDigest, "a.cue"},
		{"files that differ in case", zipOf(t, modFile, moduleText, "a.cue", "", "A.cue", ""), source.ErrDigest, "collision"},
		{"no module file", zipOf(t, "a.cue", ""), source.ErrDigest, "module.cue"},
		{"an empty module file", link(), nil, "its module file"},
		{"the module file of another", zipOf(t, modFile, strings.Replace(moduleText, "/a", "/b", 1)), nil, `its module file is that of "example.com/b@v0"`},
		{"a language that is too new", zipOf(t, modFile, strings.Replace(moduleText, "0.17", "0.99", 1)), nil, `language version "v0.99.0" declared in module.cue is too new`},
		{"a local module file", zipOf(t, modFile, moduleText, "cue.mod/local-module.cue", ""), source.ErrDigest, "local-module.cue"},
		{"a bomb", bomb, source.ErrLimit, "more than 65536 bytes"},
		{"more files than allowed", zipOf(t, modFile, moduleText, "a.cue", "", "b.cue", "", "c.cue", "", "d.cue", ""), source.ErrLimit, "more than 4 files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := unpack(module.MustNewVersion("example.com/a@v0", "v0.1.0"), c.data, source.Limits{Bytes: 1 << 16, Files: 4})
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, `module "example.com/a@v0.1.0": `)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
		})
	}
}

func TestAZipThatLiesAboutASize(t *testing.T) {
	data := zipOf(t, modFile, moduleText, "a.cue", strings.Repeat("x", 1000))
	// The size stands in the central directory behind the compressed one.
	at := bytes.LastIndex(data, []byte("PK\x01\x02")) + 24
	data[at], data[at+1] = 10, 0
	_, err := unpack(module.MustNewVersion("example.com/a@v0", "v0.1.0"), data, source.Limits{})
	require.ErrorIs(t, err, source.ErrDigest)
}

func TestImportsOfAFile(t *testing.T) {
	for text, want := range map[string][]string{
		"":          nil,
		"package a": nil,
		"// c\n@extern(embed)\n\npackage a\n\nimport \"x.y/z\"\nimport b \"x.y/b@v1:c\"\n\na: \"import\"": {"x.y/z", "x.y/b@v1:c"},
		"import (\n\t\"a.b/c\" // why\n\n\td \"a.b/d\", e \"a.b/e\"\n)\nimport \"f.g/h\"\nx: 1":           {"a.b/c", "a.b/d", "a.b/e", "f.g/h"},
		"@if(a && (b))\npackage a; import \"x.y/z\"":                                                      {"x.y/z"},
		"@a(\")\")\nimport \"x.y/z\"":                                                                     {"x.y/z"},
		"import \"\\u0061.b/c\"":                                                                          {"a.b/c"},
		"import ()\nimport \"a.b/c\"":                                                                     {"a.b/c"},
		"a: 1\nimport \"x.y/z\"":                                                                          nil,
		"import x":                                                                                        nil,
		"import \"unterminated":                                                                           nil,
		"import ( \"a.b/c\"":                                                                              {"a.b/c"},
		"@never":                                                                                          nil,
		"import \"\"\"\nx\n\"\"\"\nä: 1\n":                                                                {""},
	} {
		require.Equal(t, want, imports([]byte(text)), "%q", text)
	}
}

func TestTheListOfVendoredFiles(t *testing.T) {
	one, two := sum([]byte("1")), sum([]byte("2"))
	text := vendorHeader + "module e.com/a@v0.1.0 " + one + "\nfile " + one + " e.com/a@v0.1.0.mod\nfile " + two + " e.com/a@v0.1.0/b c.cue\n"
	v, err := parseVendored("l", []byte(text))
	require.NoError(t, err)
	require.Equal(t, text, string(v.text()))
	for _, bad := range []string{
		"file " + one + " ../../x", "file " + one + " /etc/x", "file", "other", "file " + one + " a/../b", "module e.com/a@v0.1.0",
		"file sha256:1 a", "module e.com/a@v0.1.0 " + strings.ToUpper(one), "file " + one + " b\nfile " + two + " a", "file " + one + " b\nfile " + two + " b",
	} {
		_, err := parseVendored("cue.mod/vendor/l", []byte("# x\n"+bad+"\n"))
		require.ErrorIs(t, err, source.ErrDigest)
		require.ErrorContains(t, err, fmt.Sprintf("cue.mod/vendor/l:%d: not a line that vendoring writes", 2+strings.Count(bad, "\n")), bad)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(zipOf(f, modFile, moduleText, "a.cue", "package a"))
	f.Add(zipOf(f, modFile, moduleText, "../a.cue", "package a"))
	f.Add([]byte("PK"))
	mv := module.MustNewVersion("example.com/a@v0", "v0.1.0")
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := unpack(mv, data, source.Limits{Bytes: 1 << 20, Files: 100})
		if err != nil {
			return
		}
		var b source.Builder
		for _, file := range a.files {
			require.NoError(t, b.Add(pkgPath(".", mv.BasePath(), file.name), file.data))
			require.False(t, strings.HasPrefix(file.name, modFolder))
		}
	})
}

func FuzzImports(f *testing.F) {
	f.Add([]byte("@a(\"(\")\npackage a\nimport (\n b \"c.d/e\"\n)"))
	f.Fuzz(func(_ *testing.T, data []byte) { imports(data) })
}

func FuzzVendored(f *testing.F) {
	f.Add([]byte(vendorHeader + "module a@v0.1.0 " + sum(nil) + "\nfile " + sum(nil) + " a/b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parseVendored("l", data)
		if err != nil {
			return
		}
		for _, f := range v.files {
			require.NoError(t, source.CheckPath(f.name))
		}
		again, err := parseVendored("l", v.text())
		require.NoError(t, err)
		require.True(t, again.equal(v))
	})
}
