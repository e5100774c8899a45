// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Document is a Score file or a Workload document, with everything merged over it
// that belongs there.
type Document struct {
	Value object.Value
	// Blocks maps the position of each block scalar to that of its text.
	Blocks map[object.Pos]spec.Block
	// Last is the last line of the document, 0 where it is not known: what stands
	// on another was merged over it.
	Last int
	// Score is set if it is a Score file.
	Score bool
	// Defaults is set for the defaults of workloads, which have no ports.
	Defaults bool
}

// Decode decodes, upgrades and validates a document. It returns all mistakes at once, at most a
// hundred errors and a hundred warnings, in no particular order: callers sort them. The workload
// is complete if no error is among them. It has what could be read in any case.
//
// Errors are of the stage spec, have the position in the user's text and a path from the root of
// the document, such as containers.web.variables.PORT. None repeats the text of a variable, a
// file or a parameter.
func Decode(doc Document) (Workload, object.Errors) {
	d := newDecoder(doc)
	d.out.Score = doc.Score
	d.out.Pos = doc.Value.Pos
	kind, found := doc.Value.Lookup(object.Fields(d.extra(), "kind"))
	if found == 2 && kind.Text == KindKnativeService {
		d.Able = d.able
	}
	if doc.Score {
		d.decodeScore()
	} else {
		d.decodeWorkload()
	}
	return d.out, d.Errs
}

// extra returns the field below which what Score lacks is.
func (d *decoder) extra() string {
	if d.doc.Score {
		return "metadata"
	}
	return "spec"
}

// decodeScore decodes a Score file. Extras stand under metadata, which Score leaves open.
func (d *decoder) decodeScore() {
	table := scoreTable()
	v := d.doc.Value
	if version, _ := v.Get("apiVersion"); version.Text == kinds.ScoreVersionOld {
		d.warn(version.Pos, (*location)(nil).To("apiVersion"), "write apiVersion: "+kinds.ScoreVersion, "%q is an older name, read as %q", kinds.ScoreVersionOld, kinds.ScoreVersion)
		v = v.Merge(object.Value{Kind: object.KindMap, Pos: v.Pos, Members: []object.Member{{Name: "apiVersion", Pos: version.Pos, Value: object.TextAt(kinds.ScoreVersion, version.Pos)}}})
	}
	root := d.hold(table, v, nil)
	if _, ok := v.Get("spec"); ok { // What is missing stands there.
		d.Errs = slices.DeleteFunc(d.Errs, func(e *object.Error) bool { return e.Path == "containers" && e.Err.Error() == "is missing" })
	}
	meta := root.get("metadata")
	d.decodeMetadata()
	d.out.Annotations = meta.annotations("annotations")
	d.decodeIdentity(meta)
	d.decodeExtras(meta)
	d.decodeBody(root, meta.get("containers"))
	meta.warnUnknown(named(table, "metadata"))
}

// named returns a field of a map, which must have it.
func named(table document.Field, name string) document.Field {
	return table.Fields[slices.IndexFunc(table.Fields, func(f document.Field) bool { return f.Name == name })]
}

// warnUnknown warns of the members of the metadata of a Score file that were probably meant to be
// known fields. The metadata is open, so that most members that are not known belong to the
// author.
func (p part) warnUnknown(table document.Field) {
	const slips = 2
	var known []string
	for _, f := range table.Fields {
		known = append(known, f.Name)
	}
	for _, m := range p.Members {
		if slices.Contains(known, m.Name) {
			continue
		}
		near, ok := object.Nearest(m.Name, known)
		if ok && (strings.HasPrefix(near, m.Name) || object.Distance(strings.ToLower(m.Name), strings.ToLower(near)) <= slips) {
			p.decoder.warn(m.Pos, p.at.To(m.Name), "did you mean \""+near+"\"?", "%s has no meaning here", shown(m.Name))
		}
	}
}

// decodeWorkload decodes a Workload document. Extras stand under spec, beside what Score has.
// Namespace, labels and annotations may stand there too, because environments merge their input
// over the spec only.
func (d *decoder) decodeWorkload() {
	root := d.hold(workloadTable(), d.doc.Value, nil)
	meta, body := root.get("metadata"), root.get("spec")
	d.decodeMetadata()
	d.decodeIdentity(meta)
	d.decodeIdentity(body)
	d.out.Annotations = over(meta.annotations("annotations"), body.annotations("annotations"))
	d.decodeExtras(body)
	d.decodeBody(body, part{decoder: d})
}

// decodeMetadata decodes what both kinds of document have there. A wrong name is still the name
// of the workload.
func (d *decoder) decodeMetadata() {
	written, _ := d.doc.Value.Get("metadata")
	if written.Kind == object.KindMap {
		d.out.Metadata = written
	}
	if name, _ := written.Get("name"); name.Kind == object.KindString {
		d.out.Name = Text{Value: name.Text, Pos: name.Pos}
	}
}

// annotations returns texts in which no placeholder is expanded.
func (p part) annotations(name string) []Pair {
	in := p.get(name)
	in.warnLiterals(useValue)
	return in.pairs()
}

// decodeIdentity decodes the namespace and the labels.
func (d *decoder) decodeIdentity(p part) {
	if namespace := p.get("namespace"); namespace.given() {
		d.out.Namespace = namespace.text()
	}
	d.out.Labels = over(d.out.Labels, p.get("labels").pairs())
}

// decodeBody decodes what Score has beside metadata. The argument more has the extras of the
// containers of a Score file.
func (d *decoder) decodeBody(p, more part) {
	d.decodePorts(p.get("service"))
	d.decodeContainers(p.get("containers"), more)
	for _, e := range p.get("resources").entries() {
		d.out.Resources = append(d.out.Resources, e.resource())
	}
	slices.SortFunc(d.out.Resources, func(a, b Resource) int { return strings.Compare(a.Name, b.Name) })
	d.checkKind()
}

// decodePorts decodes the service.
func (d *decoder) decodePorts(p part) {
	type number struct {
		port     int
		protocol string
	}
	taken := map[number]string{}
	for _, e := range p.get("ports").entries() {
		port := e.port()
		key := number{port.Port, port.Protocol}
		if other := taken[key]; other != "" && port.Port > 0 {
			e.fail("", "%s port %d is that of %q already", port.Protocol, port.Port, other)
		}
		taken[key] = e.name
		d.out.Ports = append(d.out.Ports, port)
	}
	slices.SortFunc(d.out.Ports, func(a, b Port) int { return strings.Compare(a.Name, b.Name) })
	if headless := p.get("headless"); headless.flag() {
		d.out.Headless = headless.Pos
	}
}

// port decodes a port of the service.
func (e entry) port() Port {
	out := Port{Name: e.name, Pos: e.namePos, Protocol: cmp.Or(e.get("protocol").Text, "TCP")}
	out.Port, _ = e.get("port").number()
	out.Target = out.Port
	if n, ok := e.get("targetPort").number(); ok {
		out.Target = n
	}
	return out
}
