// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"path"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// mountVolumes mounts the volumes of resources. A volume that two containers
// mount is one volume of the pod; its name is that of the resource.
func (l *lowering) mountVolumes() {
	for i := range l.r.containers {
		c := &l.r.containers[i]
		for j := range c.mounts {
			m := &c.mounts[j]
			at := l.at("containers", c.spec.Name, "volumes", m.spec.Target)
			if strings.HasPrefix(subPath(m.spec.Path.Value), "..") {
				l.fail(m.spec.Path.Pos, at.Append(object.Field("path")), "", "%q leads out of the volume", m.spec.Path.Value)
				continue
			}
			l.addVolume(m, at)
			l.mounts[i] = append(l.mounts[i], volumeMount(m))
		}
	}
}

// addVolume adds the volume of a mount to the pod, or its claim to each replica,
// once.
func (l *lowering) addVolume(m *mount, at object.Path) {
	pos := m.spec.Source.Pos
	if !pos.IsValid() {
		pos = m.spec.Pos
	}
	claims := m.claim.Kind != object.KindNone && l.kind == score.KindStatefulSet
	if !claims && m.volume.Kind == object.KindNone {
		l.fail(pos, at, "write kind: StatefulSet, or leave kind out",
			"resource %q gives a claim to each replica, which a %s cannot have", m.resource, l.kind)
		return
	}
	if l.taken[m.resource] {
		return
	}
	l.take(m.resource)
	if claims {
		l.claims = append(l.claims, mapOf(pos, with("metadata", mapOf(pos, stringMember("name", m.resource, pos))), with("spec", m.claim)))
		return
	}
	l.volumes = append(l.volumes, mapOf(pos, stringMember("name", m.resource, pos)).Merge(m.volume))
}

func volumeMount(m *mount) object.Value {
	var readOnly object.Value
	if m.spec.ReadOnly {
		readOnly = boolMember("", true, m.spec.Pos).Value
	}
	return mapOf(m.spec.Pos, stringMember("name", m.resource, m.spec.Pos),
		stringMember("mountPath", m.spec.Target, m.spec.Pos),
		with("subPath", lowerGiven(subPath(m.spec.Path.Value), m.spec.Path.Pos)), with("readOnly", readOnly))
}

// subPath is a path in a volume as Kubernetes wants it: relative, and "" for all
// of the volume.
func subPath(p string) string {
	clean := strings.TrimPrefix(path.Clean(p), "/")
	if clean == "." {
		return ""
	}
	return clean
}
