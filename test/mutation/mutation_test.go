// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
)

// fewest is how many mutations must be made: fewer would mean that the generator broke.
const fewest = 500

// optional are keys that own objects and that a user may leave out: nothing can tell
// a dropped one from one that was never written.
var optional = []string{
	"autoscaling", "deploy", "dependsOn", "environments", "files", "gateway", "ingress", "network", "pdb", "policies",
	"ports", "provisioners", "resources", "route", "service", "max", "params", "secretEnv", "variables", "expose", "replicas",
}

// TestNothingIsMissingInSilence renders every mutation of every seed.
func TestNothingIsMissingInSilence(t *testing.T) {
	t.Parallel()
	made, outcomes := 0, map[string]int{}
	results := resultcache.New(64 << 20)
	r := render.Renderer{Evaluator: resultcache.Evaluator{Results: results, Next: inprocess.New(inprocess.Options{
		Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()},
	})}}
	for _, seed := range []string{"shop", "workloads", "environments", "streams"} {
		files := tree(t, seed)
		want, checked := outcomeOf(t.Context(), r, files, host.Options{SkipSchemas: true}), outcomeOf(t.Context(), r, files, host.Options{})
		require.Empty(t, want.errors, seed)
		require.NotEmpty(t, want.objects, seed)
		for _, name := range documents(files) {
			for _, m := range mutations(name, files[name].Data) {
				made++
				got := outcomeOf(t.Context(), r, m.in(files), host.Options{SkipSchemas: true})
				outcomes[m.kind+", "+got.verdict(want)]++
				if want.without(got) != nil && !got.speaks(want) {
					// The schemas are half of the time: they may see what the modules do not.
					got = outcomeOf(t.Context(), r, m.in(files), host.Options{})
				}
				if missing := want.without(got); missing != nil && !got.speaks(checked) && !m.valid(files) {
					t.Errorf("%s: %s: accepted without a message, and without %q", seed, m, missing)
				}
			}
		}
	}
	require.GreaterOrEqual(t, made, fewest)
	var lines []string
	for k, n := range outcomes {
		lines = append(lines, fmt.Sprintf("%5d %s", n, k))
	}
	slices.Sort(lines)
	t.Logf("%d mutations:\n%s", made, strings.Join(lines, "\n"))
}

// tree is a seed: an example, or a folder of testdata.
func tree(t *testing.T, seed string) fstest.MapFS {
	t.Helper()
	dir := filepath.Join("../../cue/examples", seed)
	if _, err := os.Stat(dir); err != nil {
		dir = filepath.Join("testdata", seed)
	}
	out := fstest.MapFS{}
	source := os.DirFS(dir)
	require.NoError(t, fs.WalkDir(source, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(source, name)
		out[name] = &fstest.MapFile{Data: data}
		return err
	}))
	return out
}

// valid reports whether the mutation leaves a smaller file that may be meant:
// without an optional key, or cut behind a complete value, with its documents still
// what they were.
func (m mutation) valid(files fstest.MapFS) bool {
	switch m.kind {
	case "drop":
		return slices.Contains(optional, m.key)
	case "cut":
		before, whole := heads(files[m.file].Data)
		after, ok := heads(m.data)
		return whole && ok && len(after) > 0 && len(after) <= len(before) && slices.Equal(after, before[:len(after)])
	}
	return false
}

// heads are what identifies each document of a file; ok is false where one is not YAML.
func heads(data []byte) (out []string, ok bool) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Metadata   struct{ Name string }
		}
		if err := d.Decode(&doc); err != nil {
			return out, errors.Is(err, io.EOF)
		}
		out = append(out, fmt.Sprint(doc))
	}
}

// documents are the files that users write by hand.
func documents(files fstest.MapFS) []string {
	var out []string
	for name := range files {
		if path.Ext(name) == ".yaml" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (m mutation) in(files fstest.MapFS) fstest.MapFS {
	out := fstest.MapFS{}
	for name, f := range files {
		out[name] = f
	}
	name := m.file
	if m.renamed != "" {
		delete(out, m.file)
		name = m.renamed
	}
	out[name] = &fstest.MapFile{Data: m.data}
	return out
}

// outcome is what a render gives.
type outcome struct {
	errors, warnings []string
	// objects are the names of those in the output.
	objects []string
}

func outcomeOf(ctx context.Context, r render.Renderer, files fstest.MapFS, opts host.Options) outcome {
	opts.FS = files
	h := host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}
	loaded, err := h.Load(ctx, opts)
	if err != nil {
		return outcome{errors: strings.Split(err.Error(), "\n")}
	}
	result, err := r.Render(ctx, loaded.Request)
	if err != nil {
		return outcome{errors: strings.Split(err.Error(), "\n")}
	}
	var out outcome
	for _, w := range result.Warnings {
		out.warnings = append(out.warnings, w.Error())
	}
	for _, f := range result.Files {
		if !bytes.Contains(f.Data, []byte("apiVersion")) {
			continue
		}
		out.objects = append(out.objects, f.Path)
	}
	slices.Sort(out.objects)
	return out
}

// speaks reports whether something is said that the seed does not say.
func (o outcome) speaks(seed outcome) bool {
	return len(o.errors) > 0 || slices.ContainsFunc(o.warnings, func(w string) bool { return !slices.Contains(seed.warnings, w) })
}

// without are the objects of o that other lacks, nil where it has at least as many: a
// name that changed is no object less.
func (o outcome) without(other outcome) []string {
	if len(other.objects) >= len(o.objects) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(o.objects), func(name string) bool { return slices.Contains(other.objects, name) })
}

func (o outcome) verdict(seed outcome) string {
	switch {
	case len(o.errors) > 0:
		return "refused"
	case o.speaks(seed):
		return "accepted with a warning"
	case slices.Equal(o.objects, seed.objects):
		return "accepted with the same objects"
	case len(o.objects) >= len(seed.objects):
		return "accepted with other names"
	}
	return "accepted with fewer objects"
}
