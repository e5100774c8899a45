// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/placeholder"
)

// further are the fields of a container in the Kubernetes API that are passed on
// as they are.
func further() []string {
	return []string{
		"imagePullPolicy", "lifecycle", "resizePolicy", "stdin", "stdinOnce",
		"terminationMessagePath", "terminationMessagePolicy", "tty", "workingDir",
	}
}

// containers decodes all containers; more holds the extras of those of a Score
// file, by name.
func (d *decoder) containers(p, more part) {
	if !p.given() || !p.is(object.KindMap) {
		return
	}
	extras := map[string]entry{}
	if more.given() {
		for _, e := range more.entries() {
			extras[e.name] = e
		}
	}
	names := map[string]bool{}
	entries := p.entries()
	var waits []wait
	var own []string
	for _, e := range entries {
		if !e.overlaid(e.Value) {
			own = append(own, e.name)
		}
	}
	for i, e := range entries {
		names[e.name] = true
		d.name(e.namePos, e.at, e.name)
		extra := extras[e.name].part
		extra.decoder = d
		c := e.container(extra, own)
		c.Order = i
		d.out.Containers = append(d.out.Containers, c)
		for _, b := range c.Before {
			waits = append(waits, wait{e.name, b, &location{up: e.field("before"), step: object.Field(b.Container)}})
		}
	}
	if len(entries) == 0 {
		p.fail("", "a workload has one container at least")
	}
	slices.SortFunc(d.out.Containers, func(a, b Container) int { return strings.Compare(a.Name, b.Name) })
	d.order(names, waits)
	for _, m := range more.Members {
		if !names[m.Name] {
			d.fail(m.Pos, more.field(m.Name), d.suggest(m.Name, keys(names)), "there is no container %s", shown(m.Name))
		}
	}
}

// keys are the names of a set, sorted.
func keys(names map[string]bool) []string {
	out := make([]string, 0, len(names))
	for name := range names {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// container decodes one container; own are the names of those of the document.
func (e entry) container(more part, own []string) Container {
	out := Container{Name: e.name, Pos: e.namePos}
	f := e.fields()
	out.Image = e.image(f.need("image", e.imageHint(own)))
	for _, list := range []struct {
		name string
		to   *[]Text
	}{{"command", &out.Command}, {"args", &out.Args}} {
		p := f.get(list.name)
		*list.to = p.texts()
		p.literals(useVariable)
	}
	out.Variables, out.Secrets = f.get("variables").variables()
	out.Files, out.Volumes = e.mounts(f)
	out.Before = f.get("before").before()
	f.get("resources").amounts(&out, false)
	extras := f
	base := part{decoder: e.decoder}
	if e.doc.Score {
		extras = more.fields()
		extras.get("resources").amounts(&out, true)
	}
	for _, probe := range []struct {
		name string
		to   *object.Value
	}{{"livenessProbe", &out.LivenessProbe}, {"readinessProbe", &out.ReadinessProbe}, {"startupProbe", &out.StartupProbe}} {
		if e.doc.Score && probe.name != "startupProbe" {
			base = f.get(probe.name)
		} else {
			base.Value = object.Value{}
		}
		*probe.to = e.probe(probe.name, base, extras.get(probe.name))
	}
	out.SecurityContext = extras.get("securityContext").open(nil)
	out.Further = extras.further(f)
	e.strays(f, extras)
	return out
}

// imageHint is what to do about a container without an image. One that an environment or
// an option adds was probably meant to be one of the document.
func (e entry) imageHint(own []string) string {
	hint := "write image: . where it is given at deployment"
	if !e.overlaid(e.Value) {
		return hint
	}
	if near, ok := nearest(e.name, own); ok {
		return fmt.Sprintf("did you mean the container %q?", near)
	}
	return hint
}

// strays reports the fields of a container that are not known.
func (e entry) strays(f, extras *fields) {
	f.done(func(name string) string {
		switch {
		case e.doc.Score && slices.Contains(extras.known, name):
			return "in a Score file it goes under metadata.containers." + e.name
		case name == "env" || name == "envFrom":
			return "environment variables go under variables"
		case name == "volumeMounts":
			return "mounts go under volumes"
		case name == "ports":
			return "ports go under service.ports of the workload"
		case name == "pullPolicy":
			return "write imagePullPolicy"
		}
		return ""
	})
	if e.doc.Score {
		extras.done(func(name string) string {
			if slices.Contains(f.known, name) {
				return "it goes into the container itself, under containers." + e.name
			}
			return ""
		})
	}
}

// further gathers what is passed on as it is. Score knows pullPolicy no more; in
// files that have it, what it means is clear.
func (f *fields) further(container *fields) object.Value {
	out := object.Value{Kind: object.KindMap, Pos: f.Pos}
	for _, name := range further() {
		if p := f.get(name); p.given() {
			p.literals(useValue)
			out.Members = append(out.Members, object.Member{Name: name, Pos: p.Pos, Value: p.Value})
		}
	}
	if f.doc.Score {
		old, _ := container.Get("pullPolicy")
		if old.Kind == object.KindString {
			p := container.get("pullPolicy")
			_, twice := out.Get("imagePullPolicy")
			p.warn("write metadata.containers.NAME.imagePullPolicy", "Score has no pullPolicy; it is read as imagePullPolicy")
			if !twice {
				p.enum("Always", "IfNotPresent", "Never")
				out.Members = append(out.Members, object.Member{Name: "imagePullPolicy", Pos: p.Pos, Value: p.Value})
			}
		}
	}
	if len(out.Members) == 0 {
		return object.Value{}
	}
	slices.SortFunc(out.Members, func(a, b object.Member) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// image checks a reference to an image.
func (d *decoder) image(p part) Text {
	if !p.given() {
		return Text{}
	}
	t := p.filled()
	switch {
	case placeholder.HasRef(t.Value):
		p.fail("write image: . and give it at deployment with --image", "placeholders are not expanded in an image")
	case strings.ContainsAny(t.Value, " \t\r\n"):
		p.fail("", "an image cannot contain white space")
	case p.Kind == object.KindString && t.Value != "" && t.Value != "." && !reference.MatchString(t.Value):
		bare, lower, hint := strings.TrimRight(t.Value, ":@"), strings.ToLower(t.Value), ""
		switch {
		case strings.Contains(t.Value, "://"):
			hint = "remove what is before //, and //" // The rest may hold a password.
		case bare != t.Value:
			hint = "write the tag, or " + strconv.Quote(bare)
		case reference.MatchString(lower):
			hint = "write " + strconv.Quote(lower)
		}
		p.fail(hint, "expected an image such as ghcr.io/org/app:1.2, got %s", shown(t.Value))
	}
	return t
}

// reference is an image as the runtimes of containers read it, see
// github.com/distribution/reference: the rule of #Image of our modules, with all digests.
var reference = regexp.MustCompile(`^((\[[0-9a-fA-F:]+\]|[a-zA-Z0-9][-a-zA-Z0-9.]*)(:[0-9]+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?(@(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}))?$`)
