// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Unit is a unit of Argo CD or Flux with what it renders.
type Unit struct {
	gitops.Unit
	Items []diff.Item
	// Err is why no spec can render it; nil if one can.
	Err error
	// Unseen is set if its files cannot be fetched from here, so that its objects are not known.
	Unseen bool
	// PullSecret is the Secret with the credentials of its source; "" for none.
	PullSecret string
}

// fate is what becomes of a unit.
type fate int

const (
	// carried units become specs, or nothing if they render nothing but units.
	carried fate = iota
	// kept units stay objects of the unit that renders them, and what they render is left to the
	// engine.
	kept
	// lost units are in no project: no spec renders them.
	lost
)

// Plan is what the units of a repository become.
type Plan struct {
	units []Unit
	fates map[gitops.ID]fate
	// dropped are the objects of engines that specs stand in place of.
	dropped map[gitops.ID]bool
	// apart are the clusters whose Applications go to several destinations.
	apart map[string]bool
	// Warnings are about units that are not carried over as they are.
	Warnings object.Errors
}

// NewPlan decides what becomes of units. A unit that cannot be rendered stays an object of the unit
// that renders it, and with it all that it renders.
func NewPlan(units []Unit) *Plan {
	p := &Plan{units: slices.Clone(units), fates: map[gitops.ID]fate{}, dropped: map[gitops.ID]bool{}, apart: map[string]bool{}}
	destinations := map[string]string{}
	for _, u := range units {
		first, known := destinations[u.Cluster]
		if u.Kind == "Application" && known && first != destination(u) {
			p.apart[u.Cluster] = true
		}
		if u.Kind == "Application" {
			destinations[u.Cluster] = destination(u)
		}
	}

	// A parent is decided before what it renders.
	slices.SortStableFunc(p.units, func(a, b Unit) int {
		return cmp.Or(len(a.Parents)-len(b.Parents), a.Compare(b.ID))
	})
	owners := map[string]gitops.ID{}
	for _, u := range p.units {
		p.decide(u, owners)
	}
	for _, u := range p.units {
		if p.fates[u.ID] != carried {
			continue
		}
		p.Warnings = append(p.Warnings, u.Warnings...)
		if u.Suspended {
			err := fmt.Errorf("%s is suspended: the engine does not apply it now, and its spec would be applied", u.ID)
			p.Warnings = append(p.Warnings, &object.Error{Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: u.Pos, Err: err, Hint: "leave its spec out of ropewalk.yaml until it is to be applied"})
		}
		p.dropped[u.ID] = true
		for _, parent := range u.Parents {
			if parent.Kind == "ApplicationSet" {
				p.dropped[parent] = true
			}
		}
	}
	return p
}

// decide decides what becomes of a unit. The argument owners has the units of the objects so far.
func (p *Plan) decide(u Unit, owners map[string]gitops.ID) {
	// What a unit renders that is left to the engine is left to it, too.
	parent := p.parentOf(u)
	if parent != nil && p.fates[parent.ID] == kept {
		p.fates[u.ID] = kept
		return
	}

	// Two units with one object would be a project that does not render.
	err := u.Err
	for _, i := range u.Items {
		key := p.Folder(u) + " " + i.Object.Ref().String()
		owner, owned := owners[key]
		if !isOfEngine(i.Object) && owned && owner != u.ID && err == nil {
			err = fmt.Errorf("%s renders %s, which %s renders too", u.ID, i.Object.Ref(), owner)
		}
	}
	holds := parent != nil && p.fates[parent.ID] == carried && !isReplacedWhole(*parent)
	if holds && !divides(*parent) && err == nil {
		err = fmt.Errorf("%s renders it together with other objects, and not each in a file of its own", parent.ID)
	}
	switch {
	case err == nil:
		for _, i := range u.Items {
			owners[p.Folder(u)+" "+i.Object.Ref().String()] = u.ID
		}
	case holds:
		p.fates[u.ID] = kept
		p.warn(u, err, "is kept as an object: what it makes is not rendered")
	default:
		p.fates[u.ID] = lost
		p.warn(u, err, "is not carried over")
	}
}

// warn adds a warning for each reason why a unit is not carried over, at the place of the reason.
func (p *Plan) warn(u Unit, err error, what string) {
	for _, e := range object.AsErrors(err, object.StageSpec).Failures() {
		w := *e
		w.Severity = object.SeverityWarning
		w.Err = fmt.Errorf("%s %s: %w", u.ID, what, e.Err)
		if !w.Pos.IsValid() {
			w.Pos = u.Pos
		}
		w.Hint = strings.Replace(w.Hint, "allow this Secret in allowSecrets", "write a Component with allowSecrets: [NAME] in its spec yourself, which no import does", 1)
		p.Warnings = append(p.Warnings, &w)
	}
}

// parentOf returns the unit that renders a unit, or nil for an entry.
func (p *Plan) parentOf(u Unit) *Unit {
	for _, id := range slices.Backward(u.Parents) {
		i := slices.IndexFunc(p.units, func(other Unit) bool { return other.ID == id })
		if i >= 0 {
			return &p.units[i]
		}
	}
	return nil
}

// isReplacedWhole reports whether a unit renders nothing but objects of an engine, and what builds it
// cannot leave some of them out.
func isReplacedWhole(u Unit) bool {
	others := slices.ContainsFunc(u.Items, func(i diff.Item) bool { return !isOfEngine(i.Object) })
	return !others && !divides(u)
}

// divides reports whether a spec of a unit can leave out some of its objects: a kustomization deletes
// them, and manifests are named file by file.
func divides(u Unit) bool {
	for _, c := range u.Components {
		_, kustomize := c.Get("kustomize")
		_, manifests := c.Get("manifests")
		_, source := c.Get("source")
		if !kustomize && (!manifests || source || mixed(u)) {
			return false
		}
	}
	return true
}

// mixed reports whether a file holds units beside other objects.
func mixed(u Unit) bool {
	units, others := map[string]bool{}, map[string]bool{}
	for _, i := range u.Items {
		if isOfEngine(i.Object) {
			units[i.At.File] = true
		} else {
			others[i.At.File] = true
		}
	}
	for name := range units {
		if others[name] {
			return true
		}
	}
	return false
}

// isOfEngine reports whether an object is a unit of an engine, or a source of one.
func isOfEngine(o object.Object) bool { return isUnit(o) || isSource(o) }

// OfEngine reports whether all mistakes are in objects of an engine.
func OfEngine(mistakes object.Errors, nodes []*object.Node) bool {
	return !slices.ContainsFunc(mistakes, func(e *object.Error) bool {
		i := slices.IndexFunc(nodes, func(n *object.Node) bool { return n.ID == e.Node })
		return i < 0 || !isOfEngine(nodes[i].Object)
	})
}

// isUnit reports whether an object becomes units.
func isUnit(o object.Object) bool {
	return slices.Contains([]string{
		"Application.argoproj.io", "ApplicationSet.argoproj.io", "HelmRelease.helm.toolkit.fluxcd.io", "Kustomization.kustomize.toolkit.fluxcd.io",
		"ResourceSet.fluxcd.controlplane.io",
	}, o.Ref().GroupKind())
}

// isSource reports whether an object is a source of units of Flux.
func isSource(o object.Object) bool {
	return o.Group() == "source.toolkit.fluxcd.io" || o.Group() == "source.extensions.fluxcd.io"
}

// drops reports whether specs stand in place of an object of a unit: its own spec, or those of all
// that a source is for.
func (p *Plan) drops(u Unit, o object.Object) bool {
	if isSource(o) {
		return !slices.ContainsFunc(p.units, func(other Unit) bool { return other.Cluster == u.Cluster && p.fates[other.ID] == kept })
	}
	if !isUnit(o) {
		return false
	}
	id := gitops.ID{Cluster: u.Cluster, Kind: o.Kind(), Namespace: o.Namespace(), Name: o.Name()}
	anywhere := id
	anywhere.Namespace = ""
	return p.dropped[id] || p.dropped[anywhere]
}

// split returns the objects of a unit that its spec renders, and those that specs stand in place of.
func (p *Plan) split(u Unit) (stay, gone []diff.Item) {
	for _, i := range u.Items {
		if p.drops(u, i.Object) {
			gone = append(gone, i)
		} else {
			stay = append(stay, i)
		}
	}
	return stay, gone
}

// Folder returns the folder of the project that a unit belongs to: that of its cluster, and of the
// destination if the Applications of the cluster go to several.
func (p *Plan) Folder(u Unit) string {
	if !p.apart[u.Cluster] || u.Kind != "Application" {
		return object.Label(u.Cluster)
	}
	return path.Join(object.Label(u.Cluster), object.Label(destination(u)))
}

// ownServer is the cluster that Argo CD runs in.
const ownServer = "https://kubernetes.default.svc"

// destination returns the cluster that an Application goes to.
func destination(u Unit) string {
	to := field(u.Object, "spec", "destination")
	server := to.TextOf("server")
	if server == ownServer {
		server = ""
	}
	_, host, _ := strings.Cut(server, "://")
	return cmp.Or(to.TextOf("name"), host, server, "in-cluster")
}

// Err returns why nothing becomes a spec; nil if something does.
func (p *Plan) Err() error {
	if slices.ContainsFunc(p.units, func(u Unit) bool { return p.fates[u.ID] == carried }) {
		return nil
	}
	if len(p.Warnings) == 0 {
		return errors.New("it has no unit of Argo CD or Flux")
	}
	var out object.Errors
	for _, w := range p.Warnings {
		e := *w
		e.Severity = object.SeverityError
		out = append(out, &e)
	}
	return out.Sorted()
}

// Loose returns a warning for each object beside an entry that no unit is made of: it is applied by
// hand, or not at all.
func Loose(files fs.FS, units []gitops.Unit, read map[string]bool) (out object.Errors) {
	seen := map[string]bool{}
	for _, u := range units {
		folder := path.Dir(u.Pos.File)
		if len(u.Parents) > 0 || seen[folder] {
			continue
		}
		seen[folder] = true
		entries, err := fs.ReadDir(files, folder)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			name := path.Join(folder, entry.Name())
			if entry.Type().IsRegular() && project.IsDocument(name) && !read[name] {
				out = append(out, looseIn(files, name)...)
			}
		}
	}
	return out
}

// looseIn returns a warning for each object of a file that is no unit. A file that holds none, such
// as one of values, has no warning.
func looseIn(files fs.FS, name string) (out object.Errors) {
	data, err := project.ReadManifests(files, name)
	var docs []spec.Manifest
	if err == nil {
		docs, err = spec.ParseManifests(spec.File{Name: name, Data: data}, project.MaxManifests)
	}
	if err != nil {
		return nil //nolint:nilerr // What is no YAML is no object: a template, the file of another tool.
	}
	objects, at, _ := Objects(docs)
	for n, o := range objects {
		isObject := o.Kind() != "" && o.APIVersion() != "" && o.Name() != "" && !isOfEngine(o) && o.Group() != "kustomize.config.k8s.io"
		if isObject {
			w := mistake(at[n], "import it from a file of its own, into another folder", "%s %q is not carried over: no unit renders it", o.Kind(), o.Name())[0]
			w.Severity = object.SeverityWarning
			out = append(out, w)
		}
	}
	return out
}
