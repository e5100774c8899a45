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

// volumeName returns a name for a generated volume that no volume of the author has. The argument
// given is the name that it has already, or "".
func (l *lowering) volumeName(given, wish string) string {
	if given != "" {
		return given
	}
	const most = 63
	name := object.Shorten(wish, most)
	for n := 2; l.reserved[name]; n++ {
		tail := "-" + strconv.Itoa(n)
		name = object.Shorten(wish, most-len(tail)) + tail
	}
	l.reserve(name)
	return name
}

// reserve keeps a name from being used for another volume.
func (l *lowering) reserve(name string) {
	if l.reserved == nil {
		l.reserved = map[string]bool{}
	}
	l.reserved[name] = true
}

// mountVolumes mounts the volumes of resources. A volume that two containers
// mount is one volume of the pod; its name is that of the resource.
func (l *lowering) mountVolumes() {
	for i := range l.r.Containers {
		c := &l.r.Containers[i]
		for j := range c.Mounts {
			m := &c.Mounts[j]
			at := l.at("containers", c.Spec.Name, "volumes", m.Spec.Target)
			if strings.HasPrefix(subPath(m.Spec.Path.Value), "..") {
				l.fail(m.Spec.Path.Pos, at.Append(object.Field("path")), "", "%q leads out of the volume", m.Spec.Path.Value)
				continue
			}
			l.addVolume(m, at)
			l.mounts[i] = append(l.mounts[i], volumeMount(m))
		}
	}
}

// addVolume adds the volume of a mount to the pod, or its claim to each replica,
// once.
func (l *lowering) addVolume(m *Mount, at object.Path) {
	pos := m.Spec.Source.Pos
	if !pos.IsValid() {
		pos = m.Spec.Pos
	}
	claims := m.Claim.Kind != object.KindNone && l.kind == score.KindStatefulSet
	if !claims && m.Volume.Kind == object.KindNone {
		l.fail(pos, at, "write kind: StatefulSet, or leave kind out",
			"resource %q gives a claim to each replica, which a %s cannot have", m.Resource, l.kind)
		return
	}
	if l.reserved[m.Resource] {
		return
	}
	l.reserve(m.Resource)
	if claims {
		l.claims = append(l.claims, MapOf(pos, with("metadata", MapOf(pos, StringMember("name", m.Resource, pos))), with("spec", m.Claim)))
		return
	}
	l.volumes = append(l.volumes, MapOf(pos, StringMember("name", m.Resource, pos)).Merge(m.Volume))
}

func volumeMount(m *Mount) object.Value {
	var readOnly object.Value
	if m.Spec.ReadOnly {
		readOnly = BoolMember("", true, m.Spec.Pos).Value
	}
	return MapOf(m.Spec.Pos, StringMember("name", m.Resource, m.Spec.Pos),
		StringMember("mountPath", m.Spec.Target, m.Spec.Pos),
		with("subPath", lowerGiven(subPath(m.Spec.Path.Value), m.Spec.Path.Pos)), with("readOnly", readOnly))
}

// subPath returns a path in a volume as Kubernetes wants it: relative, and "" for the complete
// volume.
func subPath(p string) string {
	clean := strings.TrimPrefix(path.Clean(p), "/")
	if clean == "." {
		return ""
	}
	return clean
}
