// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/render/object"
)

// Fields of a policy module beside input and context.
const (
	fieldSubject    = "subject"
	fieldViolations = "violations"
)

// judge asks every policy of the request about its input and nodes.
func (p *InProcess) judge(req Request, nodes []*object.Node) ([]Violation, error) {
	if len(req.Policies) == 0 {
		return nil, nil
	}
	subject := subjectOf(req, nodes)
	var out []Violation
	var errs object.Errors
	for _, policy := range req.Policies {
		found, err := p.judgeBy(req, policy, subject)
		if err != nil {
			policyReq := req
			policyReq.Pos = or(policy.Pos, req.Pos)
			many, _ := policyReq.fail(err).(object.Errors) //nolint:errorlint // fail gives no other type
			for _, e := range many {
				e.Policy = policy.Name
			}
			errs = append(errs, many...)
			continue
		}
		out = append(out, found...)
	}
	return out, errs.Err()
}

// subjectOf is what a policy sees of a spec.
func subjectOf(req Request, nodes []*object.Node) object.Value {
	objects := object.Value{Kind: object.KindMap}
	for _, n := range nodes {
		objects.Members = append(objects.Members, object.Member{Name: n.ID.Node(), Value: valueOf(map[string]any(n.Object))})
	}
	input := req.Input
	if input.Kind == object.KindNone {
		input = object.Value{Kind: object.KindMap}
	}
	return object.Value{Kind: object.KindMap, Members: []object.Member{
		{Name: "spec", Value: valueOf(req.Spec)},
		{Name: fieldInput, Value: input},
		{Name: "objects", Value: objects},
	}}
}

// valueOf is rendered data as a value without positions.
func valueOf(v any) object.Value {
	switch v := v.(type) {
	case map[string]any:
		out := object.Value{Kind: object.KindMap}
		for _, k := range object.SortedKeys(v) {
			out.Members = append(out.Members, object.Member{Name: k, Value: valueOf(v[k])})
		}
		return out
	case []any:
		out := object.Value{Kind: object.KindList}
		for _, e := range v {
			out.Items = append(out.Items, valueOf(e))
		}
		return out
	case string:
		return object.Value{Kind: object.KindString, Text: v}
	case bool:
		return object.Value{Kind: object.KindBool, Text: strconv.FormatBool(v)}
	case nil:
		return object.Value{Kind: object.KindNull}
	default:
		// int64 and float64 always encode; CUE reads the same text.
		data, _ := json.Marshal(v)
		return object.Value{Kind: object.KindNumber, Text: string(data)}
	}
}

func (p *InProcess) judgeBy(req Request, policy Policy, subject object.Value) ([]Violation, error) {
	s, err := p.open(req, policy.Module)
	if err != nil {
		return nil, err
	}
	if s.module.kind != kindPolicy {
		return nil, fmt.Errorf("module %q is no policy: it lacks ropewalk.kind %q", policy.Module.name(), kindPolicy)
	}
	s.input, s.written, s.pos = policy.Input, policy.Input, or(policy.Pos, req.Pos)
	s.inputPath = object.Fields("policies", policy.Name, fieldInput)
	return s.verdict(policy, subject)
}

// verdict is what a policy has against the subject.
func (s *session) verdict(policy Policy, subject object.Value) ([]Violation, error) {
	fillWith := func(input object.Value) (filled, error) {
		parts, err := s.parts(input)
		if err != nil {
			return filled{}, err
		}
		return s.fill(append(parts, part{field: fieldSubject, at: []string{fieldSubject}, value: subject})...), nil
	}
	f, err := fillWith(s.input)
	if err != nil {
		return nil, err
	}
	if err := s.validatePolicy(f, fillWith); err != nil {
		return nil, err
	}
	return s.violations(f, policy)
}

// validatePolicy checks the parameters, what surrounds them, and the verdict.
func (s *session) validatePolicy(f filled, fillWith func(object.Value) (filled, error)) error {
	for _, field := range []string{fieldInput, fieldContext, fieldViolations} {
		path := cue.MakePath(cue.Str(field))
		if !s.has(field) {
			if field == fieldViolations {
				return fmt.Errorf("policy %q has no field %q", s.source.name(), field)
			}
			continue
		}
		err := f.root.LookupPath(path).Validate(cue.Concrete(true), cue.Final())
		if err == nil {
			continue
		}
		if field == fieldInput {
			try := func(v object.Value) (*filling, error) {
				f, err := fillWith(v)
				if err != nil {
					return nil, err
				}
				return f.with, f.root.LookupPath(path).Validate(cue.Concrete(true), cue.Final())
			}
			if errs := s.inputErrorsOf(s.module.value.LookupPath(path), 1, try); len(errs) > 0 {
				return errs.Sorted()
			}
		}
		return s.errorsOf(f, field, err)
	}
	return nil
}

// violations reads the verdict of a policy.
func (s *session) violations(f filled, policy Policy) ([]Violation, error) {
	list, err := f.root.LookupPath(cue.MakePath(cue.Str(fieldViolations))).List()
	if err != nil {
		return nil, fmt.Errorf("policy %q: violations must be a list", s.source.name())
	}
	var out []Violation
	var errs object.Errors
	for i := 0; list.Next(); i++ {
		v, at := list.Value(), fmt.Sprintf("%s[%d]", fieldViolations, i)
		data, err := v.MarshalJSON()
		if err != nil {
			errs = append(errs, s.moduleError(v, at, plain(err)))
			continue
		}
		violation, message := s.violation(data, policy)
		if message != "" {
			errs = append(errs, s.moduleError(v, at, message))
			continue
		}
		violation.PolicyPos = s.ownPos(v.LookupPath(cue.MakePath(cue.Str("message"))), v)
		out = append(out, violation)
	}
	return out, errs.Err()
}

// violation decodes one entry of a verdict strictly; the text says what is
// wrong with it.
func (s *session) violation(data []byte, policy Policy) (Violation, string) {
	m, ok := unmarshal(data).(map[string]any)
	if !ok {
		return Violation{}, "must be a violation"
	}
	known := []string{"policy", "severity", "message", "object", "path"}
	text := map[string]string{}
	for _, name := range object.SortedKeys(m) {
		value, isText := m[name].(string)
		switch {
		case !slices.Contains(known, name):
			return Violation{}, unknownField(name, known)
		case !isText:
			return Violation{}, name + " must be text, got " + describe(m[name])
		}
		text[name] = value
	}
	v := Violation{Policy: text["policy"], Message: text["message"], Path: object.ParsePath(text["path"])}
	switch text["severity"] {
	case "error", "":
	case "warning":
		v.Severity = object.SeverityWarning
	default:
		return v, fmt.Sprintf("severity must be \"error\" or \"warning\", got %q", text["severity"])
	}
	if v.Policy == "" {
		v.Policy = policy.Name
	}
	if v.Message == "" {
		return v, "message is missing"
	}
	if text["object"] != "" {
		v.Node = object.MakeID(s.req.Spec, text["object"])
	}
	return v, ""
}
