// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/test/servers"
)

// mark is text of a module that nobody may evaluate.
const mark = "text of what nobody signed"

// watched evaluates, and notes what it was given: whether any file of a module, or of
// what it depends on, has the mark.
type watched struct {
	evaluate.Evaluator
	mu           sync.Mutex
	given, marks int
}

func (w *watched) see(req evaluate.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.given++
	for _, m := range append([]evaluate.Module{req.Module}, modulesOf(req.Policies)...) {
		_ = fs.WalkDir(m.FS, ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if data, err := fs.ReadFile(m.FS, name); err != nil || strings.Contains(string(data), mark) {
				w.marks++
			}
			return nil
		})
	}
}

func modulesOf(policies []evaluate.Policy) (out []evaluate.Module) {
	for _, p := range policies {
		out = append(out, p.Module)
	}
	return out
}

func (w *watched) Evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	w.see(req)
	return w.Evaluator.Evaluate(ctx, req)
}

// seen is how many modules were evaluated since it was asked last, and how many files
// with the mark.
func (w *watched) seen() [2]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.given, w.marks = 0, 0 }()
	return [2]int{w.given, w.marks}
}

// oneField is a module of one field.
func oneField(name, text string) map[string]string {
	return map[string]string{
		"cue.mod/module.cue": "module: \"example.com/" + name + "@v0\"\nlanguage: version: \"v0.17.0\"\nsource: kind: \"self\"\n",
		name + ".cue":        "package " + name + "\n\nteam: \"" + text + "\"\n",
	}
}

// marked is a server with two dependencies, of which nobody signed one, and a project
// with a spec for each way to come by that: as a module, as what a module of the
// project depends on, and as what a fetched one does. One spec needs the other
// dependency only.
func marked(t *testing.T, private []byte) (server *servers.OCI, dir string) {
	t.Helper()
	server = servers.InProcess(t)
	publish(t, server, "v0.1.0", oneField("signed", "blue"))
	sign(t, server, "example.com/signed", private)
	publish(t, server, "v0.1.0", oneField("unsigned", mark))
	using := func(name, on string) map[string]string {
		files := module()
		files["cue.mod/module.cue"] = strings.Replace(files["cue.mod/module.cue"], "/web@", "/"+name+"@", 1) + "deps: \"example.com/" + on + "@v0\": v: \"v0.1.0\"\n"
		files["web.cue"] = strings.NewReplacer("/web/", "/"+name+"/", `"web"`, `"`+name+`"`).Replace(files["web.cue"])
		files["parts/parts.cue"] = "package parts\n\nimport \"example.com/" + on + "@v0\"\n\nteam: " + on + ".team\n"
		return files
	}
	publish(t, server, "v0.1.0", using("above", "unsigned"))
	sign(t, server, "example.com/above", private)
	whole := map[string]string{"cue.mod/module.cue": module()["cue.mod/module.cue"], "web.cue": flat()["web.cue"] + "// " + mark + "\n"}
	publish(t, server, "v0.1.0", whole)
	at := "oci://" + server.Host + "/example.com/"
	dir = write(t, t.TempDir(), map[string]string{
		"good.yaml":     strings.Replace(spec("{type: path, ref: ./good}"), "name: web", "name: good", 1),
		"local.yaml":    strings.Replace(spec("{type: path, ref: ./local}"), "name: web", "name: local", 1),
		"above.yaml":    strings.Replace(spec("{type: oci, ref: \""+at+"above:v0.1.0\"}"), "name: web", "name: above", 1),
		"itself.yaml":   strings.Replace(spec("{type: oci, ref: \""+at+"web:v0.1.0\"}"), "name: web", "name: itself", 1),
		"ropewalk.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: p}\nspec: {specs: [good.yaml, local.yaml, above.yaml, itself.yaml]}\n",
	})
	write(t, filepath.Join(dir, "good"), using("good", "signed"))
	write(t, filepath.Join(dir, "local"), using("local", "unsigned"))
	return server, dir
}

// TestNothingUnsignedIsEverEvaluated: a signature is about what was fetched, so it is
// verified after that, and before anybody reads it. What others had of it, before
// there was a policy or without one, changes nothing.
func TestNothingUnsignedIsEverEvaluated(t *testing.T) {
	private, public, err := signature.GenerateKey()
	require.NoError(t, err)
	server, dir := marked(t, private)
	options := cached(t)
	options.Signed = fetch.NewSigned()
	options.Modules = func() *modules.Registry {
		store, err := options.Store()
		require.NoError(t, err)
		r := fetch.ModuleRegistry(server.Host+"+insecure", options.Registries)
		r.Store = store
		return r
	}
	w := &watched{Evaluator: inprocess.New(inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}})}
	do := func(o fetch.Options) (render.Result, error) {
		loaded, err := o.Connect(host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}).Load(t.Context(), host.Options{Dir: dir})
		require.NoError(t, err)
		_, described := loaded.Parameters(t.Context(), w)
		require.NoError(t, described)
		return render.Renderer{Evaluator: w}.Render(t.Context(), loaded.Request)
	}
	wanted := with(options, guard(t, "", signedBy("oci://*/**", "cosign", public)))
	refused := func(why string) {
		t.Helper()
		_, err := do(wanted)
		require.ErrorIs(t, err, source.ErrSignature, why)
		for _, name := range []string{"local", "above", "itself"} {
			require.ErrorContains(t, err, name+".yaml:5:", why)
		}
		require.NotContains(t, err.Error(), "good.yaml", why)
		require.Equal(t, [2]int{2, 0}, w.seen(), "%s: the good one is described and rendered, and no other", why)
	}
	refused("nothing is in a cache")
	refused("what is not signed was fetched before")

	_, err = do(options)
	require.NoError(t, err)
	require.Equal(t, [2]int{8, 6}, w.seen(), "without a policy all of them are evaluated")
	refused("it was rendered before, without a policy")
	store, err := options.Store()
	require.NoError(t, err)
	entries := map[string]int{}
	for e, err := range store.Ls(t.Context()) {
		require.NoError(t, err)
		entries[e.Kind]++
	}
	require.Equal(t, 2, entries[cache.KindModule], "and it does lie in the cache")

	// The tag leads to something that is signed by now, which is not what lies there.
	other := servers.InProcess(t)
	publish(t, other, "v0.1.0", oneField("unsigned", "red"))
	move(t, other, server, "example.com/unsigned", "v0.1.0")
	sign(t, server, "example.com/unsigned", private)
	_, err = do(wanted)
	require.ErrorIs(t, err, source.ErrDigest)
	require.ErrorContains(t, err, "does not match the module that was fetched")
	require.Equal(t, [2]int{2, 0}, w.seen())
}
