// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// head begins a Transform that is whole but for what follows below spec.
const head = `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: api}
spec:
  cueRef: {type: path, ref: ./modules/api}
`

// lines are the messages of err, one for each mistake.
func lines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func parse(t *testing.T, text string) (spec.Documents, []string) {
	t.Helper()
	docs, err := spec.Parse([]spec.File{{Name: "a.yaml", Data: []byte(text)}})
	return docs, lines(err)
}

func TestParseReadsAWholeTransform(t *testing.T) {
	docs, errs := parse(t, `# a comment
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata:
  name: api
  namespace: shop
  labels: {team: web}
spec:
  cueRef:
    type: git
    ref: https://git.example/modules
    path: api
    pullSecretRef: {name: git}
    verify: {provider: pgp, secretRef: {name: keys}}
  tags: {env: prod, level: 3, debug: true, version: 1.10}
  dependsOn: [db, cache]
  input:
    replicas: 2
    image: nginx
  policies:
    - name: registry
      cueRef: {type: embedded, ref: policies}
      input: {allow: [ghcr.io]}
  adopt: Never
  allowSecrets: [seed]
`)
	require.Empty(t, errs)
	require.Len(t, docs.Transforms, 1)
	got := docs.Transforms[0]
	require.Equal(t, "api", got.Name)
	require.Equal(t, "shop", got.Namespace)
	require.Equal(t, object.Pos{File: "a.yaml", Line: 5, Column: 9}, got.NamePos)
	require.EqualValues(t, "git", got.CueRef.Type)
	require.Equal(t, "git", got.CueRef.PullSecretRef)
	require.Equal(t, &spec.Verify{Provider: "pgp", SecretRef: "keys"}, got.CueRef.Verify)
	require.Equal(t, object.Pos{File: "a.yaml", Line: 11, Column: 10}, got.CueRef.RefPos)
	require.Equal(t, map[string]string{"env": "prod", "level": "3", "debug": "true", "version": "1.10"}, got.Tags)
	require.Equal(t, object.SpecDependency{Name: "cache", Pos: object.Pos{File: "a.yaml", Line: 16, Column: 19}}, got.DependsOn[1])
	require.JSONEq(t, `{"replicas":2,"image":"nginx"}`, string(got.Input.JSON()))
	require.Equal(t, object.Pos{File: "a.yaml", Line: 18, Column: 15}, got.Input.NearestPos(object.Fields("replicas")))
	require.Equal(t, "registry", got.Policies[0].Name)
	require.JSONEq(t, `{"allow":["ghcr.io"]}`, string(got.Policies[0].Input.JSON()))
	require.Equal(t, object.AdoptNever, got.Adopt)
	require.Equal(t, []string{"seed"}, got.AllowSecrets)
}

func TestParseReadsAWholeProject(t *testing.T) {
	docs, errs := parse(t, `apiVersion: ropewalk.dev/v1alpha1
kind: Project
metadata: {name: shop}
spec:
  specs: [specs, "more/*.yaml"]
  context: {namespace: shop, clusterDomain: k8s.example, kubeVersion: "v1.35", engine: flux}
  policies:
    - {name: limits, cueRef: {type: embedded, ref: policies}}
  environments:
    prod:
      context: {namespace: shop-prod}
      inputs:
        api: {replicas: 5}
    test:
`)
	require.Empty(t, errs)
	p := docs.Projects[0]
	require.Equal(t, "shop", p.Name)
	require.Equal(t, "more/*.yaml", p.Specs[1].Glob)
	require.Equal(t, object.Pos{File: "a.yaml", Line: 5, Column: 18}, p.Specs[1].Pos)
	require.Equal(t, "1.35", p.Context.KubeVersion)
	require.Equal(t, []string{"prod", "test"}, object.SortedKeys(p.Environments))

	ctx, inputs, err := p.Overlay("prod", []string{"api"})
	require.NoError(t, err)
	require.Equal(t, "shop-prod", ctx.Namespace)
	require.Equal(t, "k8s.example", ctx.ClusterDomain)
	require.JSONEq(t, `{"replicas":5}`, string(inputs["api"].Value.JSON()))

	_, _, err = p.Overlay("prdo", []string{"app"})
	require.Equal(t, []string{
		`--env prdo: spec: environment "prdo" is not known (did you mean "prod"?)`,
		`a.yaml:13:9: spec: spec.environments.prod.inputs.api: there is no spec "api" (did you mean "app"?)`,
	}, lines(err))
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an unknown field suggests the nearest": {
			head + "  polices: []\n", `a.yaml:6:3: spec: spec.polices: unknown field "polices" (did you mean "policies"?)`},
		"a far-off field lists the known ones": {
			head + "  zebra: 1\n", `a.yaml:6:3: spec: spec.zebra: unknown field "zebra" (known: adopt, allowSecrets, component, cueRef, dependsOn, input, overlays, policies, policyOverrides, tags)`},
		"a wrong type": {
			head + "  dependsOn: db\n", `a.yaml:6:14: spec: spec.dependsOn: expected a list, got a string`},
		"a number where text is wanted": {
			head + "  dependsOn: [1]\n", `a.yaml:6:15: spec: spec.dependsOn[0]: expected a string, got a number (write it in quotes: "1")`},
		"an input that is no map": {
			head + "  input: [1]\n", `a.yaml:6:10: spec: spec.input: expected a map, got a list`},
		"a value that is not in the set": {
			head + "  adopt: never\n", `a.yaml:6:10: spec: spec.adopt: "never" is not known: expected Never, TakeOwnership, Mirror (did you mean "Never"?)`},
		"a dependency on itself": {
			head + "  dependsOn: [api]\n", `a.yaml:6:15: spec: spec.dependsOn[0]: "api" depends on itself (remove the dependency)`},
		"a dependency that is named twice": {
			head + "  dependsOn: [db, db]\n", `a.yaml:6:19: spec: spec.dependsOn[1]: "db" is written twice`},
		"a bad name": {
			strings.Replace(head, "name: api", "name: Api_1", 1), `a.yaml:3:18: spec: metadata.name: "Api_1" may hold only a-z, 0-9 and -`},
		"a missing reference": {
			strings.Replace(head, ", ref: ./modules/api", "", 1), `a.yaml:5:11: spec: spec.cueRef.ref: is missing (write the path, the name, the text or the URL of the module)`},
		"a reference that is only its text": {
			strings.Replace(head, "{type: path, ref: ./modules/api}", "./modules/api", 1),
			`a.yaml:5:11: spec: spec.cueRef: expected a map, got a string (write {type: path, ref: "./modules/api"})`},
		"a reference that is only a URL": {
			strings.Replace(head, "{type: path, ref: ./modules/api}", "oci://ghcr.io/a/b:1", 1),
			`a.yaml:5:11: spec: spec.cueRef: expected a map, got a string (write {type: …, ref: "oci://ghcr.io/a/b:1"} with the type git or oci)`},
		"a reference without a type": {
			strings.Replace(head, "type: path, ", "", 1),
			`a.yaml:5:11: spec: spec.cueRef.type: is missing (write one of path, embedded, inline, configmap, git, oci, source)`},
		"a required field with a typo is one mistake": {
			strings.Replace(head, "cueRef:", "cueref:", 1), `a.yaml:5:3: spec: spec.cueref: unknown field "cueref" (did you mean "cueRef"?)`},
		"a required map with a typo is one mistake": {
			strings.Replace(head, "metadata:", "metdata:", 1), `a.yaml:3:1: spec: metdata: unknown field "metdata" (did you mean "metadata"?)`},
		"a field beside spec": {
			head + "input: {}\n", `a.yaml:6:1: spec: input: unknown field "input" (move it under spec)`},
		"no space behind a colon": {
			strings.Replace(head, "metadata: {name: api}", "metadata:\n  name:api", 1),
			`a.yaml:4:3: spec: metadata: expected a map, got a string (write a space behind the colon: "name: api")`},
		"a signature on what is not fetched": {
			strings.Replace(head, "ref: ./modules/api", "ref: x, verify: {provider: pgp}", 1),
			`a.yaml:5:40: spec: spec.cueRef.verify: has no meaning for type "path" (remove it)`},
		"another version of ours": {
			strings.Replace(head, "v1alpha1", "v1", 1), `a.yaml:1:13: spec: apiVersion: "ropewalk.dev/v1" is not known: expected ropewalk.dev/v1alpha1`},
		"a kind with a typo": {
			strings.Replace(head, "Transform", "Transfor", 1), `a.yaml:2:7: spec: kind: "Transfor" is not known (did you mean "Transform"?)`},
		"no apiVersion": {
			strings.SplitN(head, "\n", 2)[1], `a.yaml:1:1: spec: apiVersion: is missing (write apiVersion: ropewalk.dev/v1alpha1)`},
		"a manifest of others alone": {
			"apiVersion: apps/v1\nkind: Deployment\n",
			`a.yaml: spec: contains no document of ropewalk.dev/v1alpha1 (a spec begins with apiVersion: ropewalk.dev/v1alpha1 and kind: Transform or Workload, a Score file with apiVersion: score.dev/v1b1)`},
		"an empty file": {
			"# nothing\n",
			`a.yaml: spec: contains no document of ropewalk.dev/v1alpha1 (a spec begins with apiVersion: ropewalk.dev/v1alpha1 and kind: Transform or Workload, a Score file with apiVersion: score.dev/v1b1)`},
		"a bundle of Timoni": {
			"bundle:\n  apiVersion: v1alpha1\n  instances: {}\n", `a.yaml:2:3: spec: a bundle of Timoni in YAML or JSON is not read (write it as CUE: cue import a.yaml)`},
		"a list as a document": {"- 1\n", `a.yaml:1:1: spec: expected a document with apiVersion and kind, got a list`},
		"two specs of one name": {
			head + "---\n" + head, `a.yaml:9:18: spec: metadata.name: a second spec is called "api"; the first is at a.yaml:3:18`},
		"a kube version that YAML would shorten": {
			"apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: p}\nspec: {context: {kubeVersion: 1.30}}\n",
			`a.yaml:4:31: spec: spec.context.kubeVersion: expected a string, got a number (write it in quotes: "1.30")`},
		"a pattern that is absolute": {
			"apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: p}\nspec: {specs: [/etc]}\n",
			`a.yaml:4:16: spec: spec.specs[0]: "/etc" is not a path relative to the project's folder, with / between folders`},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := parse(t, c.text)
			require.Equal(t, []string{c.want}, errs)
		})
	}
}

func TestParseReportsAllMistakesOfAllFilesInOrder(t *testing.T) {
	files := []spec.File{
		{Name: "b.yaml", Data: []byte(head + "  inputs: {}\n  dependsOn: {}\n")},
		{Name: "a.yaml", Data: []byte("kind: Transform\n---\na: [\n---\n" + head + "  tags: 1\n")},
	}
	_, err := spec.Parse(files)
	require.Equal(t, []string{
		`a.yaml:1:1: spec: apiVersion: is missing (write apiVersion: ropewalk.dev/v1alpha1)`,
		`a.yaml:1:1: spec: metadata: is missing (write metadata: {name: …})`,
		`a.yaml:1:1: spec: spec: is missing`,
		`a.yaml:3:4: spec: the "[" is not closed (write "]" behind its last item)`,
		`a.yaml:7:18: spec: metadata.name: a second spec is called "api"; the first is at b.yaml:3:18`,
		`a.yaml:10:9: spec: spec.tags: expected a map, got a number`,
		`b.yaml:6:3: spec: spec.inputs: unknown field "inputs" (did you mean "input"?)`,
		`b.yaml:7:14: spec: spec.dependsOn: expected a list, got a map`,
	}, lines(err))
}

func TestParseLeavesFoundFilesOfOthersAlone(t *testing.T) {
	docs, err := spec.Parse([]spec.File{
		{Name: "chart.yaml", Data: []byte("kind: ConfigMap\n{{ if x }}\n"), Found: true},
		{Name: "deploy.yaml", Data: []byte("apiVersion: apps/v1\nkind: Deployment\n"), Found: true},
		{Name: "list.yaml", Data: []byte("- a\n"), Found: true},
		{Name: "module.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n"), Found: true},
		{Name: "api.yaml", Data: []byte(head), Found: true},
	})
	require.NoError(t, err)
	require.Len(t, docs.Transforms, 1)
	require.Len(t, docs.ConfigMaps, 1)
}

func TestOneProjectRefusesASecond(t *testing.T) {
	project := "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: p}\n"
	docs, errs := parse(t, project+"---\n"+project)
	require.Empty(t, errs)
	_, err := docs.OneProject()
	require.EqualError(t, err, "a.yaml:5:1: spec: a second project; the first is at a.yaml:1:1 (render one project at a time)")
}
