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

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/source/lock"
)

// inMemory is a directory with its links as a file system in memory.
func inMemory(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		require.NoError(t, err)
		f := &fstest.MapFile{Mode: e.Type()}
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			require.NoError(t, err)
			f.Data = []byte(to)
		case e.Type().IsRegular():
			f.Data, err = os.ReadFile(name)
			require.NoError(t, err)
		}
		out[filepath.ToSlash(rel)] = f
		return nil
	}))
	return out
}

// places are the options for a directory: on disk with it as the root, in a file
// system over the disk, and in memory.
func places(t testing.TB, dir string, opts host.Options) (disk host.Options, others map[string]host.Options) {
	t.Helper()
	others = map[string]host.Options{}
	for name, fsys := range map[string]fs.FS{"over the disk": os.DirFS(dir), "in memory": inMemory(t, dir)} {
		in := opts
		in.FS = fsys
		others[name] = in
	}
	disk = opts
	disk.Dir = filepath.Join(dir, filepath.FromSlash(opts.Dir))
	if opts.Root == "" {
		root, err := filepath.Rel(disk.Dir, dir)
		require.NoError(t, err)
		disk.Root = root
	}
	return disk, others
}

// outcome is all that a render has of the files that it was made of.
type outcome struct {
	loaded host.Loaded
	result render.Result
	errs   string
}

// outcomeOf loads and renders.
func outcomeOf(t *testing.T, opts host.Options) outcome {
	t.Helper()
	var out outcome
	var err error
	h := host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}
	if out.loaded, err = h.Load(t.Context(), opts); err == nil {
		evaluator := inprocess.New(inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}})
		out.result, err = render.Renderer{Evaluator: evaluator}.Render(t.Context(), out.loaded.Request)
	}
	// A function equals no other.
	out.loaded.Request.Secrets = nil
	for i := range out.loaded.Request.Specs {
		out.loaded.Request.Specs[i].Written = nil
	}
	if err != nil {
		out.errs = err.Error()
	}
	return out
}

// TestAFileSystemRendersAsTheDiskDoes compares whole requests and results: there
// is nothing in them that tells where the files were.
func TestAFileSystemRendersAsTheDiskDoes(t *testing.T) {
	const examples = "../../cue/examples"
	for name, c := range map[string]struct {
		opts host.Options
		errs string
	}{
		"the shop":                       {host.Options{Dir: "shop"}, ""},
		"the shop, from further out":     {host.Options{Args: []string{"shop"}}, ""},
		"one spec of it":                 {host.Options{Dir: "shop", Args: []string{"payment.yaml"}, Set: []string{"currency=CHF"}}, ""},
		"an environment":                 {host.Options{Dir: "environments", Environment: "prod"}, ""},
		"workloads":                      {host.Options{Dir: "workloads", Environment: "dev"}, ""},
		"workloads for Argo CD":          {host.Options{Dir: "workloads", Environment: "dev", Emit: emit.Options{Dialect: dialect.ArgoCD}}, ""},
		"orders":                         {host.Options{Dir: "orders", Environment: "prod", Values: []string{"gateway:targets/traefik.yaml"}}, ""},
		"an apps.yaml":                   {host.Options{Dir: "apps", Environment: "gcp", Images: []string{"api-server=example.com/api:1", "report=example.com/report:1"}}, ""},
		"a policy that is violated":      {host.Options{Dir: "violation"}, "policy"},
		"a set that the module refuses":  {host.Options{Dir: "shop", Set: []string{"storefront:replicas=many"}}, "--set storefront:replicas: "},
		"an environment that is unknown": {host.Options{Dir: "environments", Environment: "qa"}, `environment "qa" is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			disk, others := places(t, examples, c.opts)
			want := outcomeOf(t, disk)
			require.Contains(t, want.errs, c.errs)
			require.Equal(t, c.errs == "", want.errs == "", want.errs)
			require.Equal(t, c.errs == "", len(want.result.Files) > 0)
			for where, opts := range others {
				require.Equal(t, want, outcomeOf(t, opts), where)
			}
		})
	}
}

// tangled is a repository with whatever a project may refer to, by names and by
// links.
func tangled(t testing.TB) string {
	t.Helper()
	dir := write(t,
		"apps/shop/ropewalk.yaml", projectHead+"  specs: [api.yaml, 'linked/*.yaml', 'more/**', ../../shared/db.yaml]\n"+
			"  policies: [{name: p, cueRef: {type: path, ref: ../../policies}}]\n",
		"apps/shop/api.yaml", transform("api", "{type: path, ref: ../../modules/api/sub}"),
		"apps/shop/more/deep/c.yaml", "apiVersion: score.dev/v1b1\nmetadata: {name: cc}\n"+
			"containers: {main: {image: x, files: {/etc/x: {source: ../conf/x}}}}\n",
		"apps/shop/more/.hidden.yaml", transform("hidden", "{type: inline, ref: 'a: 1'}"),
		"apps/shop/more/conf/real", "conf", "apps/shop/values.yaml", "api: {replicas: 3}\n", "values/all.yaml", "db: {x: 1}\n",
		"apps/shop/.git/config", "", "apps/shop/cue.mod/pkg/x.yaml", "kind: nothing of ours\n",
		"apps/shop/ropewalk.lock", "apiVersion: ropewalk.dev/v1alpha1\nkind: Lock\nsources: []\n",
		"shared/db.yaml", transform("db", "{type: embedded, ref: webservice}"), "shared/linked/e.yaml", transform("e", "{type: inline, ref: 'a: 1'}"),
		"modules/api/cue.mod/module.cue", "module: \"x.y/api@v0\"\nlanguage: version: \"v0.15.0\"\n", "modules/api/sub/a.cue", "package sub\n",
		"vendor/v.cue", "package v\n", "policies/p.cue", "package p\n",
		"crds/x.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n",
	)
	for name, to := range map[string]string{
		"apps/shop/linked": "../../shared/linked", "apps/shop/more/conf/x": "real", "modules/api/cue.mod/pkg/v": "../../../../vendor",
		"linked-shop": "apps/shop", "apps/shop/out.yaml": "../../../out.yaml", "apps/shop/etc.yaml": "/etc/hosts", "apps/shop/loop.yaml": "loop.yaml",
		"apps/shop/gone.yaml": "../nothing",
	} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.Symlink(to, name))
	}
	return dir
}

func TestAFileSystemIsReadAsTheDiskIs(t *testing.T) {
	dir := tangled(t)
	h := host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}
	for name, c := range map[string]struct {
		opts  host.Options
		specs []string
		errs  []string
	}{
		"a project with links": {
			host.Options{Dir: "apps/shop", Values: []string{"values.yaml", "../../values/all.yaml"}, CRDs: []string{"../../crds"}},
			[]string{"api", "cc", "db", "e"}, nil},
		"its folder from the root":    {host.Options{Args: []string{"apps/shop"}}, []string{"api", "cc", "db", "e"}, nil},
		"its file":                    {host.Options{Args: []string{"apps/shop/ropewalk.yaml"}}, []string{"api", "cc", "db", "e"}, nil},
		"a folder with specs":         {host.Options{Dir: "apps", Args: []string{"../shared", "shop/api.yaml"}}, []string{"api", "db", "e"}, nil},
		"a folder of projects":        {host.Options{Dir: "apps"}, nil, []string{".: spec: no spec found in this folder (projects in subfolders: shop)"}},
		"a root that is further in":   {host.Options{Dir: "apps", Root: "shop", Args: []string{"shop/more"}}, []string{"cc"}, nil},
		"what the root does not have": {host.Options{Dir: "apps/shop", Args: []string{"none"}}, nil, []string{"none: spec: no such file or directory"}},
		"what is no folder":           {host.Options{Dir: "apps/shop", Args: []string{"api.yaml/x"}}, nil, []string{"api.yaml/x: spec: not a directory"}},
		"links that lead nowhere": {host.Options{Dir: "apps/shop", Args: []string{"gone.yaml", "loop.yaml"}}, nil, []string{
			"gone.yaml: spec: no such file or directory", "loop.yaml: spec: too many levels of symbolic links"}},
		"values and CRDs that are not there": {
			host.Options{Dir: "apps/shop", Args: []string{"api.yaml"}, Values: []string{"none.yaml", "gone.yaml"}, CRDs: []string{"none", "values.yaml"}},
			nil, []string{"gone.yaml: spec: --values: no such file or directory", "none: spec: --crds: no such file or directory",
				"none.yaml: spec: --values: no such file or directory", "values.yaml: spec: contains no CustomResourceDefinition"}},
		"values that leave": {host.Options{Dir: "apps/shop", Args: []string{"api.yaml"}, Values: []string{"out.yaml", "etc.yaml"}}, nil, []string{
			"etc.yaml: spec: leaves the root of the project by a link", "out.yaml: spec: leaves the root of the project by a link"}},
	} {
		t.Run(name, func(t *testing.T) {
			disk, others := places(t, dir, c.opts)
			want, err := h.Load(t.Context(), disk)
			if err == nil {
				err = want.Request.Mistakes.Err()
			}
			require.Equal(t, c.errs, linesOf(err))
			require.Equal(t, c.specs, specNames(want))
			for where, opts := range others {
				got, err := h.Load(t.Context(), opts)
				if err == nil {
					err = got.Request.Mistakes.Err()
				}
				require.Equal(t, c.errs, linesOf(err), where)
				want.Request.Secrets, got.Request.Secrets = nil, nil // A function equals no other.
				require.Equal(t, want, got, where)
			}
		})
	}
}

func linesOf(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func TestWhatElseIsReadOfAFileSystemIsAsOnDisk(t *testing.T) {
	dir := tangled(t)
	h := host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}
	disk, others := places(t, dir, host.Options{Dir: "apps/shop"})
	locked, found, err := project.Lock(disk.Project())
	require.NoError(t, err)
	require.True(t, found)
	provisioners, err := h.Provisioners(t.Context(), disk)
	require.NoError(t, err)
	for where, opts := range others {
		lock, found, err := project.Lock(opts.Project())
		require.NoError(t, err)
		require.True(t, found, where)
		require.Equal(t, locked, lock, where)
		same, err := h.Provisioners(t.Context(), opts)
		require.NoError(t, err)
		require.Equal(t, provisioners, same, where)

		opts.Dir, opts.Args = "", []string{"modules/api"}
		module, err := h.Provisioners(t.Context(), opts)
		require.NoError(t, err)
		require.Equal(t, []string{"api modules/api", "provisioners embedded:provisioners"}, labels(module), where)
	}
}

func TestALockIsBesideTheProject(t *testing.T) {
	const text = "apiVersion: ropewalk.dev/v1alpha1\nkind: Lock\nsources: []\n"
	in := fstest.MapFS{
		"a/ropewalk.lock": {Data: []byte(text)}, "a/x.yaml": {}, "b/x.yaml": {}, "c/ropewalk.lock": {Data: []byte("kind: [")},
		"d/ropewalk.lock": {Mode: fs.ModeDir}, "e/ropewalk.lock": {Data: []byte("../a/ropewalk.lock"), Mode: fs.ModeSymlink},
		"f/ropewalk.lock": {Data: []byte("../../out"), Mode: fs.ModeSymlink},
	}
	for arg, want := range map[string]bool{"a": true, "a/x.yaml": true, "b": false, "b/x.yaml": false, "e": true, "none": false, "-": false} {
		_, found, err := project.Lock(project.Options{FS: in, Args: []string{arg}})
		require.NoError(t, err, arg)
		require.Equal(t, want, found, arg)
	}
	for arg, want := range map[string]string{
		"c": "c/ropewalk.lock:1: ", "d": "d/ropewalk.lock: resolve: the lock is not a regular file of the project: it is a folder",
		"f": "cannot be followed: leaves the root of the project by a link", "../x": `"../x" is outside the files of the project`,
	} {
		file, _, err := project.Lock(project.Options{FS: in, Args: []string{arg}})
		require.ErrorContains(t, err, want)
		require.Equal(t, lock.File{}, file)
	}
}

// TestWithAFileSystemTheDiskIsNotRead has files on disk, where every path of the
// options would find them.
func TestWithAFileSystemTheDiskIsNotRead(t *testing.T) {
	in := inMemory(t, tangled(t))
	opts := host.Options{
		FS: in, Dir: "apps/shop", Values: []string{"values.yaml", "/values/all.yaml"}, CRDs: []string{"../../crds/x.yaml"},
	}
	want := outcomeOf(t, opts)
	require.Equal(t, []string{"api", "cc", "db", "e"}, specNames(want.loaded))

	decoy := write(t, "apps/shop/ropewalk.yaml", "nonsense", "apps/shop/values.yaml", "nonsense", "values.yaml", "nonsense",
		"ropewalk.yaml", "nonsense", "only/disk.yaml", transform("disk", "{type: inline, ref: 'a: 1'}"), ".git/config", "")
	t.Run("in a directory with files of the same names", func(t *testing.T) {
		t.Chdir(decoy)
		require.Equal(t, want, outcomeOf(t, opts))
		disk := filepath.ToSlash(filepath.Join(decoy, "only/disk.yaml"))
		for _, name := range []string{"only/disk.yaml", disk, "/etc"} {
			for what, set := range map[string]host.Options{
				"an argument": {Args: []string{name}}, "values": {Values: []string{name}}, "CRDs": {CRDs: []string{name}},
			} {
				set.FS, set.Dir = in, "."
				if set.Args == nil {
					set.Args = []string{"shared/db.yaml"}
				}
				require.Contains(t, outcomeOf(t, set).errs, ": no such file or directory", "%s: %s", what, name)
			}
		}
		for _, name := range []string{"../x", "/../x", "shared/../../x"} {
			require.Contains(t, outcomeOf(t, host.Options{FS: in, Args: []string{name}}).errs, "is outside the files of the project", name)
		}
		_, err := host.Host{}.Load(t.Context(), host.Options{FS: in, Dir: "../x"})
		require.EqualError(t, err, `"../x" is outside the files of the project`)
	})
	t.Run("in a directory that is gone", func(t *testing.T) {
		gone := filepath.Join(t.TempDir(), "gone")
		require.NoError(t, os.Mkdir(gone, 0o700))
		t.Chdir(gone)
		require.NoError(t, os.Remove(gone))
		_, err := os.Getwd()
		require.Error(t, err)
		require.Equal(t, want, outcomeOf(t, opts))
	})
}

func TestWhatIsNoRegularFileIsRefusedInMemory(t *testing.T) {
	in := fstest.MapFS{"p.yaml": {Mode: fs.ModeNamedPipe}, "d.yaml": {Mode: fs.ModeDevice}, "a.yaml": {Data: []byte(transform("a", "{type: embedded, ref: web}"))}}
	loaded, err := host.Host{Embedded: embedded}.Load(t.Context(), host.Options{FS: in})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, specNames(loaded), "a search passes them by")
	_, err = host.Host{}.Load(t.Context(), host.Options{FS: in, Args: []string{"p.yaml", "d.yaml"}, CRDs: []string{"p.yaml"}})
	require.Equal(t, []string{"d.yaml: spec: not a regular file", "p.yaml: check: not a regular file", "p.yaml: spec: not a regular file"}, linesOf(err))
}

func ExampleHost_Load_inMemory() {
	files := fstest.MapFS{
		"apps/api/ropewalk.yaml": {Data: []byte(projectHead)},
		"apps/api/api.yaml":      {Data: []byte(transform("api", "{type: path, ref: ../../module}"))},
		"module/a.cue":           {Data: []byte("a: 1\n")},
	}
	loaded, err := host.Host{}.Load(context.Background(), host.Options{FS: files, Dir: "apps/api"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range loaded.Request.Specs {
		fmt.Println(s.Evaluate.Pos, s.Source.Origin)
	}
	// Output: api.yaml:1:1 path:module
}
