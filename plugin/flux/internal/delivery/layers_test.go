// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

func manifestOf(kind, name string) []byte {
	return emit.YAML(map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": "ns"}})
}

// rendered is a render of one layer for each list of objects, kind/name.
func rendered(layers ...[]string) ([]emit.File, []emit.Layer) {
	var files []emit.File
	var out []emit.Layer
	for i, objects := range layers {
		dir := fmt.Sprintf("layer-%02d", i)
		out = append(out, emit.Layer{Name: "web-" + dir, Dir: dir, Waves: []int{i}})
		spec := map[string]any{}
		for _, o := range objects {
			kind, name, _ := strings.Cut(o, "/")
			files = append(files, emit.File{Path: dir + "/" + strings.ToLower(kind) + "-" + name + ".yaml", Data: manifestOf(kind, name), Node: object.ID(name)})
			if kind == "Pod" {
				checks, _ := spec["healthChecks"].([]any)
				spec["healthChecks"] = append(checks, map[string]any{"apiVersion": "v1", "kind": kind, "name": name, "namespace": "ns"})
				spec["healthCheckExprs"] = []any{map[string]any{"apiVersion": "v1", "kind": kind, "current": "true"}, map[string]any{"apiVersion": "v1", "kind": "Service", "current": "true"}}
			}
		}
		files = append(files, emit.File{Path: emit.DeliveryDir + "/" + dir + ".yaml", Data: emit.YAML(map[string]any{
			"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": map[string]any{"name": "web-" + dir}, "spec": spec,
		})})
	}
	return files, out
}

func TestALayerIsAUnitWithItsHealthChecks(t *testing.T) {
	files, barriers := rendered([]string{"ConfigMap/a", "Pod/p"}, nil, []string{"ConfigMap/b"})
	layers, err := Layers("web", files, barriers, nil)
	require.NoError(t, err)
	require.Len(t, layers, 2, "a layer without an object is left out")
	require.Equal(t, "layer-00", layers[0].Name)
	require.Empty(t, layers[0].After)
	require.Len(t, layers[0].HealthChecks, 1)
	require.Len(t, layers[0].HealthCheckExprs, 1, "the rule of a kind that it does not wait for is none of its own")
	require.Equal(t, "configmap-a.yaml", layers[0].Files[0].Path)
	require.Equal(t, ObjectRef{Node: "a", Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "a"}, layers[0].Objects[0])
	require.Equal(t, "layer-02", layers[1].Name)
	require.Equal(t, []string{"layer-00"}, layers[1].After)
	require.Equal(t, []int32{2}, layers[1].Waves)
}

func TestUnitsRefuseWhatFluxCouldNotApply(t *testing.T) {
	files, barriers := rendered([]string{"ConfigMap/a"})
	for name, wrong := range map[string]struct {
		files []emit.File
		says  string
	}{
		"a render without a repository":   {files[:1], "render with a repository"},
		"a manifest that is no object":    {append(files, emit.File{Path: "layer-00/x.yaml", Data: []byte("- 1\n")}), "it holds no object"},
		"a manifest that names nothing":   {append(files, emit.File{Path: "layer-00/x.yaml", Data: []byte("kind: A\napiVersion: v1\n")}), "metadata.name is missing"},
		"one object in two files":         {append(files, emit.File{Path: "layer-00/x.yaml", Data: manifestOf("ConfigMap", "a")}), "the same object"},
		"a Kustomization that is no YAML": {append(files, emit.File{Path: emit.DeliveryDir + "/x.yaml", Data: []byte("a: [\n")}), "flux/x.yaml"},
	} {
		_, err := Layers("web", wrong.files, barriers, nil)
		require.ErrorContains(t, err, wrong.says, name)
	}
}

func TestTheWholeIsOneUnitWhoseObjectsAreNamedByTheirNodes(t *testing.T) {
	u, err := OneLayer("whole", []emit.File{
		{Path: "00-configmap-a.yaml", Data: manifestOf("ConfigMap", "a"), Node: "web/a"},
		{Path: "01-pod-b.yaml", Data: manifestOf("Pod", "b"), Node: "web/b"},
	})
	require.NoError(t, err)
	require.Len(t, u.Files, 2)
	require.Equal(t, []string{"web/a", "web/b"}, []string{u.Objects[0].Node, u.Objects[1].Node})
	require.Equal(t, "b", u.Objects[1].Name)
	_, err = OneLayer("whole", []emit.File{{Path: "x.yaml", Data: []byte("kind: A\napiVersion: v1\n")}})
	require.ErrorContains(t, err, "metadata.name is missing")
}

// many is so many objects of a kind.
func many(kind string, count int) []string {
	out := make([]string, count)
	for i := range out {
		out[i] = fmt.Sprintf("%s/%s%d", kind, strings.ToLower(kind), i)
	}
	return out
}

func TestALayerWithTooManyObjectsIsCut(t *testing.T) {
	objects := append(many("Pod", 2500), "Namespace/n", "ConfigMap/c")
	files, barriers := rendered(objects, []string{"ConfigMap/after"})
	layers, err := Layers("web", files, barriers, nil)
	require.NoError(t, err)
	var names []string
	count := 0
	for _, u := range layers {
		names = append(names, u.Name)
		count += len(u.Objects)
		require.LessOrEqual(t, len(u.Objects), MaxObjects)
		require.Len(t, u.Files, len(u.Objects))
	}
	require.Equal(t, []string{"layer-00", "layer-00-1", "layer-00-2", "layer-00-3", "layer-00-4", "layer-01"}, names)
	require.Equal(t, len(objects)+1, count, "each object is in one layer")
	require.Len(t, layers[0].Objects, 2, "what others need comes first")
	require.Equal(t, []string{"layer-00"}, layers[1].After)
	require.Equal(t, names[:5], layers[5].After)
	for _, u := range layers[1:5] {
		require.Len(t, u.HealthChecks, len(u.Objects), "a shard waits for what is in it")
	}
}

func TestShardsStayAsTheyAreUntilALayerIsHalfAsLarge(t *testing.T) {
	owners := func(count int, present Present) (map[key]string, Present) {
		files, barriers := rendered(many("Pod", count))
		layers, err := Layers("web", files, barriers, present)
		require.NoError(t, err)
		out := map[key]string{}
		for _, u := range layers {
			for _, r := range u.Objects {
				out[r.key()] = u.Name
			}
		}
		return out, Cuts(layers)
	}
	moved := func(a, b map[key]string) (moved int) {
		for k, owner := range a {
			if b[k] != "" && b[k] != owner {
				moved++
			}
		}
		return moved
	}
	at2400, present := owners(2400, nil)
	require.Equal(t, 3, present["layer-00"])
	at3000, more := owners(3000, present)
	require.Equal(t, 4, more["layer-00"])
	require.InDelta(t, 2400/4, moved(at2400, at3000), 100, "only what the new shard takes moves")
	again, still := owners(2000, more)
	require.Equal(t, 4, still["layer-00"])
	require.Zero(t, moved(at3000, again))
	_, fewer := owners(1500, still)
	require.Equal(t, 2, fewer["layer-00"])
	at900, _ := owners(900, fewer)
	require.Equal(t, 2, Cuts([]Layer{{Name: "layer-00-2"}})["layer-00"])
	require.NotContains(t, at900, key("/Pod/ns/none"))
	for _, owner := range at900 {
		require.Contains(t, owner, "layer-00-", "it is still cut")
	}
	at400, _ := owners(400, fewer)
	for _, owner := range at400 {
		require.Equal(t, "layer-00", owner)
	}
}

func TestWhatPodsNeedIsSpreadWhereThereIsTooMuchOfIt(t *testing.T) {
	files, barriers := rendered(append(many("ConfigMap", 3000), many("ServiceAccount", 10)...))
	layers, err := Layers("web", files, barriers, nil)
	require.NoError(t, err)
	require.Len(t, layers[0].Objects, 10)
	require.Equal(t, "ServiceAccount", layers[0].Objects[0].Kind)
}

func BenchmarkUnits(b *testing.B) {
	for _, count := range []int{10, 100, 1000, 50_000} {
		files, barriers := rendered(many("ConfigMap", count))
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			for b.Loop() {
				if _, err := Layers("web", files, barriers, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
