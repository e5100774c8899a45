// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/component/overlay"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// node is a Deployment called name.
func node(t *testing.T, name string) *object.Node {
	t.Helper()
	o, err := object.Decode(fmt.Appendf(nil, `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": %q, "labels": {"app": %q}},
		"spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]}}}}`, name, name))
	require.NoError(t, err)
	return &object.Node{ID: object.MakeID("s", "deployment-"+name), Object: o}
}

// overlays are those of a document.
func overlays(t *testing.T, text string) []spec.Overlay {
	t.Helper()
	docs, err := spec.Parse([]spec.File{{Name: "c.yaml", Data: []byte("apiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: s}\nspec:\n  manifests: {paths: [a]}\n  overlays:\n" + text)}})
	require.NoError(t, err)
	return docs.Transforms[0].Overlays
}

func TestOnlyWhatIsSelectedIsChanged(t *testing.T) {
	web, api := node(t, "web"), node(t, "api")
	require.NoError(t, overlay.Apply([]*object.Node{web, api}, overlays(t, `
    - {select: {name: "w*", labels: {app: web}}, apply: {mode: Force}}
    - {select: {kind: Deployment}, dependsOn: [deployment-api]}
    - {select: {kind: Deployment, group: apps}, apply: {deletion: Orphan}}
    - {select: {name: web}, needs: [{kind: Secret, name: db}, {apiVersion: a.example.com/v1, kind: A, name: a, namespace: other, ready: Ready}]}
`)))
	require.Equal(t, object.Apply{Mode: "Force", Deletion: "Orphan"}, web.Apply)
	require.Equal(t, object.Apply{Deletion: "Orphan"}, api.Apply)
	require.Len(t, web.DependsOn, 1, "an object does not depend on itself")
	require.Equal(t, object.ID("s/deployment-api"), web.DependsOn[0].ID)
	require.Empty(t, api.DependsOn)
	require.Empty(t, api.Needs)
	require.Len(t, web.Needs, 2)
	require.Equal(t, "Secret db", web.Needs[0].String())
	require.Equal(t, "A other/a", web.Needs[1].In("shop").String())
	require.Equal(t, "v1", web.Needs[0].In("shop").APIVersion)
}

func TestOneAloneThatWaitsForItselfIsLeftToTheGraph(t *testing.T) {
	web := node(t, "web")
	require.NoError(t, overlay.Apply([]*object.Node{web}, overlays(t, "    - {select: {kind: Deployment}, dependsOn: [deployment-web]}\n")))
	require.Len(t, web.DependsOn, 1)
	require.Equal(t, web.ID, web.DependsOn[0].ID)
}

func TestPatchesAreThoseOfKubectl(t *testing.T) {
	for name, c := range map[string]struct{ patch, want string }{
		"lists are merged by their keys": {
			`{spec: {template: {spec: {containers: [{name: b, image: "b:2"}]}}}}`,
			`{"replicas":1,"template":{"spec":{"containers":[{"image":"a:1","name":"a"},{"image":"b:2","name":"b"}]}}}`,
		},
		"a list replaces": {
			`{spec: {template: {spec: {containers: [{$patch: replace}, {name: c, image: "c:1"}]}}}}`,
			`{"replicas":1,"template":{"spec":{"containers":[{"image":"c:1","name":"c"}]}}}`,
		},
		"null removes": {`{spec: {replicas: null, template: null}}`, `{}`},
		"$patch deletes": {
			`{spec: {template: {spec: {containers: [{name: a, $patch: delete}]}}}}`,
			`{"replicas":1,"template":{"spec":{"containers":[{"image":"b:1","name":"b"}]}}}`,
		},
		"operations": {
			`[{op: remove, path: /spec/template}, {op: replace, path: /spec/replicas, value: 9007199254740993}]`, `{"replicas":9007199254740993}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := node(t, "web")
			require.NoError(t, overlay.Apply([]*object.Node{n}, overlays(t, "    - {select: {name: web}, patch: "+c.patch+"}\n")))
			got, err := json.Marshal(n.Object["spec"])
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
		})
	}
}

func TestWhatAPatchCannotDoIsAtItsLine(t *testing.T) {
	for name, c := range map[string]struct{ overlay, want string }{
		"another object":  {`{select: {name: web}, patch: {metadata: {name: x}}}`, `c.yaml:7:36: evaluate: s/deployment-web: spec.overlays[0].patch: the patch of Deployment.apps web fails: it makes another object: apps/v1`},
		"the object":      {`{select: {name: web}, patch: {$patch: delete}}`, `$patch: delete for the whole object`},
		"a missing path":  {`{select: {name: web}, patch: [{op: remove, path: /a/b}]}`, `c.yaml:7:37: evaluate: s/deployment-web: spec.overlays[0].patch: the patch of Deployment.apps web fails: remove /a/b: the object has no such path`},
		"no merge key":    {`{select: {name: web}, patch: {spec: {template: {spec: {containers: [{name: a}, {nam: b, image: "b:2"}]}}}}}`, `c.yaml:7:86: evaluate: s/deployment-web: spec.overlays[0].patch: the patch of Deployment.apps web fails: spec.template.spec.containers[1] has no name, by which an item of a merge patch is found`},
		"a null key":      {`{select: {name: web}, patch: {spec: {template: {spec: {containers: [{name: , image: "b:2"}]}}}}}`, `containers[0] has no name, by which`},
		"an item of text": {`{select: {name: web}, patch: {spec: {template: {spec: {volumes: [data]}}}}}`, `spec.template.spec.volumes[0] has no name, by which`},
		"a port":          {`{select: {name: web}, patch: {spec: {template: {spec: {containers: [{name: a, ports: [{protocol: TCP}]}]}}}}}`, `containers[0].ports[0] has no containerPort, by which`},
		"a test":          {`{select: {name: web}, patch: [{op: test, path: /spec/replicas, value: 2}]}`, `test /spec/replicas: `},
		"an absent name":  {`{select: {name: wab}, apply: {mode: Force}}`, `c.yaml:7:16: evaluate: spec.overlays[0].select: selects none of the 1 objects of the spec (did you mean "web"?)`},
		"an absent label": {`{select: {labels: {app: api}}, apply: {mode: Force}}`, `selects none of the 1 objects`},
	} {
		t.Run(name, func(t *testing.T) {
			n := node(t, "web")
			before := n.Object.Clone()
			require.ErrorContains(t, overlay.Apply([]*object.Node{n}, overlays(t, "    - "+c.overlay+"\n")), c.want)
			require.Equal(t, before, n.Object)
		})
	}
}

// A workload has the objects of its resources before its own.
func TestOverlaysForSomeNodesNeedNoOthers(t *testing.T) {
	all := overlays(t, `
    - {select: {name: route}, apply: {mode: Force}}
    - {select: {name: "*"}, dependsOn: [deployment-web]}
    - {select: {name: web}, apply: {mode: Replace}}
`)
	route, web := node(t, "route"), node(t, "web")
	rest, err := overlay.ApplyFirst([]*object.Node{route}, all)
	require.NoError(t, err)
	require.Equal(t, "Force", route.Apply.Mode)
	require.Equal(t, object.ID("s/deployment-web"), route.DependsOn[0].ID)
	require.NoError(t, overlay.Apply([]*object.Node{web}, rest))
	require.Equal(t, "Replace", web.Apply.Mode)
	require.Empty(t, web.DependsOn, "the overlay selects another object too, which waits for this one")

	_, err = overlay.ApplyFirst([]*object.Node{route}, overlays(t, "    - {select: {name: route}, patch: [{op: remove, path: /a}]}\n"))
	require.ErrorContains(t, err, "c.yaml:7:39: evaluate: s/deployment-route: spec.overlays[0].patch: the patch of Deployment.apps route fails: remove /a")
	rest, err = overlay.ApplyFirst([]*object.Node{route}, overlays(t, "    - {select: {name: rout}, apply: {mode: Force}}\n"))
	require.NoError(t, err)
	require.ErrorContains(t, overlay.Apply([]*object.Node{web}, rest), `selects none of the 2 objects of the spec (did you mean "route"?)`)
}
