// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package krm_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/krm"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

// function is one that evaluates in this process.
func function(t testing.TB) krm.Function {
	t.Helper()
	return krm.Function{
		Host:      host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()},
		Options:   host.Options{Dir: t.TempDir()},
		Evaluator: inprocess.New(inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}}),
	}
}

// list is a ResourceList of the items, each as YAML at the left margin.
func list(config string, items ...string) string {
	var b strings.Builder
	b.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:")
	if len(items) == 0 {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	for _, i := range items {
		b.WriteString("- " + strings.TrimPrefix(indent(i), "  "))
	}
	if config != "" {
		b.WriteString("functionConfig:\n" + indent(config))
	}
	return b.String()
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.Trim(text, "\n") + "\n") {
		if line != "\n" {
			line = "  " + line
		}
		b.WriteString(line)
	}
	return b.String()
}

// inline is a Transform whose module is CUE text.
func inline(name, cue string) string {
	return "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: " + name + "}\nspec:\n  cueRef:\n    type: inline\n    ref: |\n" +
		indent(indent(indent(cue)))
}

// configMap is CUE that makes a ConfigMap.
func configMap(name, value string) string {
	return fmt.Sprintf("%q: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: %q, data: k: %q}\n", name, name, value)
}

// result is a Result of the KRM functions specification.
type result struct {
	Message, Severity string
	ResourceRef       struct{ APIVersion, Kind, Name, Namespace string } `yaml:"resourceRef"`
	Field             struct{ Path string }
	File              struct {
		Path  string
		Index int
	}
	Tags map[string]string
}

// read is the output as kyaml reads it, which is how orchestrators do.
func read(t testing.TB, out []byte) (items []*yaml.RNode, results []result) {
	t.Helper()
	whole, err := yaml.Parse(string(out))
	require.NoError(t, err, "%s", out)
	require.Equal(t, "ResourceList", whole.GetKind())
	items, err = whole.Field("items").Value.Elements()
	require.NoError(t, err)
	if list := whole.Field("results"); list != nil {
		require.NoError(t, yaml.Unmarshal([]byte(list.Value.MustString()), &results))
	}
	return items, results
}

// titles are kind, name, mark and path of the items.
func titles(items []*yaml.RNode) []string {
	var out []string
	for _, i := range items {
		a := i.GetAnnotations()
		title := i.GetKind() + " " + i.GetName()
		for _, key := range []string{krm.RenderedBy, krm.PathAnnotation} {
			if a[key] != "" {
				title += " " + a[key]
			}
		}
		out = append(out, title)
	}
	return out
}

// run runs a function that must succeed.
func run(t testing.TB, in string) []byte {
	t.Helper()
	out, err := function(t).Run(t.Context(), strings.NewReader(in))
	require.NoError(t, err)
	return out.List
}

const foreign = `
# what a user wrote
apiVersion: v1
kind: ConfigMap # kpt-set: ${kind}
metadata:
  name: theirs
  annotations: {config.kubernetes.io/path: a/b.yaml, internal.config.kubernetes.io/path: a/b.yaml, internal.config.kubernetes.io/index: '2', internal.config.kubernetes.io/id: '7'}
data:
  z: "yes"
  a: |
    text

      more
`

func TestItemsOfOthersPassThroughAsTheyAre(t *testing.T) {
	in := list(inline("web", configMap("one", "1")), foreign, "kind: Odd\nlist: [1, 2]\n")
	out := run(t, in)
	before, _ := read(t, []byte(in))
	after, results := read(t, out)
	require.Empty(t, results)
	require.Len(t, after, 3)
	for i, item := range before {
		require.Equal(t, item.MustString(), after[i].MustString(), "comments, styles and order of keys too")
	}
	require.Equal(t, "ConfigMap one web web/configmap-one.yaml", titles(after)[2])
	require.Contains(t, string(out), "functionConfig:\n  apiVersion: ropewalk.dev/v1alpha1\n")
}

func TestASecondRunChangesNothing(t *testing.T) {
	first := run(t, list(inline("web", configMap("one", "1")+configMap("two", "2")), foreign))
	require.Equal(t, string(first), string(run(t, string(first))))
}

func TestWhatAnEarlierRunLeftIsReplacedOrGoes(t *testing.T) {
	first := run(t, list(inline("web", configMap("one", "1")+configMap("two", "2")), foreign))
	moved := strings.ReplaceAll(string(first), "web/configmap-one.yaml", "moved.yaml")
	require.NotEqual(t, string(first), moved)
	items, _ := read(t, []byte(moved))
	var texts []string
	for _, i := range items {
		texts = append(texts, i.MustString())
	}
	second := run(t, list(inline("web", configMap("one", "changed")+configMap("three", "3")), texts...))
	after, _ := read(t, second)
	require.Equal(t, []string{
		"ConfigMap theirs a/b.yaml", "ConfigMap one web moved.yaml", "ConfigMap three web web/configmap-three.yaml",
	}, titles(after))
	require.Contains(t, after[1].MustString(), "changed")

	other := run(t, list(inline("other", configMap("four", "4")), texts...))
	after, _ = read(t, other)
	require.Len(t, after, 4, "what another spec rendered stays")
}

func TestAnObjectOfAnotherIsNeverReplaced(t *testing.T) {
	theirs := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: %s, annotations: {config.kubernetes.io/path: x.yaml}}\ndata: {k: \"%s\"}\n"
	made := run(t, list(inline("web", configMap("one", "1"))))
	items, _ := read(t, made)
	namespace := items[0].GetNamespace()
	theirs = strings.ReplaceAll(theirs, "namespace: %s", "namespace: \""+namespace+"\"")
	if namespace == "" {
		theirs = strings.ReplaceAll(theirs, "namespace: \"\", ", "")
	}

	same := run(t, list(inline("web", configMap("one", "1")), fmt.Sprintf(theirs, "1")))
	items, _ = read(t, same)
	require.Equal(t, []string{"ConfigMap one"}, titles(items), "it says the same, so that one is enough, and stays theirs")

	in := list(inline("web", configMap("one", "1")), fmt.Sprintf(theirs, "2"))
	out, err := function(t).Run(t.Context(), strings.NewReader(in))
	require.ErrorContains(t, err, "ConfigMap")
	require.ErrorContains(t, err, "is an item already that this function did not render: x.yaml")
	items, results := read(t, out.List)
	require.Equal(t, []string{"ConfigMap one"}, titles(items), "the items are what they were")
	require.Len(t, results, 1)
	require.Equal(t, "error", results[0].Severity)
}

func TestAProjectRendersTheSpecsAmongTheItems(t *testing.T) {
	project := `
apiVersion: ropewalk.dev/v1alpha1
kind: Project
metadata:
  name: shop
  annotations: {ropewalk.dev/environment: prod}
spec:
  environments:
    prod:
      context: {namespace: prod}
      inputs: {web: {replicas: 4}}
`
	web := `
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: web, annotations: {config.kubernetes.io/local-config: "true"}}
spec:
  cueRef: {type: embedded, ref: webservice}
  dependsOn: [config]
  input: {image: "ghcr.io/stefanprodan/podinfo:6.9.2"}
`
	out := run(t, list(project, web, inline("config", configMap("one", "1"))))
	items, _ := read(t, out)
	require.Equal(t, []string{
		"Transform web", "Transform config", "ConfigMap one shop/config config/configmap-one.yaml",
	}, titles(items)[:3], "specs stay, and what others depend on comes first")
	require.Contains(t, string(out), "replicas: 4")
	require.Contains(t, string(out), "namespace: prod")
	require.Equal(t, string(out), string(run(t, string(out))))

	// A spec that is gone takes its objects with it.
	var texts []string
	for _, i := range items {
		if i.GetName() != "config" {
			texts = append(texts, i.MustString())
		}
	}
	texts[0] = strings.ReplaceAll(texts[0], "dependsOn: [config]", "dependsOn: []")
	items, _ = read(t, run(t, list(project, texts...)))
	require.NotContains(t, titles(items), "ConfigMap one shop/config config/configmap-one.yaml")
}

// Orchestrators pass the files of a folder as items, and a project names files of it too.
func TestAFileThatIsAnItemIsOneSpec(t *testing.T) {
	f := function(t)
	dir := f.Options.Dir
	project := "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop%s}\nspec: {specs: [%s]}\n"
	file := func(name, value string) string { return inline(name, configMap(name, value)) }
	item := func(name, value, annotations string) string {
		return strings.Replace(file(name, value), "{name: "+name+"}", "{name: "+name+", annotations: {"+annotations+"}}", 1)
	}
	for name, text := range map[string]string{
		"ropewalk.yaml": fmt.Sprintf(project, "", `"*.yaml"`), "one.yaml": file("one", "disk"), "two.yaml": file("two", "disk"), "three.yaml": file("three", "disk"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	one := item("one", "item", "internal.config.kubernetes.io/path: ./one.yaml")
	for _, specs := range []string{`"*.yaml"`, "one.yaml, two.yaml, three.yaml", `"one.*", two.yaml, "th*.yaml"`} {
		config := fmt.Sprintf(project, ", annotations: {config.kubernetes.io/path: ropewalk.yaml}", specs)
		out, err := f.Run(t.Context(), strings.NewReader(list(config, one, item("two", "item", "config.kubernetes.io/path: two.yaml"))))
		require.NoError(t, err, specs)
		items, _ := read(t, out.List)
		got := map[string]string{}
		for _, i := range items {
			if i.GetKind() == "ConfigMap" {
				got[i.GetName()] = i.GetDataMap()["k"]
			}
		}
		require.Equal(t, map[string]string{"one": "item", "two": "item", "three": "disk"}, got, specs)
	}
	unnamed, own := fmt.Sprintf(project, "", `"*.yaml"`), fmt.Sprintf(project, ", annotations: {config.kubernetes.io/path: ropewalk.yaml}", `"*.yaml"`)
	_, err := f.Run(t.Context(), strings.NewReader(list(unnamed, own, one)))
	require.NoError(t, err, "the project is an item too")
	other := item("one", "item", "config.kubernetes.io/path: elsewhere.yaml")
	_, err = f.Run(t.Context(), strings.NewReader(list(fmt.Sprintf(project, "", "one.yaml"), other)))
	require.ErrorContains(t, err, `a second spec is called "one"`)
}

func TestAWorkloadIsAFunctionConfigWhoseOrchestratorIsNotPassedOn(t *testing.T) {
	out := run(t, list(`
apiVersion: ropewalk.dev/v1alpha1
kind: Workload
metadata:
  name: api
  annotations: {config.kubernetes.io/local-config: "true", config.kubernetes.io/function: "exec: {path: x}", team: core}
spec:
  containers: {api: {image: ghcr.io/stefanprodan/podinfo:6.9.2}}
  service: {ports: {http: {port: 80, targetPort: 9898}}}
`))
	items, _ := read(t, out)
	require.NotEmpty(t, items)
	for _, i := range items {
		require.NotContains(t, i.GetAnnotations(), "config.kubernetes.io/local-config", "kustomize would drop it")
		require.NotContains(t, i.GetAnnotations(), "config.kubernetes.io/function")
	}
}

func TestAModuleIsAConfigMapAmongTheItems(t *testing.T) {
	module := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: module, annotations: {config.kubernetes.io/path: m.yaml}}\ndata:\n  main.cue: |\n    package main\n" +
		indent(indent(configMap("one", "1")))
	config := "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\nspec: {cueRef: {type: configmap, ref: module}}\n"
	unread := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unread}\ndata: {x: \"" + strings.Repeat("x", 5<<20) + "\"}\n"
	items, _ := read(t, run(t, list(config, module, unread)))
	require.Equal(t, "ConfigMap one web web/configmap-one.yaml", titles(items)[2])

	broken := strings.Replace(module, "package main", "package main\n    broken: 1 & 2", 1)
	out, err := function(t).Run(t.Context(), strings.NewReader(list(config, broken)))
	require.Error(t, err)
	_, results := read(t, out.List)
	require.NotEmpty(t, results)
	require.Equal(t, "m.yaml", results[0].File.Path, "%s", out.List)
	require.Equal(t, `data["main.cue"]`, results[0].Field.Path)
	require.Contains(t, results[0].Message, "line 2: ")
}

func TestDialectComesFromTheAnnotationAndTheCallerWins(t *testing.T) {
	config := strings.Replace(inline("web", configMap("one", "1")), "{name: web}",
		"{name: web, annotations: {ropewalk.dev/dialect: argocd}}", 1)
	require.Contains(t, string(run(t, list(config))), "argocd.argoproj.io/sync-wave")
	f := function(t)
	f.Options.Context.Engine, f.Options.Emit.Dialect = "plain", "plain"
	out, err := f.Run(t.Context(), strings.NewReader(list(config)))
	require.NoError(t, err)
	require.NotContains(t, string(out.List), "sync-wave")
}

func TestPathsDoNotMeet(t *testing.T) {
	module := ""
	for i, o := range []string{
		`apiVersion: "v1", kind: "ConfigMap", metadata: {name: "x", namespace: "a"}`,
		`apiVersion: "v1", kind: "ConfigMap", metadata: {name: "x", namespace: "b"}`,
		`apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: name: "a:b", rules: []`,
		`apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: name: "a-b", rules: []`,
	} {
		module += fmt.Sprintf("o%d: {%s}\n", i, o)
	}
	items, _ := read(t, run(t, list(inline("web", module))))
	seen := map[string]bool{}
	for _, i := range items {
		path := i.GetAnnotations()[krm.PathAnnotation]
		require.False(t, seen[path], path)
		seen[path] = true
	}
	require.Len(t, seen, 4)
	require.Contains(t, seen, "web/configmap-a-x.yaml")
}

func TestAliasesBetweenItemsAreWrittenOut(t *testing.T) {
	in := list(inline("web", configMap("one", "1")),
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, annotations: {ropewalk.dev/rendered-by: web}}\ndata: &d {k: v}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs}\ndata: *d\n")
	items, _ := read(t, run(t, in))
	require.Equal(t, "theirs", items[0].GetName())
	require.Equal(t, map[string]string{"k": "v"}, items[0].GetDataMap())
}

func TestJSONIsReadToo(t *testing.T) {
	in := `{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"theirs"},"data":{"a":"\/\ud83d\ude00"}}],
"functionConfig":{"apiVersion":"ropewalk.dev/v1alpha1","kind":"Transform","metadata":{"name":"web"},"spec":{"cueRef":{"type":"inline","ref":"one: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"one\"}"}}}}`
	items, _ := read(t, run(t, in))
	require.Equal(t, map[string]string{"a": "/😀"}, items[0].GetDataMap())
	require.Len(t, items, 2)
}

func TestARunThatIsCancelledSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := function(t).Run(ctx, strings.NewReader(list(inline("web", configMap("one", "1")))))
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, out.List)
}

func TestInputThatCannotBeReadIsNoMistake(t *testing.T) {
	broken := errors.New("broken pipe")
	_, err := function(t).Run(t.Context(), failing{broken})
	require.ErrorIs(t, err, broken)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
