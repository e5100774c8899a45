// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Annotations of Helm.
const (
	hookAnnotation   = "helm.sh/hook"
	weightAnnotation = "helm.sh/hook-weight"
	keepAnnotation   = "helm.sh/resource-policy"
)

// manifests gathers the objects of templates.
type manifests struct {
	*run
	objects []made
	errs    object.Errors
	// left are the hooks that are left out, by event.
	left map[string][]object.Pos
}

// made is an object with its hook.
type made struct {
	component.Object
	// when is before or after the objects that are no hooks, or crds.
	when, weight int
}

// Order of what a chart makes, when there are hooks before.
const (
	crds = iota - 2
	before
	between
	after
)

// separator matches the lines at which Helm splits documents.
var separator = regexp.MustCompile(`(?m)^---[ \t]*`)

// addFile adds the objects of a rendered template, or of a file of crds.
func (m *manifests) addFile(name, text string, file place, crd bool) {
	// Positions are positions in the source, and not in the rendered text.
	source := m.sources[name].text
	if crd {
		source = text
	}
	seen := map[string]int{}
	for n, doc := range separator.Split(text, -1) {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		o, err := decode(doc)
		if err != nil {
			pos := m.loaded.pos(file, nthDocument(source, n), 1)
			m.errs = append(m.errs, component.Fail(pos, nil, "", "the template makes no object: %s", m.hide(plain(err.Error()))))
			continue
		}

		// An object is found in the source by its kind and its number.
		if o == nil {
			continue
		}
		kind := o.Kind()
		pos := m.loaded.pos(file, kindLine(source, kind, seen[kind]), 1)
		seen[kind]++
		if !crd && m.takeHook(o, pos) {
			continue
		}

		// What Helm keeps when a release is removed, an engine keeps too.
		add := made{Object: component.Object{Object: o, Pos: pos}}
		if crd {
			add.when = crds
		}
		if strings.EqualFold(strings.TrimSpace(o.Annotations()[keepAnnotation]), "keep") {
			add.Apply.Deletion, add.Apply.Prune = object.DeletionOrphan, new(bool)
		}
		m.objects = append(m.objects, add)
	}
}

// decode reads one document, and returns nil if it is empty.
func decode(doc string) (object.Object, error) {
	// Helm ends each with a line feed, which a block at its end then has.
	data, err := yaml.YAMLToJSON([]byte(doc + "\n"))
	if err != nil || string(data) == "null" {
		return nil, err
	}
	if data[0] != '{' {
		return nil, fmt.Errorf("it is no map")
	}
	return object.Decode(data)
}

var kindOf = regexp.MustCompile(`(?m)^kind:[ \t]*["']?([A-Za-z0-9]*)`)

// kindLine returns the line of the n-th object of a kind in a template, or 1 if it is not known.
func kindLine(source, kind string, n int) int {
	line := 1
	for _, at := range kindOf.FindAllStringSubmatchIndex(source, -1) {
		if source[at[2]:at[3]] != kind {
			continue
		}
		line = 1 + strings.Count(source[:at[0]], "\n")
		if n == 0 {
			break
		}
		n--
	}
	return line
}

// nthDocument returns the line of a document, or 1 if it is not known.
func nthDocument(source string, n int) int {
	at := separator.FindAllStringIndex(source, -1)
	if n == 0 || n > len(at) {
		return 1
	}
	return 1 + strings.Count(source[:at[n-1][0]], "\n")
}

// takeHook adds an object that is a hook, or leaves it out. It reports whether the object was
// such a hook.
func (m *manifests) takeHook(o object.Object, pos object.Pos) bool {
	// A kustomization keeps its hooks, except those that it leaves out.
	notes := o.Annotations()
	text, ok := notes[hookAnnotation]
	if !ok || m.opts.Hooks == HooksKeep {
		return text != "" && m.opts.Leave != nil && m.opts.Leave(text)
	}

	// Hooks become phases, or are refused.
	var events []string
	for event := range strings.SplitSeq(text, ",") {
		events = append(events, strings.ToLower(strings.TrimSpace(event)))
	}
	if m.opts.Hooks == spec.HooksReject {
		m.errs = append(m.errs, component.Fail(pos, nil, "switch it off in values, or write hooks: waves", "%s %q is a hook, %s, and hooks are rejected here", o.Kind(), o.Name(), text))
		return true
	}

	// A hook that never runs is only counted.
	add := made{Object: component.Object{Object: o, Pos: pos}, when: phase(events)}
	add.weight, _ = strconv.Atoi(notes[weightAnnotation])
	if add.when == between {
		if m.left == nil {
			m.left = map[string][]object.Pos{}
		}
		for _, event := range events {
			m.left[event] = append(m.left[event], pos)
		}
		return true
	}

	// A Job of a hook is replaced when it changes.
	job := o.Kind() == "Job" || o.Kind() == "Pod"
	if job && !slices.Contains(events, "pre-install") && !slices.Contains(events, "post-install") {
		m.warn(pos, fmt.Errorf("%s %q is a hook of upgrades only, and is applied at the first installation too", o.Kind(), o.Name()), "make sure that it does no harm there, or switch it off in values")
	}
	withoutHooks(o)
	if job {
		add.Apply.Mode = object.ModeForce
	}
	m.objects = append(m.objects, add)
	return true
}

// phase returns when a hook runs; between means never. An installation decides: what comes after
// one may need what it installs.
func phase(events []string) int {
	for _, phases := range []struct {
		event string
		when  int
	}{{"pre-install", before}, {"post-install", after}, {"pre-upgrade", before}, {"post-upgrade", after}} {
		if slices.Contains(events, phases.event) {
			return phases.when
		}
	}
	return between
}

// withoutHooks removes the annotations of hooks: Argo CD would read them itself, and keep
// the object out of its waves.
func withoutHooks(o object.Object) {
	meta := o.Map("metadata")
	notes := o.Map("metadata", "annotations")
	for name := range notes {
		if strings.HasPrefix(name, hookAnnotation) {
			delete(notes, name)
		}
	}
	if len(notes) == 0 {
		delete(meta, "annotations")
	}
}

// output returns what was gathered, in its order, or the mistakes.
func (m *manifests) output() (component.Output, error) {
	if len(m.errs) > 0 {
		return component.Output{}, m.errs.Sorted()
	}
	if len(m.objects) > component.MaxObjects {
		return component.Output{}, m.fail(m.opts.Pos, "make several components of it", "the chart makes %d objects, and %d are allowed", len(m.objects), component.MaxObjects)
	}

	// Sort by phase, and by weight in each phase.
	m.warnOfLeftOut()
	slices.SortStableFunc(m.objects, func(a, b made) int { return cmp.Or(cmp.Compare(a.when, b.when), cmp.Compare(a.weight, b.weight)) })
	first := slices.ContainsFunc(m.objects, func(o made) bool { return o.when == before })

	// Number the phases; the objects of the chart itself have number 0.
	var output component.Output
	number := 0 // of the phase, without regard to which one is 0
	zero := 0
	for i, o := range m.objects {
		if o.when == crds && !first {
			o.when = between
		}
		if i > 0 && (o.when != m.objects[i-1].when || o.weight != m.objects[i-1].weight) {
			number++
		}
		m.objects[i].when = o.when
		if o.when < between {
			zero = number + 1
		}
		o.Phase, o.PhaseName = number, phaseName(o)
		output.Objects = append(output.Objects, o.Object)
	}
	for i := range output.Objects {
		output.Objects[i].Phase -= zero
		if m.objects[i].when == after && zero == 0 && m.objects[0].when == after {
			output.Objects[i].Phase++ // There is nothing but hooks.
		}
	}
	return output, nil
}

func phaseName(o made) string {
	name := ""
	switch o.when {
	case crds:
		return "CRDs"
	case between:
		return ""
	case before:
		name = "pre-install hooks"
	case after:
		name = "post-install hooks"
	}
	if o.weight != 0 {
		name += " of weight " + strconv.Itoa(o.weight)
	}
	return name
}

// warnOfLeftOut warns of hooks that never run, except tests.
func (m *manifests) warnOfLeftOut() {
	for _, event := range object.SortedKeys(m.left) {
		if event == "test" || event == "test-success" || event == "test-failure" {
			continue
		}
		places := m.left[event]
		what := "a hook is"
		if len(places) > 1 {
			what = fmt.Sprintf("%d hooks are", len(places))
		}
		m.warn(places[0], fmt.Errorf("%s left out: nothing here runs %s", what, event), "do by hand what it does, or switch it off in values")
	}
}
