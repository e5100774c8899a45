// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/test/servers"
)

// shop is a registry with base and web in it, and the app that needs them as
// cue mod tidy leaves it.
func shop(t testing.TB, opts ...servers.Option) (*servers.OCI, map[string]string) {
	t.Helper()
	oci := servers.InProcess(t, opts...)
	cue := producer{registry: oci.Host}
	cue.publishAll(t)
	files := cue.tidied(t, app())
	oci.Reset()
	return oci, files
}

// online connects to registries without credentials.
func online(r *modules.Registry) *modules.Registry { return through(r, &remote.Registries{}) }

// through connects to registries as plugin/host/fetch does.
func through(r *modules.Registry, registries *remote.Registries) *modules.Registry {
	r.Explain = remote.Explain
	r.Open = func(ctx context.Context, repository string, plain bool) (modules.Repository, error) {
		repo, err := registries.Repository(ctx, repository, nil)
		if err != nil {
			return nil, err
		}
		repo.PlainHTTP = plain
		return repo, nil
	}
	return r
}

// login is the credentials of a docker config.
func login(t testing.TB, config []byte) *remote.Registries {
	t.Helper()
	credentials, err := remote.PullSecret(config)
	require.NoError(t, err)
	return &remote.Registries{Credentials: credentials}
}

// team evaluates a tree without any network: the label of its one object that
// comes from base.
func team(t testing.TB, tree source.Tree) string {
	t.Helper()
	result, err := evaluated(t, tree)
	require.NoError(t, err)
	require.Len(t, result.Nodes, 1)
	return result.Nodes[0].Object.Get("metadata", "labels", "team").(string)
}

// evaluated is the result of a tree for an input.
func evaluated(t testing.TB, tree source.Tree) (evaluate.Result, error) {
	t.Helper()
	return inprocess.New(inprocess.Options{}).Evaluate(t.Context(), evaluate.Request{
		Spec: "app", Module: evaluate.Module{FS: tree.FS, Digest: tree.Digest, Dir: tree.Dir, Label: "app"},
		Input: object.Value{Kind: object.KindMap, Members: []object.Member{
			{Name: "name", Value: object.Value{Kind: object.KindString, Text: "api"}},
		}},
		InputPath: object.Fields("spec", "input"),
	})
}

func TestCompletedTreesEvaluate(t *testing.T) {
	for _, kind := range []struct {
		name  string
		start func(testing.TB, ...servers.Option) *servers.OCI
	}{{"in process", servers.InProcess}, {"docker-registry", servers.Registry}} {
		t.Run(kind.name, func(t *testing.T) {
			oci := kind.start(t)
			cue := producer{registry: oci.Host}
			cue.publishAll(t)
			tree := treeOf(t, cue.tidied(t, app()))
			oci.Reset()

			r := online(&modules.Registry{Config: oci.Host})
			out, deps, err := r.Complete(t.Context(), tree, nil)
			require.NoError(t, err)
			require.Equal(t, "blue", team(t, out))
			require.Len(t, oci.Requests(), 4, "a manifest and a zip for each: %s", oci.Lines())

			require.Equal(t, []string{"example.com/base@v0.1.0", "example.com/web@v0.2.0"}, []string{deps[0].String(), deps[1].String()})
			require.Equal(t, "oci://"+oci.Host+"/example.com/web:v0.2.0", deps[1].Origin)
			require.Regexp(t, `^sha256:[0-9a-f]{64}$`, deps[0].Digest)

			require.NotEqual(t, tree.Digest, out.Digest)
			out.FS, out.Digest, tree.FS, tree.Digest = nil, "", nil, ""
			require.Equal(t, tree, out, "origin, revision and folder are kept")
		})
	}
}

func TestTheSameModuleFileGivesTheSameTree(t *testing.T) {
	oci, files := shop(t)
	var digests []string
	for range 3 {
		r := online(&modules.Registry{Config: oci.Host})
		out, _, err := r.Complete(t.Context(), treeOf(t, files), nil)
		require.NoError(t, err)
		digests = append(digests, out.Digest)
	}
	require.Len(t, slices.Compact(digests), 1)
}

func TestDependenciesHaveNoModuleFilesOfTheirOwn(t *testing.T) {
	oci, files := shop(t)
	r := online(&modules.Registry{Config: oci.Host})
	out, _, err := r.Complete(t.Context(), treeOf(t, files), nil)
	require.NoError(t, err)
	var names []string
	require.NoError(t, fs.WalkDir(out.FS, "cue.mod", func(name string, e fs.DirEntry, err error) error {
		if !e.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	require.Equal(t, []string{
		"cue.mod/module.cue",
		"cue.mod/pkg/example.com/base/LICENSE", "cue.mod/pkg/example.com/base/base.cue",
		"cue.mod/pkg/example.com/web/deep/down/deep.cue",
		"cue.mod/pkg/example.com/web/unused/unused.cue", "cue.mod/pkg/example.com/web/web.cue",
	}, names)
}

func TestAModuleMayLieInAFolderOfTheTree(t *testing.T) {
	oci, files := shop(t)
	inside := map[string]string{"README.md": "two modules"}
	for name, text := range files {
		inside["apps/one/"+name] = text
	}
	tree, err := treeOf(t, inside).At("apps/one")
	require.NoError(t, err)
	r := online(&modules.Registry{Config: oci.Host})
	out, _, err := r.Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	require.Equal(t, "apps/one", out.Dir)
	require.Equal(t, "blue", team(t, out))
}

func TestWhatIsThereAlreadyAsksNoRegistry(t *testing.T) {
	nobody := func() *modules.Registry { return online(&modules.Registry{Config: "127.0.0.1:1"}) }
	for name, files := range map[string]map[string]string{
		"no module file":         {"a.cue": "package a"},
		"no dependencies":        {"cue.mod/module.cue": `module: "example.com/app@v0"` + language, "a.cue": "package a"},
		"no language version":    {"cue.mod/module.cue": `module: "example.com/app"`, "a.cue": "package a"},
		"legacy file with deps":  {"cue.mod/module.cue": "module: \"example.com/app\"\n// deps", "a.cue": "package a"},
		"dependencies in pkg":    {"cue.mod/module.cue": deps("example.com/base@v0", "v0.1.0"), "cue.mod/pkg/example.com/base/b.cue": "package base"},
		"dependencies in gen":    {"cue.mod/module.cue": deps("example.com/base@v0", "v0.1.0"), "cue.mod/gen/example.com/base/x/b.cue": "package x"},
		"dependencies of no one": {"cue.mod/module.cue": `module: "example.com/app@v0"` + language + "deps: {}", "a.cue": "package a"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := treeOf(t, files)
			out, got, err := nobody().Complete(t.Context(), tree, nil)
			require.NoError(t, err)
			require.Equal(t, tree, out)
			require.Empty(t, got)
		})
	}
	t.Run("provided by evaluation", func(t *testing.T) {
		r := nobody()
		r.Provided = []string{"example.com/base"}
		tree := treeOf(t, map[string]string{"cue.mod/module.cue": deps("example.com/base@v0", "v0.1.0")})
		out, _, err := r.Complete(t.Context(), tree, nil)
		require.NoError(t, err)
		require.Equal(t, tree, out)
	})
}

// deps is a module file with dependencies, in pairs of module and version.
func deps(pairs ...string) string {
	text := `module: "example.com/app@v0"` + language + "deps: {\n"
	for i := 0; i < len(pairs); i += 2 {
		text += "\t\"" + pairs[i] + "\": v: \"" + pairs[i+1] + "\"\n"
	}
	return text + "}\n"
}

func TestAVendoredModuleInsideOfAnotherDoesNotStandForIt(t *testing.T) {
	oci, _ := shop(t)
	r := online(&modules.Registry{Config: oci.Host})
	tree := treeOf(t, map[string]string{
		"cue.mod/module.cue":                         deps("example.com/base@v0", "v0.1.0", "example.com/base/inner@v0", "v0.1.0"),
		"cue.mod/pkg/example.com/base/inner/one.cue": "package inner",
		"app.cue": "package app\n\nimport \"example.com/base\"\n\nx: base\n",
	})
	_, got, err := r.Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "example.com/base", got[0].Path)
}

func TestSeveralRegistriesEachWithItsCredentials(t *testing.T) {
	first := servers.InProcess(t, servers.WithBasicAuth("ann", "s3cret"))
	second := servers.InProcess(t, servers.WithTokenAuth("ann", "s3cret"))
	cue := producer{
		registry: "example.com/base=" + first.Host + "/of/base+insecure," + second.Host + "+insecure",
		docker:   dockerConfig("ann", "s3cret", first.Host, second.Host),
	}
	cue.publishAll(t)
	tree := treeOf(t, cue.tidied(t, app()))

	t.Run("a docker config", func(t *testing.T) {
		r := through(&modules.Registry{Config: cue.registry}, login(t, cue.docker))
		out, deps, err := r.Complete(t.Context(), tree, nil)
		require.NoError(t, err)
		require.Equal(t, "blue", team(t, out))
		require.Equal(t, "oci://"+first.Host+"/of/base/example.com/base:v0.1.0", deps[0].Origin)
	})
	t.Run("a file", func(t *testing.T) {
		dir := folder(t, map[string]string{"registries.cue": `
			moduleRegistries: "example.com/base": {registry: "` + first.Host + `/of/base"}
			defaultRegistry: {registry: "` + second.Host + `"}
		`})
		r := through(&modules.Registry{Config: "file:" + filepath.Join(dir, "registries.cue")}, login(t, cue.docker))
		_, _, err := r.Complete(t.Context(), tree, nil)
		require.NoError(t, err)
	})
	t.Run("none", func(t *testing.T) {
		t.Setenv("DOCKER_AUTH_CONFIG", string(cue.docker)) // nothing here reads it
		r := online(&modules.Registry{Config: cue.registry})
		_, _, err := r.Complete(t.Context(), tree, nil)
		require.ErrorIs(t, err, source.ErrUnauthorized)
		require.ErrorContains(t, err, `module "example.com/base@v0.1.0" at oci://`+first.Host)
		require.ErrorContains(t, err, `module "example.com/web@v0.2.0" at oci://`+second.Host, "both are reported")
	})
	t.Run("wrong ones", func(t *testing.T) {
		r := through(&modules.Registry{Config: cue.registry}, login(t, dockerConfig("ann", "hunter2", first.Host, second.Host)))
		_, _, err := r.Complete(t.Context(), tree, nil)
		require.ErrorIs(t, err, source.ErrUnauthorized)
		require.NotContains(t, err.Error(), "hunter2")
	})
}

func TestLocks(t *testing.T) {
	oci, files := shop(t)
	tree := treeOf(t, files)
	_, deps, err := online(&modules.Registry{Config: oci.Host}).Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	locked := map[string]string{}
	for _, d := range deps {
		locked[d.String()] = d.Digest
	}
	store := newStore(t)
	_, _, err = online(&modules.Registry{Config: oci.Host, RequireLock: true, Store: store}).Complete(t.Context(), tree, locked)
	require.NoError(t, err)

	producer{registry: oci.Host}.publish(t, "v0.1.0", base("red"))
	_, _, err = online(&modules.Registry{Config: oci.Host}).Complete(t.Context(), tree, locked)
	require.ErrorIs(t, err, source.ErrLocked)
	require.ErrorContains(t, err, locked["example.com/base@v0.1.0"])
	require.ErrorContains(t, err, `if it is meant, run "ropewalk lock"`)
	_, _, err = online(&modules.Registry{Config: oci.Host, Store: store}).Complete(t.Context(), tree, locked)
	require.NoError(t, err, "the cache holds what is locked")

	locked["example.com/base@v0.1.0"] = "sha256:0"
	_, _, err = online(&modules.Registry{Config: oci.Host, Store: store, Offline: true}).Complete(t.Context(), tree, locked)
	require.ErrorIs(t, err, source.ErrLocked)

	delete(locked, "example.com/base@v0.1.0")
	_, _, err = online(&modules.Registry{Config: oci.Host, RequireLock: true}).Complete(t.Context(), tree, locked)
	require.EqualError(t, err, `module "example.com/base@v0.1.0": not in ropewalk.lock: run "ropewalk lock"`)
	require.ErrorIs(t, err, source.ErrLocked)
	_, _, err = online(&modules.Registry{Config: oci.Host}).Complete(t.Context(), tree, locked)
	require.NoError(t, err)
}

func TestATreeAndItsDependenciesAreBoundedTogether(t *testing.T) {
	oci, files := shop(t)
	r := online(&modules.Registry{Config: oci.Host, Limits: source.Limits{Files: 6}})
	_, _, err := r.Complete(t.Context(), treeOf(t, files), nil)
	require.ErrorIs(t, err, source.ErrLimit)
	r = online(&modules.Registry{Config: oci.Host, Limits: source.Limits{Bytes: 100}})
	_, _, err = r.Complete(t.Context(), treeOf(t, files), nil)
	require.ErrorIs(t, err, source.ErrLimit)
	require.ErrorContains(t, err, `module "example.com/base@v0.1.0" at oci://`)
}

func BenchmarkCompleteWithNothingToDo(b *testing.B) {
	tree := treeOf(b, map[string]string{"cue.mod/module.cue": `module: "example.com/app@v0"` + language, "a.cue": "package a"})
	r := online(&modules.Registry{})
	for b.Loop() {
		_, _, err := r.Complete(b.Context(), tree, nil)
		require.NoError(b, err)
	}
}

func BenchmarkCompleteFromTheCache(b *testing.B) {
	oci, files := shop(b)
	tree := treeOf(b, files)
	store := newStore(b)
	for b.Loop() {
		r := online(&modules.Registry{Config: oci.Host, Store: store, Timeout: time.Minute})
		_, _, err := r.Complete(b.Context(), tree, nil)
		require.NoError(b, err)
	}
}

func TestWhatNothingImportsIsNotNeeded(t *testing.T) {
	oci, _ := shop(t)
	config := "nope.invalid=127.0.0.1:1+insecure," + oci.Host
	for _, c := range []struct {
		name, text string
		got        []string
	}{
		{"nothing is imported", "package app", nil},
		{"what is imported by what is imported", "package app\n\nimport \"example.com/web@v0\"\n\nx: web\n", []string{"example.com/base@v0.1.0", "example.com/web@v0.2.0"}},
		{"one of two", "package app\n\nimport \"example.com/base\"\n\nx: base\n", []string{"example.com/base@v0.1.0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := online(&modules.Registry{Config: config})
			tree := treeOf(t, map[string]string{
				"cue.mod/module.cue": deps("example.com/base@v0", "v0.1.0", "example.com/web@v0", "v0.2.0", "nope.invalid/a@v0", "v0.1.0"),
				"app.cue":            c.text,
			})
			out, got, err := r.Complete(t.Context(), tree, nil)
			require.NoError(t, err)
			var names []string
			for _, d := range got {
				names = append(names, d.String())
			}
			require.Equal(t, c.got, names)
			require.Equal(t, len(c.got) == 0, out.Digest == tree.Digest)
		})
	}
	_, _, err := online(&modules.Registry{Config: config}).Complete(t.Context(), treeOf(t, map[string]string{
		"cue.mod/module.cue": deps("nope.invalid/a@v0", "v0.1.0"), "app.cue": "package app\n\nimport \"nope.invalid/a\"\n\nx: a\n",
	}), nil)
	require.ErrorIs(t, err, source.ErrUnavailable)
}

func TestWhatAModuleNeedsIsKnownBeforeAnybodyIsAsked(t *testing.T) {
	oci, files := shop(t)
	tree := treeOf(t, files)
	r := online(&modules.Registry{Config: "example.com/web=web.example/x+insecure,other.example=none.example," + oci.Host})
	needs, err := r.Needs(tree)
	require.NoError(t, err)
	require.Empty(t, oci.Requests())
	require.Equal(t, []modules.Dependency{
		{Path: "example.com/base", Version: "v0.1.0", Origin: "oci://" + oci.Host + "/example.com/base:v0.1.0"},
		{Path: "example.com/web", Version: "v0.2.0", Origin: "oci://web.example/x/example.com/web:v0.2.0"},
	}, needs)

	all := online(&modules.Registry{Config: oci.Host})
	_, got, err := all.Complete(t.Context(), tree, nil)
	require.NoError(t, err)
	needs, err = all.Needs(tree)
	require.NoError(t, err)
	for i := range got {
		got[i].Digest = ""
	}
	require.Equal(t, got, needs, "it is what Complete gets")

	nowhere := online(&modules.Registry{Config: "other.example=none.example"})
	needs, err = nowhere.Needs(tree)
	require.NoError(t, err)
	require.NotEmpty(t, needs)
	whole, err := source.NewTree(map[string][]byte{"a.cue": []byte("package a\n")}, "path:a", "")
	require.NoError(t, err)
	needs, err = nowhere.Needs(whole)
	require.NoError(t, err)
	require.Empty(t, needs)
	_, err = online(&modules.Registry{Config: "me@host"}).Needs(tree)
	require.ErrorIs(t, err, source.ErrReference)
}
