// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// Spec is a Component of a new project.
type Spec struct {
	Name, Namespace string
	DependsOn       []string
	// Built is what builds it: helm, kustomize or manifests, with their fields.
	Built map[string]any
}

// Document returns the spec of the Component.
func (s Spec) Document() map[string]any {
	out := map[string]any{}
	for name, v := range s.Built {
		out[name] = v
	}
	if len(s.DependsOn) > 0 {
		out["dependsOn"] = s.DependsOn
	}
	return out
}

// Project is what the units of a cluster become.
type Project struct {
	// Folder is that of the project below the one that the user names; "" where there is one project.
	Folder string
	Specs  []Spec
	// Files are beside the specs, by their paths in the project.
	Files map[string][]byte
	// Namespace and KubeVersion are those of the only unit.
	Namespace, KubeVersion string
	// Items are what the specs render.
	Items []diff.Item
	// Units counts the units that are specs, Replaced are the objects of engines that are none any
	// more, and Left are the fields that are not carried over.
	Units    int
	Replaced []string
	Left     []string
}

// Projects returns a project for each cluster that has objects, in the order of their folders. The
// argument at returns the path of a folder of a project in the repository of the units.
func (p *Plan) Projects(at func(folder string) string) ([]Project, error) {
	folders := map[string][]Unit{}
	for _, u := range p.units {
		if p.fates[u.ID] == carried {
			folders[p.Folder(u)] = append(folders[p.Folder(u)], u)
		}
	}
	var out []Project
	if len(folders) == 1 {
		for _, units := range folders {
			folders = map[string][]Unit{"": units}
		}
	}
	for _, folder := range object.SortedKeys(folders) {
		made := Project{Folder: folder, Files: map[string][]byte{}}
		units := folders[folder]
		slices.SortFunc(units, func(a, b Unit) int { return a.Compare(b.ID) })
		names := p.namesOf(units)
		for _, u := range units {
			if err := p.add(&made, u, names, at(folder)); err != nil {
				return nil, err
			}
		}
		made.Left = leftOf(units)
		for i, s := range made.Specs {
			s.DependsOn = slices.DeleteFunc(s.DependsOn, func(name string) bool {
				return !slices.ContainsFunc(made.Specs, func(other Spec) bool { return other.Name == name })
			})
			made.Specs[i] = s
		}
		if len(p.units) == 1 {
			made.Namespace, made.KubeVersion = units[0].Namespace, units[0].KubeVersion
			for i := range made.Specs {
				made.Specs[i].Namespace = ""
			}
		}
		out = append(out, made)
	}
	return out, nil
}

// namesOf returns the names of the specs of units: those of the units, with their namespaces and
// kinds before them where several have one name.
func (p *Plan) namesOf(units []Unit) map[gitops.ID]string {
	out := map[gitops.ID]string{}
	taken := func(name string) int {
		n := 0
		for _, other := range out {
			if other == name {
				n++
			}
		}
		return n
	}
	for _, name := range []func(gitops.ID) string{
		func(id gitops.ID) string { return id.Name },
		func(id gitops.ID) string { return id.Namespace + "-" + id.Name },
		func(id gitops.ID) string { return id.Kind + "-" + id.Namespace + "-" + id.Name },
	} {
		var again []gitops.ID
		for _, u := range units {
			if out[u.ID] == "" || taken(out[u.ID]) > 1 {
				again = append(again, u.ID)
			}
		}
		for _, id := range again {
			out[id] = project.Label(name(id))
		}
	}
	return out
}

// add adds a unit to a project. The argument base is the path of the project in the repository.
func (p *Plan) add(to *Project, u Unit, names map[gitops.ID]string, base string) error {
	// A unit that renders nothing but units is none any more.
	stay, gone := p.split(u)
	for _, i := range gone {
		if isSource(i.Object) || i.Object.Kind() == "ApplicationSet" {
			id := gitops.ID{Kind: i.Object.Kind(), Namespace: i.Object.Namespace(), Name: i.Object.Name()}
			to.Replaced = append(to.Replaced, id.String())
		}
	}
	if len(stay) == 0 && !u.Unseen {
		to.Replaced = append(to.Replaced, u.String())
		return nil
	}
	to.Units++
	to.Items = append(to.Items, stay...)

	// Each component is a spec, which comes after those that the unit waits for.
	for n, component := range u.Components {
		s := Spec{Name: names[u.ID], Namespace: u.Namespace, DependsOn: p.dependencies(u, names)}
		if n > 0 {
			s.Name = project.Label(fmt.Sprintf("%s-%d", s.Name, n+1))
		}
		built, err := object.Decode(component.JSON())
		if err != nil {
			return err
		}
		s.Built = built
		if overlays := overlaysOf(u); len(overlays) > 0 {
			s.Built["overlays"] = overlays
		}
		if helm, ok := s.Built["helm"].(map[string]any); ok {
			tidyChart(helm, s.Name)
		}
		if kustomize, ok := s.Built["kustomize"].(map[string]any); ok && len(gone) > 0 {
			remove(kustomize, stay, gone)
		}
		if manifests, ok := s.Built["manifests"].(map[string]any); ok && len(gone) > 0 {
			kept := map[string]bool{}
			for _, i := range stay {
				kept[i.At.File] = true
			}
			paths, _ := manifests["paths"].([]any)
			paths = slices.DeleteFunc(paths, func(name any) bool { return !kept[fmt.Sprint(name)] })
			if len(paths) == 0 {
				continue
			}
			manifests["paths"] = paths
		}
		s.addSecret(u.PullSecret)
		if err := s.place(to, u.Files, base); err != nil {
			return err
		}
		to.Specs = append(to.Specs, s)
	}
	return nil
}

// dependencies returns the specs that come before a unit: those of the units that it waits for, or
// that one which renders it does, and those of what they render.
func (p *Plan) dependencies(u Unit, names map[gitops.ID]string) []string {
	wanted := slices.Clone(u.DependsOn)
	for _, other := range p.units {
		if slices.Contains(u.Parents, other.ID) {
			wanted = append(wanted, other.DependsOn...)
		}
	}
	var out []string
	for _, id := range wanted {
		for _, other := range p.units {
			name, known := names[other.ID]
			if known && name != names[u.ID] && (other.ID == id || slices.Contains(other.Parents, id)) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// overlaysOf returns the patches that a unit lays over its objects, as a document has them.
func overlaysOf(u Unit) (out []any) {
	for _, o := range u.Overlays {
		patch, err := object.Decode(o.Patch.JSON())
		if err != nil {
			continue // One without a patch lays nothing over fields.
		}
		selected := map[string]any{}
		for name, pattern := range map[string]string{"kind": cmp.Or(o.Select.Kind, "*"), "name": o.Select.Name, "namespace": o.Select.Namespace, "group": o.Select.Group} {
			if pattern != "" {
				selected[name] = pattern
			}
		}
		out = append(out, map[string]any{"select": selected, "patch": map[string]any(patch)})
	}
	return out
}

// addSecret names the Secret with the credentials of what a spec is fetched from.
func (s Spec) addSecret(name string) {
	if name == "" {
		return
	}
	ref := map[string]any{"name": name}
	if source, ok := s.Built["source"].(map[string]any); ok {
		source["pullSecretRef"] = ref
		return
	}
	helm, _ := s.Built["helm"].(map[string]any)
	if chart, _ := helm["chart"].(string); strings.HasPrefix(chart, "oci://") {
		helm["pullSecretRef"] = ref
	}
}

// tidyChart removes what a chart has without being told.
func tidyChart(helm map[string]any, name string) {
	if helm["releaseName"] == name {
		delete(helm, "releaseName")
	}
	for _, field := range []string{"values", "valuesFiles"} {
		values, isMap := helm[field].(map[string]any)
		files, isList := helm[field].([]any)
		if isMap && len(values) == 0 || isList && len(files) == 0 {
			delete(helm, field)
		}
	}
}

// remove adds patches to a kustomization that delete objects: all of a kind, or by their names if
// others of the kind stay.
func remove(kustomize map[string]any, stay, gone []diff.Item) {
	patches, _ := kustomize["patches"].([]any)
	byKind := map[string][]object.Object{}
	for _, i := range gone {
		kind := i.Object.Ref().GroupKind()
		byKind[kind] = append(byKind[kind], i.Object)
	}
	prefix, _ := kustomize["namePrefix"].(string)
	suffix, _ := kustomize["nameSuffix"].(string)
	for _, kind := range object.SortedKeys(byKind) {
		first := byKind[kind][0]
		target := map[string]any{"group": first.Group(), "kind": first.Kind()}
		if slices.ContainsFunc(stay, func(other diff.Item) bool { return other.Object.Ref().GroupKind() == kind }) {
			var names []string
			for _, o := range byKind[kind] { // A patch comes before the names of the kustomization are laid over.
				names = append(names, regexp.QuoteMeta(strings.TrimSuffix(strings.TrimPrefix(o.Name(), prefix), suffix)))
			}
			slices.Sort(names)
			target["name"] = "(" + strings.Join(slices.Compact(names), "|") + ")"
		}
		text := fmt.Sprintf("$patch: delete\napiVersion: %s\nkind: %s\nmetadata: {name: any}\n", first.APIVersion(), first.Kind())
		patches = append(patches, map[string]any{"target": target, "patch": text})
	}
	kustomize["patches"] = patches
}

// place moves the paths of a spec from the root of the repository to its project. A kustomization
// that Flux makes, which is in no file, is written beside the spec.
func (s Spec) place(to *Project, made map[string][]byte, base string) error {
	if s.Built["source"] != nil {
		return nil
	}
	for _, name := range []string{"helm", "kustomize", "manifests"} {
		fields, _ := s.Built[name].(map[string]any)
		for _, field := range []string{"chart", "valuesFiles", "path", "components", "paths"} {
			isName := field == "chart" && fields["repo"] != nil
			switch v := fields[field].(type) {
			case string:
				if !isName {
					fields[field] = below(base, v)
				}
			case []any:
				for i := range v {
					v[i] = below(base, fmt.Sprint(v[i]))
				}
			}
		}
	}
	for _, file := range object.SortedKeys(made) {
		var k map[string]any
		if err := yaml.Unmarshal(made[file], &k); err != nil {
			return err
		}
		resources, _ := k["resources"].([]any)
		for i, r := range resources {
			resources[i] = below(path.Join(base, s.Name), path.Join(path.Dir(file), fmt.Sprint(r)))
		}
		text, err := yaml.Marshal(k)
		if err != nil {
			return err
		}
		to.Files[path.Join(s.Name, path.Base(file))] = text
		if kustomize, ok := s.Built["kustomize"].(map[string]any); ok {
			kustomize["path"] = s.Name
		}
	}
	return nil
}

// below returns a path of the repository as the project at base has it. A URL stays.
func below(base, name string) string {
	if strings.Contains(name, "://") {
		return name
	}
	rel, err := filepath.Rel(filepath.FromSlash(base), filepath.FromSlash(name))
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}
