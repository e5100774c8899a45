// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"path"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
)

// replaceInFolder leaves out of the kustomization in a folder what a unit sets in its place, and
// returns the members of the unit. Both engines write their fields into this file, and lay no layer
// over it: of two name prefixes one counts, and an image is still known by its name.
func (x *expanding) replaceInFolder(u *Unit, folder string, members []object.Member) []object.Member {
	file, written := x.kustomizationIn(folder)
	changed := false
	for i, m := range members {
		_, there := written[m.Name]
		switch m.Name {
		case "namePrefix", "nameSuffix", "namespace":
			if there && m.Value.Text != "" {
				delete(written, m.Name)
				changed = true
			}
		case "images":
			own, _ := written[m.Name].([]any)
			left := slices.DeleteFunc(slices.Clone(own), func(item any) bool { return imageNamed(m.Value.Items, item) >= 0 })
			if len(left) < len(own) {
				members[i].Value.Items = mergedImages(m.Value.Items, own, u.Kind == kindKustomization)
				written[m.Name] = left
				changed = true
			}
		}
	}
	if !changed {
		return members
	}
	if text, err := yaml.Marshal(written); err == nil {
		u.Files = map[string][]byte{file: text}
	}
	return members
}

// kustomizationIn returns the file of the kustomization in a folder, and what it says. What cannot
// be read is a mistake where it is rendered, at its line.
func (x *expanding) kustomizationIn(folder string) (file string, written map[string]any) {
	for _, name := range kustomizationNames() {
		file = path.Join(folder, name)
		if !isFile(x.repo.FS, file) {
			continue
		}
		text, err := readFile(x.repo.FS, file)
		if err != nil || yaml.Unmarshal(text, &written) != nil {
			return file, nil
		}
		return file, written
	}
	return "", nil
}

// imageNamed returns the index of the image that a kustomization names too, -1 if there is none.
func imageNamed(images []object.Value, item any) int {
	own, _ := item.(map[string]any)
	return slices.IndexFunc(images, func(v object.Value) bool { return v.TextOf("name") == own["name"] })
}

// mergedImages returns the images of a unit. Flux keeps the fields of the kustomization that it does
// not set itself, of which a tag and a digest count as one; Argo CD keeps none.
func mergedImages(images []object.Value, own []any, keep bool) []object.Value {
	out := slices.Clone(images)
	for _, item := range own {
		i := imageNamed(out, item)
		if i < 0 || !keep {
			continue
		}
		before := valueOf(item, object.Value{Pos: out[i].Pos})
		if out[i].TextOf("newTag") != "" || out[i].TextOf("digest") != "" {
			before = before.Without(object.Fields("newTag")).Without(object.Fields("digest"))
		}
		out[i] = before.Merge(out[i])
	}
	return out
}
