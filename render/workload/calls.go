// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// paramWorkload and paramAccount are the params that name the other workload, and its
// account where the project does not have it.
const (
	paramWorkload = "workload"
	paramAccount  = "account"
)

// target returns the workload that i names: by params.workload, or by its id, or by its own name.
// A name may have a namespace before it. Without one it means the workload of the project,
// wherever it is, because names are unique in a project.
func (p *Project) target(i *instance, params object.Value) network.Target {
	t := network.Target{Name: i.resource.Name, Pos: i.resource.Pos}
	if id := i.resource.ID; id.Value != "" {
		t.Name, t.Pos = id.Value, id.Pos
	}
	if v, ok := params.Get(paramWorkload); ok && v.Kind == object.KindString && v.Text != "" {
		t.Name, t.Pos = v.Text, v.Pos
	}
	namespace, name, full := strings.Cut(t.Name, "/")
	if full {
		t.Name, t.Namespace = name, namespace
	}
	account, _ := params.Get(paramAccount)
	t.Account = account.Text

	// A name with a namespace matches the workload with and without its preview.
	m := p.byName[t.Name]
	if m != nil && (!full || m.source.Context.Namespace == namespace || m.source.Otherwise == namespace) {
		t.Workload, t.Namespace = m.network, m.source.Context.Namespace
	}
	if t.Namespace == "" {
		t.Namespace = i.owner.source.Context.Namespace
	}
	return t
}

// findCalls finds which workload calls which by the resources that name another workload. A
// target that the project does not have is a warning: it may be in the cluster, and in the view
// of one workload everything else is.
func (p *Project) findCalls() object.Errors {
	var errs object.Errors
	for _, m := range p.members {
		for n := range m.source.Spec.Resources {
			r := &m.source.Spec.Resources[n]
			i := m.instances[n]
			if !network.IsCall(r.Type.Value) || i.broken {
				continue
			}

			// Find the workload that is named. Params with mistakes are left out.
			params, err := p.callParams(i)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			c := network.Call{Resource: r, Path: m.resourcePath(r), Target: p.target(i, params)}
			account, _ := params.Get(paramAccount)
			if err := m.checkAccount(c, account); err != nil {
				errs = append(errs, err)
			}
			if c.Target.Workload == nil && slices.Contains(p.broken, c.Target.Name) {
				i.broken = true
				continue
			}

			// Record the call, and report its mistakes.
			m.network.Calls = append(m.network.Calls, c)
			if err := p.checkCall(m, c); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// callParams returns the params of i that name the other workload, with their placeholders
// resolved. They can refer to the metadata only: calls are compared before anything is made.
func (p *Project) callParams(i *instance) (object.Value, *object.Error) {
	out := object.Value{Kind: object.KindMap, Pos: i.params.Pos}
	for _, name := range []string{paramWorkload, paramAccount} {
		v, ok := i.params.Get(name)
		if !ok || v.Kind != object.KindString {
			continue
		}

		// Expand the text without outputs. Other mistakes in it broke i before, so a text that
		// cannot be expanded refers to an output.
		s := scope{member: i.writer, result: func(*instance) *resource.Result { return nil }}
		path := i.writer.paramsPath(i.written).Append(object.Field(name)).String
		text, ok, _ := s.expand(v.Text, position{pos: v.Pos, path: path})
		if !ok {
			return object.Value{}, &object.Error{
				Stage: object.StageSpec, Pos: v.Pos, Path: path(),
				Err:  fmt.Errorf("the %s that a %s names must not come from an output of a resource", name, i.resource.Type.Value),
				Hint: "write its name",
			}
		}
		v.Text = text.Plain()
		out.Members = append(out.Members, object.Member{Name: name, Pos: v.Pos, Value: v})
	}
	return out, nil
}

// checkAccount returns a mistake if policies cannot use the account.
func (m *member) checkAccount(c network.Call, account object.Value) *object.Error {
	path := m.paramsPath(c.Resource).Append(object.Field(paramAccount))
	e := &object.Error{Stage: object.StageSpec, Pos: account.Pos, Path: path.String()}
	switch {
	case account.Kind == object.KindNone:
		return nil
	case c.Target.Workload != nil:
		e.Err = fmt.Errorf("the workload %q is in this project, which has its account", c.Target)
		e.Hint = "remove account"
	case len(validation.IsDNS1123Subdomain(account.Text)) > 0:
		e.Err = fmt.Errorf("%q is not the name of a ServiceAccount: expected a-z, 0-9, a dash and a dot", account.Text)
	default:
		return nil
	}
	return e
}

// checkCall returns the mistake of one call, or nil.
func (p *Project) checkCall(m *member, c network.Call) *object.Error {
	e := &object.Error{Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: c.Target.Pos, Path: c.Path}
	switch {
	case c.Target.Workload == m.network && c.Resource.Wait:
		e.Severity = object.SeverityError
		e.Err = fmt.Errorf("the workload %q cannot wait for itself", m.name())
		e.Hint = "remove waitFor"
	case c.Target.Workload == nil && c.Resource.Wait:
		e.Severity = object.SeverityError
		e.Err = fmt.Errorf("cannot wait for the workload %q: it is not in this project", c.Target)
		e.Hint = object.Suggest(c.Target.Name, p.othersThan(m))
	case c.Target.Workload == nil && (len(p.members) > 1 || len(p.config.Policies) > 0):
		e.Err = fmt.Errorf("the workload %q is not in this project", c.Target)
		e.Hint = "if it runs elsewhere in the cluster, its existence is not checked"
		if len(p.config.Policies) > 0 {
			e.Err = fmt.Errorf("%w: the network policies allow the call on this side, and the other side is not checked", e.Err)
			e.Hint = p.identityHint(c, e.Hint)
		}
		if near, ok := object.Nearest(c.Target.Name, p.othersThan(m)); ok {
			e.Hint = fmt.Sprintf("did you mean %q?", near)
		}
	default:
		return nil
	}
	return e
}

// identityHint returns a hint that names the label or account by which the policies recognize the
// pods of a workload outside of the project. No policy uses the namespace only. If the policies
// need neither, the hint is the argument otherwise.
func (p *Project) identityHint(c network.Call, otherwise string) string {
	var needs []string
	has := func(policy string) bool { return slices.Contains(p.config.Policies, policy) }
	t := c.Target
	if has("kubernetes") || (has("cilium") && t.Account == "") {
		needs = append(needs, "the label ropewalk.dev/workload: "+t.Name)
	}
	switch inbound := c.Resource.Direction.Value == score.DirectionInbound; {
	case t.Account != "" && (has("cilium") || (has("istio") && inbound)):
		needs = append(needs, "the service account "+t.Account)
	case has("istio") && inbound:
		needs = append(needs, fmt.Sprintf("the service account %s, unless params.account names another one", t.Name))
	}
	if len(needs) == 0 {
		return otherwise
	}
	return "if it is elsewhere in the cluster, its pods need " + strings.Join(needs, " and ")
}

// othersThan returns the names of all workloads but m.
func (p *Project) othersThan(m *member) []string {
	out := make([]string, 0, len(p.members))
	for _, o := range p.members {
		if o != m {
			out = append(out, o.name())
		}
	}
	return out
}
