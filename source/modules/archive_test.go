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

	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/source"
)

const moduleText = "module: \"example.com/a@v0\"\nlanguage: version: \"v0.17.0\"\n"

// zipOf is a zip of names and contents, in pairs.
func zipped(t testing.TB, pairs ...string) []byte {
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
	bomb := zipped(t, modFile, moduleText, "a.cue", strings.Repeat("//", 1<<20))
	for _, c := range []struct {
		name string
		data []byte
		is   error
		says string
	}{
		{"what is no zip", []byte("hello"), source.ErrDigest, "its zip is damaged"},
		{"nothing", nil, source.ErrDigest, "its zip is damaged"},
		{"a path that leaves the root", zipped(t, modFile, moduleText, "../a.cue", ""), source.ErrDigest, "../a.cue"},
		{"an absolute path", zipped(t, modFile, moduleText, "/a.cue", ""), source.ErrDigest, "/a.cue"},
		{"a folder of Git", zipped(t, modFile, moduleText, ".git/config", ""), source.ErrPath, "goes through a folder of Git"},
		{"a file twice", zipped(t, modFile, moduleText, "a.cue", "", "a.cue", ""), source.ErrDigest, "a.cue"},
		{"files that differ in case", zipped(t, modFile, moduleText, "a.cue", "", "A.cue", ""), source.ErrDigest, "collision"},
		{"no module file", zipped(t, "a.cue", ""), source.ErrDigest, "module.cue"},
		{"an empty module file", link(), nil, "its module file"},
		{"the module file of another", zipped(t, modFile, strings.Replace(moduleText, "/a", "/b", 1)), nil, `its module file is that of "example.com/b@v0"`},
		{"a language that is too new", zipped(t, modFile, strings.Replace(moduleText, "0.17", "0.99", 1)), nil, `language version "v0.99.0" declared in module.cue is too new`},
		{"a local module file", zipped(t, modFile, moduleText, "cue.mod/local-module.cue", ""), source.ErrDigest, "local-module.cue"},
		{"a bomb", bomb, source.ErrLimit, "more than 65536 bytes"},
		{"more files than allowed", zipped(t, modFile, moduleText, "a.cue", "", "b.cue", "", "c.cue", "", "d.cue", ""), source.ErrLimit, "more than 4 files"},
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

func TestAnImageThatIsNoModule(t *testing.T) {
	const module = `{"config":{"mediaType":"application/vnd.cue.module.v1+json"},"layers":[{"mediaType":"application/zip"},{"mediaType":"application/vnd.cue.modulefile.v1"}]}`
	_, err := findZipLayer("application/vnd.oci.image.manifest.v1+json", []byte(module))
	require.NoError(t, err)
	for _, bad := range [][2]string{
		{"application/vnd.oci.image.index.v1+json", module},
		{"application/vnd.oci.image.manifest.v1+json", strings.ReplaceAll(module, "cue.module.v1", "oci.something")},
		{"application/vnd.oci.image.manifest.v1+json", `{"config":{"mediaType":"application/vnd.cue.module.v1+json"}}`},
		{"application/vnd.oci.image.manifest.v1+json", "nonsense"},
	} {
		_, err := findZipLayer(bad[0], []byte(bad[1]))
		require.ErrorIs(t, err, source.ErrReference)
		require.ErrorContains(t, err, "not a CUE module")
	}
}

func TestAZipThatLiesAboutASize(t *testing.T) {
	data := zipped(t, modFile, moduleText, "a.cue", strings.Repeat("x", 1000))
	// The size stands in the central directory behind the compressed one.
	at := bytes.LastIndex(data, []byte("PK\x01\x02")) + 24
	data[at], data[at+1] = 10, 0
	_, err := unpack(module.MustNewVersion("example.com/a@v0", "v0.1.0"), data, source.Limits{})
	require.ErrorIs(t, err, source.ErrDigest)
}

func TestTheListOfVendoredFiles(t *testing.T) {
	one, two := digests.Of([]byte("1")), digests.Of([]byte("2"))
	text := vendorHeader + "module e.com/a@v0.1.0 " + one + "\nfile " + one + " e.com/a@v0.1.0.mod\nfile " + two + " e.com/a@v0.1.0/b c.cue\n"
	v, err := parseVendored("l", []byte(text))
	require.NoError(t, err)
	require.Equal(t, text, string(v.encode()))
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
	f.Add(zipped(f, modFile, moduleText, "a.cue", "package a"))
	f.Add(zipped(f, modFile, moduleText, "../a.cue", "package a"))
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

func FuzzVendored(f *testing.F) {
	f.Add([]byte(vendorHeader + "module a@v0.1.0 " + digests.Of(nil) + "\nfile " + digests.Of(nil) + " a/b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parseVendored("l", data)
		if err != nil {
			return
		}
		for _, f := range v.files {
			require.NoError(t, source.CheckPath(f.name))
		}
		again, err := parseVendored("l", v.encode())
		require.NoError(t, err)
		require.True(t, again.equal(v))
	})
}
