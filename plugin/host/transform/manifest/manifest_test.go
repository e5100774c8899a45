// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

const (
	head    = "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: a}\n"
	cluster = head + "spec: {interval: 5m, cueRef: {type: embedded, ref: a}}\n"
	other   = "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: a}\n"
)

func TestATransformOfAClusterIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		text         string
		named, found bool
	}{
		"with a field that only a cluster has": {cluster, false, true},
		"beside other objects":                 {cluster + other, false, true},
		"a spec":                               {head + "spec: {cueRef: {type: embedded, ref: a}}\n", false, false},
		"a spec that is meant":                 {head + "spec: {cueRef: {type: embedded, ref: a}}\n", true, true},
		"beside a spec":                        {cluster + "---\n" + head, false, false},
		"another object":                       {other, true, false},
		"no YAML":                              {cluster + "a: [", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Find(spec.File{Name: "a.yaml", Data: []byte(c.text)}, c.named)
			require.NoError(t, err)
			require.Equal(t, c.found, m != nil)
		})
	}
	_, err := Find(spec.File{Name: "a.yaml", Data: []byte(cluster + "---\n" + cluster)}, true)
	require.ErrorContains(t, err, "a.yaml:6:1: spec: the file holds another document of Ropewalk: expected one Transform")
	_, err = Find(spec.File{Name: "a.yaml", Data: []byte(cluster + "a: [")}, true)
	require.ErrorContains(t, err, "a.yaml:")
}

func TestMistakesInAManifestAreAtTheirLines(t *testing.T) {
	for name, c := range map[string]struct{ spec, want string }{
		"a field that there is not":  {"{cueRef: {type: embedded, ref: a, pth: b}, interval: 1m}", `a.yaml:4:46: spec: spec.cueRef.pth: a Transform has no such field`},
		"a list for a text":          {"{cueRef: {type: [], ref: a}, interval: 1m}", `a.yaml:4:23: spec: spec.cueRef.type: expected a string, got array`},
		"a text that is no duration": {"{cueRef: {type: embedded, ref: a}, interval: abc}", `a.yaml:4:52: spec: spec.interval: "abc" is no duration`},
		"two sources":                {`{source: {git: {url: "https://example.com/a"}}, sourceRef: {kind: Bucket, name: a}}`, `a.yaml:4:16: spec: spec.source: source makes a GitRepository, and sourceRef names one that is there`},
		"a source without a URL":     {"{source: {git: {}}}", `a.yaml:4:16: spec: spec.source: spec.source.git.url is missing`},
		"nothing to render":          {"{interval: 1m}", `a.yaml:4:7: spec: spec: one of sourceRef, source, cueRef and component is needed`},
		"a name that is none":        {"{sourceRef: {kind: Bucket, name: A}}", `a.yaml:4:40: spec: spec.sourceRef.name: "A" is not the name of an object`},
		"a kind that is none":        {"{sourceRef: {kind: Buckt, name: a}}", `a.yaml:4:26: spec: spec.sourceRef.kind: "Buckt" is not a kind of source: expected GitRepository, OCIRepository, Bucket, ExternalArtifact (did you mean "Bucket"?)`},
		"an input of another kind":   {"{cueRef: {type: embedded, ref: a}, inputsFrom: [{kind: Sekret, name: a}]}", `a.yaml:4:62: spec: spec.inputsFrom[0].kind: "Sekret" is not known: expected ConfigMap, Secret`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Find(spec.File{Name: "a.yaml", Data: []byte(head + "spec: " + c.spec)}, true)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := Find(spec.File{Name: "a.yaml", Data: []byte(head + "spec: {suspend: 1, history: a, x: 1, sourceRef: []}")}, true)
	require.Len(t, object.AsErrors(err, object.StageSpec), 4, "all at once")
}

func TestValuesOfTheFlagAreRead(t *testing.T) {
	got, err := ParseSources([]string{"GitRepository/flux-system/app=.", "ConfigMap/a/b=c=d.yaml"})
	require.NoError(t, err)
	require.Equal(t, Sources{"GitRepository/flux-system/app": ".", "ConfigMap/a/b": "c=d.yaml"}, got)
	for _, arg := range []string{"", "GitRepository/a/b", "GitRepository/a/b=", "GitRepository/a=.", "GitRepository//b=.", "Secret/a/b=.", "Kustomization/a/b=."} {
		_, err := ParseSources([]string{arg})
		require.Error(t, err, arg)
	}
	_, err = ParseSources([]string{"Bucket/a/b=.", "Bucket/a/b=c"})
	require.EqualError(t, err, `"Bucket/a/b" is given twice`)
}

func TestHiddenFilesAreNoPartOfASource(t *testing.T) {
	f, err := openFolder(fstest.MapFS{"app/a/b.yaml": {}, "app/a/.c/d.yaml": {}, "app/.git/config": {}}, "app", "ExternalArtifact/a/b")
	require.NoError(t, err)
	var found []string
	require.NoError(t, fs.WalkDir(f.files, ".", func(name string, _ fs.DirEntry, err error) error {
		found = append(found, name)
		return err
	}))
	require.Equal(t, []string{".", "a", "a/b.yaml"}, found)
	for _, name := range []string{".git/config", "a/.c/d.yaml"} {
		_, err := f.files.Open(name)
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = f.files.Stat(name)
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = f.files.Lstat(name)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	_, err = openFolder(fstest.MapFS{"app": {}}, "app", "ExternalArtifact/a/b")
	require.Error(t, err)
}

// The artifact of a source has what its .sourceignore files leave in it, and the folder too.
func TestASourceIsWithoutWhatItIgnores(t *testing.T) {
	all := fstest.MapFS{
		"app/.sourceignore": {Data: []byte("# of the root\r\n/*\r\n!/deploy\r\n*.png\r\ntmp/\r\n/deploy/cloud*\r\n!/apps/prod/\n")}, "app/README.md": {}, "app/deploy/web.yaml": {}, "app/deploy/photo.png": {},
		"app/deploy/tmp/a.yaml": {}, "app/deploy/sub/.sourceignore": {Data: []byte("*.bak\n!logo.png\n")}, "app/deploy/sub/b.yaml.bak": {}, "app/deploy/sub/logo.png": {},
		"app/deploy/cloudbuild.yaml": {}, "app/deploy/photo.jpg": {}, "app/apps/test/a.yaml": {}, "app/apps/prod/a.yaml": {},
		"app/deploy/link.yaml": {Mode: fs.ModeSymlink, Data: []byte("web.yaml")},
	}
	without := maps.Clone(all)
	delete(without, "app/.sourceignore")
	delete(without, "app/deploy/sub/.sourceignore")
	for name, test := range map[string]struct {
		files  fstest.MapFS
		source string
		gone   []string
	}{
		"its own overrule the defaults but for git": {all, "GitRepository/a/b", []string{
			"README.md", "apps/test", "apps/test/a.yaml", "deploy/cloudbuild.yaml", "deploy/link.yaml", "deploy/photo.png", "deploy/sub/b.yaml.bak", "deploy/tmp", "deploy/tmp/a.yaml",
		}},
		"the defaults": {without, "OCIRepository/a/b", []string{"deploy/cloudbuild.yaml", "deploy/link.yaml", "deploy/photo.jpg", "deploy/photo.png", "deploy/sub/logo.png"}},
		"a bucket has that of the root alone": {all, "Bucket/a/b", []string{
			"README.md", "apps/test", "apps/test/a.yaml", "deploy/cloudbuild.yaml", "deploy/link.yaml", "deploy/photo.png", "deploy/sub/logo.png", "deploy/tmp", "deploy/tmp/a.yaml",
		}},
		"and no defaults":                     {without, "Bucket/a/b", []string{"deploy/link.yaml"}},
		"what makes it decides what is in it": {all, "ExternalArtifact/a/b", nil},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := openFolder(test.files, "app", test.source)
			require.NoError(t, err)
			left := map[string]bool{}
			require.NoError(t, fs.WalkDir(f.files, ".", func(name string, _ fs.DirEntry, err error) error {
				left[name] = true
				return err
			}))
			var gone []string
			require.NoError(t, fs.WalkDir(test.files, "app", func(name string, _ fs.DirEntry, err error) error {
				if name = strings.TrimPrefix(strings.TrimPrefix(name, "app"), "/"); name != "" && !strings.Contains("/"+name, "/.") && !left[name] {
					gone = append(gone, name)
					_, err := f.files.Open(name)
					require.ErrorIs(t, err, fs.ErrNotExist, name)
				}
				return err
			}))
			require.Equal(t, test.gone, gone)
		})
	}
}

func TestEntriesOfAConfigMapAreTexts(t *testing.T) {
	files := fstest.MapFS{"c.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: x, n: 1}\nbinaryData: {b: eA==, c: '?'}\n")}}
	d, err := configMap(files, "shop", "c", "c.yaml")
	require.NoError(t, err)
	m, err := decodeConfigMap("c", d)
	require.Equal(t, "x", m.Data["a"])
	require.Equal(t, []byte("x"), m.BinaryData["b"])
	require.ErrorContains(t, err, `c.yaml:4:17: resolve: data.n of ConfigMap "c" is no text: write it in quotes`)
	require.ErrorContains(t, err, `binaryData.c of ConfigMap "c" is not base64`)
	_, err = configMap(files, "shop", "d", "d.yaml")
	require.ErrorContains(t, err, "--local-sources ConfigMap/shop/d=d.yaml: resolve: file does not exist")
}
