// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/service"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// Each of these is small on disk.
func TestALoadIsChargedForWhatItTakes(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: %s}\nspec:\n  cueRef: {type: path, ref: m}\n"
	aliases := "  input:\n    a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 4 {
		aliases += fmt.Sprintf("    %c: &%c [%s]\n", 'b'+i, 'b'+i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", 'a'+i), 10), ", "))
	}
	many := ""
	for i := range 2000 {
		many += fmt.Sprintf("---\n"+head, fmt.Sprintf("s%d", i))
	}
	policies := "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: p}\nspec:\n  policies:\n"
	for i := range 100 {
		policies += fmt.Sprintf("    - {name: p%d, cueRef: {type: path, ref: m}}\n", i)
	}
	for name, c := range map[string]struct {
		files map[string]string
		opts  host.Options
		least int64
	}{
		"dense documents":        {map[string]string{"s.yaml": fmt.Sprintf(head, "s") + "  input: {a: [" + strings.Repeat(",x", 50_000)[1:] + "]}\n"}, host.Options{}, 10 << 20},
		"aliases":                {map[string]string{"s.yaml": fmt.Sprintf(head, "s") + aliases}, host.Options{}, 10 << 20},
		"policies of many specs": {map[string]string{"s.yaml": many[:len(many)/4], "ropewalk.yaml": policies}, host.Options{}, 10 << 20},
		"values":                 {map[string]string{"s.yaml": fmt.Sprintf(head, "s"), "v.txt": "a: [" + strings.Repeat(",x", 50_000)[1:] + "]\n"}, host.Options{Values: []string{"v.txt"}}, 10 << 20},
		"a module":               {map[string]string{"s.yaml": fmt.Sprintf(head, "s"), "m/large.txt": strings.Repeat("x", 11<<20)}, host.Options{}, 10 << 20},
		"files of workloads": {map[string]string{"s.yaml": "apiVersion: score.dev/v1b1\nmetadata: {name: ww}\ncontainers: {main: {image: x, files: {/a: {source: a.txt}, /b: {source: b.txt}}}}\n",
			"a.txt": strings.Repeat("x", 900_000), "b.txt": strings.Repeat("x", 900_000)}, host.Options{}, 1_800_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{"m/m.cue": {Data: []byte("a: 1\n")}}
			for name, text := range c.files {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			opts := c.opts
			opts.FS = files
			for _, limit := range []int64{c.least, 1 << 30} {
				budget := service.NewBudgets(limit).Open("a")
				opts.Charge = budget.Charge
				_, err := host.Host{Embedded: cue.Module}.Load(t.Context(), opts)
				if limit == c.least {
					require.ErrorIs(t, err, evaluate.ErrLimit)
					continue
				}
				require.NotErrorIs(t, err, evaluate.ErrLimit)
			}
		})
	}
}

// TestARenderHoldsNoMoreValuesThanItMay counts documents and the files of components by one
// counter, each file once, and says which one was too many.
func TestARenderHoldsNoMoreValuesThanItMay(t *testing.T) {
	t.Parallel()
	config := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {" + strings.Repeat("k: v, ", 100) + "z: v}\n"
	}
	component := func(text string) string {
		return "apiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: c}\nspec: " + text + "\n"
	}
	kustomization := "resources: [a.yaml, b.yaml]\n"
	for name, c := range map[string]struct {
		files map[string]string
		most  int
		file  string // "" where all is read
	}{
		"documents":                     {map[string]string{"a.yaml": transform("a", "{type: inline, ref: 'a: 1'}"), "b.yaml": config("b")}, 200, "b.yaml"},
		"a folder of manifests":         {map[string]string{"m.txt.yaml": component("{manifests: {paths: [x]}}"), "x/a.json": config("a"), "x/b.json": config("b")}, 350, "x/b.json"},
		"enough for it":                 {map[string]string{"m.txt.yaml": component("{manifests: {paths: [x]}}"), "x/a.json": config("a"), "x/b.json": config("b")}, 1000, ""},
		"a kustomization":               {map[string]string{"c.yaml": component("{kustomize: {path: k}}"), "k/kustomization.yaml": kustomization, "k/a.yaml": config("a"), "k/b.yaml": config("b")}, 350, "k/b.yaml"},
		"enough for it, each file once": {map[string]string{"c.yaml": component("{kustomize: {path: k}}"), "k/kustomization.yaml": kustomization, "k/a.yaml": config("a"), "k/b.yaml": config("b")}, 1000, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{}
			for name, text := range c.files {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			_, err := host.Host{}.Load(t.Context(), host.Options{FS: files, Limits: evaluate.Limits{Values: c.most}})
			if c.file == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, evaluate.ErrLimit)
			require.EqualError(t, err, fmt.Sprintf("%s: spec: over the limit: the documents and the files of components hold more than %d values: "+
				"split the render into several, or raise --max-values", c.file, c.most))
		})
	}
}

func TestALoadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	for i := range 1000 {
		files[fmt.Sprintf("s%d.yaml", i)] = &fstest.MapFile{Data: []byte(transform(fmt.Sprintf("s%d", i), "{type: inline, ref: 'a: 1'}"))}
	}
	ctx, leave := context.WithCancel(t.Context())
	read := 0
	_, err := host.Host{}.Load(ctx, host.Options{FS: files, Charge: func(context.Context, int64) error {
		if read++; read == 10 {
			leave()
		}
		return nil
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 10, read)
}
