// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host"
)

// repository is a directory with a project in shop, and more files.
func repository(t *testing.T, files ...string) string {
	t.Helper()
	return write(t, append([]string{".git/HEAD", "", "shop/ropewalk.yaml", "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\n",
		"shop/api.yaml", transform("api", "{type: embedded, ref: web}")}, files...)...)
}

func TestEveryFileThatLooksLikeASpecIsReadOrReported(t *testing.T) {
	good := transform("more", "{type: embedded, ref: web}")
	for _, c := range []struct {
		name, file, data string
		want             string
	}{
		{"upper case", "UP.YAML", good, ""},
		{"mixed case", "up.Yml", good, ""},
		{"upper case JSON", "up.JSON", `{"apiVersion":"ropewalk.dev/v1alpha1","kind":"Transform","metadata":{"name":"more"},"spec":{"cueRef":{"type":"embedded","ref":"web"}}}`, ""},
		{"one letter too many", "up.yamll", good, misnamed("up.yamll")},
		{"two letters swapped", "up.ymal", good, misnamed("up.ymal")},
		{"a space at the end", "up.yaml ", good, misnamed("up.yaml ")},
		{"text for Windows", "up.yaml.txt", good, misnamed("up.yaml.txt")},
		{"no dot", "upyaml", good, misnamed("upyaml")},
		{"the name of Score for a suffix", "up.score", good, misnamed("up.score")},
		{"the name of Score", "score", good, misnamed("score")},
		{"a hidden file", ".up.yaml", good, "shop/.up.yaml: spec: " + unnamed + " (rename it without the dot, or remove it)"},
		{"a template", "up.yaml.tpl", good, "shop/up.yaml.tpl: spec: " + unnamed + " (write what it makes into a file that ends in .yaml, .yml or .json)"},
		{"fields of Score alone", "up.yaml", "containers: {web: {image: x}}\n", "shop/up.yaml:1:1: spec: the document has the fields of a Score file and no apiVersion, and is not read " +
			"(write apiVersion: score.dev/v1b1 and metadata: {name: …}, or rename it to overrides.yaml if it is for --overrides-file)"},
		{"a slip in name and content", "up.yam", "apiVerson: ropewalk.dev/v1alpha1\nkind: Transform\n", misnamed("up.yam")},
		{"an empty file", "up.yaml", " \n", "shop/up.yaml: spec: the file is empty (remove the file if that is meant)"},
		{"a pointer of Git LFS", "up.yaml", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "shop/up.yaml: spec: the file is a pointer of Git LFS: what it leads to is not checked out (remove the file if that is meant)"},
		{"an encrypted file", "up.yaml", "\x00GITCRYPT\x00\xde\xad", "shop/up.yaml: spec: the file is not text, and is not read (remove the file if that is meant)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			loaded, errs := load(repository(t, "shop/"+c.file, c.data), host.Options{Args: []string{"shop"}})
			if c.want == "" {
				require.Empty(t, errs)
				require.Equal(t, []string{"api", "more"}, specNames(loaded))
				return
			}
			require.Equal(t, []string{c.want}, errs)
		})
	}
}

const unnamed = "the file holds a spec, and its name keeps it from being read"

func misnamed(file string) string {
	return "shop/" + file + ": spec: " + unnamed + " (rename it to end in .yaml, .yml or .json)"
}

func TestFilesOfOthersAreLeftOut(t *testing.T) {
	good := transform("more", "{type: embedded, ref: web}")
	for name, data := range map[string]string{
		"values.yaml": "", "values-prod.yaml": "", "vault-values.yaml": "", "kustomization.yaml": "", "empty.json": "", "api.yaml.bak": good, "api.yaml~": good, "api.yaml.orig": good,
		".hidden.yaml": "kind: Service\n", ".github/a.yaml": good, "a.tpl": good, "README.md": good, "notes.txt": good, "page.xml": "<a/>", "lib.ml": "let a = 1", "node_modules/a.yaml": good,
		"templates/a.yaml": "{{ if .Values.on }}\nkind: Service\n{{ end }}\n", "ci.yml": "on: push\njobs: {}\n",
	} {
		t.Run(name, func(t *testing.T) {
			loaded, errs := load(repository(t, "shop/"+name, data), host.Options{Args: []string{"shop"}})
			require.Empty(t, errs)
			require.Equal(t, []string{"api"}, specNames(loaded))
		})
	}
}

func TestASpecInTheOutputOfARenderIsRefused(t *testing.T) {
	dir := repository(t, "shop/out/.ropewalk-output", `{"kind": "Output", "files": {"x.yaml": "sha256:0"}}`,
		"shop/out/x.yaml", transform("x", "{type: embedded, ref: web}"), "shop/out/more.yaml", transform("more", "{type: embedded, ref: web}"))
	_, errs := load(dir, host.Options{Args: []string{"shop"}})
	require.Equal(t, []string{"shop/out/more.yaml: spec: the file holds a spec, and it lies in the output of a render (move it to the other specs)"}, errs)
}

func TestWhatLiesBesideSpecsAndIsNotRenderedIsReported(t *testing.T) {
	const (
		bundle   = "bundle: {\n\tapiVersion: \"v1alpha1\"\n\tinstances: {}\n}\n"
		objects  = "package a\ncm: {apiVersion: \"v1\", kind: \"ConfigMap\"}\n"
		beside   = " in this folder is not rendered: the folder holds specs too (move it into a folder of its own, and write a Transform with cueRef: {type: path, ref: ./FOLDER})"
		unread   = "the bundle is not read: a folder is read for one, bundle.cue, and a project for those that it names"
		named    = " (name it in spec.specs of the project, beside its other specs)"
		passed   = " (pass the file itself, or move it into a folder of its own)"
		slip     = `f/bundle.cue:1:1: spec: field "bundel" is not known: a bundle of Timoni has the field bundle (did you mean "bundle"?)`
		encoding = "f/bundle.cue: spec: the file is in UTF-16 or UTF-32: CUE is UTF-8 (save it as UTF-8)"
	)
	project := []string{"f/ropewalk.yaml", projectHead}
	spec := []string{"f/api.yaml", transform("api", "{type: embedded, ref: web}")}
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"a bundle of a project":               {append(project, "f/bundle.cue", bundle), "f/bundle.cue: spec: " + unread + named},
		"a bundle of another name":            {[]string{"f/more.cue", bundle}, "f/more.cue: spec: " + unread + passed},
		"a bundle with a byte order mark":     {append(project, "f/bundle.cue", "\ufeff"+bundle), "f/bundle.cue: spec: " + unread + named},
		"a bundle with a slip":                {[]string{"f/bundle.cue", strings.Replace(bundle, "bundle", "bundel", 1)}, slip},
		"a bundle with a slip in two parts":   {[]string{"f/bundle.cue", "bundel: apiVersion: \"v1alpha1\"\n\n\"bundel\": instances: {}\n"}, strings.Replace(slip, ":1:1:", ":3:1:", 1)},
		"a package with its own bundles":      {[]string{"f/bundle.cue", "package a\n#instances: 2\nbundles: {\n\tbundle: apiVersion: \"v1\"\n}\na: {\n\tbundle: instances: 2\n}\n"}, ""},
		"a bundle in UTF-16":                  {[]string{"f/bundle.cue", "\xff\xfeb\x00u\x00"}, encoding},
		"a package of objects":                {[]string{"f/kube.cue", objects}, "f/kube.cue: spec: the CUE package" + beside},
		"a package of objects in a project":   {append(project, "f/kube.cue", objects), "f/kube.cue: spec: the CUE package" + beside},
		"a Timoni module":                     {[]string{"f/a.cue", objects, "f/timoni.cue", "package main\n"}, "f/timoni.cue: spec: the Timoni module" + beside},
		"values in CUE":                       {[]string{"f/values.cue", "values: kind: \"a\"\n"}, ""},
		"a library":                           {[]string{"f/lib.cue", "package a\n#Service: {apiVersion: \"v1\", kind: \"Service\"}\n"}, ""},
		"a hidden file of CUE":                {[]string{"f/_kube.cue", objects}, ""},
		"a package that a spec refers to":     {[]string{"f/kube.cue", objects, "f/own.yaml", transform("own", "{type: path, ref: .}")}, ""},
		"a module that a spec refers to":      {[]string{"f/timoni.cue", "package main\n", "own.yaml", "", "f/own.yaml", transform("own", "{type: path, ref: ../f}")}, ""},
		"a package that is not in the folder": {[]string{"f/lib/kube.cue", objects}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := load(write(t, append(append([]string{".git/HEAD", ""}, spec...), c.files...)...), host.Options{Args: []string{"f"}})
			if c.want == "" {
				require.Empty(t, errs)
				return
			}
			require.Equal(t, []string{c.want}, errs)
		})
	}
}

func TestLinksToSpecsAreFollowedOnce(t *testing.T) {
	hint := " (commit what it leads to in its place, or remove the link)"
	for _, c := range []struct {
		name, link, to string
		want           []string // of specs
		err            string
	}{
		{"to a file beside it", "again.yaml", "api.yaml", []string{"api"}, ""},
		{"to a file elsewhere", "more.yaml", "../lib/more.yaml", []string{"api", "more"}, ""},
		{"with a name of another case", "more.YAML", "../lib/more.yaml", []string{"api", "more"}, ""},
		{"to a file that is hidden", "more.yaml", "../lib/.now/more.yaml", []string{"api", "more"}, ""},
		{"to a folder", "lib", "../lib", []string{"api", "more"}, ""},
		{"to its own folder", "self", ".", []string{"api"}, ""},
		{"to the folder above", "up", "..", []string{"api", "more"}, ""},
		{"that is dangling", "more.yaml", "gone.yaml", nil, "no such file or directory" + hint},
		{"that leads to itself", "more.yaml", "more.yaml", nil, "too many levels of symbolic links" + hint},
		{"that leaves the repository", "more.yaml", "../../more.yaml", nil, "leaves the root of the project by a link" + hint},
		{"that is absolute", "more.yaml", "/etc/more.yaml", nil, "leaves the root of the project by a link" + hint},
		{"of a build", "bazel-out", "/nowhere", []string{"api"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := repository(t, "lib/more.yaml", transform("more", "{type: embedded, ref: web}"),
				"lib/.now/more.yaml", transform("more", "{type: embedded, ref: web}"))
			require.NoError(t, os.Symlink(c.to, filepath.Join(dir, "shop", c.link)))
			memory := fstest.MapFS{}
			require.NoError(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
				rel, relErr := filepath.Rel(dir, name)
				require.NoError(t, relErr)
				switch {
				case err != nil || e.IsDir():
				case e.Type()&fs.ModeSymlink != 0:
					memory[rel] = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(c.to)}
				default:
					data, readErr := os.ReadFile(name) //nolint:gosec // a file of this test
					require.NoError(t, readErr)
					memory[rel] = &fstest.MapFile{Data: data, Mode: 0o644}
				}
				return err
			}))
			for where, opts := range map[string]host.Options{"disk": {}, "memory": {FS: memory}} {
				opts.Args = []string{"shop"}
				from := dir
				if opts.FS != nil {
					from = ""
				}
				loaded, errs := load(from, opts)
				if c.err != "" {
					require.Equal(t, []string{fmt.Sprintf("shop/%s: spec: the link to %q cannot be followed: %s", c.link, c.to, c.err)}, errs, where)
					continue
				}
				require.Empty(t, errs, where)
				require.Equal(t, c.want, specNames(loaded), where)
			}
		})
	}
}

func TestAPipeIsRefusedWithoutBeingOpened(t *testing.T) {
	dir := repository(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "shop", "more.yaml"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "shop", "control"), 0o600))
	require.NoError(t, os.Symlink("more.yaml", filepath.Join(dir, "shop", "link.yaml")))
	_, errs := load(dir, host.Options{Args: []string{"shop"}})
	require.Equal(t, []string{
		"shop/more.yaml: spec: not a regular file (rename or remove it)",
	}, errs)
}

func TestAPatternThatLeadsToNoSpecIsAMistake(t *testing.T) {
	for pattern, want := range map[string]string{
		"manifests":      `"manifests" matches no file with a spec`,
		"manifests/*":    `"manifests/*" matches no file with a spec`,
		"manifests/**":   `"manifests/**" matches no file with a spec`,
		"empty":          `"empty" matches no file with a spec`,
		"gone":           `"gone": no such file or folder`,
		"gone/*.yaml":    `"gone/*.yaml" matches no file with a spec`,
		"module":         `"module" matches no file with a spec`,
		"manifests/[.ya": `"manifests/[.ya" is not a pattern: syntax error in pattern`,
	} {
		t.Run(pattern, func(t *testing.T) {
			dir := write(t, "ropewalk.yaml", projectHead+"  specs: [api.yaml, '"+pattern+"']\n", "api.yaml", transform("api", "{type: embedded, ref: web}"),
				"manifests/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "empty/README.md", "", "module/a.cue", "package a\n")
			_, errs := load(dir, host.Options{})
			require.Equal(t, []string{"ropewalk.yaml:5:21: spec: " + want}, errs)
		})
	}
}
