// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/lock"
)

// transform is a spec with lines added below its own.
func transform(name, ref string, more ...string) string {
	return "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: " + name + "}\nspec:\n  cueRef: " + ref + "\n" +
		strings.Join(more, "")
}

const projectHead = "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec:\n"

// write makes files, by path and content, in a new directory.
func write(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i+1 < len(files); i += 2 {
		name := filepath.Join(dir, filepath.FromSlash(files[i]))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(files[i+1]), 0o600))
	}
	return dir
}

func embedded(name string) (fs.FS, bool) {
	return fstest.MapFS{"a.cue": {Data: []byte("package a\n")}}, name == "web" || name == "policies"
}

func load(dir string, opts host.Options) (host.Loaded, []string) {
	opts.Dir = dir
	loaded, err := host.Host{Embedded: embedded, EmbeddedNames: []string{"web", "policies"}}.Load(context.Background(), opts)
	if err != nil {
		return loaded, strings.Split(err.Error(), "\n")
	}
	if len(loaded.Request.Mistakes) > 0 {
		return loaded, strings.Split(loaded.Request.Mistakes.Error(), "\n")
	}
	return loaded, nil
}

func specNames(l host.Loaded) []string {
	var out []string
	for _, s := range l.Request.Specs {
		out = append(out, s.Evaluate.Spec)
	}
	return out
}

func TestLoadReadsAProject(t *testing.T) {
	dir := write(t,
		"ropewalk.yaml", projectHead+`  context: {namespace: shop, engine: argocd, kubeVersion: "1.35"}
  policies: [{name: base, cueRef: {type: embedded, ref: policies}, input: {a: 1}}]
  environments: {prod: {context: {namespace: prod}, inputs: {api: {replicas: 5}}}}
`,
		"specs/api.yaml", transform("api", "{type: path, ref: ../modules/api}",
			"  dependsOn: [db]\n  tags: {x: y}\n  adopt: Never\n  allowSecrets: [s]\n  input: {replicas: 1, image: nginx}\n"),
		"specs/db.yaml", transform("db", "{type: embedded, ref: web}"),
		"modules/api/a.cue", "package api\n",
		"modules/cue.mod/module.cue", "module: \"x.y\"\n",
		"values.yaml", "api: {image: caddy}\n",
		"deploy/other.yaml", "apiVersion: apps/v1\nkind: Deployment\n",
		"sub/ropewalk.yaml", projectHead,
		"out/.ropewalk-output", `{"files": {"x.yaml": "sha256:0"}}`, "out/x.yaml", transform("x", "{type: embedded, ref: web}"),
	)
	loaded, errs := load(dir, host.Options{Environment: "prod", Values: []string{"values.yaml"}, Set: []string{"api:port=80"}})
	require.Empty(t, errs)
	require.Equal(t, "shop", loaded.Name)
	require.Equal(t, []string{"api", "db"}, specNames(loaded))
	api := loaded.Request.Specs[0]
	require.Equal(t, `{"image":"caddy","port":80,"replicas":5}`, string(api.Evaluate.Input.JSON()))
	require.Equal(t, object.Context{
		Name: "api", Namespace: "prod", Environment: "prod", Engine: "argocd", KubeVersion: "1.35", ClusterDomain: "cluster.local",
	}, api.Evaluate.Context)
	require.Equal(t, "modules", api.Evaluate.Module.Label)
	require.Equal(t, "api", api.Evaluate.Module.Dir)
	require.Equal(t, map[string]string{"x": "y"}, api.Evaluate.Module.Tags)
	require.Equal(t, "base", api.Evaluate.Policies[0].Name)
	require.Equal(t, `{"a":1}`, string(api.Evaluate.Policies[0].Input.JSON()))
	require.Equal(t, "db", api.DependsOn[0].Name)
	require.Equal(t, object.Pos{File: "specs/api.yaml", Line: 6, Column: 15}, api.DependsOn[0].Pos)
	require.Equal(t, "Never", api.Adopt)
	require.Equal(t, dialect.ArgoCD, loaded.Request.Emit.Dialect)
	require.Equal(t, "shop", loaded.Request.Emit.Name)
	require.Equal(t, "1.35", loaded.Request.KubeVersion)
	require.Equal(t, []string{"s"}, loaded.Request.AllowSecrets["api"])
	require.Equal(t, "path:modules", api.Source.Origin)
	require.Equal(t, api.Evaluate.Module.Digest, api.Source.Digest)
	require.Contains(t, loaded.Texts, "specs/api.yaml")
	require.Contains(t, loaded.Texts, "values.yaml")
}

func TestLoadTakesFilesAndStdin(t *testing.T) {
	dir := write(t, "a.yaml", transform("a", "{type: embedded, ref: web}"), "deep/b.yaml", transform("b", "{type: path, ref: ./m}"),
		"deep/m/m.cue", "package m\n", "n/n.cue", "package n\n")
	stdin := strings.NewReader(transform("c", "{type: path, ref: n}"))
	loaded, errs := load(dir, host.Options{Args: []string{"deep/b.yaml", "./a.yaml", "a.yaml", "-"}, Stdin: stdin})
	require.Empty(t, errs)
	require.Equal(t, []string{"a", "b", "c"}, specNames(loaded))
	require.Equal(t, "deep/m", loaded.Request.Specs[1].Evaluate.Module.Label)
	require.Equal(t, "stdin", loaded.Request.Specs[2].Evaluate.Pos.File)
	require.Equal(t, object.Context{
		Name: "a", Namespace: "default", Engine: "plain", KubeVersion: "1.36.3", ClusterDomain: "cluster.local",
	}, loaded.Request.Specs[0].Evaluate.Context)

	loaded, errs = load(dir, host.Options{Args: []string{filepath.Join(dir, "deep")}})
	require.Empty(t, errs)
	require.Equal(t, "deep/b.yaml", loaded.Request.Specs[0].Evaluate.Pos.File)
}

func TestLoadFollowsThePatternsOfAProject(t *testing.T) {
	files := []string{
		"a/one.yaml", transform("one", "{type: embedded, ref: web}"), "a/x/two.yml", transform("two", "{type: embedded, ref: web}"),
		"b/three.yaml", transform("three", "{type: embedded, ref: web}"), "b/note.yaml", "a: 1\n",
	}
	for patterns, want := range map[string][]string{
		"[a]":                 {"one", "two"},
		"[a/one.yaml]":        {"one"},
		"['*/*.yaml']":        {"one", "three"},
		"['a/**/*.y*ml', a]":  {"one", "two"},
		"['**/t*']":           {"three", "two"},
		"[b, 'b/[^x]*.yaml']": {"three"},
	} {
		loaded, errs := load(write(t, append(files, "ropewalk.yaml", projectHead+"  specs: "+patterns+"\n")...), host.Options{})
		require.Empty(t, errs, patterns)
		require.Equal(t, want, specNames(loaded), patterns)
	}
	_, errs := load(write(t, append(files, "ropewalk.yaml", projectHead+"  specs: [c, 'b/*.json', '../../../../../../x', 'a/[', b/note.yaml]\n")...), host.Options{})
	require.Equal(t, []string{
		`b/note.yaml: spec: contains no document of ropewalk.dev/v1alpha1 (a spec begins with apiVersion: ropewalk.dev/v1alpha1 and kind: Transform or Workload, a Score file with apiVersion: score.dev/v1b1)`,
		`ropewalk.yaml:5:11: spec: "c": no such file or folder`,
		`ropewalk.yaml:5:14: spec: "b/*.json" matches no file with a spec`,
		`ropewalk.yaml:5:26: spec: "../../../../../../x" leaves the root of the project`,
		`ropewalk.yaml:5:49: spec: "a/[" is not a pattern: syntax error in pattern`,
	}, errs)
}

func TestLoadKnowsWhereTextOfModulesIs(t *testing.T) {
	dir := write(t, "a.yaml", transform("a", "\n    type: inline\n    ref: |\n      package a\n      x: 1\n")+"---\n"+
		transform("b", "{type: configmap, ref: m}")+
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  b.cue: |\n    package b\nbinaryData: {c.bin: AAE=}\n")
	loaded, errs := load(dir, host.Options{})
	require.Empty(t, errs)
	a, b := loaded.Request.Specs[0].Evaluate.Module, loaded.Request.Specs[1].Evaluate.Module
	require.Equal(t, object.Pos{File: "a.yaml", Line: 8, Column: 7}, a.Sources["module.cue"].Pos)
	require.Equal(t, 6, a.Sources["module.cue"].Indent)
	require.Equal(t, object.Pos{File: "a.yaml", Line: 23, Column: 5}, b.Sources["b.cue"].Pos)
	data, err := fs.ReadFile(b.FS, "c.bin")
	require.NoError(t, err)
	require.Equal(t, []byte{0, 1}, data)
}

func TestLoadReportsEverythingAndGoesOn(t *testing.T) {
	dir := write(t,
		"ropewalk.yaml", projectHead+"  environments: {prod: {inputs: {apii: {}}}}\n",
		"a.yaml", transform("a", "{type: git, ref: https://x}", "  dependsOn: [nowhere]\n"),
		"b.yaml", transform("b", "{type: path, ref: ../../../../../../etc}"),
		"c.yaml", transform("c", "{type: embedded, ref: wep}"),
		"d.yaml", transform("d", "{type: configmap, ref: none}"),
		"e.yaml", transform("e", "{type: embedded, ref: web}", "  inputs: {}\n"),
		"f.yaml", transform("f", "{type: embedded, ref: web}", "  adopt: Nevr\n  input: {x: 1}\n"),
		"g.yaml", transform("g", "{type: path, ref: modules/helo}"), "modules/hello/a.cue", "package hello\n",
		"values.yaml", "ff: {}\nf: 3\n",
	)
	loaded, errs := load(dir, host.Options{
		Values: []string{"values.yaml", "f:none.yaml"}, Set: []string{"x=1", "b.x=1", "f:x.y=2", "h:x=1", "bad"},
		Context: spec.Context{KubeVersion: "2", Namespace: "A", Engine: "argo"}, CRDs: []string{"none", "values.yaml"},
	})
	require.Equal(t, []string{
		`--dialect argo: spec: dialect "argo" is not known (did you mean "argocd"?)`,
		`--kube-version 2: spec: "2" is not a version of Kubernetes: expected one such as 1.36 or v1.36.2`,
		`--namespace A: spec: "A" may hold only a-z, 0-9 and -`,
		`--set: spec: has no = (write PATH=VALUE, such as replicas=3)`,
		`--set b.x: spec: there are 7 specs: name the one that the value is for (b is a spec: write b:x=VALUE)`,
		`--set h:x: spec: there is no spec "h" (known: a, b, c, d, e, f, g)`,
		`--set x: spec: there are 7 specs: name the one that the value is for (write SPEC:PATH=VALUE)`,
		`a.yaml:5:18: resolve: spec.cueRef.type: cueRef.type "git" is not available here (available types: configmap, embedded, inline, path)`,
		`a.yaml:6:15: spec: spec.dependsOn: there is no spec "nowhere" (known: a, b, c, d, e, f, g)`,
		`e.yaml:6:3: spec: spec.inputs: unknown field "inputs" (did you mean "input"?)`,
		`f.yaml:6:10: spec: spec.adopt: "Nevr" is not known: expected Never, TakeOwnership, Mirror (did you mean "Never"?)`,
		`none: spec: --crds: no such file or directory`,
		`none.yaml: spec: --values: no such file or directory`,
		`ropewalk.yaml:5:34: spec: spec.environments.prod.inputs.apii: there is no spec "apii" (known: a, b, c, d, e, f, g)`,
		`values.yaml: spec: contains no CustomResourceDefinition`,
		`values.yaml:1:1: spec: there is no spec "ff" (known: a, b, c, d, e, f, g)`,
		`values.yaml:2:4: spec: expected the values of spec "f" as a map, got a number`,
	}, errs)
	require.Empty(t, loaded.Request.Specs, "an input that may lack something is not evaluated")

	loaded, errs = load(dir, host.Options{Set: []string{"f:x.y=2"}})
	require.Equal(t, []string{
		`--set f:x.y: spec: x is a number, not a map`,
		`a.yaml:5:18: resolve: spec.cueRef.type: cueRef.type "git" is not available here (available types: configmap, embedded, inline, path)`,
		`a.yaml:6:15: spec: spec.dependsOn: there is no spec "nowhere" (known: a, b, c, d, e, f, g)`,
		`b.yaml:5:29: resolve: spec.cueRef.ref: "../../../../../../etc" leaves the root of the project (the root is ".", the nearest folder with .git, or where there is none that of the project; git init in a folder above makes that the root)`,
		`c.yaml:5:33: resolve: spec.cueRef.ref: no embedded module is called "wep" (did you mean "web"?)`,
		`d.yaml:5:11: resolve: spec.cueRef.ref: no ConfigMap of the project is named "none" (none is defined)`,
		`e.yaml:6:3: spec: spec.inputs: unknown field "inputs" (did you mean "input"?)`,
		`f.yaml:6:10: spec: spec.adopt: "Nevr" is not known: expected Never, TakeOwnership, Mirror (did you mean "Never"?)`,
		`g.yaml:5:29: resolve: spec.cueRef.ref: there is no folder "modules/helo" (did you mean "modules/hello"?)`,
		`ropewalk.yaml:5:34: spec: spec.environments.prod.inputs.apii: there is no spec "apii" (known: a, b, c, d, e, f, g)`,
	}, errs)
	require.Equal(t, []string{"f"}, specNames(loaded), "what is whole can still be rendered")
	require.Equal(t, []string{"a", "b", "c", "d", "e", "g"}, loaded.Request.Broken)
}

func TestLoadSaysWhatIsMissing(t *testing.T) {
	ok := transform("a", "{type: embedded, ref: web}")
	for name, c := range map[string]struct {
		files []string
		opts  host.Options
		want  string
	}{
		"an argument": {nil, host.Options{Args: []string{"nowhere"}}, `nowhere: spec: no such file or directory`},
		"any spec":    {nil, host.Options{}, `.: spec: no spec found: this folder has no document of ropewalk.dev/v1alpha1, no Score file, no CUE package, no chart, no kustomization and no manifests (create a project with ropewalk init)`},
		"a package in the folder of a module": {[]string{"cue.mod/module.cue", "", "sub/a.cue", "package a\n", "_b.cue", "", ".c.cue", ""}, host.Options{},
			`.: spec: no spec found: the CUE module has no package in this folder (pass the folder of a package, which holds .cue files)`},
		"a manifest of its own": {[]string{"x.txt", "", "sub/web.yaml", "apiVersion: apps/v1\nkind: Deployment\n---\na: b\n"}, host.Options{Args: []string{"sub", "."}},
			`.: spec: duplicate spec name "app" (write a Transform with a name of its own for each)`},
		"the folder of a package": {[]string{"m/a.cue", "package a\n"}, host.Options{Args: []string{"m/a.cue"}},
			`m/a.cue: spec: a .cue file is part of a package, not a spec (pass its folder; a Timoni bundle has the field bundle at its top)`},
		"any spec, where a file only speaks of us": {[]string{"a.yaml", "a: {b: ropewalk.dev/ready-when}\n"}, host.Options{},
			`.: spec: no spec found: this folder has no document of ropewalk.dev/v1alpha1, no Score file, no CUE package, no chart, no kustomization and no manifests (create a project with ropewalk init)`},

		"a project": {[]string{"x/ropewalk.yaml", projectHead, "y/ropewalk.yaml", projectHead}, host.Options{}, `.: spec: no spec found in this folder (projects in subfolders: x, y)`},
		"stdin":     {nil, host.Options{Args: []string{"-"}}, `stdin: spec: there is no standard input`},
		"an environment": {[]string{"ropewalk.yaml", projectHead, "a.yaml", ok}, host.Options{Environment: "prod"},
			`--env prod: spec: environment "prod" is not known (none is defined)`},
		"a large file": {[]string{"a.yaml", ok + strings.Repeat("#\n", 3<<20)}, host.Options{},
			`a.yaml: spec: the file has 4194305 bytes, more than the 4194304 that are allowed (keep large data out of specs)`},
		"the name of the project's file": {[]string{"shop.yaml", projectHead, "a.yaml", ok}, host.Options{},
			`shop.yaml:1:1: spec: a Project must be in a file named ropewalk.yaml (rename the file to ropewalk.yaml)`},
		"one project": {[]string{"x/ropewalk.yaml", projectHead, "y/ropewalk.yaml", projectHead, "x/a.yaml", ok}, host.Options{Args: []string{"x", "y"}},
			`y/ropewalk.yaml:1:1: spec: a second project; the first is at x/ropewalk.yaml:1:1 (render one project at a time)`},
		"an argument inside the root": {[]string{"a.yaml", ok, "sub/b.yaml", ok}, host.Options{Args: []string{"a.yaml"}, Root: "sub"},
			`a.yaml: spec: "DIR" is outside of the root "DIR/sub"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, c.files...)
			_, errs := load(dir, c.opts)
			require.Equal(t, strings.Split(strings.ReplaceAll(c.want, "DIR", dir), "\n"), errs)
		})
	}
}

func TestLoadReadsNothingOutsideOfItsRoot(t *testing.T) {
	outside := write(t, "secret.yaml", transform("secret", "{type: embedded, ref: web}"))
	dir := write(t, "app/ropewalk.yaml", projectHead+"  specs: [link.yaml, folder, plain.yaml]\n",
		"app/plain.yaml", transform("plain", "{type: embedded, ref: web}"))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.yaml"), filepath.Join(dir, "app/link.yaml")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "app/folder")))
	loaded, errs := load(dir, host.Options{Args: []string{"app"}, Root: ".", Values: []string{filepath.Join(outside, "secret.yaml")}})
	require.Len(t, errs, 3)
	require.Contains(t, errs[0], "is outside of the root")
	require.Contains(t, errs[1], `app/ropewalk.yaml:5:11: spec: "link.yaml"`)
	require.Contains(t, errs[2], `app/ropewalk.yaml:5:22: spec: "folder"`)
	for name := range loaded.Texts {
		require.NotContains(t, name, "secret")
	}
}

func TestLoadReadsCRDs(t *testing.T) {
	crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {replicas: 1, max: 1.5}\n"
	dir := write(t, "a.yaml", transform("a", "{type: embedded, ref: web}"),
		"crds/b/x.yaml", "# c\n---\n"+crd+"---\nkind: Namespace\n", "crds/a.json", `{"kind": "List", "items": [{"kind": "CustomResourceDefinition", "metadata": {"name": "y"}}]}`,
		"crds/template.yaml", "{{ x }}\n")
	loaded, errs := load(dir, host.Options{Args: []string{"a.yaml"}, CRDs: []string{"crds"}})
	require.Empty(t, errs)
	require.Len(t, loaded.Request.CRDs, 2)
	require.Equal(t, "y", loaded.Request.CRDs[0].Name())
	require.Equal(t, int64(1), loaded.Request.CRDs[1].Get("spec", "replicas"))
}

func TestLoadFetchesEachModuleOnce(t *testing.T) {
	calls := make(chan source.Ref, 100)
	h := host.Host{Fetchers: map[string]source.Fetcher{"git": source.FetcherFunc(func(_ context.Context, ref source.Ref) (source.Tree, error) {
		calls <- ref
		return source.NewTree(map[string][]byte{"a.cue": []byte(ref.Ref)}, "git:"+ref.Ref, "abc")
	})}}
	var files []string
	for i := range 50 {
		files = append(files, fmt.Sprintf("s%d.yaml", i), transform(fmt.Sprintf("s%d", i), fmt.Sprintf("{type: git, ref: r%d}", i%2)))
	}
	dir := write(t, files...)
	loaded, err := h.Load(context.Background(), host.Options{Dir: dir})
	require.NoError(t, err)
	require.Len(t, loaded.Request.Specs, 50)
	require.Len(t, calls, 2)
	require.Equal(t, render.Source{Spec: "s0", Origin: "git:r0", Revision: "abc", Digest: loaded.Request.Specs[0].Evaluate.Module.Digest},
		loaded.Request.Specs[0].Source)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = h.Load(ctx, host.Options{Dir: dir})
	require.ErrorIs(t, err, context.Canceled)
}

func TestLoadDoesNotDependOnTheOrderOfArguments(t *testing.T) {
	dir := write(t, "a.yaml", transform("a", "{type: embedded, ref: web}"), "b.yaml", transform("b", "{type: inline, ref: 'x: 1'}"))
	one, errs := load(dir, host.Options{Args: []string{"a.yaml", "b.yaml"}})
	require.Empty(t, errs)
	two, errs := load(dir, host.Options{Args: []string{"b.yaml", "a.yaml"}})
	require.Empty(t, errs)
	one.Request.Secrets, two.Request.Secrets = nil, nil // A function equals no other.
	require.Equal(t, one.Request, two.Request)
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		files := []string{"ropewalk.yaml", projectHead, "modules/api/cue.mod/module.cue", "module: \"x.y\"\n", "modules/api/a.cue", "package api\n"}
		for i := range n {
			files = append(files, fmt.Sprintf("specs/s%d.yaml", i), transform(fmt.Sprintf("s%d", i), "{type: path, ref: ../modules/api}",
				"  input: {image: ghcr.io/example/api:1.2.3, replicas: 2, env: {A: x, B: y}}\n"))
		}
		dir := write(b, files...)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, errs := load(dir, host.Options{}); errs != nil {
					b.Fatal(errs)
				}
			}
		})
		b.Run(fmt.Sprintf("%d in memory", n), func(b *testing.B) {
			tree := map[string][]byte{}
			for i := 0; i+1 < len(files); i += 2 {
				tree[files[i]] = []byte(files[i+1])
			}
			memory, err := source.NewTree(tree, "", "")
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if _, errs := load("", host.Options{FS: memory.FS}); errs != nil {
					b.Fatal(errs)
				}
			}
		})
	}
}

func ExampleHost_Load() {
	stdin := strings.NewReader(transform("api", "{type: inline, ref: 'a: 1'}", "  input: {replicas: 1}\n"))
	loaded, err := host.Host{}.Load(context.Background(), host.Options{
		Args: []string{"-"}, Stdin: stdin, Set: []string{"replicas=3"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range loaded.Request.Specs {
		fmt.Printf("%s %s\n", s.Evaluate.Spec, s.Evaluate.Input.JSON())
	}
	// Output: api {"replicas":3}
}

func TestAPolicyThatCannotBeFetchedIsAMistake(t *testing.T) {
	dir := write(t, "apps/ropewalk.yaml", "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: a}\n",
		"apps/a.yaml", "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: a}\nspec:\n  cueRef: {type: inline, ref: 'x: 1'}\n  policies: [{name: p, cueRef: {type: path, ref: ../../none}}]\n")
	_, err := host.Host{}.Load(t.Context(), host.Options{Dir: filepath.Join(dir, "apps"), Root: dir})
	require.ErrorContains(t, err, "spec.policies[0].cueRef")
}

func TestAModuleThatNobodyWroteIsMissedAtTheFirstWorkload(t *testing.T) {
	h := host.Host{Fetchers: map[string]source.Fetcher{
		source.TypeEmbedded: lock.Fetcher{Next: lock.Fixed(source.Embedded(embedded, source.Limits{})), Mode: lock.Enforce},
	}}
	dir := write(t, "shop/web.yaml", "# A comment.\napiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {web: {image: a}}\n")
	_, err := h.Load(t.Context(), host.Options{Dir: dir, Args: []string{"shop"}})
	const asked = `run "ropewalk lock" (every workload needs this embedded module, which is locked like any other: run it in the rendered folder)`
	require.EqualError(t, err, `shop/web.yaml:2:1: resolve: embedded "provisioners": not in ropewalk.lock: `+asked+"\n"+
		`shop/web.yaml:2:1: resolve: embedded "workload": not in ropewalk.lock: `+asked)
}

// The digest of the inputs in the provenance depends on all that a project declares of
// secrets and pull secrets, and not on where in the file it stands.
func TestTheProvenanceDependsOnWhatAProjectDeclaresOfSecrets(t *testing.T) {
	const settings = "  workloads:\n    secrets: {providers: {gcp: {store: a}, aws: {}}, bindings: {ledger: {provider: gcp, secret: s, version: \"1\", keys: [x, z]}}}\n" +
		"    images: {mirrors: {docker.io: r.internal}, pullSecrets: [p], pullSecretsFrom: {q: {provider: gcp, secret: s, version: \"2\", key: k}}}\n"
	inputs := func(settings string) string {
		dir := write(t, "ropewalk.yaml", projectHead+settings,
			"web.yaml", "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {web: {image: a}}\n")
		module := func(string) (fs.FS, bool) { return fstest.MapFS{"a.cue": {Data: []byte("package a\n")}}, true }
		loaded, err := host.Host{Embedded: module}.Load(t.Context(), host.Options{Dir: dir})
		require.NoError(t, err)
		require.Empty(t, loaded.Request.Mistakes)
		return publishing.BuildOf(loaded, nil, "").Inputs
	}
	want := inputs(settings)
	require.Equal(t, want, inputs("  # moved\n"+settings))
	for _, change := range [][2]string{
		{"[x, z]", "[x]"}, {"version: \"1\"", "version: \"3\""}, {"ledger:", "ledge:"}, {"store: a", "store: b"}, {"{provider: gcp, secret: s", "{provider: aws, secret: s"},
		{"r.internal", "s.internal"}, {"[p]", "[o]"}, {"q:", "r:"}, {"version: \"2\"", "version: \"4\""}, {"key: k", "key: l"},
	} {
		changed := strings.Replace(settings, change[0], change[1], 1)
		require.NotEqual(t, settings, changed)
		require.NotEqual(t, want, inputs(changed), change)
	}
}
