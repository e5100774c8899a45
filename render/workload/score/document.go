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

// Document is a Score file or a Workload document, with the input of environments and options
// merged over it.
type Document struct {
	Value object.Value
	// Blocks maps the position of each block scalar to the position of its text.
	Blocks map[object.Pos]spec.Block
	// Last is the last line of the document, or 0 if it is not known: a value on a later
	// line was merged over the document.
	Last int
	// Score is set if it is a Score file.
	Score bool
	// Defaults is set for the defaults of workloads, which have no ports.
	Defaults bool
}

// Decode decodes, upgrades and validates a document. It returns all mistakes at once, at most a
// hundred errors and a hundred warnings, in no particular order: callers sort them. Without errors
// the workload is complete; otherwise it holds the parts that could be read.
//
// Errors are of the stage spec, have the position in the user's text and a path from the root of
// the document, such as containers.web.variables.PORT. They never repeat the text of a variable, a
// file or a parameter.
func Decode(doc Document) (Workload, object.Errors) {
	d := newDecoder(doc)
	d.out.Score = doc.Score
	d.out.Pos = doc.Value.Pos
	kind, found := doc.Value.Lookup(object.Fields(d.extra(), "kind"))
	if found == 2 && kind.Text == KindKnativeService {
		d.Able = d.checkKnativeCan
	}
	if doc.Score {
		d.decodeScore()
	} else {
		d.decodeWorkload()
	}
	return d.out, d.Errs
}

// extra returns the field that holds the fields that Score lacks.
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
		loc := (*location)(nil).To("apiVersion")
		d.warnAt(version.Pos, loc, "write apiVersion: "+kinds.ScoreVersion,
			"%q is an older name, read as %q", kinds.ScoreVersionOld, kinds.ScoreVersion)
		current := object.TextAt(kinds.ScoreVersion, version.Pos)
		v = v.Merge(object.Value{Kind: object.KindMap, Pos: v.Pos, Members: []object.Member{
			{Name: "apiVersion", Pos: version.Pos, Value: current},
		}})
	}

	// The containers of a document with a spec stand there.
	root := d.hold(table, v, nil)
	if _, ok := v.Get("spec"); ok {
		d.Errs = slices.DeleteFunc(d.Errs, func(e *object.Error) bool {
			return e.Path == "containers" && e.Err.Error() == "is missing"
		})
	}

	// Read the metadata first, as the body depends on it.
	meta := root.field("metadata")
	d.decodeMetadata()
	d.out.Annotations = meta.annotations("annotations")
	d.decodeIdentity(meta)
	d.decodeExtras(meta)
	d.decodeBody(root, meta.field("containers"))
	meta.warnUnknown(named(table, "metadata"))
}

// named returns a field of a map, which must have it.
func named(table document.Field, name string) document.Field {
	return table.Fields[slices.IndexFunc(table.Fields, func(f document.Field) bool { return f.Name == name })]
}

// warnUnknown warns of members of the metadata of a Score file whose names are close to the names
// of known fields. The metadata is open: most unknown members belong to the author.
func (p part) warnUnknown(table document.Field) {
	const slips = 2
	var names []string
	for _, f := range table.Fields {
		names = append(names, f.Name)
	}
	for _, m := range p.Members {
		if slices.Contains(names, m.Name) {
			continue
		}
		near, ok := object.Nearest(m.Name, names)
		slip := strings.HasPrefix(near, m.Name) || object.Distance(strings.ToLower(m.Name), strings.ToLower(near)) <= slips
		if ok && slip {
			p.warnAt(m.Pos, p.loc.To(m.Name), "did you mean \""+near+"\"?", "%s has no meaning here", shown(m.Name))
		}
	}
}

// decodeWorkload decodes a Workload document. Extras stand under spec, beside the fields of Score.
// Namespace, labels and annotations may stand there too, because environments merge their input
// over the spec only.
func (d *decoder) decodeWorkload() {
	root := d.hold(workloadTable(), d.doc.Value, nil)
	meta, body := root.field("metadata"), root.field("spec")
	d.decodeMetadata()
	d.decodeIdentity(meta)
	d.decodeIdentity(body)
	d.out.Annotations = over(meta.annotations("annotations"), body.annotations("annotations"))
	d.decodeExtras(body)
	d.decodeBody(body, part{decoder: d})
}

// decodeMetadata decodes the metadata of both kinds of document. A name with mistakes is still the
// name of the workload.
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
	texts := p.field(name)
	texts.warnLiterals(useValue)
	return texts.pairs()
}

// decodeIdentity decodes the namespace and the labels.
func (d *decoder) decodeIdentity(p part) {
	if namespace := p.field("namespace"); namespace.given() {
		d.out.Namespace = namespace.asText()
	}
	d.out.Labels = over(d.out.Labels, p.field("labels").pairs())
}

// decodeBody decodes the fields of Score beside metadata. The argument extras holds the extras of
// the containers of a Score file.
func (d *decoder) decodeBody(p, extras part) {
	d.decodePorts(p.field("service"))
	d.decodeContainers(p.field("containers"), extras)
	for _, e := range p.field("resources").entries() {
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
	for _, e := range p.field("ports").entries() {
		port := e.port()
		key := number{port.Port, port.Protocol}
		if other := taken[key]; other != "" && port.Port > 0 {
			e.reject("", "%s port %d is that of %q already", port.Protocol, port.Port, other)
		}
		taken[key] = e.name
		d.out.Ports = append(d.out.Ports, port)
	}
	slices.SortFunc(d.out.Ports, func(a, b Port) int { return strings.Compare(a.Name, b.Name) })
	if headless := p.field("headless"); headless.flag() {
		d.out.Headless = headless.Pos
	}
}

// port decodes a port of the service.
func (e entry) port() Port {
	out := Port{Name: e.name, Pos: e.namePos, Protocol: cmp.Or(e.field("protocol").Text, "TCP")}
	out.Port, _ = e.field("port").number()
	out.Target = out.Port
	if n, ok := e.field("targetPort").number(); ok {
		out.Target = n
	}
	return out
}
