// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func provisioners(t *testing.T, dir string, opts host.Options) (host.Provisioners, error) {
	t.Helper()
	opts.Dir = dir
	h := host.Host{Embedded: func(name string) (fs.FS, bool) {
		return fstest.MapFS{"a.cue": {Data: []byte("package a\n")}}, name == spec.DefaultProvisioners
	}}
	return h.Provisioners(t.Context(), opts)
}

// labels are where the modules come from, in the order in which they are asked.
func labels(found host.Provisioners) []string {
	var out []string
	for _, p := range found.Workloads.Provisioners {
		out = append(out, p.Name+" "+p.Module.Label)
	}
	return out
}

func TestProvisionersOfAProjectComeBeforeTheEmbeddedOnes(t *testing.T) {
	dir := write(t,
		"shop/ropewalk.yaml", projectHead+"  context: {namespace: shop}\n"+
			"  workloads:\n    provisioners:\n      - {name: one, cueRef: {type: path, ref: ./one}}\n      - {name: two, cueRef: {type: path, ref: ./two}}\n"+
			"  environments:\n    prod:\n      context: {namespace: prod}\n      workloads: {config: {domain: example.com}}\n",
		"shop/one/a.cue", "package a\n", "shop/two/a.cue", "package a\n",
		"shop/broken.yaml", "apiVersion: score.dev/v1b1\nmetadata: [}\n",
	)
	for name, args := range map[string][]string{"its folder": {"shop"}, "its file": {"shop/ropewalk.yaml"}} {
		t.Run(name, func(t *testing.T) {
			found, err := provisioners(t, dir, host.Options{Args: args, Environment: "prod"})
			require.NoError(t, err)
			require.Equal(t, []string{"one shop/one", "two shop/two", "provisioners embedded:provisioners"}, labels(found))
			require.Equal(t, "prod", found.Context.Namespace)
			domain, _ := found.Workloads.Config.Config.Get("domain")
			require.Equal(t, "example.com", domain.Text)
			require.Contains(t, found.Texts, "shop/ropewalk.yaml")
		})
	}
	found, err := provisioners(t, filepath.Join(dir, "shop"), host.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"one one", "two two", "provisioners embedded:provisioners"}, labels(found))
}

func TestAModuleThatNoProjectKnowsIsAskedFirst(t *testing.T) {
	dir := write(t, "platform/cue.mod/module.cue", "module: \"example.com/p@v0\"\nlanguage: version: \"v0.15.0\"\n", "platform/a.cue", "package a\n")
	found, err := provisioners(t, dir, host.Options{Args: []string{"./platform"}})
	require.NoError(t, err)
	require.Equal(t, []string{"platform platform", "provisioners embedded:provisioners"}, labels(found))
	require.Equal(t, host.DefaultNamespace, found.Context.Namespace)
	require.Equal(t, spec.BackendExternalSecrets, found.Workloads.Config.Secrets.Backend)

	// In its own folder nobody named it.
	found, err = provisioners(t, filepath.Join(dir, "platform"), host.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"provisioners embedded:provisioners"}, labels(found))
}

func TestMistakesOfProvisionersHaveTheirPlace(t *testing.T) {
	tests := map[string]struct {
		files []string
		opts  host.Options
		want  string
	}{
		"a folder with nothing": {[]string{"a/b", ""}, host.Options{Args: []string{"a"}}, "no project and no module of provisioners in this folder"},
		"a mistake in the project": {
			[]string{"ropewalk.yaml", projectHead + "  workloads: {provisionrs: []}\n"}, host.Options{}, "ropewalk.yaml:5:15: spec",
		},
		"a module that is not there": {
			[]string{"ropewalk.yaml", projectHead + "  workloads: {provisioners: [{name: a, cueRef: {type: path, ref: ./a}}]}\n"}, host.Options{},
			"ropewalk.yaml:5:66: resolve: spec.workloads.provisioners[0].cueRef.ref",
		},
		"an environment that is not there": {[]string{"ropewalk.yaml", projectHead + "  context: {}\n"}, host.Options{Environment: "prod"}, `"prod" is not known`},
		"no version of Kubernetes":         {nil, host.Options{Context: spec.Context{KubeVersion: "x"}}, `"x" is not a version of Kubernetes`},
		"CRDs that are none":               {[]string{"a.yaml", "a: 1\n"}, host.Options{CRDs: []string{"a.yaml"}}, "contains no CustomResourceDefinition"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := provisioners(t, write(t, tt.files...), tt.opts)
			require.ErrorContains(t, err, tt.want)
			require.IsType(t, object.Errors{}, err)
		})
	}
	_, err := provisioners(t, t.TempDir(), host.Options{Args: []string{"missing"}})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestFindingProvisionersEndsWhenItIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := host.Host{}.Provisioners(ctx, host.Options{Dir: t.TempDir()})
	require.ErrorIs(t, err, context.Canceled)
}
