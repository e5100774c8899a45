// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// crd returns how a change of a definition affects its objects.
func crd(before, after object.Object) (out []Danger) {
	if before == nil {
		return nil
	}
	kind := after.Text("spec", "names", "kind")
	now := versions(after)
	for _, v := range versions(before) {
		i := slices.IndexFunc(now, func(n version) bool { return n.name == v.name })
		switch {
		case i < 0:
			out = append(out, danger(DangerCRD, "version %s is removed: manifests and clients that use it break, "+
				"and the API server rejects that while objects are stored in it", v.name))
		case v.served && !now[i].served:
			out = append(out, danger(DangerCRD, "version %s is no longer served: manifests and clients that use it break", v.name))
		case v.storage && !now[i].storage:
			out = append(out, danger(DangerCRD, "the storage version of %s is no longer %s: migrate the stored objects", kind, v.name))
		}
	}
	return out
}

type version struct {
	name            string
	served, storage bool
}

func versions(o object.Object) (out []version) {
	for _, v := range o.List("spec", "versions") {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		out = append(out, version{name: name, served: m["served"] == true, storage: m["storage"] == true})
	}
	return out
}

// schema returns how a change of the schema of a definition affects its objects.
func schema(before object.Object, changed []Field) (out []Danger) {
	if before == nil {
		return nil
	}
	form := regexp.MustCompile(`^spec\.versions\[([^\]]*)\]\.schema\.openAPIV3Schema\.(.*)$`)
	for _, f := range changed {
		m := form.FindStringSubmatch(f.Path)
		if m == nil || f.Order {
			continue
		}
		path, isField := fieldOf(m[2])
		switch {
		case isField && f.After == nil:
			out = append(out, danger(DangerCRD, "the field %s of version %s is removed: the API server drops it from objects", path, m[1]))
		case !isField && f.After != nil && strings.Contains(m[2], "required"):
			out = append(out, danger(DangerCRD, "fields of version %s become required: objects without them are rejected: %s",
				m[1], Show(f.After, valueWidth)))
		}
	}
	return out
}

// fieldOf returns the path of the field that a path in a schema declares, and false if it declares
// no field.
func fieldOf(path string) (string, bool) {
	var names []string
	steps := strings.Split(path, ".")
	for i := 0; i < len(steps); i++ {
		switch steps[i] {
		case "properties":
			i++
			if i == len(steps) {
				return "", false
			}
			names = append(names, steps[i])
		case "items", "additionalProperties":
			if len(names) > 0 {
				names[len(names)-1] += "[]"
			}
		default:
			return "", false
		}
	}
	return strings.Join(names, "."), len(names) > 0
}
