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

// Defaults are what the workloads of a project have where they write nothing else: fields
// of the spec of a Workload and, below container, fields of each of its containers.
type Defaults struct {
	value object.Value
	// places are the positions of its parts, and reported is what is wrong with them.
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

// lacking returns the defaults that do not apply to a workload of a kind, because it has no such
// field or sets it by itself.
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

// ReadDefaults returns the defaults of a project in an environment. The errors are those of all
// environments.
func ReadDefaults(p spec.Project, environment string) (Defaults, object.Errors) {
	base := defaultsIn(p.WorkloadDefaults)
	out := newDefaults(base, object.Value{}, "")
	errs := slices.Clone(out.reported)
	for _, name := range object.SortedKeys(p.Environments) {
		own := defaultsIn(p.Environments[name].Workloads)
		if own.Kind == object.KindNone {
			continue
		}
		d := newDefaults(own, base, name)
		errs = append(errs, d.reported...)
		if name == environment {
			out = d
		}
	}
	return out, errs
}

// defaultsIn returns the defaults in the configuration of workloads, which may be null. A value
// of another type is reported by render/spec.
func defaultsIn(workloads object.Value) object.Value {
	if v, _ := workloads.Get("defaults"); v.Kind == object.KindMap || v.Kind == object.KindNull {
		return v
	}
	return object.Value{}
}

// newDefaults merges what an environment writes over the defaults of the project, and checks the
// result.
func newDefaults(own, project object.Value, environment string) Defaults {
	out := Defaults{places: map[object.Pos]bool{}}
	addPlaces(own, out.places)
	d := newDecoder(Document{Defaults: true})
	at := (*location)(nil).To("spec", "workloads", "defaults")
	out.value = withoutNulls(layered(own, project))
	if out.value.Kind == object.KindMap {
		d.decodeDefaults(d.hold(defaultsTable(), out.value, at))
	}
	part{d, own, at}.reportNulls(project)
	for _, e := range d.Errs {
		if rest, ok := strings.CutPrefix(e.Path, "spec."); ok && environment != "" && out.places[e.Pos] {
			e.Path = "spec.environments." + environment + "." + rest
		}
	}
	addPlaces(project, out.places)
	out.reported = d.Errs
	return out
}

// addPlaces adds the positions of the parts of v.
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

// reportNulls reports the fields that are null and remove nothing of project.
func (p part) reportNulls(project object.Value) {
	for _, m := range p.Members {
		below, _ := project.Get(m.Name)
		at := part{p.decoder, m.Value, p.at.To(m.Name)}
		if m.Value.Kind == object.KindNull && (below.Kind == object.KindNone || below.Kind == object.KindNull) {
			p.decoder.fail(m.Pos, at.at, "write a value, or remove the field", "is null")
		}
		at.reportNulls(below)
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
	if c := p.get(everyContainer); c.given() {
		entry{c, everyContainer, c.Pos}.container(part{decoder: d}, nil)
	}
}

// Empty reports whether there are no defaults.
func (d Defaults) Empty() bool { return d.value.Kind != object.KindMap }

// Under returns a document with the defaults below what it writes: maps are merged, and of
// anything else the document wins.
func (d Defaults) Under(doc object.Value, score bool) object.Value {
	root := "spec"
	if score {
		root = "metadata"
	}
	metadata, _ := doc.Get("metadata")
	body, _ := doc.Get(root)
	taken := func(name string) bool {
		v, _ := body.Get(name)
		return v.Kind == object.KindNull
	}
	if d.Empty() || metadata.Kind != object.KindMap || body.Kind != object.KindMap {
		return doc
	}

	// Sort the defaults by where the document has them.
	kind, _ := body.Get("kind")
	var meta, fields builder.Fields
	for _, m := range d.value.Members {
		if m.Name == "replicas" {
			m.Value = withQueueOf(m.Value, body)
		}
		switch {
		case m.Value.Kind == object.KindNone:
		case m.Name == everyContainer || !slices.Contains(defaultFields(), m.Name) || slices.Contains(lacking(kind.Text), m.Name), taken(m.Name):
		case score || m.Name == "labels" || m.Name == "annotations": // Those below spec win over those of metadata.
			meta = append(meta, m)
		default:
			fields = append(fields, m)
		}
	}

	// Merge them. A Score file has containers at two places.
	if !score {
		containers, _ := body.Get("containers")
		fields.Put("containers", d.containers(containers, object.Value{}, kind.Text, whole))
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
func withQueueOf(defaults, body object.Value) object.Value {
	kind := func(v object.Value) string {
		t, _ := v.Get("type")
		return cmp.Or(t.Text, defaultBroker)
	}
	own, found := body.Lookup(object.Fields("replicas", "queue"))
	queue, _ := defaults.Get("queue")
	typed, _ := own.Get("type")
	same := found == 2 && own.Kind == object.KindMap && (typed.Text == "" || kind(own) == kind(queue))
	if queue.Kind == object.KindNone || same {
		return defaults
	}
	defaults = defaults.Without(object.Fields("queue"))
	if len(defaults.Members) == 0 {
		return object.Value{}
	}
	return defaults
}

// containers returns the defaults of containers, of which extras has the rest of a Score file.
// The function form selects the part of each that is wanted.
func (d Defaults) containers(containers, extras object.Value, kind string, form func(object.Value) object.Value) object.Value {
	all, _ := d.value.Get(everyContainer)
	var out builder.Fields
	for _, c := range containers.Members {
		if c.Value.Kind != object.KindMap || all.Kind != object.KindMap {
			continue
		}
		extra, _ := extras.Get(c.Name)
		own := c.Value.Merge(extra)
		missing := lacking(kind)
		if before, _ := own.Get("before"); slices.ContainsFunc(before.Members, func(m object.Member) bool {
			ready, _ := m.Value.Get("ready")
			return ready.Text == ReadyComplete
		}) {
			missing = append(missing, "lifecycle", "livenessProbe", "readinessProbe", "startupProbe") // It ends before others start.
		}
		var fields builder.Fields
		for _, m := range yielded(all, own).Members {
			if slices.Contains(defaultContainer(), m.Name) && !slices.Contains(missing, m.Name) {
				fields = append(fields, m)
			}
		}
		out.Put(c.Name, form(fields.Value(all.Pos)))
	}
	return out.Value(all.Pos)
}

// What stands in a container of a Workload, in one of a Score file, and in its extras.
func whole(v object.Value) object.Value { return v }

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

// amountsOf returns the requests and limits of a container that Score knows, or the others, with
// numbers as text.
func amountsOf(v object.Value, known bool) object.Value {
	var out builder.Fields
	for _, list := range v.Members {
		var amounts builder.Fields
		for _, m := range list.Value.Members {
			if usual := m.Name == "cpu" || m.Name == "memory"; usual != known {
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

// layered returns own with what only the values below have. Each part of own stays in its place.
func layered(own, below object.Value) object.Value {
	return own.Merge(yielded(below, own)).Merge(own)
}

// yielded returns defaults without the alternatives to what own chooses: the actions of probes
// and hooks, the bounds of a disruption, and the server of a queue.
func yielded(defaults, own object.Value) object.Value {
	alternatives := append(actions(), "sleep", "minAvailable", "maxUnavailable", fieldAddress, fieldResource)
	for _, choice := range []object.Path{
		object.Fields("disruption"), object.Fields("replicas", "queue"), object.Fields("livenessProbe"), object.Fields("readinessProbe"), object.Fields("startupProbe"),
		object.Fields("lifecycle", "preStop"), object.Fields("lifecycle", "postStart"),
	} {
		// The values are a container, the defaults of a project, a Workload or a Score file.
		for _, root := range []object.Path{nil, object.Fields(everyContainer), object.Fields("spec"), object.Fields("metadata")} {
			at := slices.Concat(root, choice)
			written, found := own.Lookup(at)
			chosen := func(m object.Member) bool {
				return m.Value.Kind != object.KindNull && slices.Contains(alternatives, m.Name)
			}
			if found < len(at) || !slices.ContainsFunc(written.Members, chosen) {
				continue
			}
			for _, name := range alternatives {
				defaults = defaults.Without(at.Append(object.Field(name)))
			}
		}
	}
	return defaults
}

// Written returns errors on the workload called name at a position as errors on the defaults that
// it has, each with both places. It leaves out what is wrong with the defaults themselves.
func (d Defaults) Written(errs object.Errors, name string, at object.Pos) object.Errors {
	out := make(object.Errors, 0, len(errs))
	for _, e := range errs {
		if !d.places[e.Pos] {
			out = append(out, e)
			continue
		}
		if slices.ContainsFunc(d.reported, func(r *object.Error) bool {
			return r.Pos == e.Pos && (r.Severity == object.SeverityError || r.Err.Error() == e.Err.Error())
		}) {
			continue
		}
		both := *e
		both.Err = fmt.Errorf("workload %q: %w", name, e.Err)
		both.Notes = append(slices.Clone(e.Notes), object.Note{Pos: at, Text: "the workload that has this default"})
		out = append(out, &both)
	}
	return out
}
