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

// decodeContainers decodes all containers. The argument extras holds the extras of the containers
// of a Score file, by name.
func (d *decoder) decodeContainers(p, extras part) {
	if !p.given() {
		return
	}
	names := map[string]bool{}
	entries := p.entries()
	var waits []wait
	var written []string
	for _, m := range p.Members {
		names[m.Name] = true
		if !d.overlaid(m.Value) {
			written = append(written, m.Name)
		}
	}

	// Decode each, and remember the containers that wait.
	for i, e := range entries {
		c := e.container(extras.field(e.name), written)
		c.Order = i
		d.out.Containers = append(d.out.Containers, c)
		for _, b := range c.Before {
			waits = append(waits, wait{e.name, b, e.loc.To("before", b.Container)})
		}
	}
	if len(entries) == 0 {
		p.reject("", "a workload has one container at least")
	}

	// Check that they can start, in the order of their names.
	slices.SortFunc(d.out.Containers, func(a, b Container) int { return strings.Compare(a.Name, b.Name) })
	d.checkOrder(names, waits)

	// Extras belong to a container.
	for _, m := range extras.Members {
		if !names[m.Name] {
			d.failAt(m.Pos, extras.loc.To(m.Name), suggest(m.Name, object.SortedKeys(names)), "there is no container %s", shown(m.Name))
		}
	}
}

// container decodes one container. The argument written holds the names of the containers that
// the document itself has.
func (e entry) container(scoreExtras part, written []string) Container {
	out := Container{Name: e.name, Pos: e.namePos, Image: e.field("image").image()}
	e.completeHint(written)

	// Fields of Score.
	for _, list := range []struct {
		name  string
		field *[]Text
	}{{"command", &out.Command}, {"args", &out.Args}} {
		p := e.field(list.name)
		*list.field = p.texts()
		p.warnLiterals(useVariable)
	}
	out.Variables, out.Secrets = e.field("variables").variables()
	out.Files, out.Volumes = e.mounts()
	out.Before = e.field("before").before()
	e.field("resources").amounts(&out, false)

	// Extras stand in the container itself, or below the metadata of a Score file.
	extras := e.part
	base := part{decoder: e.decoder}
	if e.doc.Score {
		extras = scoreExtras
		extras.field("resources").amounts(&out, true)
	}
	for _, probe := range []struct {
		name  string
		field *object.Value
	}{{"livenessProbe", &out.LivenessProbe}, {"readinessProbe", &out.ReadinessProbe}, {"startupProbe", &out.StartupProbe}} {
		if e.doc.Score {
			base = e.field(probe.name)
		}
		*probe.field = e.probe(probe.name, base, extras.field(probe.name))
	}
	out.SecurityContext = extras.field("securityContext").open(nothing)
	out.Further = e.pullPolicy(extras.passed(containerPassed()))
	return out
}

func nothing(string) string { return "" }

// completeHint changes the hint for a container without an image. A container that only an
// environment or an option has was probably meant to be a container of the document.
func (e entry) completeHint(written []string) {
	near, ok := object.Nearest(e.name, written)
	if !ok || !e.overlaid(e.Value) || e.field("image").given() {
		return
	}
	path := e.loc.To("image").Path().String()
	for _, mistake := range e.Errs {
		if mistake.Path == path {
			mistake.Hint = fmt.Sprintf("did you mean the container %q?", near)
		}
	}
}

// pullPolicy adds the pull policy to the fields of a Score file that are passed on. Score has
// dropped pullPolicy, but its meaning is clear in files that have it.
func (e entry) pullPolicy(passed object.Value) object.Value {
	p := e.field("pullPolicy")
	if !p.given() {
		return passed
	}
	p.advise("write metadata.containers.NAME.imagePullPolicy", "Score has no pullPolicy; it is read as imagePullPolicy")
	policy := object.Value{Kind: object.KindMap, Pos: p.Pos, Members: []object.Member{
		{Name: "imagePullPolicy", Pos: p.Pos, Value: p.Value},
	}}
	if passed.Kind == object.KindNone {
		return policy
	}
	return policy.Merge(passed)
}

// image decodes a reference to an image, and checks its form.
func (p part) image() Text {
	t := p.asText()
	switch {
	case placeholder.HasRef(t.Value):
		p.reject("write image: . and give it at deployment with --image", "placeholders are not expanded in an image")
	case strings.ContainsAny(t.Value, " \t\r\n"):
		p.reject("", "an image cannot contain white space")
	case t.Value != "" && t.Value != "." && !reference.MatchString(t.Value):
		bare := strings.TrimRight(t.Value, ":@")
		lower := strings.ToLower(t.Value)
		hint := ""
		switch {
		case strings.Contains(t.Value, "://"):
			hint = "remove what is before //, and //" // The rest may hold a password.
		case bare != t.Value:
			hint = "write the tag, or " + strconv.Quote(bare)
		case reference.MatchString(lower):
			hint = "write " + strconv.Quote(lower)
		}
		p.reject(hint, "expected an image such as ghcr.io/org/app:1.2, got %s", shown(t.Value))
	}
	return t
}

// reference matches an image as container runtimes read it, see
// github.com/distribution/reference: the rule of #Image of our modules, with all digests.
var reference = regexp.MustCompile(`^((\[[0-9a-fA-F:]+\]|[a-zA-Z0-9][-a-zA-Z0-9.]*)(:[0-9]+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?(@(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}))?$`)
