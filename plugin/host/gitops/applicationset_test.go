// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// set returns an ApplicationSet with generators, in YAML below spec.
func set(goTemplate, generators, name, template string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\nspec:\n  goTemplate: " + goTemplate +
		"\n  generators:\n" + generators + "\n  template:\n    metadata: {name: '" + name + "'}\n    spec: " + template + "\n"
}

func TestGeneratorsGiveApplications(t *testing.T) {
	const path = "{destination: {namespace: shop}, source: {repoURL: https://git.example.com/acme/fleet, path: PATH}}"
	files := map[string]string{
		"apps/web/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "apps/api/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"apps/old/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"envs/prod.json":  `{"env": {"name": "prod"}, "apps": ["web"]}`, "envs/deep/dev.json": `{"env": {"name": "dev"}}`,
		"clusters.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: blue, labels: {argocd.argoproj.io/secret-type: cluster, tier: prod}}\nstringData: {name: blue, server: https://blue.example.com}\n# argoproj.io\n",
	}
	for name, c := range map[string]struct {
		goTemplate, generators, name, path string
		want                               []string
	}{
		"a list": {"false", "  - list: {elements: [{app: web}, {app: api}]}", "{{app}}", "apps/{{app}}", []string{"api apps/api/a.yaml", "web apps/web/a.yaml"}},
		"a list of maps, in Go": {
			"true", "  - list: {elements: [{app: {name: web}}]}", "{{.app.name | upper | lower}}-{{len .app}}", "apps/{{.app.name}}", []string{"web-1 apps/web/a.yaml"},
		},
		"folders": {
			"false", "  - git: {repoURL: https://git.example.com/acme/fleet, directories: [{path: apps/*}, {path: apps/old, exclude: true}]}", "{{path.basename}}-{{path[0]}}", "{{path}}",
			[]string{"api-apps apps/api/a.yaml", "web-apps apps/web/a.yaml"},
		},
		"folders, in Go": {
			"true", "  - git: {repoURL: https://git.example.com/acme/fleet, directories: [{path: apps/w*}]}", "{{.path.basename}}-{{index .path.segments 0}}", "{{.path.path}}", []string{"web-apps apps/web/a.yaml"},
		},
		"files": {
			"true", "  - git: {repoURL: https://git.example.com/acme/fleet, files: [{path: 'envs/*.json'}], values: {app: '{{ .env.name }}'}}", "{{.values.app}}-{{.path.filename}}", "apps/web",
			[]string{"dev-dev.json apps/web/a.yaml", "prod-prod.json apps/web/a.yaml"},
		},
		"a matrix": {
			"false", "  - matrix: {generators: [{list: {elements: [{app: web}, {app: api}]}}, {list: {elements: [{env: '{{app}}-1'}, {env: b}]}}]}", "{{app}}-{{env}}", "apps/{{app}}",
			[]string{"api-api-1 apps/api/a.yaml", "api-b apps/api/a.yaml", "web-b apps/web/a.yaml", "web-web-1 apps/web/a.yaml"},
		},
		"a merge": {
			"false", "  - merge: {mergeKeys: [app], generators: [{list: {elements: [{app: web, n: '1'}, {app: api, n: '1'}]}}, {list: {elements: [{app: api, n: '2'}]}}]}", "{{app}}-{{n}}", "apps/{{app}}",
			[]string{"api-2 apps/api/a.yaml", "web-1 apps/web/a.yaml"},
		},
		"clusters of the repository": {
			"true", "  - clusters: {selector: {matchLabels: {tier: prod}}}", "{{.name}}-{{.metadata.labels.tier}}", "apps/web", []string{"blue-prod apps/web/a.yaml"},
		},
		"the cluster of Argo CD": {"false", "  - clusters: {}", "{{name}}", "apps/web", []string{"blue apps/web/a.yaml", "in-cluster apps/web/a.yaml"}},
		"a selector":             {"false", "  - list: {elements: [{app: web}, {app: api}]}\n    selector: {matchLabels: {app: web}}", "{{app}}", "apps/{{app}}", []string{"web apps/web/a.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := maps.Clone(files)
			all["set.yaml"] = set(c.goTemplate, c.generators, c.name, strings.ReplaceAll(path, "PATH", "'"+c.path+"'"))
			got := expand(t, all, "https://git.example.com/acme/fleet")
			require.Empty(t, got.Warnings)
			var found []string
			for _, u := range got.Units {
				require.Nil(t, u.Problem)
				require.Equal(t, "set", u.Parents[0].Name)
				require.Equal(t, "shop", u.Namespace)
				found = append(found, u.Name+" "+strings.Split(string(u.Components[0].JSON()), `"`)[5])
			}
			slices.Sort(found)
			require.Equal(t, c.want, found)
		})
	}
}

func TestWhatIsNotExpandedIsNamed(t *testing.T) {
	const source = "{source: {repoURL: https://git.example.com/acme/fleet, path: apps}}"
	for name, c := range map[string]struct{ goTemplate, generators, name, want string }{
		"a server":            {"false", "  - pullRequest: {github: {}}", "a", `set.yaml:7:18: spec: ApplicationSet/argocd/set is not expanded: the generator pullRequest asks a server`},
		"another repository":  {"false", "  - git: {repoURL: https://git.example.com/acme/other, directories: []}", "a", `set.yaml:7:20: spec: ApplicationSet/argocd/set is not expanded: the generator reads the repository https://git.example.com/acme/other`},
		"unknown clusters":    {"false", "  - clusters: {selector: {matchLabels: {a: b}}}", "a", `the clusters of the generator are in no file of the repository`},
		"a broken template":   {"true", "  - list: {elements: [{x: z}]}", "{{ .a | nothing }}", `set.yaml:9:22: spec: ApplicationSet/argocd/set is not expanded: the template cannot be filled: function "nothing" not defined`},
		"an endless template": {"true", "  - list: {elements: [{x: z}]}", "{{ range 1000000000 }}{{ range 1000000000 }}{{ end }}{{ end }}", `its loops have more than 100000 rounds`},
		"a long template":     {"true", "  - list: {elements: [{x: z}]}", `{{ repeat 100000000 "abc" }}`, `repeat makes more than 4194304 bytes`},
		"a template of templates": {
			"true", "  - list: {elements: [{x: z}]}", `{{ define "a" }}{{ template "b" }}{{ template "b" }}{{ end }}{{ define "b" }}{{ template "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`, "is not expanded",
		},
		"a text that doubles":    {"true", "  - list: {elements: [{x: z}]}", `{{ $a := "0123456789abcdef" }}` + strings.Repeat("{{ $a = print $a $a }}", 40), "print is called with more than 4194304 bytes"},
		"a text of a product":    {"true", "  - list: {elements: [{x: z}]}", `{{ $a := repeat 10000 "ab" }}{{ replace "" $a $a }}`, "replace is called with more than 16384 bytes"},
		"many numbers":           {"true", "  - list: {elements: [{x: z}]}", "{{ until 1000000000 }}", `it counts further than 100000`},
		"a deep matrix":          {"false", "  - " + strings.Repeat("matrix: {generators: [{", 6) + "list: {}" + strings.Repeat("}, {list: {}}]}", 6), "a", `generators are nested more than 3 deep`},
		"a wide matrix":          {"true", "  - matrix: {generators: [{list: {elementsYaml: '" + wide() + "'}}, {list: {elementsYaml: '" + wide() + "'}}]}", "a", `the matrix has more than 10000 elements`},
		"numbers without an end": {"true", "  - list: {elements: [{x: z}]}", "{{ untilStep 9223372036854775797 9223372036854775807 100 }}", `it counts further than 100000`},
		"numbers down":           {"true", "  - list: {elements: [{x: z}]}", "{{ seq -1000000000 }}", `it counts further than 100000`},
		"lists of numbers":       {"true", "  - list: {elements: [{x: z}]}", "{{ $a := until 100000 }}{{ range until 2000 }}{{ $a = concat $a $a }}{{ end }}", `concat is called with more than 16384 bytes`},
		"lists of lists":         {"true", "  - list: {elements: [{x: z}]}", "{{ $a := list }}" + strings.Repeat("{{ $a = list $a $a }}", 60), `list is called with more than 16384 bytes`},
		"a map of itself":        {"true", "  - list: {elements: [{x: z}]}", `{{ $a := dict }}{{ $b := set $a "a" $a }}{{ $a }}`, `the templates do more than can be done here`},
		"a text of escapes":      {"true", "  - list: {elements: [{x: z}]}", `{{ $a := "<" }}` + strings.Repeat("{{ $a = js $a }}", 60), `js is called with more than 16384 bytes`},
		"a wide number":          {"true", "  - list: {elements: [{x: z}]}", "{{ printf `%999999[1]d` 1 }}", `printf takes widths of at most 999`},
		"work in each round":     {"true", "  - list: {elements: [{x: z}]}", "{{ range until 99000 }}{{ $a := regexReplaceAll `.*` (repeat 8000 `a`) (repeat 3900 `$0`) }}{{ end }}", `the templates do more than can be done here`},
		"slow keys":              {"true", "  - list: {elements: [{x: z}]}", "{{ range until 1000 }}{{ derivePassword 1 `long` `a` `b` `c` }}{{ end }}", `the templates do more than can be done here`},
		"chance":                 {"true", "  - list: {elements: [{x: z}]}", "{{ shuffle `abc` }}", `function "shuffle" not defined`},
		"a certificate":          {"true", "  - list: {elements: [{x: z}]}", "{{ (genCA `a` 1).Cert }}", `function "genCA" not defined`},
		"keys that are objects":  {"true", "  - merge: {mergeKeys: [{a: b}], generators: [{list: {}}, {list: {}}]}", "a", `set.yaml:7:25: spec: ApplicationSet/argocd/set is not expanded: a key of mergeKeys is no text (write the name of a parameter, in quotes)`},
		"many generators":        {"true", strings.Repeat("  - list: {elementsYaml: '"+wide()+"'}\n", 11), "a{{ index . `a` }}", `set.yaml:17:5: spec: ApplicationSet/argocd/set is not expanded: its generators have more than 10000 elements`},
		"a clock":                {"true", "  - list: {elements: [{x: z}]}", "{{ now }}", `function "now" not defined`},
		"an environment":         {"true", "  - list: {elements: [{x: z}]}", `{{ env "HOME" }}`, `function "env" not defined`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Join(summary(expand(t, map[string]string{"set.yaml": set(c.goTemplate, c.generators, c.name, source)}, "https://git.example.com/acme/fleet")), "\n")
			require.Contains(t, text, c.want)
		})
	}
}

// TestTheTemplatesOfALargeSetAreFilled: what each of them does is little, and so is all of it.
func TestTheTemplatesOfALargeSetAreFilled(t *testing.T) {
	start := time.Now()
	elements := "  - list: {elementsYaml: '[" + strings.Repeat("{a: b, c: d},", 9000) + "]'}"
	annotations := ""
	for i := range 12 {
		annotations += fmt.Sprintf("a%d: '{{ .a | upper }}', ", i)
	}
	got := expand(t, map[string]string{
		"set.yaml": strings.Replace(set("true", elements, "a", "{source: {repoURL: https://git.example.com/acme/fleet, path: apps}}"), "metadata: {name: 'a'", "metadata: {annotations: {"+annotations+"}, name: 'a'", 1),
	}, "https://git.example.com/acme/fleet")
	require.NotContains(t, got.Warnings.Error(), "is not expanded")
	require.Less(t, time.Since(start), time.Minute)
}

// TestMapsOfATemplateAreSorted: the library gives names and values in another order each time.
func TestMapsOfATemplateAreSorted(t *testing.T) {
	name := "{{ $a := dict }}{{ range until 9 }}{{ $b := set $a (toString .) (toString .) }}{{ end }}{{ keys $a | join `` }}-{{ values $a | join `` }}"
	got := expand(t, map[string]string{
		"set.yaml":    set("true", "  - list: {elements: [{x: z}]}", name, "{source: {repoURL: https://git.example.com/acme/fleet, path: apps}}"),
		"apps/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	}, "https://git.example.com/acme/fleet")
	require.Empty(t, got.Warnings)
	require.Equal(t, "012345678-012345678", got.Units[0].Name)
}

// TestAWidePatchIsLaidOver: a patch of tens of thousands of fields takes no minutes.
func TestAWidePatchIsLaidOver(t *testing.T) {
	start := time.Now()
	text := set("true", "  - list: {elements: [{x: z}]}", "a", "{source: {repoURL: https://git.example.com/acme/fleet, path: apps}}") +
		"  templatePatch: |\n    metadata:\n      annotations:\n        {{- range until 60000 }}\n        a{{ . }}: b\n        {{- end }}\n"
	got := expand(t, map[string]string{"set.yaml": text, "apps/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}, "https://git.example.com/acme/fleet")
	require.Empty(t, got.Warnings)
	require.Len(t, got.Units, 1)
	require.Less(t, time.Since(start), 20*time.Second)
}

// TestApplicationsOfOneNameAreNamed: Argo CD applies none of them, and the first is shown.
func TestApplicationsOfOneNameAreNamed(t *testing.T) {
	const source = "{source: {repoURL: https://git.example.com/acme/fleet, path: apps}}"
	files := map[string]string{
		"set.yaml":    set("false", "  - list: {elements: [{app: web}, {app: web}, {app: api}]}", "{{app}}", source),
		"apps/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	}
	got := expand(t, files, "https://git.example.com/acme/fleet")
	require.Len(t, got.Units, 2)
	require.EqualError(t, got.Warnings, `set.yaml:9:22: spec: ApplicationSet/argocd/set makes more than one Application "web", and Argo CD applies none of them (give each a name of its own)`)
}

// A cluster whose Secret is encrypted is named.
func TestAClusterThatIsEncryptedIsNamed(t *testing.T) {
	files := fleetWith(t, map[string]string{
		"set.yaml":        set("false", "  - clusters: {selector: {matchLabels: {tier: dev}}}", "{{name}}", "{source: {repoURL: https://git.example.com/acme/fleet, path: apps/web}}"),
		"clusters/c.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: c, labels: {argocd.argoproj.io/secret-type: cluster, tier: dev}}\nstringData: {name: 'ENC[x]'}\n",
	})
	got := expand(t, files, "https://git.example.com/acme/fleet")
	require.Len(t, got.Units, 1)
	require.Equal(t, "green", got.Units[0].Name)
	require.EqualError(t, got.Warnings, "clusters/c.yaml:1:1: spec: Secret/c is a cluster, and its values are in the cluster alone: no Application is expanded for it")
}

// wide returns a list of 1,000 elements.
func wide() string { return "[" + strings.Repeat("{a: b},", 1000) + "]" }
