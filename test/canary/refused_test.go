// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// refusal is where a mistake is to be told.
type refusal struct{ file, path, line string }

// refused makes a workload for each use of each secret that cannot be: where
// Kubernetes or a provisioner would need the value.
func refused(p *project, known map[kind]map[string]shape) []refusal {
	var out []refusal
	add := func(k kind, path, line string, mistake func(w *workload, body map[string]any)) {
		w := &workload{
			project: p, name: fmt.Sprintf("w%03d", len(p.workloads)), kind: "Deployment", score: len(p.workloads)%2 == 0,
			containers: []*container{{name: "main"}}, resources: []resource{
				{name: "secret", kind: k.kind, class: k.class}, {name: "outside", kind: "external-service", class: "default", params: map[string]any{"host": "a"}},
				{name: "ledger", kind: "ledger", class: "default"},
			},
		}
		w.mistake = func(document map[string]any) {
			body, isWorkload := document["spec"].(map[string]any)
			if !isWorkload {
				body = document
			}
			mistake(w, body)
		}
		if !w.score {
			path = "spec." + path
		}
		p.workloads = append(p.workloads, w)
		out = append(out, refusal{w.name + ".yaml", path, line})
	}
	for _, k := range (survey{p.backend: known}).kinds(p.backend) {
		for _, name := range slices.Sorted(maps.Keys(known[k])) {
			s, ref := known[k][name], "${resources.secret."+name+"}"
			if !s.secret {
				continue
			}
			add(k, "resources.outside.params.host", "host: a"+ref, func(_ *workload, body map[string]any) {
				set(body, "a"+ref, "resources", "outside", "params", "host")
			})
			add(k, "resources.ledger.params.list[1]", "- "+ref, func(_ *workload, body map[string]any) {
				set(body, map[string]any{"list": []string{"a", ref}}, "resources", "ledger", "params")
			})
			add(k, "containers.main.volumes./data.source", "source: "+ref, func(_ *workload, body map[string]any) {
				set(body, map[string]any{"/data": map[string]any{"source": ref}}, "containers", "main", "volumes")
			})
			if !p.inFile([]shape{s}) {
				add(k, "containers.main.files./etc/a.content", "content: a"+ref, func(_ *workload, body map[string]any) {
					set(body, map[string]any{"/etc/a": map[string]any{"content": "a" + ref}}, "containers", "main", "files")
				})
			}
			if !p.inVariable([]shape{s}) {
				add(k, "containers.main.variables.A", "A: a"+ref, func(_ *workload, body map[string]any) {
					set(body, map[string]any{"A": "a" + ref}, "containers", "main", "variables")
				})
			}
		}
	}
	return out
}

// set writes a value into maps.
func set(in map[string]any, value any, way ...string) {
	for _, name := range way[:len(way)-1] {
		in = in[name].(map[string]any)
	}
	in[way[len(way)-1]] = value
}

func TestWhatCannotBeSaidIsRefusedAtItsLine(t *testing.T) {
	t.Parallel()
	e := evaluator()
	all := surveyed(t, e)
	l := newLeaks()
	for _, p := range []*project{
		{backend: "external-secrets"}, {backend: "external-secrets", kubernetesStore: "in-cluster"}, {backend: "kubernetes"},
		{backend: "kubernetes", kubernetesStore: "in-cluster"},
	} {
		want := refused(p, all[p.backend])
		out := renderAll(t, p, newRecorder(e, true), false)
		var got object.Errors
		require.ErrorAs(t, out.err, &got)
		l.Require(t, "the errors", []byte(got.Error()))
		require.NotContains(t, got.Error(), opaqueKey)
		files, err := p.yaml()
		require.NoError(t, err)
		for _, w := range want {
			at := slices.IndexFunc(got, func(e *object.Error) bool { return e.Pos.File == w.file })
			require.GreaterOrEqual(t, at, 0, "%s %+v: nobody refuses it", p.backend, w)
			require.Equal(t, strings.TrimSuffix(w.path, ".content"), strings.TrimSuffix(got[at].Path, ".content"), "%s", got[at])
			line := strings.Split(files[w.file], "\n")[got[at].Pos.Line-1]
			require.Contains(t, strings.NewReplacer("'", "", `"`, "").Replace(line), w.line, "%s", got[at])
		}
		require.Len(t, got.Failures(), len(want), "%s: each mistake once, and no other: %v", p.backend, got)
	}
}

// Kubernetes gives a Secret to pods of its own namespace only.
func TestASecretOfAnotherNamespaceIsRefused(t *testing.T) {
	t.Parallel()
	e := evaluator()
	all := surveyed(t, e)
	p := &project{backend: "external-secrets", kubernetesStore: "in-cluster"}
	var want []string
	for i, k := range all.kinds(p.backend) {
		for _, name := range slices.Sorted(maps.Keys(all[p.backend][k])) {
			shared := []resource{{name: "secret", kind: k.kind, class: k.class, id: fmt.Sprintf("shared-%d", i)}}
			w := &workload{
				project: p, name: fmt.Sprintf("w%03d", len(p.workloads)+1), kind: "Deployment", namespace: "other", score: i%2 == 0, resources: shared,
				containers: []*container{{name: "main", variables: []variable{{"A", text{reference("secret", name)}}}}},
			}
			owner := &workload{project: p, name: fmt.Sprintf("a%03d", i), kind: "Deployment", resources: shared, containers: []*container{{name: "main"}}}
			p.workloads = append(p.workloads, owner, w)
			if all[p.backend][k][name].cluster {
				want = append(want, w.name+".yaml")
			}
		}
	}
	// One owner of each is enough.
	p.workloads = slices.CompactFunc(slices.SortedFunc(slices.Values(p.workloads), func(a, b *workload) int { return strings.Compare(a.name, b.name) }),
		func(a, b *workload) bool { return a.name == b.name })
	out := renderAll(t, p, newRecorder(e, true), false)
	var mistakes object.Errors
	require.ErrorAs(t, out.err, &mistakes)
	var got []string
	for _, m := range mistakes.Failures() {
		require.Contains(t, m.Error(), `pods in "other" cannot read it`)
		got = append(got, m.Pos.File)
	}
	require.Equal(t, want, got)
}

// TestAProvisionerThatGivesAValueIsRefusedWithoutIt has modules with the value of
// a secret where a reference belongs, with and without the schema.
func TestAProvisionerThatGivesAValueIsRefusedWithoutIt(t *testing.T) {
	e := evaluator()
	l := newLeaks()
	secret := head + "-" + tail
	for name, fields := range map[string]string{
		"a value for a reference":      `sensitive: password: "SECRET"`,
		"a list for a reference":       `sensitive: password: ["SECRET"]`,
		"a value beside a key":         `sensitive: password: {key: "a", value: "SECRET"}`,
		"a value for a store":          `sensitive: password: {store: "SECRET", key: "a"}`,
		"a value for parts":            `sensitive: password: parts: "SECRET"`,
		"a value for a part":           `sensitive: password: parts: ["SECRET"]`,
		"a value beside a text":        `sensitive: password: parts: [{text: "a", value: "SECRET"}]`,
		"a value for a ref":            `sensitive: password: parts: [{ref: "SECRET"}]`,
		"a value for an escape":        `sensitive: {a: key: "a", password: parts: [{ref: "a", escape: "SECRET"}]}`,
		"a value for all of them":      `sensitive: "SECRET"`,
		"a value made at the end":      `sensitive: password: "SECRET-\(resource.id)"`,
		"a value in a choice":          `sensitive: {a: key: "a"}, sensitive: password: [if resource.shared {key: "a"}, "SECRET"][0]`,
		"a value that clashes":         `sensitive: password: {key: "a"} & {"SECRET"}`,
		"a value that is public too":   `sensitive: {password: key: "a"}, outputs: password: "SECRET"`,
		"a value in a field of no use": `sensitive: {password: key: "a"}, secrets: password: "SECRET"`,
	} {
		for _, how := range []string{"", "schema.#Provisioner & "} {
			t.Run(how+name, func(t *testing.T) {
				module := "package platform\n\nropewalk: {apiVersion: \"v1alpha1\", kind: \"Provisioners\"}\n#A: " + how +
					"{type: \"leak\", resource: _, params: {...}, " + strings.ReplaceAll(fields, "SECRET", secret) + "}\n#Provisioners: [#A]\n"
				if how != "" {
					module = strings.Replace(module, "\n\n", "\n\nimport \"ropewalk.dev/schema\"\n\n", 1)
				}
				leaking(t, e, l, module)
			})
		}
	}
}

// leaking renders a workload with a provisioner that gives a value.
func leaking(t *testing.T, e evaluate.Evaluator, l leaks, module string) {
	t.Helper()
	w := &workload{name: "leaking", kind: "Deployment", containers: []*container{{name: "main"}}}
	w.resources = []resource{{name: "secret", kind: "leak", class: "default"}}
	w.containers[0].variables = []variable{{"A", text{reference("secret", "password")}}}
	w.project = &project{backend: "external-secrets", workloads: []*workload{w}, module: module}
	out := renderAll(t, w.project, newRecorder(e, false), false)
	var mistakes object.Errors
	require.ErrorAs(t, out.err, &mistakes, "it is refused")
	l.Require(t, "the error", []byte(out.err.Error()))
	for _, m := range mistakes {
		data, err := m.MarshalJSON()
		require.NoError(t, err)
		l.Require(t, "the error", data)
	}
}
