// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/apis/meta"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ropewalk/ropewalk/plugin/flux/internal/apply"
	"github.com/ropewalk/ropewalk/render/emit"
)

// Layers cuts a render of the flux dialect into layers, in the order in which they are released.
// Errors begin with the name of the render. Its barrier layers are in barriers. The health checks
// come from the Kustomizations that the render has written into [emit.DeliveryDir], so that it must
// have been given a repository. A layer without an object is left out.
//
// The argument present has the shards in the cluster, see [Present]: it keeps objects where they
// are. The files of a layer have no folders. Two files of one name, and a manifest without a name,
// are errors.
func Layers(name string, files []emit.File, barriers []emit.Layer, present Present) ([]Layer, error) {
	// The files of a barrier are in a folder of their own.
	parts := map[string][]emit.File{}
	for _, f := range files {
		dir := path.Dir(f.Path)
		parts[dir] = append(parts[dir], f)
	}
	checks, err := healthOf(parts[emit.DeliveryDir])
	if err != nil {
		return nil, fmt.Errorf("render %q: %w", name, err)
	}

	// A barrier becomes one layer, or a layer and its shards.
	var out []Layer
	var before []string
	for _, barrier := range barriers {
		dir := path.Clean(barrier.Dir)
		health, ok := checks[barrier.Name]
		if !ok {
			return nil, fmt.Errorf("render %q: %s has no Kustomization %q: render with a repository", name, emit.DeliveryDir, barrier.Name)
		}
		members, err := membersOf(parts[dir])
		if err != nil {
			return nil, fmt.Errorf("render %q: %s: %w", name, dir, err)
		}

		// Each layer waits for the layers of the barrier before it.
		layers := cut(dir, members, present[dir])
		for i := range layers {
			u := &layers[i]
			u.Barrier = dir
			for _, wave := range barrier.Waves {
				u.Waves = append(u.Waves, int32(wave)) //nolint:gosec // waves are counted, and few
			}
			u.After = slices.Concat(before, u.After)
			u.addHealth(health)
		}
		if len(layers) == 0 {
			continue
		}
		before = nil
		for _, u := range layers {
			before = append(before, u.Name)
		}
		out = append(out, layers...)
	}
	return out, nil
}

// OneLayer returns a render as one layer, for an engine that keeps the order by itself. Its files
// have no folders.
func OneLayer(name string, files []emit.File) (Layer, error) {
	members, err := membersOf(files)
	if err != nil {
		return Layer{}, fmt.Errorf("render %q: %w", name, err)
	}
	out := Layer{Name: name, Barrier: name}
	for _, m := range members {
		out.Files = append(out.Files, m.file)
		out.Objects = append(out.Objects, m.ref)
	}
	return out, nil
}

// addHealth adds to a layer the health checks that are about its objects, and the expressions for
// their kinds.
func (u *Layer) addHealth(health kustomizev1.KustomizationSpec) {
	objects := map[key]bool{}
	for _, r := range u.Objects {
		objects[r.key()] = true
	}
	kinds := map[string]bool{}
	for _, c := range health.HealthChecks {
		if objects[checked(c).key()] {
			u.HealthChecks = append(u.HealthChecks, c)
			kinds[c.APIVersion+"/"+c.Kind] = true
		}
	}
	for _, e := range health.HealthCheckExprs {
		if e.Kind == "" || kinds[e.APIVersion+"/"+e.Kind] {
			u.HealthCheckExprs = append(u.HealthCheckExprs, e)
		}
	}
	if len(u.HealthChecks) == 0 {
		u.HealthCheckExprs = nil
	}
}

// checked returns the object of a health check.
func checked(c meta.NamespacedObjectKindReference) ObjectRef {
	r := ObjectRef{Version: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}
	if group, version, ok := strings.Cut(c.APIVersion, "/"); ok {
		r.Group, r.Version = group, version
	}
	return r
}

// healthOf reads the Kustomizations of a render, by name.
func healthOf(files []emit.File) (map[string]kustomizev1.KustomizationSpec, error) {
	out := map[string]kustomizev1.KustomizationSpec{}
	for _, f := range files {
		var k kustomizev1.Kustomization
		var tree map[string]any
		err := yaml.Unmarshal(f.Data, &tree)
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(tree, &k)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		if k.Kind == kustomizev1.KustomizationKind {
			out[k.Name] = k.Spec
		}
	}
	return out, nil
}

// member is a file of a layer, and its object.
type member struct {
	ref  ObjectRef
	file emit.File
}

// membersOf reads the files of a layer.
func membersOf(files []emit.File) ([]member, error) {
	names := map[string]bool{}
	keys := map[key]string{}
	out := make([]member, 0, len(files))
	for _, f := range files {
		f.Path = path.Base(f.Path)
		if names[f.Path] {
			return nil, fmt.Errorf("two files are called %q, and an artifact has no folders", f.Path)
		}
		names[f.Path] = true
		ref, err := refOf(f.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		ref.Node = string(f.Node)
		ref.Encrypted = encrypted(ref, f.Data)
		if twice := keys[ref.key()]; twice != "" {
			return nil, fmt.Errorf("%s and %s are the same object", twice, f.Path)
		}
		keys[ref.key()] = f.Path
		out = append(out, member{ref, f})
	}
	return out, nil
}

// refOf returns the object of a manifest. Only the head of a manifest of package emit is parsed,
// which has the fields of the root and of metadata on a line each: of 50,000 objects nothing else is
// of interest.
func refOf(data []byte) (ObjectRef, error) {
	var head strings.Builder
	inMetadata := false
	for line := range strings.Lines(string(data)) {
		switch {
		case line[0] != ' ' && line[0] != '-' && line[0] != '\n':
			inMetadata = strings.TrimRight(line, " \n") == "metadata:"
			if inMetadata || strings.HasPrefix(line, "apiVersion: ") || strings.HasPrefix(line, "kind: ") {
				head.WriteString(line)
			}
		case inMetadata && (strings.HasPrefix(line, "  name: ") || strings.HasPrefix(line, "  namespace: ")):
			head.WriteString(line)
		}
	}
	if _, ref, err := parse([]byte(head.String())); err == nil {
		return ref, nil
	}
	_, ref, err := parse(data)
	return ref, err
}

// health returns a text that is the same for the same health checks.
func health(checks []meta.NamespacedObjectKindReference, exprs []kustomize.CustomHealthCheck) string {
	if len(checks) == 0 {
		return ""
	}
	return apply.Sum(struct {
		C []meta.NamespacedObjectKindReference
		E []kustomize.CustomHealthCheck
	}{checks, exprs})
}

// sortedKeys returns the keys of a map in their order.
func sortedKeys[V any](m map[key]V) []key { return slices.Sorted(maps.Keys(m)) }
