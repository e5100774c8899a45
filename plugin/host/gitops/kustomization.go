// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/internal/printable"
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

// overlays are the kustomizations of a repository, by the files that they refer to. In
// clusters/a/kustomization.yaml with "resources: [../../base]", base/kustomization.yaml is below it,
// and so is what that one refers to.
type overlays struct {
	// parents are the kustomizations that refer to a file.
	parents map[string][]string
	// changing are those that do more than to list files, components those that are rendered within
	// others alone, and patches the files that change an object and are none.
	changing, components, patches map[string]bool
}

// overlaysOf reads the kustomizations in files. What cannot be read is a mistake where it is rendered.
func (x *expanding) overlaysOf(files []string) overlays {
	out := overlays{parents: map[string][]string{}, changing: map[string]bool{}, components: map[string]bool{}, patches: map[string]bool{}}
	for _, file := range files {
		var written map[string]any
		text, err := readFile(x.repo.FS, file)
		if err != nil || yaml.Unmarshal(text, &written) != nil {
			continue
		}
		out.components[file] = written["kind"] == "Component"
		for _, field := range object.SortedKeys(written) {
			isList := field == "resources" || field == "bases"
			out.changing[file] = out.changing[file] || !isList && !slices.Contains([]string{"apiVersion", "kind", "metadata"}, field)
			items, _ := written[field].([]any)
			for _, item := range items {
				isPatch := strings.HasPrefix(field, "patches")
				if patch, ok := item.(map[string]any); ok && isPatch {
					item = patch["path"]
				}
				name, _ := item.(string)
				if !isList && !isPatch && field != "components" || name == "" {
					continue
				}
				below := path.Join(path.Dir(file), name)
				if isFolder(x.repo.FS, below) {
					below, _ = x.kustomizationIn(below)
				}
				out.parents[below] = append(out.parents[below], file)
				out.patches[below] = out.patches[below] || isPatch
			}
		}
	}
	return out
}

// above returns the kustomizations that refer to a file, also by others, the nearest first.
func (o overlays) above(file string) []string {
	var out []string
	for queue := []string{file}; len(queue) > 0; queue = queue[1:] {
		for _, parent := range o.parents[queue[0]] {
			if !slices.Contains(out, parent) {
				out = append(out, parent)
				queue = append(queue, parent)
			}
		}
	}
	return out
}

// roots returns the kustomizations that refer to a file and that no other one refers to, if one on
// the way changes what is in the file.
func (o overlays) roots(file string) []string {
	above := o.above(file)
	if !slices.ContainsFunc(above, func(name string) bool { return o.changing[name] }) {
		return nil
	}
	return slices.DeleteFunc(above, func(name string) bool { return len(o.parents[name]) > 0 || o.components[name] })
}

// withoutLater returns entries without those that a kustomization changes, as long as there are
// others: a unit of these may render the kustomization. Entries of one name stay together, which
// tells clusters apart.
func (x *expanding) withoutLater(entries []Written) []Written {
	isChanged := func(w Written) bool { return len(x.overlays.roots(w.Pos.File)) > 0 }
	first := map[ID]bool{}
	for _, w := range entries {
		first[w.named("")] = first[w.named("")] || !isChanged(w)
	}
	if !slices.ContainsFunc(entries, func(w Written) bool { return first[w.named("")] }) {
		return entries
	}
	return slices.DeleteFunc(entries, func(w Written) bool { return !first[w.named("")] })
}

// overlaid returns entries as the kustomizations of the repository render them that refer to them,
// which is how they get into a cluster: kubectl apply -k clusters/a. Other objects of such
// a kustomization are among them.
func (x *expanding) overlaid(ctx context.Context, written []Written) ([]entry, error) {
	var out []entry
	rendered := map[string]bool{}
	broken := map[string][]Written{}
	problems := map[string]error{}
	for _, w := range written {
		// Each kustomization is rendered once, whichever of its files comes first.
		known := x.overlays.patches[w.Pos.File] // What changes an object is none.
		roots := x.overlays.roots(w.Pos.File)
		for _, root := range roots {
			if _, done := rendered[root]; !done {
				made, problem, err := x.renderRoot(ctx, root)
				if err != nil {
					return nil, err
				}
				rendered[root] = problem == nil
				problems[root] = problem
				out = append(out, made...)
			}
			known = known || rendered[root]
		}
		if known {
			continue
		}
		out = append(out, entry{w, w.Pos.File})
		if len(roots) > 0 {
			broken[roots[0]] = append(broken[roots[0]], w)
		}
	}

	// Tell of each kustomization that does not render, and not of each of its files.
	for _, root := range object.SortedKeys(broken) {
		units := broken[root]
		name := units[0].named("").String()
		if more := len(units) - 1; more > 0 {
			name += " and " + printable.Count(more, "other unit")
		}
		x.warn(units[0].Pos, "mend it: ropewalk render "+path.Dir(root), "of %s the files are read, and not what %s makes of them, as it does not render: %w", name, root, problems[root])
	}
	return out, nil
}

// renderRoot returns the objects of a kustomization that no unit renders, or why it does not render.
// The files with units that it is made of are not looked at again.
func (x *expanding) renderRoot(ctx context.Context, file string) (out []entry, problem, err error) {
	at := object.Pos{File: file, Line: 1, Column: 1}
	built := mapOf(at, member("path", object.TextAt(path.Dir(file), at)), member("loadRestrictor", object.TextAt("none", at)), member("enableHelm", object.BoolAt(true, at)))
	u := Unit{ID: ID{Kind: kindKustomization, Name: path.Dir(file)}, Pos: at, Components: []object.Value{mapOf(at, member("kustomize", built))}}
	made, err := x.render(ctx, u, mentionsUnits)
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case IsInstallation(err):
		return nil, nil, err
	case err != nil:
		return nil, x.problemOf(u, err).Err, nil
	}
	for _, name := range made.Read {
		x.read[name] = x.read[name] || slices.ContainsFunc(x.written.byFile[name], isUnit)
	}
	for _, m := range made.Objects {
		out = append(out, entry{Written{Value: valueOf(m.Object, x.writtenAt(m)), Rendered: true}, file})
	}
	return out, nil, nil
}
