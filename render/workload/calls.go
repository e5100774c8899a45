// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// paramWorkload is the param that names the other workload.
const paramWorkload = "workload"

// target is the other workload that a resource names.
type target struct {
	name, namespace string
	// member is nil where the project does not have it.
	member *member
	pos    object.Pos
}

// call is a resource by which one workload calls another, or lets it in.
type call struct {
	resource *score.Resource
	target   target
}

// isCall reports whether resources of a type name another workload.
func isCall(kind string) bool {
	return kind == typeService || kind == typeServicePort || kind == typeEndpoint
}

func (c call) inbound() bool { return c.resource.Direction.Value == score.DirectionInbound }

// target is the workload that i names: by params.workload, else by its id, else
// by its own name. A name may have a namespace before it; without one it is
// that of a workload of the project, wherever it is, because names are unique in
// a project.
func (p *Project) target(i *instance, params object.Value) target {
	t := target{name: i.resource.Name, pos: i.resource.Pos}
	if id := i.resource.ID; id.Value != "" {
		t.name, t.pos = id.Value, id.Pos
	}
	if v, ok := params.Get(paramWorkload); ok && v.Kind == object.KindString && v.Text != "" {
		t.name, t.pos = v.Text, v.Pos
	}
	namespace, name, full := strings.Cut(t.name, "/")
	if full {
		t.name, t.namespace = name, namespace
	}
	m := p.byName[t.name]
	if m != nil && (!full || m.source.Context.Namespace == namespace) {
		t.member, t.namespace = m, m.source.Context.Namespace
	}
	if t.namespace == "" {
		t.namespace = i.owner.source.Context.Namespace
	}
	return t
}

// text is the target as an author may write it.
func (t target) text() string {
	if t.member != nil || t.namespace == "" {
		return t.name
	}
	return t.namespace + "/" + t.name
}

// findCalls finds which workload calls which by the resources that name another workload.
// A target that the project does not have is a warning: it may be in the
// cluster, and in the view of one workload everything else is.
func (p *Project) findCalls() object.Errors {
	var errs object.Errors
	for _, m := range p.members {
		for n := range m.source.Spec.Resources {
			r := &m.source.Spec.Resources[n]
			i := m.instances[n]
			if !isCall(r.Type.Value) || i.broken {
				continue
			}
			params, err := p.callParams(i)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			c := call{resource: r, target: p.target(i, params)}
			if c.target.member == nil && slices.Contains(p.broken, c.target.name) {
				i.broken = true
				continue
			}
			m.calls = append(m.calls, c)
			if err := p.checkCall(m, c); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// callParams is params.workload of i with its placeholders resolved. They can be
// of the metadata only: calls are compared before anything is made.
func (p *Project) callParams(i *instance) (object.Value, *object.Error) {
	v, ok := i.params.Get(paramWorkload)
	if !ok || v.Kind != object.KindString {
		return object.Value{}, nil
	}
	s := scope{member: i.writer, result: func(*instance) *result { return nil }}
	path := i.writer.paramsPath(i.written).Append(object.Field(paramWorkload)).String
	// Other mistakes in the text made i broken, so what is left is an output.
	out, ok, _ := s.expand(v.Text, position{pos: v.Pos, path: path})
	if !ok {
		return object.Value{}, &object.Error{
			Stage: object.StageSpec, Pos: v.Pos, Path: path(),
			Err:  fmt.Errorf("the workload that a %s names must not come from an output of a resource", i.resource.Type.Value),
			Hint: "write its name",
		}
	}
	v.Text = out.Plain()
	return generate.MapOf(i.params.Pos, object.Member{Name: paramWorkload, Pos: v.Pos, Value: v}), nil
}

// checkCall is what is wrong with one call by itself.
func (p *Project) checkCall(m *member, c call) *object.Error {
	e := &object.Error{Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: c.target.pos, Path: m.resourcePath(c.resource)}
	switch {
	case c.target.member == m && c.resource.Wait:
		e.Severity, e.Err, e.Hint = object.SeverityError, fmt.Errorf("the workload %q cannot wait for itself", m.name()), "remove waitFor"
	case c.target.member == nil && c.resource.Wait:
		e.Severity = object.SeverityError
		e.Err = fmt.Errorf("cannot wait for the workload %q: it is not in this project", c.target.text())
		e.Hint = object.Suggest(c.target.name, p.othersThan(m))
	case c.target.member == nil && (len(p.members) > 1 || len(p.config.Policies) > 0):
		e.Err = fmt.Errorf("the workload %q is not in this project", c.target.text())
		e.Hint = "if it runs elsewhere in the cluster, its existence is not checked"
		if len(p.config.Policies) > 0 {
			e.Err = fmt.Errorf("%w: the network policies allow the call on this side, and the other side is not checked", e.Err)
			e.Hint = fmt.Sprintf("if it is elsewhere in the cluster, its pods need the label ropewalk.dev/workload: %s", c.target.name)
		}
		if near, ok := object.Nearest(c.target.name, p.othersThan(m)); ok {
			e.Hint = fmt.Sprintf("did you mean %q?", near)
		}
	default:
		return nil
	}
	return e
}

// othersThan is the names of all workloads but m.
func (p *Project) othersThan(m *member) []string {
	out := make([]string, 0, len(p.members))
	for _, o := range p.members {
		if o != m {
			out = append(out, o.name())
		}
	}
	return out
}
