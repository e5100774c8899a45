// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// The API versions of Score files.
const (
	scoreVersion    = "score.dev/v1b1"
	scoreVersionOld = "score.sh/v1b1"
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

// Decode decodes, upgrades and validates a document. All that is wrong with it
// is returned at once, at most a hundred errors and a hundred warnings, in no
// order that means anything: callers sort. The workload is complete where no error
// is among them; what could be read of it is there in any case.
//
// Errors are of the stage spec, have the position in the user's text and a path from
// the root of the document, such as containers.web.variables.PORT; none repeats
// the text of a variable, a file or a parameter.
func Decode(doc Document) (Workload, object.Errors) {
	d := &decoder{doc: doc}
	d.out.Score, d.out.Pos = doc.Score, doc.Value.Pos
	root := d.root()
	switch {
	case doc.Value.Kind != object.KindMap:
		root.fail("", "expected a map, got a %s", doc.Value.Kind)
	case doc.Score:
		d.score(root.fields())
	default:
		d.own(root.fields())
	}
	return d.out, d.errs
}

// score decodes a Score file. Extras stand under metadata, which Score leaves
// open.
func (d *decoder) score(root *fields) {
	d.scoreVersion(root.need("apiVersion", "write apiVersion: "+scoreVersion))
	meta := root.need("metadata", "write metadata: {name: …}").fields()
	d.metadata(meta)
	d.extras(meta)
	more := meta.get("containers")
	d.body(root, more)
	meta.unknown()
	extras := meta.known
	kind, _ := root.Get("kind")
	root.done(func(name string) string {
		switch {
		case name == "spec":
			return aboveSpec
		case name == "kind" && !slices.Contains(workloadKinds(), kind.Text):
			return "remove it: a Score file has no kind"
		case slices.Contains(extras, name):
			return "in a Score file it goes under metadata"
		}
		return d.ofOthers(name)
	})
}

// unknown warns of the members of the metadata of a Score file that were probably meant to
// be others. It is open, so that most that are not known are the author's own.
func (f *fields) unknown() {
	const slips = 2
	for _, m := range f.Members {
		near, ok := nearest(m.Name, f.known)
		switch {
		case !ok || slices.Contains(f.known, m.Name):
		case slices.ContainsFunc(f.missed, func(n missed) bool { return n.name == near }):
			f.decoder.fail(m.Pos, f.field(m.Name), "did you mean \""+near+"\"?", "unknown field %s", shown(m.Name))
		case strings.HasPrefix(near, m.Name) || object.Distance(strings.ToLower(m.Name), strings.ToLower(near)) <= slips:
			f.decoder.warn(m.Pos, f.field(m.Name), "did you mean \""+near+"\"?", "%s has no meaning here", shown(m.Name))
		}
	}
	f.lacks()
}

// scoreVersion checks the API version of a Score file.
func (d *decoder) scoreVersion(p part) {
	const hint = "write apiVersion: " + scoreVersion
	switch t := p.text(); {
	case p.Kind != object.KindString || t.Value == scoreVersion:
	case t.Value == scoreVersionOld:
		p.warn(hint, "%q is an older name, read as %q", scoreVersionOld, scoreVersion)
	default:
		p.fail(hint, "%s is not known: expected %s", shown(t.Value), scoreVersion)
	}
}

// own decodes a Workload document. Extras stand under spec, beside what Score
// has. Namespace, labels and annotations may stand there too, because
// environments merge their input over the spec only.
func (d *decoder) own(root *fields) {
	if p := root.need("apiVersion", "write apiVersion: "+spec.APIVersion); p.given() {
		p.enum(spec.APIVersion)
	}
	if p := root.need("kind", "write kind: "+spec.KindWorkload); p.given() {
		p.enum(spec.KindWorkload)
	}
	meta := root.need("metadata", "write metadata: {name: …}").fields()
	d.metadata(meta)
	d.identity(meta)
	body := root.need("spec", "").fields()
	d.identity(body)
	if body.given() {
		body.known = append(body.known, "annotations")
	}
	d.out.Annotations = over(d.out.Annotations, d.annotations(body))
	d.extras(body)
	d.body(body, part{decoder: d})
	extras := body.known
	body.done(d.ofOthers)
	meta.done(func(name string) string {
		if slices.Contains(extras, name) {
			return underSpec
		}
		return ""
	})
	root.done(func(name string) string {
		if slices.Contains(extras, name) {
			return underSpec
		}
		return ""
	})
}

// ofOthers says what to write for a field that Kubernetes and other formats have in its place;
// "" where it has none.
func (d *decoder) ofOthers(name string) string {
	up := ""
	if d.doc.Score {
		up = "metadata."
	}
	switch name {
	case "ingress", "ingresses", "route", "routes", "host", "hosts", "domain", "expose", "gateway":
		return "a host is a resource: resources: {web: {type: route, params: {host: HOST, path: /, port: PORT}}}"
	case "minReplicas", "maxReplicas", "autoscaling", "scaling", "autoscale", "hpa", "scale":
		return "write " + up + "replicas: {min: …, max: …}"
	case "image", "command", "args", "livenessProbe", "readinessProbe", "files":
		return "it goes under containers.NAME"
	case "env", "envFrom", "variables", "environmentVariables":
		return "write containers.NAME.variables: {NAME: VALUE}"
	case "ports", "port":
		return "write service: {ports: {http: {port: …}}}"
	case "initContainers", "sidecars":
		return "they go under containers; before defines the order"
	case "volumes", "volumeMounts":
		return "a volume is a resource of type volume, which containers.NAME.volumes mounts: {/PATH: {source: \"${resources.NAME}\"}}"
	case "serviceAccountName":
		return "write " + up + "serviceAccount"
	case "strategy":
		return "write " + up + "deploy: {strategy: …}"
	case "template", "selector":
		return "containers stand in the place of a template of pods; further fields of pods go under " + up + "pod"
	case "nodeSelector", "tolerations", "affinity", "imagePullSecrets", "terminationGracePeriodSeconds", "topologySpreadConstraints", "priorityClassName", "hostNetwork":
		return "write " + up + "pod: {" + name + ": …}"
	}
	return ""
}

// metadata decodes what both kinds of document have there.
func (d *decoder) metadata(meta *fields) {
	d.out.Metadata = meta.Value
	p := meta.need("name", "write the name of the workload")
	if t := p.text(); p.Kind == object.KindString {
		d.name(p.Pos, p.at, t.Value)
		d.out.Name = t
	}
	d.out.Annotations = d.annotations(meta)
}

func (d *decoder) annotations(f *fields) []Pair {
	p := f.get("annotations")
	p.literals(useValue)
	return p.pairs(d.badKey, anything)
}

// identity decodes the namespace and the labels.
func (d *decoder) identity(f *fields) {
	if p := f.get("namespace"); p.given() {
		t := p.text()
		if p.Kind == object.KindString && (len(t.Value) > labelLength || !only(t.Value, "-", lower+digit)) {
			p.fail("", "%s is not a namespace: expected up to %d of a-z, 0-9 and -", shown(t.Value), labelLength)
		}
		d.out.Namespace = t
	}
	d.out.Labels = over(d.out.Labels, f.get("labels").pairs(d.badLabelKey, badLabelValue))
}

// body decodes what Score has beside metadata; more holds the extras of the
// containers of a Score file.
func (d *decoder) body(f *fields, more part) {
	d.ports(f.get("service"))
	d.containers(f.need("containers", "a workload has one container at least"), more)
	if p := f.get("resources"); p.given() {
		d.resources(p)
	}
	d.kinds()
}

// ports decodes the service.
func (d *decoder) ports(p part) {
	if !p.given() {
		return
	}
	type number struct {
		port     int
		protocol string
	}
	f := p.fields()
	if ports := f.get("ports"); ports.given() {
		taken := map[number]string{}
		for _, e := range ports.entries() {
			d.name(e.namePos, e.at, e.name)
			port := e.port()
			key := number{port.Port, port.Protocol}
			if other := taken[key]; other != "" && port.Port > 0 {
				e.fail("", "%s port %d is that of %q already", port.Protocol, port.Port, other)
			}
			taken[key] = e.name
			d.out.Ports = append(d.out.Ports, port)
		}
		slices.SortFunc(d.out.Ports, func(a, b Port) int { return strings.Compare(a.Name, b.Name) })
	}
	if !d.doc.Score { // which has no such field
		if headless := f.get("headless"); headless.flag() {
			d.out.Headless = headless.Pos
		}
	}
	f.done(nil)
}

// port decodes a port of the service.
func (e entry) port() Port {
	f := e.fields()
	out := Port{Name: e.name, Pos: e.namePos, Protocol: "TCP"}
	out.Port, _ = f.need("port", "write port: 8080, or the one that it is").number(1, maxPort)
	out.Target = out.Port
	if n, ok := f.get("targetPort").number(1, maxPort); ok {
		out.Target = n
	}
	if p := f.get("protocol"); p.given() {
		if t := p.enum("TCP", "UDP"); t.Value != "" {
			out.Protocol = t.Value
		}
	}
	f.done(nil)
	return out
}
