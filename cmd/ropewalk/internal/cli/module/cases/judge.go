// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Judge compares the result of a case with what it expects, and returns nil if it passes. The error
// is that of Render. A difference has the place of what the case expects. The golden file is not
// compared here.
func (c Case) Judge(result render.Result, err error) object.Errors {
	failed := object.AsErrors(err, object.StageEvaluate)
	j := judge{Case: c}

	// A case that expects errors passes with these and no others.
	if len(c.Expect.Errors) > 0 {
		if failed.Err() == nil {
			j.fail(c.Expect.Errors[0].Pos, "expect.errors", "expected an error, and the module renders %s", c.made(result))
			return j.errs
		}
		j.compareMessages("error", c.Expect.Errors, failed.Failures())
		j.compareWarnings(failed.Warnings())
		return j.errs.Sorted()
	}
	if failed.Err() != nil {
		return failed
	}

	// Compare what the case expects of the render.
	j.nodes = result.Plan.Graph.Nodes
	for i, want := range c.Expect.Objects {
		j.compareObject(want, object.Fields("expect", "objects").Append(object.Index(i)))
	}
	for i, want := range c.Expect.Absent {
		for _, n := range j.named(want) {
			j.fail(want.Pos, object.Fields("expect", "absent").Append(object.Index(i)).String(), "expected no such object, got %s", n.Object.Ref())
		}
	}
	if want := c.Expect.Count; want.Kind != object.KindNone && want.Text != strconv.Itoa(len(j.nodes)) {
		j.fail(want.Pos, "expect.count", "expected %s objects, got %s", want.Text, c.made(result))
	}
	j.compareWaves(result)
	j.compareWarnings(result.Warnings)
	return j.hide(c)
}

// judge collects the differences.
type judge struct {
	Case
	nodes []*object.Node
	errs  object.Errors
}

func (j *judge) fail(pos object.Pos, path, format string, args ...any) {
	j.errs = append(j.errs, difference(pos, path, format, args...))
}

func difference(pos object.Pos, path, format string, args ...any) *object.Error {
	return &object.Error{Stage: object.StageCheck, Pos: pos, Path: path, Err: fmt.Errorf(format, args...)}
}

// hide returns the differences without secrets.
func (j *judge) hide(c Case) object.Errors {
	var secrets object.Secrets
	secrets.AddNamed(c.Input)
	for _, n := range j.nodes {
		secrets.AddNode(n)
	}
	return secrets.Errors(j.errs.Sorted())
}

// made returns the objects of a render in few words.
func (c Case) made(result render.Result) string {
	const most = 20
	var names []string
	for _, n := range result.Plan.Graph.Nodes {
		names = append(names, n.Object.Ref().String())
	}
	slices.Sort(names)
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return fmt.Sprintf("%d: %s", len(result.Plan.Graph.Nodes), strings.Join(names, ", "))
}

// named returns the nodes of the objects that an item of objects or absent names.
func (j *judge) named(want object.Value) (out []*object.Node) {
	at := func(names ...string) string {
		v, found := want.Lookup(object.Fields(names...))
		if found < len(names) {
			return ""
		}
		return v.Text
	}
	for _, n := range j.nodes {
		version, namespace := at("apiVersion"), at("metadata", "namespace")
		if n.Object.Kind() == at("kind") && n.Object.Name() == at("metadata", "name") && (version == "" || n.Object.APIVersion() == version) &&
			(namespace == "" || n.Object.Namespace() == namespace) {
			out = append(out, n)
		}
	}
	return out
}

// compareObject requires an object with the fields of want. If several objects have the name, the
// nearest one is compared.
func (j *judge) compareObject(want object.Value, at object.Path) {
	found := j.named(want)
	if len(found) == 0 {
		var others []string
		for _, n := range j.nodes {
			others = append(others, n.Object.Kind()+" "+n.Object.Name())
		}
		kind, _ := want.Get("kind")
		name, _ := want.Lookup(object.Fields("metadata", "name"))
		version, _ := want.Get("apiVersion")
		e := difference(want.Pos, at.String(), "there is no %s %s of %s", kind.Text, name.Text, version.Text)
		e.Hint = object.Suggest(kind.Text+" "+name.Text, others)
		j.errs = append(j.errs, e)
		return
	}
	var best object.Errors
	for i, n := range found {
		p := judge{Case: j.Case}
		p.comparePart(n, want, map[string]any(n.Object), nil)
		if i == 0 || len(p.errs) < len(best) {
			best = p.errs
		}
	}
	j.errs = append(j.errs, best...)
}

// compareWaves requires the names of the nodes of each wave.
func (j *judge) compareWaves(result render.Result) {
	want := j.Expect.Waves
	if want == nil {
		return
	}

	// Compare wave by wave.
	got := make([][]*object.Node, len(result.Plan.Waves))
	for i, w := range result.Plan.Waves {
		got[i] = w.Nodes
	}
	for i := range max(len(want), len(got)) {
		at := object.Fields("expect", "waves").Append(object.Index(i)).String()
		switch {
		case i >= len(want):
			j.fail(j.wavesPos(), at, "there is a further wave: %s", waveNames(got[i]))
			continue
		case i >= len(got):
			j.fail(j.wavesPos(), at, "there is no such wave: the render has %d", len(got))
			continue
		}

		// The names of a wave have no order.
		left := slices.Clone(got[i])
		for _, name := range want[i] {
			k := slices.IndexFunc(left, func(n *object.Node) bool { return isCalled(n, name.Text) })
			if k < 0 {
				j.fail(name.Pos, at, "%s is not in wave %d, which has %s", name.Text, i, waveNames(got[i]))
				continue
			}
			left = slices.Delete(left, k, k+1)
		}
		if len(left) > 0 && len(left)+len(want[i]) == len(got[i]) {
			j.fail(j.wavesPos(), at, "wave %d has more: %s", i, waveNames(left))
		}
	}
}

// wavesPos returns the position of the first wave.
func (j *judge) wavesPos() object.Pos {
	for _, w := range j.Expect.Waves {
		if len(w) > 0 {
			return w[0].Pos
		}
	}
	return j.Expect.Pos
}

// isCalled reports whether a node has the name: its id, that without the spec, or
// kind/name in any case of letters.
func isCalled(n *object.Node, name string) bool {
	return name == string(n.ID) || name == n.ID.Node() || strings.EqualFold(name, n.Object.Kind()+"/"+n.Object.Name())
}

func waveNames(nodes []*object.Node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, string(n.ID))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// compareWarnings requires the warnings of the case, if it names any.
func (j *judge) compareWarnings(got object.Errors) {
	if j.Expect.Warnings != nil {
		j.compareMessages("warning", j.Expect.Warnings, got.Warnings())
	}
}

// compareMessages requires each expected error or warning once, and no other.
func (j *judge) compareMessages(noun string, want []spec.ExpectedError, got object.Errors) {
	left := slices.Clone(got)
	for i, w := range want {
		k := slices.IndexFunc(left, func(e *object.Error) bool {
			return strings.Contains(e.Sentence()+" "+e.Hint, w.Message) && (w.At == "" || e.Path == w.At) && (w.Line == 0 || e.Pos.File == j.Pos.File && e.Pos.Line == w.Line)
		})
		if k < 0 {
			e := difference(w.Pos, object.Fields("expect", noun+"s").Append(object.Index(i)).String(), "there is no such %s among the %d of the render", noun, len(got))
			for _, other := range got {
				e.Notes = append(e.Notes, object.Note{Pos: other.Pos, Text: other.Sentence()})
			}
			j.errs = append(j.errs, e)
			continue
		}
		left = slices.Delete(left, k, k+1)
	}
	for _, e := range left {
		one := *e
		one.Err = fmt.Errorf("the case expects no such %s: %w", noun, e.Err)
		one.Severity = object.SeverityError
		j.errs = append(j.errs, &one)
	}
}
