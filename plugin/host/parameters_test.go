// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

// described is what the specs of a directory take, a line for each input.
func described(t *testing.T, opts host.Options) ([]string, error) {
	t.Helper()
	loaded, err := host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}.Load(t.Context(), opts)
	require.NoError(t, err)
	all, err := loaded.Parameters(t.Context(), inprocess.New(inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}}))
	var out []string
	for _, p := range all {
		line := fmt.Sprintf("%s:%s %s", p.Spec, p.Path, p.Value.JSON())
		if p.Required {
			line += " required"
		}
		out = append(out, line)
	}
	return out, err
}

func TestAParameterHasTheValueOfItsSpec(t *testing.T) {
	dir := folders(t)
	for name, c := range map[string]struct {
		opts host.Options
		want []string
	}{
		"a native module": {host.Options{Args: []string{"modules/Web-App"}}, []string{
			"web-app:image null required", "web-app:replicas 1", "web-app:tags null",
		}},
		"with what is laid over it": {host.Options{Args: []string{"modules/Web-App"}, Values: []string{"prod.yaml"}, Set: []string{"image=x", "tags.a=b"}}, []string{
			`web-app:image "x"`, "web-app:replicas 5", `web-app:tags {"a":"b"}`,
		}},
		"a plain one": {host.Options{Args: []string{"plain"}}, []string{"plain:list []", `plain:text "none"`}},
		"one of Timoni": {host.Options{Args: []string{"timoni"}, Set: []string{"text=x"}}, []string{
			"timoni:labels null", "timoni:replicas 2", `timoni:text "x"`,
		}},
		"a workload":  {host.Options{Args: []string{"score"}}, []string{`scored:containers.main.image "nginx:1"`}},
		"a transform": {host.Options{Args: []string{"both"}, Set: []string{"list=[a]"}}, []string{`spec:list ["a"]`, `spec:text "none"`}},
	} {
		t.Run(name, func(t *testing.T) {
			disk, others := places(t, dir, c.opts)
			got, err := described(t, disk)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			for where, opts := range others {
				got, err := described(t, opts)
				require.NoError(t, err)
				require.Equal(t, c.want, got, where)
			}
		})
	}
}

func TestAMemberWithANameIsSaidOnce(t *testing.T) {
	files := fstest.MapFS{
		"a.cue": {Data: []byte("package a\n\nlabels: {[string]: string, team: string, tier: string | *\"web\"}\n" +
			"config: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: {name: \"a\", \"labels\": labels}}\n")},
	}
	got, err := described(t, host.Options{FS: files, Set: []string{"labels.team=shop", "labels.more=x"}})
	require.NoError(t, err)
	require.Equal(t, []string{`app:labels {"more":"x"}`, `app:labels.team "shop"`, `app:labels.tier "web"`}, got)
}

func TestAModuleThatCannotBeDescribedHidesNoOther(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"a.yaml": transform("a", "{type: path, ref: broken}"), "broken/a.cue": "package a\n\nx: {\n",
		"b.yaml": transform("b", "{type: embedded, ref: webservice}", "  input: {image: 'nginx:1'}\n"),
		"c.yaml": "apiVersion: score.dev/v1b1\nmetadata: {name: c}\ncontainers: {z: {image: .}, a: {image: 'x:1'}}\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	got, err := described(t, host.Options{FS: files})
	require.ErrorContains(t, err, `inputs of "a", module path:broken: `)
	require.Contains(t, got, `b:image "nginx:1"`)
	require.Contains(t, got, "b:autoscaling.max null")
	require.Equal(t, []string{`c:containers.a.image "x:1"`, "c:containers.z.image null required"}, got[len(got)-2:])
	require.False(t, slices.ContainsFunc(got[:len(got)-2], func(line string) bool { return line[len(line)-1] == 'd' && line[:2] == "b:" }),
		"nothing that webservice needs is missing: %v", got)

	loaded, err := host.Host{Embedded: cue.Module}.Load(t.Context(), host.Options{FS: files})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = loaded.Parameters(ctx, inprocess.New(inprocess.Options{}))
	require.ErrorIs(t, err, context.Canceled)
}
