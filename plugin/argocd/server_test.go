// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/lock"
)

const examples = "../../cue/examples"

// module is a CUE module with one object, whose data a spec chooses.
const module = `package m

ropewalk: apiVersion: "v1alpha1"
#Input: {text: string | *"none", n: int | *1, list: [...string] | *[], tags: [string]: string}
input: #Input
context: {namespace: string, kubeVersion: string, ...}
graph: nodes: config: object: {
	apiVersion: "v1"
	kind:       "ConfigMap"
	metadata: name: "config"
	data: {
		text: input.text
		num:  "\(input.n)"
		list: "\(len(input.list))"
		version: context.kubeVersion
		for k, v in input.tags {"tag-\(k)": v}
	}
}
`

func projectOf(name string) map[string]string {
	return map[string]string{
		"apps/" + name + "/web.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: ` + name + `}
spec:
  cueRef: {type: path, ref: ../../modules/m}
`,
		"modules/m/cue.mod/module.cue": "module: \"example.com/m\"\nlanguage: version: \"v0.9.0\"\n",
		"modules/m/m.cue":              module,
	}
}

// onDisk is what the command line renders.
func onDisk(t *testing.T, dir string, opts host.Options) []string {
	t.Helper()
	h, err := offline(Connection{})
	require.NoError(t, err)
	opts.Args, opts.Root = []string{dir}, examples
	opts.Emit = emit.Options{Dialect: dialect.ArgoCD, HealthConfigured: true}
	opts.Context.Engine = string(dialect.ArgoCD)
	loaded, err := h.Load(t.Context(), opts)
	require.NoError(t, err)
	result, err := render.Renderer{Evaluator: options(t).Evaluator}.Render(t.Context(), loaded.Request)
	require.NoError(t, err)
	var out []string
	for _, f := range result.Files {
		out = append(out, string(f.Data))
	}
	return out
}

func TestTheShopIsRenderedAsOnTheCommandLine(t *testing.T) {
	_, socket := start(t, options(t))
	packed := archive(t, os.DirFS(examples))
	tests := map[string]struct {
		path string
		env  map[string]string
		opts host.Options
	}{
		"the shop":                 {"shop", nil, host.Options{}},
		"the shop, in a namespace": {"shop", map[string]string{"ARGOCD_APP_NAMESPACE": "elsewhere"}, host.Options{Context: contextIn("elsewhere")}},
		"workloads of Score":       {"workloads", map[string]string{"ARGOCD_ENV_ROPEWALK_ENV": "prod"}, host.Options{Environment: "prod"}},
		"variables of env files":   {"variables", map[string]string{"ARGOCD_ENV_ROPEWALK_ENV": "local"}, host.Options{Environment: "local"}},
		"functions":                {"functions", nil, host.Options{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := onDisk(t, filepath.Join(examples, test.path), test.opts)
			for range 2 {
				got, err := generate(t, socket, call{archive: packed, path: test.path, env: test.env})
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
		})
	}
}

func contextIn(namespace string) spec.Context { return spec.Context{Namespace: namespace} }

func TestARenderDoesNotDependOnTheRevision(t *testing.T) {
	s, socket := start(t, options(t))
	packed := archive(t, texts(projectOf("web")))
	var first []string
	for i, revision := range []string{"a1b2", "streamed", "sha256:00"} {
		got, err := generate(t, socket, call{archive: packed, path: "apps/web", env: map[string]string{
			"ARGOCD_APP_REVISION": revision, "ARGOCD_APP_REVISION_SHORT": revision[:2],
		}})
		require.NoError(t, err)
		if i == 0 {
			first = got
		}
		require.Equal(t, first, got)
	}
	require.Equal(t, []int64{2, 1}, []int64{s.metrics.hits.Load(), s.metrics.misses.Load()})
}

func TestParametersChangeTheRender(t *testing.T) {
	_, socket := start(t, options(t))
	files := projectOf("web")
	files["apps/web/values/prod.yaml"] = "text: from a file\n"
	files["apps/web/values/.keep"] = ""
	packed := archive(t, texts(files))
	tests := map[string]struct {
		env  map[string]string
		want []string
	}{
		"a text":              {params(`[{"name": "text", "string": "hello"}]`), []string{"text: hello"}},
		"a number":            {params(`[{"name": "n", "string": "3"}]`), []string{`num: "3"`}},
		"of a spec":           {params(`[{"name": "web:n", "string": "3"}]`), []string{`num: "3"`}},
		"a list":              {params(`[{"name": "list", "array": ["a, b", "c: {", "-"]}]`), []string{`list: "3"`}},
		"a map":               {params(`[{"name": "tags", "map": {"a.b": "x: y", "c": "\"q\""}}]`), []string{`tag-a.b: "x: y"`, `tag-c: '"q"'`}},
		"set":                 {params(`[{"name": "set", "array": ["n=7", "text=x"]}]`), []string{`num: "7"`, "text: x"}},
		"set as a map":        {params(`[{"name": "set", "map": {"web:n": "7"}}]`), []string{`num: "7"`}},
		"values":              {params(`[{"name": "values", "array": ["values/prod.yaml"]}]`), []string{"text: from a file"}},
		"values of a spec":    {params(`[{"name": "values", "array": ["web:values/prod.yaml"]}]`), []string{"text: from a file"}},
		"set by a variable":   {map[string]string{"ARGOCD_ENV_ROPEWALK_SET": "n=4\n\n text=y \n"}, []string{`num: "4"`, `text: "y"`}},
		"of a vendor's":       {map[string]string{"KUBE_VERSION": "v1.35.4-gke.1005"}, []string{`version: "1.35.4"`}},
		"nothing":             {params(`null`), []string{"text: none"}},
		"of a cluster's name": {map[string]string{"KUBE_VERSION": "1.34+"}, []string{`version: "1.34"`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := generate(t, socket, call{archive: packed, path: "apps/web", env: test.env})
			require.NoError(t, err)
			require.Len(t, got, 1)
			for _, want := range test.want {
				require.Contains(t, got[0], want)
			}
		})
	}
}

func params(json string) map[string]string { return map[string]string{"ARGOCD_APP_PARAMETERS": json} }

func TestMistakesArriveWhole(t *testing.T) {
	_, socket := start(t, options(t))
	files := projectOf("web")
	files["broken/a.yaml"] = strings.Replace(files["apps/web/web.yaml"], "../../modules/m", "../modules/m", 1) + "  input: {n: many, text: 3}\n"
	files["cut/a.yaml"] = "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: [\n"
	files["none/README.md"] = "nothing"
	files["empty/ropewalk.yaml"] = "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: empty}\n"
	packed := archive(t, texts(files))
	tests := map[string]struct {
		call call
		code codes.Code
		want []string
	}{
		"two in an input":        {call{path: "broken"}, codes.InvalidArgument, []string{"broken/a.yaml:6:14: ", "\nbroken/a.yaml:6:26: "}},
		"YAML that is none":      {call{path: "cut"}, codes.InvalidArgument, []string{"cut/a.yaml:3:"}},
		"a folder without specs": {call{path: "none"}, codes.InvalidArgument, []string{"no spec found"}},
		"a folder that is none":  {call{path: "missing"}, codes.InvalidArgument, []string{"missing: "}},
		"a path that leads out":  {call{path: "../x"}, codes.InvalidArgument, []string{"leaves the repository"}},
		"a value that is none":   {call{path: "apps/web", env: params(`[{"name": "n", "string": "x"}]`)}, codes.InvalidArgument, []string{"spec.source.plugin.parameters: n: evaluate: spec.input.n: expected an integer"}},
		"a parameter of nothing": {call{path: "apps/web", env: params(`[{"name": "n"}]`)}, codes.InvalidArgument, []string{"spec.source.plugin.parameters: spec: n: the parameter has no value"}},
		"parameters of no JSON":  {call{path: "apps/web", env: params(`{`)}, codes.InvalidArgument, []string{"not a JSON list"}},
		"values from outside":    {call{path: "apps/web", env: params(`[{"name": "values", "array": ["../../../etc/passwd"]}]`)}, codes.InvalidArgument, []string{"inside the repository"}},
		"a stream that was cut":  {call{path: "apps/web", cut: 50}, codes.InvalidArgument, []string{"bad archive"}},
		"a wrong checksum":       {call{path: "apps/web", checksum: strings.Repeat("0", 64)}, codes.Unavailable, []string{"wrong checksum"}},
		"no checksum":            {call{path: "apps/web", checksum: "x"}, codes.InvalidArgument, []string{"not a SHA-256"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.call.archive = packed
			_, err := generate(t, socket, test.call)
			require.Equal(t, test.code, status.Code(err), "%v", err)
			text := status.Convert(err).Message()
			for _, want := range test.want {
				require.Contains(t, text, want)
			}
			require.LessOrEqual(t, len(text), maxText)
		})
	}
}

func TestManyMistakesAreCutToTheLimit(t *testing.T) {
	_, socket := start(t, options(t))
	files := projectOf("web")
	for i := range 300 {
		files[fmt.Sprintf("broken/%03d.yaml", i)] = fmt.Sprintf("apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: s%d}\nspec: {cueRef: {type: path, ref: ../modules/m}, oops: 1}\n", i)
	}
	_, err := generate(t, socket, call{archive: archive(t, texts(files)), path: "broken"})
	text := status.Convert(err).Message()
	require.LessOrEqual(t, len(text), maxText)
	require.True(t, strings.HasPrefix(text, "broken/000.yaml:4:"), text)
	require.Regexp(t, `\nand \d+ more$`, text)
}

func TestNothingIsAnErrorUnlessItIsMeant(t *testing.T) {
	_, socket := start(t, options(t))
	packed := archive(t, texts(map[string]string{"apps/web/ropewalk.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: web}\n"}))
	_, err := generate(t, socket, call{archive: packed, path: "apps/web"})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.ErrorContains(t, err, "allowEmpty")
	for _, env := range []map[string]string{
		params(`[{"name": "allowEmpty", "string": "true"}]`), {"ARGOCD_ENV_ROPEWALK_ALLOW_EMPTY": "true"},
	} {
		out, err := generate(t, socket, call{archive: packed, path: "apps/web", env: env})
		require.NoError(t, err)
		require.Empty(t, out)
	}
}

func TestAPlainPackageMayMakeNothing(t *testing.T) {
	_, socket := start(t, options(t))
	packed := archive(t, fstest.MapFS{
		"web/a.cue": {Mode: 0o644, Data: []byte("package web\n\nenabled: bool | *false\nif enabled {\n\tconfig: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"web\"}\n}\n")},
	})
	_, err := generate(t, socket, call{archive: packed, path: "web"})
	require.ErrorContains(t, err, "makes no objects")
	out, err := generate(t, socket, call{archive: packed, path: "web", env: params(`[{"name": "allowEmpty", "string": "true"}]`)})
	require.NoError(t, err)
	require.Empty(t, out)
}

func TestReferencesMustBeLocked(t *testing.T) {
	opts := options(t)
	opts.AllowUnlocked = false
	opts.Connect = func(c Connection) (host.Host, error) {
		h, err := offline(c)
		h.Fetchers[source.TypeOCI] = lock.Fetcher{
			Next: lock.Fixed(source.FetcherFunc(func(_ context.Context, ref source.Ref) (source.Tree, error) {
				return source.Tree{}, source.Refuse(source.ErrAbsent, ref.Ref+": asked for")
			})), File: c.Lock, Mode: c.Mode,
		}
		return h, err
	}
	_, socket := start(t, opts)
	files := projectOf("web")
	for name, ref := range map[string]string{
		"tag": "{type: oci, ref: 'localhost:1/m:v1'}", "digest": "{type: oci, ref: 'localhost:1/m@sha256:" + strings.Repeat("0", 64) + "'}",
		"branch": "{type: git, ref: 'https://localhost:1/m.git?branch=main'}", "embedded": "{type: embedded, ref: webservice}",
	} {
		files[name+"/a.yaml"] = "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: a}\nspec: {cueRef: " + ref + "}\n"
	}
	packed := archive(t, texts(files))
	for _, name := range []string{"tag", "branch", "embedded"} {
		_, err := generate(t, socket, call{archive: packed, path: name})
		require.ErrorContains(t, err, name+"/a.yaml:4:")
		require.ErrorContains(t, err, "not in ropewalk.lock: run \"ropewalk lock\"")
	}
	_, err := generate(t, socket, call{archive: packed, path: "digest"})
	require.ErrorContains(t, err, "asked for")
	_, err = generate(t, socket, call{archive: packed, path: "apps/web"})
	require.NoError(t, err, "modules of the repository need no lock")
}

func TestALockedProjectIsRenderedWithoutMore(t *testing.T) {
	opts := options(t)
	opts.AllowUnlocked = false
	_, socket := start(t, opts)
	for name, environment := range map[string]string{"shop": "", "workloads": "prod"} {
		env := map[string]string{"ARGOCD_ENV_ROPEWALK_ENV": environment}
		files := fstest.MapFS{}
		require.NoError(t, fs.WalkDir(os.DirFS(examples), name, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				data, err := os.ReadFile(filepath.Join(examples, p))
				files[p] = &fstest.MapFile{Data: data, Mode: 0o644}
				return err
			}
			return err
		}))
		_, err := generate(t, socket, call{archive: archive(t, files), path: name, env: env})
		require.ErrorContains(t, err, "not in ropewalk.lock")
		files[name+"/ropewalk.lock"] = &fstest.MapFile{Data: locked(t, filepath.Join(examples, name), environment), Mode: 0o644}
		got, err := generate(t, socket, call{archive: archive(t, files), path: name, env: env})
		require.NoError(t, err)
		require.Equal(t, onDisk(t, filepath.Join(examples, name), host.Options{Environment: environment}), got)
	}
}

// locked is the lock that ropewalk lock writes.
func locked(t *testing.T, dir, environment string) []byte {
	t.Helper()
	record := &lock.Recorder{}
	h := fetch.Options{Mode: lock.Update, Record: record}.Connect(host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()})
	_, err := h.Load(t.Context(), host.Options{Args: []string{dir}, Root: examples, Environment: environment})
	require.NoError(t, err)
	data, err := record.File().Bytes()
	require.NoError(t, err)
	return data
}

func TestNothingIsDiscoveredAndParametersAreAnnounced(t *testing.T) {
	_, socket := start(t, options(t))
	client := dial(t, socket)
	c := call{archive: archive(t, texts(projectOf("web"))), path: "apps/web"}
	match, err := client.MatchRepository(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.send(match))
	matched, err := match.CloseAndRecv()
	require.NoError(t, err)
	require.False(t, matched.GetIsSupported() || matched.GetIsDiscoveryEnabled())
	got, err := announce(t, socket, c)
	require.NoError(t, err)
	var names []string
	for _, p := range got {
		names = append(names, p.GetName())
	}
	require.Equal(t, []string{"environment", "preview", "values", "set", "images", "runtime", "allowEmpty", "list", "n", "tags", "text"}, names)
}

func TestAPanicEndsOneRequest(t *testing.T) {
	opts := options(t)
	var log lines
	opts.Report = log.add
	opts.Connect = func(Connection) (host.Host, error) { panic("a value of the input") }
	_, socket := start(t, opts)
	for range 2 {
		_, err := generate(t, socket, call{archive: archive(t, texts(projectOf("web"))), path: "apps/web"})
		require.Equal(t, codes.Internal, status.Code(err))
		require.ErrorContains(t, err, "ropewalk panicked, please report it: a value of type string (")
		logged := log.take()
		require.Contains(t, logged, "server_test.go")
		require.NotContains(t, err.Error()+logged, "of the input")
	}
}

func TestMetricsAreText(t *testing.T) {
	s, socket := start(t, options(t))
	packed := archive(t, texts(projectOf("web")))
	_, err := generate(t, socket, call{archive: packed, path: "apps/web"})
	require.NoError(t, err)
	_, err = generate(t, socket, call{archive: packed, path: "nowhere"})
	require.Error(t, err)
	page := show(t, s, "/metrics")
	for _, want := range []string{
		`ropewalk_argocd_requests_total{code="InvalidArgument",method="GenerateManifest"} 1` + "\n" +
			`ropewalk_argocd_requests_total{code="OK",method="GenerateManifest"} 1` + "\n",
		`ropewalk_argocd_request_seconds_bucket{method="GenerateManifest",le="+Inf"} 2`,
		`ropewalk_argocd_render_cache_total{result="miss"} 1`,
		fmt.Sprintf(`ropewalk_argocd_archive_bytes_total{kind="compressed"} %d`, 2*len(packed)),
	} {
		require.Contains(t, page, want)
	}
}
