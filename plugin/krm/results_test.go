// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package krm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func TestMistakesAreResultsAndTheItemsStay(t *testing.T) {
	transform := func(rest string) string {
		return "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata:\n  name: web\n  annotations: {internal.config.kubernetes.io/path: web.yaml, internal.config.kubernetes.io/index: '1'}\n" + rest
	}
	for name, c := range map[string]struct{ config, field, message string }{
		"an input that the module refuses":      {transform("spec: {cueRef: {type: embedded, ref: webservice}, input: {image: a, replicas: many}}"), "spec.input.replicas", "expected an integer"},
		"a line of an inline module":            {inline("web", "a: 1\nb: 1 & 2\n"), "spec.cueRef.ref", "line 2: "},
		"an inline module of one line":          {transform("spec: {cueRef: {type: inline, ref: \"b: 1 & 2\"}}"), "spec.cueRef.ref", "b: "},
		"a field of the spec that is not known": {transform("spec: {cueRef: {type: embedded, ref: webservice}, inputs: {}}"), "spec.inputs", "did you mean"},
		"a module that is not there":            {transform("spec: {cueRef: {type: path, ref: ./none}}"), "spec.cueRef.ref", "none"},
		"a module that needs a server":          {transform("spec: {cueRef: {type: git, ref: \"https://example.com/x.git\"}}"), "spec.cueRef.type", "is not available here"},
		"a dialect that is not known":           {strings.Replace(transform("spec: {}"), "{internal", "{ropewalk.dev/dialect: argo, internal", 1), `metadata.annotations["ropewalk.dev/dialect"]`, `dialect "argo" is not known (did you mean`},
		"an annotation that is not known":       {strings.Replace(transform("spec: {}"), "{internal", "{ropewalk.dev/env: argo, internal", 1), "", "is not known"},
		"an environment without a project":      {strings.Replace(transform("spec: {cueRef: {type: embedded, ref: webservice}}"), "{internal", "{ropewalk.dev/environment: prod, internal", 1), `metadata.annotations["ropewalk.dev/environment"]`, "prod"},
		"a project without a spec":              {"apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: x}\n", "", "the project has no spec (add"},
		"a module that makes nothing":           {inline("web", "ropewalk: apiVersion: \"v1alpha1\"\ninput: {...}\ncontext: {...}\ngraph: nodes: {}\n"), "", "nothing was rendered"},
		"no functionConfig":                     {"", "", "functionConfig is missing (expected kind Apps, Component, Compose, Function, Gateway, PivotCluster, Transform"},
		"a ConfigMap as functionConfig":         {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", "", `of kind "ConfigMap"`},
		"a Score file as functionConfig":        {"apiVersion: score.dev/v1b1\nkind: x\nmetadata: {name: x}\n", "", "below spec of kind Workload"},
		"a functionConfig without a name":       {"apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\n", "", "no metadata.name"},
		"an object that the API refuses":        {inline("web", `o: {apiVersion: "apps/v1", kind: "Deployment", metadata: name: "x", spec: replicas: "2"}`), "", "spec.replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := function(t).Run(t.Context(), strings.NewReader(list(c.config, foreign)))
			var found object.Errors
			require.ErrorAs(t, err, &found)
			for _, e := range found {
				require.NotContains(t, e.Pos.File, "stdin", "%s: a place in our own text says nothing", e)
			}
			items, results := read(t, out.List)
			require.Equal(t, []string{"ConfigMap theirs a/b.yaml"}, titles(items))
			require.NotEmpty(t, results)
			require.Equal(t, "error", results[0].Severity)
			i := 0
			for i < len(results)-1 && !strings.Contains(results[i].Message, c.message) {
				i++
			}
			require.Contains(t, results[i].Message, c.message)
			if c.field != "" {
				require.Equal(t, c.field, results[i].Field.Path)
			}
			if strings.Contains(c.config, "web.yaml") {
				require.Equal(t, "web.yaml", results[i].File.Path)
				require.Equal(t, 1, results[i].File.Index)
				require.Equal(t, "web", results[i].ResourceRef.Name)
			}
		})
	}
}

func TestAViolatedPolicyIsAResult(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "cue", "examples", "violation", "ropewalk.yaml"))
	require.NoError(t, err)
	project := string(data)
	require.Contains(t, project, "kind: Project")
	web, err := os.ReadFile(filepath.Join("..", "..", "cue", "examples", "violation", "web.yaml"))
	require.NoError(t, err)
	f := function(t)
	f.Options.Dir = filepath.Join("..", "..", "cue", "examples", "violation")
	out, err := f.Run(t.Context(), strings.NewReader(list(project, string(web))))
	require.Error(t, err)
	_, results := read(t, out.List)
	var policies, severities []string
	for _, r := range results {
		if r.Tags["policy"] != "" {
			policies = append(policies, r.Tags["policy"])
			require.Contains(t, r.Message, "policy "+r.Tags["policy"]+": ")
			severities = append(severities, r.Severity)
			require.NotEmpty(t, r.Tags["node"])
		}
	}
	require.NotEmpty(t, policies, "%s", out.List)
	require.Contains(t, severities, "error")
}

func TestWarningsAreResultsAndDoNotFail(t *testing.T) {
	// A wave that waits for another is what the list of the flux dialect cannot say.
	config := `
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: web, annotations: {ropewalk.dev/dialect: flux}}
spec:
  cueRef:
    type: inline
    ref: |
      ropewalk: apiVersion: "v1alpha1"
      input: {}
      context: {...}
      graph: nodes: {
      	a: {object: {apiVersion: "example.com/v1", kind: "Thing", metadata: name: "a"}, readyWhen: [{type: "ConditionMatch", condition: "Ready"}]}
      	b: {object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "b"}, dependsOn: ["a"]}
      }
`
	out, err := function(t).Run(t.Context(), strings.NewReader(list(config)))
	require.NoError(t, err)
	items, results := read(t, out.List)
	require.Len(t, items, 2)
	require.Len(t, results, 2, "%s", out.List)
	require.Equal(t, "warning", results[0].Severity)
	require.Contains(t, results[0].Message, "the order of 2 layers is lost")
	require.Contains(t, results[1].Message, "no schema is known for example.com/v1 Thing")
	require.NotContains(t, results[1].Message, "the spec uses", "that it is about its own spec says nothing")
	require.Equal(t, "web/a", results[1].Tags["node"])
	require.Len(t, out.Warnings, 2)

	f := function(t)
	f.Strict, f.Options.SkipSchemas = true, true
	_, err = f.Run(t.Context(), strings.NewReader(list(config)))
	require.ErrorContains(t, err, "is lost")
}

func TestWhatASpecIgnoresIsAResultAndNoWarning(t *testing.T) {
	project := `
apiVersion: ropewalk.dev/v1alpha1
kind: Project
metadata: {name: shop}
spec:
  policies:
    - name: owners
      overridable: true
      cueRef:
        type: inline
        ref: |
          ropewalk: {apiVersion: "v1alpha1", kind: "Policy"}
          #Input: {}
          input: #Input
          context: {...}
          subject: {...}
          violations: [{message: "no team"}]
`
	web := inline("web", "o: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: {name: \"x\", namespace: \"x\"}}\n") +
		"  policyOverrides: [{policy: owners, action: ignore, reason: moved in May}]\n"
	out, err := function(t).Run(t.Context(), strings.NewReader(list(project, web)))
	require.NoError(t, err)
	require.Empty(t, out.Warnings)
	_, results := read(t, out.List)
	require.Len(t, results, 2, "%s", out.List)
	for _, r := range results {
		require.Equal(t, "info", r.Severity)
	}
}

func TestWhatIsNoListIsRefused(t *testing.T) {
	for name, in := range map[string]string{
		"nothing":                "",
		"no YAML":                "{",
		"another kind":           "apiVersion: v1\nkind: List\nitems: []\n",
		"another group":          "apiVersion: v1\nkind: ResourceList\n",
		"two documents":          list("") + "---\n" + list(""),
		"items that are no list": "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: {a: 1}\n",
		"a bomb of aliases": "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- &a [x,x,x,x,x,x,x,x,x,x]\n- &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n" +
			"- &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n- &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n- &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n- &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := function(t).Run(t.Context(), strings.NewReader(in))
			var found object.Errors
			require.ErrorAs(t, err, &found)
			require.Nil(t, out.List)
		})
	}
}

func TestAnItemThatWasMeantToBeASpecIsAMistake(t *testing.T) {
	project := "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: x}\n"
	for _, item := range []string{
		"apiVersion: scoredev/v1b1\nmetadata: {name: a}\ncontainers: {web: {image: x}}\n",
		"apiVersion: ropewalk.de/v1alpha1\nkind: Transform\nmetadata: {name: a}\nspec: {}\n",
		"apiVersion: v1\nkind: Workload\nmetadata: {name: a}\nspec: {containers: {web: {image: x}}}\n",
	} {
		_, err := function(t).Run(t.Context(), strings.NewReader(list(project, foreign, item)))
		require.ErrorContains(t, err, "is not known (write apiVersion: ")
	}
}
