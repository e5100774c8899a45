// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"path"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// volumes are the volumes of a pod, and the claims of each replica.
type volumes struct {
	pod, claims []object.Value
	// taken holds the names of both.
	taken map[string]bool
	// mounts lists the mounts of each container: volumes, then files.
	mounts [][]object.Value
}

// mountVolumes mounts the volumes of resources. A volume that two containers mount is one volume of
// the pod; it is called like its resource.
func mountVolumes(errs *mistakes, r *Resolved) *volumes {
	v := &volumes{taken: map[string]bool{}, mounts: make([][]object.Value, len(r.Containers))}
	for i := range r.Containers {
		c := &r.Containers[i]
		for j := range c.Mounts {
			m := &c.Mounts[j]
			target := errs.path("containers", c.Spec.Name, "volumes", m.Spec.Target)
			if strings.HasPrefix(subPath(m.Spec.Path.Value), "..") {
				errs.fail(m.Spec.Path.Pos, target.Append(object.Field("path")), "", "%q leads out of the volume", m.Spec.Path.Value)
				continue
			}
			v.add(errs, m, r.Workload.Kind.Value, target)
			v.mounts[i] = append(v.mounts[i], volumeMount(m))
		}
	}
	return v
}

// add adds the volume of a mount to the pod, or its claim to each replica of a StatefulSet,
// once.
func (v *volumes) add(errs *mistakes, m *Mount, kind string, mountPath object.Path) {
	pos := m.Spec.Source.Pos
	if !pos.IsValid() {
		pos = m.Spec.Pos
	}
	claims := m.Claim.Kind != object.KindNone && kind == score.KindStatefulSet
	if !claims && m.Volume.Kind == object.KindNone {
		errs.fail(pos, mountPath, "write kind: StatefulSet, or leave kind out",
			"resource %q gives a claim to each replica, which a %s cannot have", m.Resource, kind)
		return
	}
	if v.taken[m.Resource] {
		return
	}
	v.taken[m.Resource] = true
	if claims {
		v.claims = append(v.claims, MapOf(pos, member("metadata", MapOf(pos, StringMember("name", m.Resource, pos))), member("spec", m.Claim)))
		return
	}
	v.pod = append(v.pod, MapOf(pos, StringMember("name", m.Resource, pos)).Merge(m.Volume))
}

// name returns a name for a generated volume that no volume of the author has. The argument
// existing is its present name, or "".
func (v *volumes) name(existing, wish string) string {
	if existing != "" {
		return existing
	}
	const longest = 63
	name := object.Shorten(wish, longest)
	for n := 2; v.taken[name]; n++ {
		tail := "-" + strconv.Itoa(n)
		name = object.Shorten(wish, longest-len(tail)) + tail
	}
	v.taken[name] = true
	return name
}

func volumeMount(m *Mount) object.Value {
	var readOnly object.Value
	if m.Spec.ReadOnly {
		readOnly = BoolMember("", true, m.Spec.Pos).Value
	}
	return MapOf(m.Spec.Pos, StringMember("name", m.Resource, m.Spec.Pos),
		StringMember("mountPath", m.Spec.Target, m.Spec.Pos),
		member("subPath", lowerGiven(subPath(m.Spec.Path.Value), m.Spec.Path.Pos)), member("readOnly", readOnly))
}

// subPath returns a path in a volume in the form of Kubernetes: relative, and "" for the complete
// volume.
func subPath(p string) string {
	clean := strings.TrimPrefix(path.Clean(p), "/")
	if clean == "." {
		return ""
	}
	return clean
}
