// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/builder"
)

// Defaults hold the values that workloads of a project have if they write nothing else: fields
// of the spec of a Workload and, below container, fields of each of its containers.
type Defaults struct {
	value object.Value
	// places holds the positions of its parts, and reported the mistakes in them.
	places   map[object.Pos]bool
	reported object.Errors
}

// everyContainer is the field that holds the defaults of containers.
const everyContainer = "container"

// defaultFields returns the fields of a spec that may have a default.
func defaultFields() []string {
	return []string{
		"annotations", everyContainer, "deploy", "disruption", "labels", "network", "pod", "podAnnotations",
		"replicas", "securityContext", "serviceAccount",
	}
}

// defaultContainer returns the fields of a container that may have a default.
func defaultContainer() []string {
	return []string{
		"imagePullPolicy", "lifecycle", "livenessProbe", "readinessProbe", "resizePolicy", "resources", "securityContext",
		"startupProbe", "terminationMessagePath", "terminationMessagePolicy",
	}
}

// lacking returns the defaults that do not apply to a workload of a kind, because the kind has no
// such field or Ropewalk sets it.
func lacking(kind string) []string {
	switch kind {
	case KindJob, KindCronJob:
		return []string{"deploy", "disruption", "replicas"}
	case KindKnativeService:
		return []string{"deploy", "disruption", "replicas", "lifecycle", "resizePolicy"}
	case KindStatefulSet:
		return []string{"deploy"}
	}
	return nil
}

// ReadDefaults returns the defaults of a project in an environment. The errors include mistakes in
// other environments.
func ReadDefaults(p spec.Project, environment string) (Defaults, object.Errors) {
	base := defaultsOf(p.WorkloadDefaults)
	out := newDefaults(base, object.Value{}, "")
	errs := slices.Clone(out.reported)
	for _, name := range object.SortedKeys(p.Environments) {
		written := defaultsOf(p.Environments[name].Workloads)
		if written.Kind == object.KindNone {
			continue
		}
		d := newDefaults(written, base, name)
		errs = append(errs, d.reported...)
		if name == environment {
			out = d
		}
	}
	return out, errs
}

// defaultsIn returns the defaults in the configuration of workloads, which may be null. A value
// of another type is reported by render/spec.
func defaultsOf(workloads object.Value) object.Value {
	if v, _ := workloads.Get("defaults"); v.Kind == object.KindMap || v.Kind == object.KindNull {
		return v
	}
	return object.Value{}
}

// newDefaults merges the defaults of an environment over the defaults of the project, and checks
// the result.
func newDefaults(written, project object.Value, environment string) Defaults {
	out := Defaults{places: map[object.Pos]bool{}}
	addPlaces(written, out.places)
	d := newDecoder(Document{Defaults: true})
	loc := (*location)(nil).To("spec", "workloads", "defaults")
	out.value = withoutNulls(layered(written, project))
	if out.value.Kind == object.KindMap {
		d.decodeDefaults(d.hold(defaultsTable(), out.value, loc))
	}

	// A mistake in the text of an environment has a path below that environment.
	part{d, written, loc}.reportNulls(project)
	for _, e := range d.Errs {
		if path, ok := strings.CutPrefix(e.Path, "spec."); ok && environment != "" && out.places[e.Pos] {
			e.Path = "spec.environments." + environment + "." + path
		}
	}
	addPlaces(project, out.places)
	out.reported = d.Errs
	return out
}

// addPlaces adds the positions of the parts of v to places.
func addPlaces(v object.Value, places map[object.Pos]bool) {
	if v.Kind == object.KindNone {
		return
	}
	places[v.Pos] = true
	for _, m := range v.Members {
		places[m.Pos] = true
		addPlaces(m.Value, places)
	}
	for _, item := range v.Items {
		addPlaces(item, places)
	}
}

// reportNulls reports null fields that remove nothing of project.
func (p part) reportNulls(project object.Value) {
	for _, m := range p.Members {
		base, _ := project.Get(m.Name)
		field := part{p.decoder, m.Value, p.loc.To(m.Name)}
		missing := base.Kind == object.KindNone || base.Kind == object.KindNull
		if m.Value.Kind == object.KindNull && missing {
			p.failAt(m.Pos, field.loc, "write a value, or remove the field", "is null")
		}
		field.reportNulls(base)
	}
}

// withoutNulls returns v without all members that are null, at any depth.
func withoutNulls(v object.Value) object.Value {
	v = withoutNull(v)
	for i := range v.Members {
		v.Members[i].Value = withoutNulls(v.Members[i].Value)
	}
	return v
}

// decodeDefaults decodes the defaults as the parts of a Workload that they become.
func (d *decoder) decodeDefaults(p part) {
	d.decodeIdentity(p)
	d.out.Annotations = p.annotations("annotations")
	d.decodeExtras(p)
	if c := p.field(everyContainer); c.given() {
		entry{c, everyContainer, c.Pos}.container(part{decoder: d}, nil)
	}
}

// Empty reports whether there are no defaults.
func (d Defaults) Empty() bool { return d.value.Kind != object.KindMap }

// Under returns a document with the defaults below its own fields: maps are merged, and any other
// value of the document wins.
func (d Defaults) Under(doc object.Value, score bool) object.Value {
	root := "spec"
	if score {
		root = "metadata"
	}
	metadata, _ := doc.Get("metadata")
	body, _ := doc.Get(root)
	isNull := func(name string) bool {
		v, _ := body.Get(name)
		return v.Kind == object.KindNull
	}
	if d.Empty() || metadata.Kind != object.KindMap || body.Kind != object.KindMap {
		return doc
	}

	// Sort the defaults into metadata and spec. Labels and annotations go into metadata, because
	// labels below spec win over labels of metadata.
	kind, _ := body.Get("kind")
	var meta, fields builder.Fields
	for _, m := range d.value.Members {
		if m.Name == "replicas" {
			m.Value = withQueueOf(m.Value, body)
		}
		isField := m.Name != everyContainer && slices.Contains(defaultFields(), m.Name)
		unused := !isField || slices.Contains(lacking(kind.Text), m.Name)
		switch {
		case m.Value.Kind == object.KindNone:
		case unused || isNull(m.Name):
		case score || m.Name == "labels" || m.Name == "annotations":
			meta = append(meta, m)
		default:
			fields = append(fields, m)
		}
	}

	// Merge them. A Score file has containers in two places.
	if !score {
		containers, _ := body.Get("containers")
		fields.Put("containers", d.containers(containers, object.Value{}, kind.Text, allFields))
		return layered(doc, builder.Pairs(d.value.Pos, "metadata", meta.Value(d.value.Pos), "spec", fields.Value(d.value.Pos)))
	}
	containers, _ := doc.Get("containers")
	extras, _ := body.Get("containers")
	meta.Put("containers", d.containers(containers, extras, kind.Text, extraOfScore))
	return layered(doc, builder.Pairs(d.value.Pos, "metadata", meta.Value(d.value.Pos),
		"containers", d.containers(containers, extras, kind.Text, knownToScore)))
}

// withQueueOf returns the default of replicas without its queue, unless the body of the workload has
// a queue of the same type.
// The result is absent if nothing is left.
func withQueueOf(defaults, body object.Value) object.Value {
	kind := func(v object.Value) string {
		t, _ := v.Get("type")
		return cmp.Or(t.Text, defaultBroker)
	}
	queueOfBody, found := body.Lookup(object.Fields("replicas", "queue"))
	queue, _ := defaults.Get("queue")
	typed, _ := queueOfBody.Get("type")
	sameType := typed.Text == "" || kind(queueOfBody) == kind(queue)
	keep := found == 2 && queueOfBody.Kind == object.KindMap && sameType
	if queue.Kind == object.KindNone || keep {
		return defaults
	}
	defaults = defaults.Without(object.Fields("queue"))
	if len(defaults.Members) == 0 {
		return object.Value{}
	}
	return defaults
}

// containers returns the defaults of containers. The argument extras holds the containers under
// metadata of a Score file. The function selectFields selects a part of each.
func (d Defaults) containers(
	containers, extras object.Value, kind string, selectFields func(object.Value) object.Value,
) object.Value {
	defaults, _ := d.value.Get(everyContainer)
	var out builder.Fields
	for _, c := range containers.Members {
		if c.Value.Kind != object.KindMap || defaults.Kind != object.KindMap {
			continue
		}
		extra, _ := extras.Get(c.Name)
		written := c.Value.Merge(extra)
		missing := lacking(kind)
		if completes(written) {
			missing = append(missing, "lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
		}

		// Keep the defaults that a container of this kind can have.
		var fields builder.Fields
		for _, m := range yielded(defaults, written).Members {
			if slices.Contains(defaultContainer(), m.Name) && !slices.Contains(missing, m.Name) {
				fields = append(fields, m)
			}
		}
		out.Put(c.Name, selectFields(fields.Value(defaults.Pos)))
	}
	return out.Value(defaults.Pos)
}

// completes reports whether a container ends before others start, so that it can have no probes.
func completes(container object.Value) bool {
	before, _ := container.Get("before")
	return slices.ContainsFunc(before.Members, func(m object.Member) bool {
		ready, _ := m.Value.Get("ready")
		return ready.Text == ReadyComplete
	})
}

// allFields, knownToScore and extraOfScore select the fields of a container of a Workload, of a
// container of a Score file, and of its extras.
func allFields(v object.Value) object.Value { return v }

func knownToScore(v object.Value) object.Value {
	amounts, _ := v.Get("resources")
	return builder.Pairs(v.Pos, "resources", amountsOf(amounts, true))
}

func extraOfScore(v object.Value) object.Value {
	amounts, _ := v.Get("resources")
	fields := builder.Fields(v.Without(object.Fields("resources")).Members)
	fields.Put("resources", amountsOf(amounts, false))
	return fields.Value(v.Pos)
}

// amountsOf returns the requests and limits of a container that Score knows if ofScore is set, and
// otherwise the others, with numbers as text.
func amountsOf(v object.Value, ofScore bool) object.Value {
	var out builder.Fields
	for _, list := range v.Members {
		var amounts builder.Fields
		for _, m := range list.Value.Members {
			if usual := m.Name == "cpu" || m.Name == "memory"; usual != ofScore {
				continue
			}
			if m.Value.Kind == object.KindNumber {
				m.Value.Kind = object.KindString
			}
			amounts = append(amounts, m)
		}
		out.Put(list.Name, amounts.Value(list.Value.Pos))
	}
	return out.Value(v.Pos)
}

// layered returns top with the fields that only base has. Each part of top stays in its place.
func layered(top, base object.Value) object.Value {
	return top.Merge(yielded(base, top)).Merge(top)
}

// yielded returns defaults without the alternatives to the choices in top: the actions of probes
// and hooks, the bounds of a disruption, and the server of a queue.
func yielded(defaults, top object.Value) object.Value {
	alternatives := append(actions(), "sleep", "minAvailable", "maxUnavailable", fieldAddress, fieldResource)
	for _, choice := range []object.Path{
		object.Fields("disruption"), object.Fields("replicas", "queue"),
		object.Fields("livenessProbe"), object.Fields("readinessProbe"), object.Fields("startupProbe"),
		object.Fields("lifecycle", "preStop"), object.Fields("lifecycle", "postStart"),
	} {
		// The values are a container, the defaults of a project, a Workload or a Score file.
		for _, root := range []object.Path{nil, object.Fields(everyContainer), object.Fields("spec"), object.Fields("metadata")} {
			path := slices.Concat(root, choice)
			chosenIn, found := top.Lookup(path)
			chosen := func(m object.Member) bool {
				return m.Value.Kind != object.KindNull && slices.Contains(alternatives, m.Name)
			}
			if found < len(path) || !slices.ContainsFunc(chosenIn.Members, chosen) {
				continue
			}
			for _, name := range alternatives {
				defaults = defaults.Without(path.Append(object.Field(name)))
			}
		}
	}
	return defaults
}

// Written returns errors on the workload called name at a position as errors on its defaults, each
// with both places. It leaves out errors that the defaults themselves have.
func (d Defaults) Written(errs object.Errors, name string, pos object.Pos) object.Errors {
	out := make(object.Errors, 0, len(errs))
	for _, e := range errs {
		if !d.places[e.Pos] {
			out = append(out, e)
			continue
		}
		reported := slices.ContainsFunc(d.reported, func(r *object.Error) bool {
			return r.Pos == e.Pos && (r.Severity == object.SeverityError || r.Err.Error() == e.Err.Error())
		})
		if reported {
			continue
		}
		located := *e
		located.Err = fmt.Errorf("workload %q: %w", name, e.Err)
		located.Notes = append(slices.Clone(e.Notes), object.Note{Pos: pos, Text: "the workload that has this default"})
		out = append(out, &located)
	}
	return out
}
