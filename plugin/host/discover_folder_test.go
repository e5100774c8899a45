// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

const moduleFile = "module: \"example.com/m\"\nlanguage: version: \"v0.9.0\"\n"

// folders is a repository of folders that are modules, and of such that are not.
func folders(t testing.TB) string {
	t.Helper()
	const native = `package web

import "example.com/m/lib"

ropewalk: apiVersion: "v1alpha1"
#Input: {image!: string, replicas: int | *1, tags: [string]: string}
input:   #Input
context: {name: string, namespace: string, ...}
graph: nodes: web: object: lib.#ConfigMap & {
	metadata: {name: context.name, namespace: context.namespace}
	data: {image: input.image, replicas: "\(input.replicas)", input.tags}
}
`
	const lib = "package lib\n\n#ConfigMap: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: {...}, data: [string]: string}\n"
	const plain = `package plain

text: string | *"none"
list: [...string]
config: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "plain", data: {"text": text, items: "\(len(list))"}}
`
	const timoni = `package main

values: #Config
#Config: {text!: string, replicas: int, labels: [string]: string, metadata: {name!: string, namespace!: string}, kubeVersion!: string}
timoni: {
	apiVersion: "v1alpha1"
	instance: config: values
	instance: config: metadata: {name: string @tag(name), namespace: string @tag(namespace)}
	instance: config: kubeVersion: string @tag(kv, var=kubeVersion)
	apply: app: [{
		apiVersion: "v1", kind: "ConfigMap"
		metadata: {name: instance.config.metadata.name, namespace: instance.config.metadata.namespace, labels: instance.config.labels}
		data: {text: instance.config.text, replicas: "\(instance.config.replicas)"}
	}]
}
timoni: #Timoni
`
	return write(t,
		"modules/cue.mod/module.cue", moduleFile, "modules/lib/lib.cue", lib, "modules/Web-App/web.cue", native,
		"modules/Web-App/more.txt", "of no meaning", "modules/Web-App/testdata/service.yaml", "apiVersion: v1\nkind: Service\n",
		"plain/a.cue", plain, "plain/ropewalk.lock", "apiVersion: ropewalk.dev/v1alpha1\nkind: Lock\nsources: []\n",
		"plain/comment.yaml", "# ropewalk.dev/v1alpha1 is what this is not\na: 1\n",
		"timoni/cue.mod/module.cue", moduleFile, "timoni/timoni.cue", timoni, "timoni/values.cue", "package main\n\nvalues: {text: \"own\", replicas: 2}\n",
		"both/a.cue", "this is no CUE", "both/spec.yaml", transform("spec", "{type: path, ref: ../plain}"),
		"score/score.yaml", "apiVersion: score.dev/v1b1\nmetadata: {name: scored}\ncontainers: {main: {image: 'nginx:1'}}\n",
		"project/ropewalk.yaml", projectHead+"  specs: [../both/spec.yaml]\n",
		"broken/a.cue", "package a\n\nropewalk: apiVersion: \"v1alpha1\"\nx: {\n",
		"policy/a.cue", "package a\n\nropewalk: {apiVersion: \"v1alpha1\", kind: \"Policy\"}\nviolations: {}\n",
		"prod.yaml", "replicas: 5\n", "a.cue", "package a\n\nconfig: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"root\"}\n",
	)
}

// TestAFolderThatIsAModuleIsASpec renders on disk, over the disk and in memory.
func TestAFolderThatIsAModuleIsASpec(t *testing.T) {
	dir := folders(t)
	for name, c := range map[string]struct {
		opts host.Options
		spec string
		want []string
		errs string
	}{
		"a native one, in a module around it": {host.Options{Args: []string{"modules/Web-App"}, Set: []string{"image=nginx:1", "tags.a=b"}}, "web-app",
			[]string{"name: web-app", "namespace: default", "image: nginx:1", `replicas: "1"`, "a: b"}, ""},
		"where it is the working directory": {host.Options{Dir: "modules/Web-App", Set: []string{"image=x"}}, "web-app", []string{"image: x"}, ""},
		"by the name that the caller gives": {host.Options{Args: []string{"modules/Web-App"}, Name: "shop_Front.end-", Set: []string{"image=x"}}, "shop-front-end",
			[]string{"name: shop-front-end"}, ""},
		"with values":           {host.Options{Args: []string{"modules/Web-App"}, Values: []string{"web-app:prod.yaml"}, Set: []string{"web-app:image=x"}}, "web-app", []string{`replicas: "5"`}, ""},
		"a plain one":           {host.Options{Args: []string{"plain"}, Set: []string{"text=hello", "list=[a, b]"}}, "plain", []string{"text: hello", `items: "2"`}, ""},
		"one of Timoni":         {host.Options{Args: []string{"timoni"}, Values: []string{"prod.yaml"}, Set: []string{"labels.x=y"}}, "timoni", []string{"text: own", `replicas: "5"`, "x: \"y\""}, ""},
		"documents beside CUE":  {host.Options{Args: []string{"both"}, Set: []string{"text=x"}}, "spec", []string{"text: x"}, ""},
		"a project":             {host.Options{Args: []string{"project"}, Name: "nobody"}, "spec", []string{"text: none"}, ""},
		"a file of Score alone": {host.Options{Args: []string{"score"}, Name: "nobody"}, "scored", []string{"kind: Deployment"}, ""},
		"the root":              {host.Options{Set: []string{"x=1"}, Args: []string{"."}}, "spec", nil, "there are 2 specs"},
		"without its input": {host.Options{Args: []string{"modules/Web-App"}}, "web-app", nil,
			"modules/Web-App: evaluate: image: is missing, expected text"},
		"with an input of another type": {host.Options{Args: []string{"modules/Web-App"}, Set: []string{"image=1"}}, "web-app", nil,
			"--set image: evaluate: image: expected text, got 1"},
		"with a name that nobody has": {host.Options{Args: []string{"plain"}, Set: []string{"x:text=1"}}, "plain", nil, `there is no spec "x" (known: plain)`},
		"that is no CUE":              {host.Options{Args: []string{"broken"}}, "broken", nil, "broken/a.cue:4:4: evaluate: the \"{\" of line 4 is not closed"},
		"that is a policy":            {host.Options{Args: []string{"policy"}}, "policy", nil, `policy: evaluate: module "policy" is a policy`},
		"twice by one name": {host.Options{Args: []string{"plain", "timoni", "./plain"}, Name: "x"}, "x", nil,
			`timoni: spec: duplicate spec name "x" (write a Transform with a name of its own for each)`},
	} {
		t.Run(name, func(t *testing.T) {
			disk, others := places(t, dir, c.opts)
			want := outcomeOf(t, disk)
			if c.errs != "" {
				require.Contains(t, want.errs, c.errs)
			} else {
				require.Empty(t, want.errs)
				require.Equal(t, []string{c.spec}, specNames(want.loaded))
				require.Equal(t, c.spec, want.loaded.Request.Specs[0].Evaluate.Context.Name)
			}
			var text strings.Builder
			for _, f := range want.result.Files {
				text.Write(f.Data)
			}
			for _, w := range c.want {
				require.Contains(t, text.String(), w)
			}
			for where, opts := range others {
				require.Equal(t, want, outcomeOf(t, opts), where)
			}
		})
	}
}

func TestTheRootHasANameThatNoCheckoutChanges(t *testing.T) {
	files := []string{"a.cue", "package a\n\nconfig: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"root\"}\n", ".git/HEAD", "", "sub/b.cue", "package b\n"}
	for _, dir := range []string{write(t, files...), write(t, files...)} {
		loaded, errs := load(dir, host.Options{Emit: emit.Options{Dialect: dialect.Flux}})
		require.Empty(t, errs)
		require.Equal(t, "app", loaded.Name)
		require.Equal(t, []string{"app"}, specNames(loaded))
		require.Equal(t, object.Pos{File: "."}, loaded.Request.Specs[0].Evaluate.Pos)
		require.Equal(t, ".", loaded.Request.Specs[0].Evaluate.Module.Label)
		loaded, errs = load(dir, host.Options{Args: []string{"sub"}})
		require.Empty(t, errs)
		require.Equal(t, []string{"sub"}, specNames(loaded))
	}
}

func TestAPackageWithoutARepositoryBelongsToTheModuleAround(t *testing.T) {
	dir := write(t, "m/cue.mod/module.cue", moduleFile, "m/lib/lib.cue", "package lib\n\ntext: \"of the module\"\n",
		"m/apps/web/web.cue", "package web\n\nimport \"example.com/m/lib\"\n\nconfig: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"web\", data: text: lib.text}\n",
		"m/apps/spec.yaml", transform("spec", "{type: path, ref: ../lib}"),
		"alone/a.cue", "package a\n\nconfig: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"alone\"}\n",
	)
	for name, opts := range map[string]host.Options{
		"from the module":           {Dir: dir + "/m", Args: []string{"apps/web"}},
		"from a folder around it":   {Dir: dir, Args: []string{"m/apps/web"}},
		"from the package":          {Dir: dir + "/m/apps/web"},
		"by an absolute path":       {Dir: dir, Args: []string{dir + "/m/apps/web"}},
		"with the root by its name": {Dir: dir, Args: []string{"m/apps/web"}, Root: "m"},
	} {
		t.Run(name, func(t *testing.T) {
			loaded, errs := load(opts.Dir, opts)
			require.Empty(t, errs)
			require.Equal(t, []string{"web"}, specNames(loaded))
			require.Equal(t, "apps/web", loaded.Request.Specs[0].Evaluate.Module.Dir)
			out := outcomeOf(t, opts)
			require.Empty(t, out.errs)
			require.Contains(t, string(out.result.Files[0].Data), "text: of the module")
		})
	}
	_, errs := load(dir, host.Options{Args: []string{"m/apps/spec.yaml"}})
	require.Contains(t, strings.Join(errs, "\n"), `"../lib" leaves the root of the project`, "a document reads nothing above its folder")
	loaded, errs := load(dir, host.Options{Args: []string{"alone"}})
	require.Empty(t, errs)
	require.Equal(t, []string{"app"}, specNames(loaded), "it is its own root")
}

// TestALinkToAModuleIsFollowed asks for folders by links, on disk and in memory.
func TestALinkToAModuleIsFollowed(t *testing.T) {
	dir := write(t, ".git/HEAD", "", "modules/cue.mod/module.cue", moduleFile, "modules/lib/lib.cue", "package lib\n\ntext: \"of the module\"\n",
		"modules/web/web.cue", "package web\n\nimport \"example.com/m/lib\"\n\nconfig: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"web\", data: text: lib.text}\n",
		"apps/.keep", "")
	for name, to := range map[string]string{
		"apps/current": "../modules/web", "apps/again": "./current", "apps/by": "../way/web", "way": "modules",
		"apps/out": "../../elsewhere", "apps/loop": "loop", "apps/none": "../modules/none",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	for name, c := range map[string]struct{ arg, spec, errs string }{
		"to a folder":            {"apps/current", "current", ""},
		"to a link":              {"apps/again", "again", ""},
		"over a link":            {"apps/by", "by", ""},
		"over a link above":      {"way/web", "web", ""},
		"out of the repository":  {"apps/out", "", "apps/out"},
		"to itself":              {"apps/loop", "", "apps/loop"},
		"to what is not there":   {"apps/none", "", "apps/none"},
		"to a folder, by slash":  {"apps/current/", "current", ""},
		"and back from a folder": {"apps/current/../web", "", "apps/web"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, opts := range []host.Options{{Dir: dir}, {FS: os.DirFS(dir)}} {
				opts.Args = []string{c.arg}
				out := outcomeOf(t, opts)
				if c.errs != "" {
					require.Contains(t, out.errs, c.errs)
					continue
				}
				require.Empty(t, out.errs)
				require.Equal(t, []string{c.spec}, specNames(out.loaded))
				require.Equal(t, "modules", out.loaded.Request.Specs[0].Evaluate.Module.Label)
				require.Contains(t, string(out.result.Files[0].Data), "text: of the module")
			}
		})
	}
}

// TestLinksInFoldersOfComponents reads what links in a chart and in a folder of manifests lead
// to, on disk and in memory.
func TestLinksInFoldersOfComponents(t *testing.T) {
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	gone, out := "no such file or directory", "leaves the root of the project by a link"
	for name, c := range map[string]struct{ link, to, more, err string }{
		"a folder in a chart":                      {"c/templates/more", "../../x", "c/templates/more/b.yaml", ""},
		"a folder of manifests":                    {"m/more", "../x", "m/more/b.yaml", ""},
		"a dependency":                             {"c/charts/x", "../../x", "c/charts/x/b.yaml", ""},
		"a file of a chart that is not there":      {"c/templates/b.yaml", "../../gone.yaml", "", gone},
		"a folder of a chart that is not there":    {"c/templates/more", "../../gone", "", gone},
		"a chart with a link that leaves the root": {"c/more", "/etc", "", out},
		"a chart around itself":                    {"c/templates/more", "..", "", "it leads back to a folder that holds it"},
		"manifests that are not there":             {"m/b.yaml", "../gone.yaml", "", gone},
		"manifests out of the root":                {"m/more", "../../out", "", out},
		"manifests around themselves":              {"m/more", "..", "", "it leads back to a folder that holds it"},
		"a text beside manifests":                  {"m/README.md", "gone", "", ""},
		"hidden beside manifests":                  {"m/.cache", "/nowhere", "", ""},
		"in a hidden folder of a chart":            {"c/.now/more", "/nowhere", "", ""},
		"elsewhere":                                {"x/more", "/nowhere", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, ".git/HEAD", "", "c/Chart.yaml", "{apiVersion: v2, name: c, version: 1.0.0}\n", "c/templates/a.yaml", config, "m/a.yaml", config, "x/b.yaml", config)
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, c.link)), 0o755))
			require.NoError(t, os.Symlink(c.to, filepath.Join(dir, c.link)))
			arg, own := "c", []string{"c/Chart.yaml", "c/templates/a.yaml"}
			if strings.HasPrefix(c.link, "m/") {
				arg, own = "m", []string{"m/a.yaml"}
			}
			if c.more != "" {
				own = append(own, c.more)
			}
			for _, opts := range []host.Options{{}, {FS: os.DirFS(dir)}} {
				opts.Args = []string{arg}
				from := dir
				if opts.FS != nil {
					from = ""
				}
				loaded, errs := load(from, opts)
				if c.err != "" {
					require.Equal(t, []string{fmt.Sprintf("%s: spec: the link to %q cannot be followed: %s (commit what it leads to in its place, or remove the link)", c.link, c.to, c.err)}, errs)
					continue
				}
				require.Empty(t, errs)
				require.ElementsMatch(t, own, slices.Collect(maps.Keys(loaded.Request.Specs[0].Evaluate.Module.Sources)))
			}
		})
	}
}

func TestWhatARenderTakesHoldsSpecs(t *testing.T) {
	dir := folders(t)
	for _, more := range [][2]string{
		{"manifests/a.yaml", "apiVersion: v1\nkind: ConfigMap\n"}, {"manifests/cue.mod/module.cue", moduleFile},
		{"written/.ropewalk-output", ""}, {"written/a.cue", "package a"}, {"empty/.keep", ""}, {"bare/cue.mod/module.cue", moduleFile}, {"hidden/_a.cue", "package a"},
	} {
		name := filepath.Join(dir, more[0])
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(more[1]), 0o600))
	}
	for name, want := range map[string]bool{
		"modules/Web-App": true, "plain": true, "timoni": true, "both": true, "score": true, "project": true, "broken": true,
		".": true, "plain/a.cue": true, "score/score.yaml": true,
		"bare":      true, // It has no package, and the render says so.
		"prod.yaml": false, "manifests": false, "empty": false, "hidden": false, "written": false,
	} {
		holds, err := project.HoldsSpecs(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, holds, name)
	}
}
