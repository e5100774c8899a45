// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// ID names an object of an engine in a cluster.
type ID struct {
	// Cluster is the folder that tells entries of one name apart, such as production; "" where
	// there is one.
	Cluster               string
	Kind, Namespace, Name string
}

// String returns the object as messages name it: Kustomization/flux-system/apps. It is one line,
// so that a name with a line break cannot begin a line that a CI system obeys, such as ::error::.
func (id ID) String() string {
	parts := []string{id.Kind, id.Namespace, id.Name}
	if id.Namespace == "" {
		parts = []string{id.Kind, id.Name}
	}
	text := strings.Join(parts, "/")
	if id.Cluster != "" {
		text += " of " + id.Cluster
	}
	return printable.Line(text)
}

// namespaceProblem returns why objects cannot be in the namespace of a unit, or nil if they can. A
// variable that is left in it is one of the cluster.
func (u Unit) namespaceProblem() *object.Error {
	err := spec.CheckName(u.Namespace)
	switch {
	case u.Namespace == "" || err == nil:
		return nil
	case strings.Contains(u.Namespace, "${"):
		return warning(u.Pos, "", "%s is for the namespace %s, which is known in the cluster alone", u.ID, printable.Line(u.Namespace))
	}
	return mistake(u.Pos, "", "the namespace %w", err)
}

// Compare orders units by their clusters, kinds and names.
func (id ID) Compare(other ID) int {
	return cmp.Or(strings.Compare(id.Cluster, other.Cluster), strings.Compare(id.Kind, other.Kind),
		strings.Compare(id.Namespace, other.Namespace), strings.Compare(id.Name, other.Name))
}

// Unit is what an engine applies at once: the objects of a Kustomization, a HelmRelease or an
// Application.
type Unit struct {
	ID
	// Pos is where it is written.
	Pos object.Pos
	// Object is what it is made of, as it is written or rendered.
	Object object.Value
	// Parents are the units that lead to it, the entry first.
	Parents []ID
	// Components are what renders it, as in documents; their paths are relative to the root of the
	// repository. An Application has one for each source, other units have one; there is none if
	// Problem is set.
	Components []object.Value
	// Sets are arguments of Helm for the chart of a component, by its index. What they set is in the
	// values of the component too, as far as these can say it: an integer is a number there, and an
	// element of a list is missing.
	Sets map[int][]spec.HelmSet
	// Overlays are laid over the objects.
	Overlays []spec.Overlay
	// Namespace is that of objects that name none, and KubeVersion that of the cluster.
	Namespace, KubeVersion string
	// Files are those that the engine adds to the repository before it renders, by their paths.
	Files map[string][]byte
	// Project is the folder of the project of Ropewalk that an Application renders with the plugin;
	// "" for others.
	Project string
	// DependsOn are the units that are ready before.
	DependsOn []ID
	// Prunes is set if objects that leave the render are deleted, and Deletes if all of them are
	// when the unit itself is deleted.
	Prunes, Deletes bool
	// Suspended is set if the engine does not apply it.
	Suspended bool
	// Unchecked is set if values that are in the cluster alone are missing in its objects, which
	// no schema is for then.
	Unchecked bool
	// Secrets are the values of Secrets of the repository in it, which no message and no page shows.
	Secrets []string
	// Warnings are about fields that are not carried over.
	Warnings object.Errors
	// Problem is why it cannot be rendered here; nil if it can be. It is a warning if no file of the
	// repository is wrong: what is missing is in the cluster alone, or with a plugin.
	Problem *object.Error
	// gone are the files of the repository that its source does not have.
	gone map[string]bool
}

// Label returns the name of the spec of a unit.
func (u Unit) Label() string { return project.Label(u.Name) }

// Options returns the options that load a unit of the repository, over those that are the same for
// all.
func (u Unit) Options(files fs.FS, base host.Options) (host.Options, error) {
	out := base
	out.Dir, out.Root = ".", "."
	out.FS = files
	if len(u.Files) > 0 {
		over, err := memfs.Over(files, u.Files)
		if err != nil {
			return out, err
		}
		out.FS = over
	}
	out.Specs = nil
	for i, component := range u.Components {
		name := u.Label()
		if i > 0 {
			name = project.Label(fmt.Sprintf("%s-%d", u.Name, i+1))
		}
		out.Specs = append(out.Specs, spec.Transform{
			Kind: spec.KindComponent, Name: name, Pos: u.Pos, NamePos: u.Pos, Component: component, HelmSets: u.Sets[i], Overlays: u.Overlays,
			// The engine applies what is committed: it is no mistake of the render.
			AllowSecrets: []string{"*"},
			OfUnit:       true,
		})
	}
	out.Context = spec.Context{Namespace: u.Namespace}.Merge(out.Context)
	if u.KubeVersion != "" { // What a unit says is for its chart alone, and not the version of the cluster.
		out.Context.KubeVersion = u.KubeVersion
	}
	out.AllowEmpty = true
	out.Hidden = u.Secrets
	out.SkipSchemas = out.SkipSchemas || u.Unchecked
	return out, nil
}

// IsSame reports whether another version of a unit renders the same without a look at files: both
// say the same, and what they name is no file of the repository, or cannot be rendered here.
func (u Unit) IsSame(other Unit) bool {
	if u.Problem != nil || other.Problem != nil {
		return u.Problem != nil && other.Problem != nil && u.Problem.Err.Error() == other.Problem.Err.Error()
	}
	if u.isLocal() || u.Namespace != other.Namespace || u.KubeVersion != other.KubeVersion {
		return false
	}
	same := func(a, b object.Value) bool { return bytes.Equal(a.JSON(), b.JSON()) }
	return slices.EqualFunc(u.Components, other.Components, same) && maps.EqualFunc(u.Sets, other.Sets, sameSets) &&
		slices.EqualFunc(u.Overlays, other.Overlays, func(a, b spec.Overlay) bool { return same(a.Patch, b.Patch) })
}

// sameSets reports whether arguments of Helm are the same, wherever they are written.
func sameSets(a, b []spec.HelmSet) bool {
	return slices.EqualFunc(a, b, func(a, b spec.HelmSet) bool {
		a.Pos, b.Pos = object.Pos{}, object.Pos{}
		return a == b
	})
}

// Unwritten returns warnings of the arguments of Helm that no values can say: they replace all of a
// list, and not one element.
func (u Unit) Unwritten() object.Errors {
	var out object.Errors
	if u.Kind != kindApplication {
		return nil // Its values have all of them.
	}
	for _, i := range slices.Sorted(maps.Keys(u.Sets)) {
		for _, s := range u.Sets[i] {
			name, _, _ := strings.Cut(s.Text, "=")
			if _, known := parameterNames(name); !known {
				out = append(out, warning(s.Pos, "write it in valuesObject", "%s: the parameter %q is not carried over", u.ID, name))
			}
		}
	}
	return out
}

// isLocal reports whether a unit has files of the repository.
func (u Unit) isLocal() bool {
	for _, component := range u.Components {
		helm := lookup(component, "helm")
		_, source := component.Get("source")
		chart := lookup(helm, "repo").Kind != object.KindNone || strings.HasPrefix(helm.TextOf("chart"), "oci://")
		if !source && (!chart || len(lookup(helm, "valuesFiles").Items) > 0) {
			return true
		}
	}
	return false
}
