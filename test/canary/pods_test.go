// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
)

// many is how many workloads are made.
func many(t testing.TB) int {
	if text := os.Getenv("ROPEWALK_CANARIES"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err, "ROPEWALK_CANARIES")
		return n
	}
	return 1000
}

// batch is how many workloads a project has.
const batch = 50

// evaluator evaluates in this process; compiled modules are kept over projects.
func evaluator() evaluate.Evaluator {
	return inprocess.New(inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}})
}

// rendered is a render with what it was made of.
type rendered struct {
	dir    string
	loaded host.Loaded
	render.Result
	err error
}

// write writes files below a folder.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o750))
		require.NoError(t, os.WriteFile(full, []byte(data), 0o600))
	}
}

// renderAll renders a project.
func renderAll(t testing.TB, p *project, e evaluate.Evaluator, schemas bool) rendered {
	t.Helper()
	out := rendered{dir: t.TempDir()}
	files, err := p.yaml()
	require.NoError(t, err)
	write(t, out.dir, files)
	out.loaded, out.err = host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}.Load(t.Context(), host.Options{
		Dir: out.dir, Root: ".", Emit: emit.Options{Dialect: dialect.Name(p.dialect)}, SkipSchemas: !schemas,
	})
	if out.err != nil {
		return out
	}
	out.Result, out.err = render.Renderer{Evaluator: e}.Render(t.Context(), out.loaded.Request)
	return out
}

// surveyed is what all provisioners can make, by rendering one resource of each.
// What has no secret is left out.
func surveyed(t *testing.T, e evaluate.Evaluator) survey {
	t.Helper()
	files, ok := cue.Module("provisioners")
	require.True(t, ok)
	found, err := e.Evaluate(t.Context(), evaluate.Request{
		Spec: "catalog", Operation: evaluate.OpCatalog, Module: evaluate.Module{FS: files, Digest: "embedded", Label: "embedded"},
	})
	require.NoError(t, err)
	kinds := map[kind][]string{{"ledger", "default"}: {"dsn"}, {"vault", "cluster"}: {"link"}}
	for _, p := range found.Catalog {
		if len(p.Sensitive) > 0 {
			class := p.Class
			if class == "" {
				class = "default"
			}
			kinds[kind{p.Type, class}] = p.Sensitive
		}
	}
	out := survey{}
	for _, backend := range []string{"external-secrets", "kubernetes"} {
		out[backend] = map[kind]map[string]shape{}
		w := &workload{name: "survey", kind: "Deployment", containers: []*container{{name: "main"}}}
		w.project = &project{backend: backend, workloads: []*workload{w}}
		for k := range kinds {
			w.resources = append(w.resources, resource{name: k.kind + "-" + k.class, kind: k.kind, class: k.class})
		}
		r := newRecorder(e, false)
		require.NoError(t, renderAll(t, w.project, r, true).err)
		for _, one := range w.resources {
			k := kind{one.kind, one.class}
			shapes, err := r.made[one.uid(w.name)].shapes(backend)
			require.NoError(t, err)
			out[backend][k] = shapes
			for _, name := range kinds[k] {
				require.True(t, shapes[name].secret, "%v %s", k, name)
			}
		}
	}
	return out
}

// TestPodsSeeWhatTheirAuthorWroteAndNothingElseHoldsASecret is the oracle.
func TestPodsSeeWhatTheirAuthorWroteAndNothingElseHoldsASecret(t *testing.T) {
	// Most of what is made lives as long as its project.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	e := evaluator()
	all := surveyed(t, e)
	l := newLeaks()
	var mutex sync.Mutex
	used := map[string]map[kind]map[string]bool{}
	t.Run("project", func(t *testing.T) {
		for seed := range uint64((many(t) + batch - 1) / batch) {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				p := checkProject(t, newGenerator(seed, all), seed, e, l)
				mutex.Lock()
				defer mutex.Unlock()
				for _, w := range p.workloads {
					w.count(used)
				}
			})
		}
	})
	for backend, kinds := range all {
		for k, outputs := range kinds {
			for name := range outputs {
				require.True(t, used[backend][k][name] || !(&project{backend: backend}).inVariable([]shape{outputs[name]}),
					"%s: nobody used %v %s", backend, k, name)
			}
		}
	}
}

// checkProject renders a project and looks at all that comes of it.
func checkProject(t *testing.T, g *generator, seed uint64, e evaluate.Evaluator, l leaks) *project {
	t.Helper()
	p := g.project(seed, batch)
	r := newRecorder(e, seed%2 == 1)
	out := renderAll(t, p, r, seed%16 == 0)
	require.NoError(t, out.err)
	require.Empty(t, r.differing, "a shared resource is the same for all")
	checkPods(t, p, out, r.made)
	for _, f := range out.Files {
		l.Require(t, f.Path, f.Data)
	}
	l.Require(t, "a warning", []byte(out.Warnings.Error()))
	require.NotContains(t, out.Warnings.Error(), opaqueKey, "a warning names a reference")
	return p
}

// count notes which outputs are used.
func (w *workload) count(used map[string]map[kind]map[string]bool) {
	backend := w.project.backend
	if used[backend] == nil {
		used[backend] = map[kind]map[string]bool{}
	}
	note := func(t text) {
		for _, p := range t {
			if p.resource == "" {
				continue
			}
			r := w.resource(p.resource)
			k := kind{r.kind, r.class}
			if used[backend][k] == nil {
				used[backend][k] = map[string]bool{}
			}
			used[backend][k][p.output] = true
		}
	}
	for _, c := range w.containers {
		for _, v := range c.variables {
			note(v.text)
		}
		for _, f := range c.files {
			note(f.content)
		}
	}
}

// checkPods applies a render and compares what each container sees with what its
// author wrote.
func checkPods(t *testing.T, p *project, out rendered, made map[string]provisioned) {
	t.Helper()
	c := &cluster{
		store: storeName, kubernetesStore: p.kubernetesStore,
		configs: map[string]map[string]string{}, secrets: map[string]map[string]string{}, pods: map[string]podSpec{},
	}
	for _, f := range out.Files {
		if strings.HasSuffix(f.Path, ".yaml") && f.Node != "" {
			require.NoError(t, c.apply(f.Data), "%s", f.Path)
		}
	}
	for _, o := range c.objects {
		checkReferences(t, o)
	}
	for _, w := range p.workloads {
		spec, ok := c.pods[namespace+"/"+w.name]
		require.True(t, ok, "%s has no pods", w.name)
		require.Len(t, slices.Concat(spec.InitContainers, spec.Containers), len(w.containers))
		for _, pc := range slices.Concat(spec.InitContainers, spec.Containers) {
			i := slices.IndexFunc(w.containers, func(c *container) bool { return c.name == pc.Name })
			require.GreaterOrEqual(t, i, 0, pc.Name)
			checkContainer(t, c, w, w.containers[i], spec, pc, made)
		}
		checkQueue(t, c, w, made)
	}
}

// checkQueue compares the credentials that KEDA reads with those of the resource.
func checkQueue(t *testing.T, c *cluster, w *workload, made map[string]provisioned) {
	t.Helper()
	i := slices.IndexFunc(c.objects, func(o map[string]any) bool {
		return o["kind"] == "TriggerAuthentication" && object.Object(o).Name() == w.name
	})
	require.Equal(t, w.queue != "", i >= 0, w.name)
	if i < 0 {
		return
	}
	var parameters []string
	for _, item := range object.Object(c.objects[i]).List("spec", "secretTargetRef") {
		ref := item.(map[string]any)
		parameter := ref["parameter"].(string)
		parameters = append(parameters, parameter)
		got, err := c.secret(namespace, ref["name"].(string), ref["key"].(string))
		require.NoError(t, err, w.name)
		want, err := w.fragments(text{reference(w.queue, parameter)}, made)
		require.NoError(t, err, w.name)
		require.Equal(t, plainText(want), got, "%s: %s", w.name, parameter)
	}
	require.Contains(t, parameters, "password", w.name)
}

func checkContainer(t *testing.T, c *cluster, w *workload, written *container, spec podSpec, pc podContainer, made map[string]provisioned) {
	t.Helper()
	at := w.name + " " + written.name
	env, err := c.environment(namespace, pc)
	require.NoError(t, err, at)
	want, err := w.values(written, made)
	require.NoError(t, err, at)
	for _, v := range written.variables {
		got, ok := env[v.name]
		require.True(t, ok, "%s: %s is missing", at, v.name)
		require.Equal(t, want[v.name], got, "%s: %s: %q", at, v.name, v.text.raw())
	}
	for name := range env {
		if _, ok := want[name]; !ok {
			require.True(t, strings.HasPrefix(name, "ROPEWALK_SECRET_"), "%s: nobody asked for %s", at, name)
		}
	}
	args := func(env map[string]string) []string {
		var out []string
		for _, a := range written.args {
			out = append(out, expand(a, func(name string) (string, bool) { v, ok := env[name]; return v, ok }))
		}
		return out
	}
	require.Equal(t, written.args, pc.Args, at)
	require.Equal(t, args(want), args(env), "%s: a helper changes what the arguments say", at)
	files, err := c.files(namespace, spec, pc)
	require.NoError(t, err, at)
	require.Len(t, files, len(written.files), at)
	for _, f := range written.files {
		content := string(f.binary)
		if f.binary == nil {
			all, err := w.fragments(f.content, made)
			require.NoError(t, err, at)
			content = plainText(all)
		}
		got, ok := files[f.target]
		require.True(t, ok, "%s: %s is missing", at, f.target)
		require.Equal(t, content, got.content, "%s: %s: %q", at, f.target, f.content.raw())
		mode := int64(defaultMode)
		if f.mode != "" {
			mode, err = strconv.ParseInt(f.mode, 8, 32)
			require.NoError(t, err)
		}
		require.Equal(t, int(mode), got.mode, "%s: %s", at, f.target)
	}
}

// checkReferences wants the words that stand for references nowhere but where
// Kubernetes and External Secrets read references.
func checkReferences(t *testing.T, o map[string]any) {
	t.Helper()
	external := o["kind"] == "ExternalSecret"
	var walk func(v any, way []string)
	walk = func(v any, way []string) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(k, append(way, "a key"))
				walk(v[k], append(way, k))
			}
		case []any:
			for _, item := range v {
				walk(item, way)
			}
		case string:
			if !strings.Contains(v, opaqueKey) && !strings.Contains(v, opaqueProperty) {
				return
			}
			end := strings.Join(way[max(0, len(way)-2):], ".")
			allowed := external && slices.Contains([]string{"remoteRef.key", "remoteRef.property"}, end) ||
				!external && slices.Contains([]string{
					"secretKeyRef.name", "secretKeyRef.key", "secretTargetRef.name", "secretTargetRef.key", "secret.secretName", "items.key",
					"volumes.name", "volumeMounts.name", // a volume is called as the Secret in it
				}, end)
			require.True(t, allowed, "%v: a reference is in %s: %q", object.Object(o).Ref(), strings.Join(way, "."), v)
		}
	}
	walk(o, nil)
}
