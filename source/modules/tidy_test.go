// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/test/servers"
)

func TestModuleFilesThatCannotBeCompleted(t *testing.T) {
	oci, _ := shop(t)
	cue := producer{registry: oci.Host}
	cue.publish(t, "v0.1.1", base("blue"))
	one := base("blue")
	one["cue.mod/module.cue"] = `module: "example.com/base@v1"` + language
	cue.publish(t, "v1.0.0", one)
	inner := base("blue")
	inner["cue.mod/module.cue"] = `module: "example.com/web/deep@v0"` + language
	cue.publish(t, "v0.1.0", inner)
	const usesWeb = "package app\n\nimport \"example.com/web\"\n\nx: web\n"

	for _, c := range []struct {
		name, module, text, says string
	}{
		{
			"another major version than the dependency means", deps("example.com/web@v0", "v0.2.0", "example.com/base@v1", "v1.0.0"), usesWeb,
			`of "example.com/base@v0", and it lists "example.com/base@v1.0.0": cue.mod/pkg has one folder for both`,
		},
		{
			"two major versions", deps("example.com/base@v0", "v0.1.0", "example.com/base@v1", "v1.0.0"), "package app",
			`cue.mod/module.cue: the module depends on "example.com/base@v0.1.0" and on "example.com/base@v1.0.0": cue.mod/pkg has one folder for both`,
		},
		{
			"itself in another major version", deps("example.com/app@v1", "v1.0.0"), "package app",
			`which is itself in another major version`,
		},
		{
			"two modules with the same folder", deps("example.com/web@v0", "v0.2.0", "example.com/web/deep@v0", "v0.1.0"), "package app\n\nimport \"example.com/web/deep\"\n\nx: deep\n",
			`both hold the folder "example.com/web/deep"`,
		},
		{
			"a language that is too new", "module: \"example.com/app@v0\"\nlanguage: version: \"v0.99.0\"\ndeps: \"example.com/base@v0\": v: \"v0.1.0\"\n", "package app",
			`cue.mod/module.cue: language version "v0.99.0" declared in module.cue is too new`,
		},
		{
			"no major version in a version", deps("example.com/base@v0", "latest"), "package app",
			"cue.mod/module.cue: ",
		},
		{
			"a replacement by a folder", "module: \"example.com/app@v0\"\nlanguage: version: \"v0.17.0\"\ndeps: \"example.com/base@v0\": {v: \"v0.1.0\", replaceWith: \"../base\"}\n", "package app",
			`replace`,
		},
		{"text that is no CUE", "deps: {{{", "package app", "cue.mod/module.cue: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := online(&modules.Registry{Config: oci.Host})
			_, _, err := r.Complete(t.Context(), treeOf(t, map[string]string{"cue.mod/module.cue": c.module, "app.cue": c.text}), nil)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestAnOlderVersionThanADependencyNeeds(t *testing.T) {
	oci := servers.InProcess(t)
	cue := producer{registry: oci.Host}
	cue.publish(t, "v0.0.9", base("blue"))
	cue.publishAll(t)
	files := app()
	files["cue.mod/module.cue"] = deps("example.com/web@v0", "v0.2.0", "example.com/base@v0", "v0.0.9")
	_, _, err := online(&modules.Registry{Config: oci.Host}).Complete(t.Context(), treeOf(t, files), nil)
	require.EqualError(t, err, `cue.mod/module.cue is not tidy: module "example.com/web@v0.2.0" needs "example.com/base@v0.1.0", and it says v0.0.9: run "cue mod tidy"`)
}

// A module that the module file lacks is reported where it is imported.
func TestADependencyThatTheModuleFileLacks(t *testing.T) {
	oci, _ := shop(t)
	for _, c := range []struct{ module, imported, missing string }{
		{deps("example.com/web@v0", "v0.2.0"), "example.com/web", "example.com/base"},
		{deps("example.com/web@v0", "v0.2.0", "example.com/base@v0", "v0.1.0"), "example.com/web/unused", "example.com/extra"},
	} {
		tree := treeOf(t, map[string]string{"cue.mod/module.cue": c.module, "app.cue": "package app\n\nimport m \"" + c.imported + "\"\n\nx: m\n"})
		out, _, err := online(&modules.Registry{Config: oci.Host}).Complete(t.Context(), tree, nil)
		require.NoError(t, err)
		_, err = evaluated(t, out)
		require.ErrorContains(t, err, `app/app.cue:3:8: evaluate: import "`+c.missing+`" is not in the module: list its module in cue.mod/module.cue (cue mod tidy)`)
	}
}

func TestWhatIsNotMissed(t *testing.T) {
	oci, files := shop(t)
	t.Run("a dependency that no imported package uses", func(t *testing.T) {
		require.NotContains(t, files["cue.mod/module.cue"], "extra", "cue mod tidy does not list it either")
		_, _, err := online(&modules.Registry{Config: oci.Host}).Complete(t.Context(), treeOf(t, files), nil)
		require.NoError(t, err)
	})
	t.Run("a dependency that evaluation provides", func(t *testing.T) {
		alone := app()
		alone["cue.mod/module.cue"] = deps("example.com/web@v0", "v0.2.0")
		r := online(&modules.Registry{Config: oci.Host, Provided: []string{"example.com/base"}})
		_, got, err := r.Complete(t.Context(), treeOf(t, alone), nil)
		require.NoError(t, err)
		require.Len(t, got, 1)
	})
	t.Run("a package that the module holds itself", func(t *testing.T) {
		alone := app()
		alone["cue.mod/module.cue"] = deps("example.com/web@v0", "v0.2.0")
		alone["cue.mod/pkg/example.com/base/base.cue"] = base("green")["base.cue"]
		out, _, err := online(&modules.Registry{Config: oci.Host}).Complete(t.Context(), treeOf(t, alone), nil)
		require.NoError(t, err)
		require.Equal(t, "green", team(t, out))
	})
	t.Run("what a module in a folder of this one imports", func(t *testing.T) {
		nested := map[string]string{
			"cue.mod/module.cue": deps("example.com/web@v0", "v0.2.0"), "app.cue": "package app\n",
			"other/cue.mod/module.cue": `module: "example.com/other@v0"` + language, "other/other.cue": app()["app.cue"],
		}
		_, _, err := online(&modules.Registry{Config: oci.Host}).Complete(t.Context(), treeOf(t, nested), nil)
		require.NoError(t, err)
	})
}

// A major version other than v0 has a default of its own in the module file, and
// imports may name it; evaluation finds both in the one folder.
func TestMajorVersions(t *testing.T) {
	oci := servers.InProcess(t)
	cue := producer{registry: oci.Host}
	one := base("blue")
	one["cue.mod/module.cue"] = `module: "example.com/base@v1"` + language
	cue.publish(t, "v1.0.0", one)
	for _, spec := range []string{"example.com/base@v1", "example.com/base@v1:base", "example.com/base"} {
		files := cue.tidied(t, map[string]string{
			"cue.mod/module.cue": `module: "example.com/app@v0"` + language + `deps: "example.com/base@v1": {v: "v1.0.0", default: true}`,
			"app.cue": "package app\n\nimport \"" + spec + "\"\n\nropewalk: apiVersion: \"v1alpha1\"\ninput: name!: string\n" +
				"graph: nodes: x: object: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: {name: input.name, labels: base.#Labels}}\n",
		})
		out, deps, err := online(&modules.Registry{Config: oci.Host}).Complete(t.Context(), treeOf(t, files), nil)
		require.NoError(t, err, spec)
		require.Equal(t, "example.com/base@v1.0.0", deps[0].String())
		require.Equal(t, "blue", team(t, out), spec)
	}
}
