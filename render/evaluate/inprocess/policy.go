// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"errors"
	"fmt"
	"slices"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// Fields of a policy module beside input and context.
const (
	fieldSubject    = "subject"
	fieldViolations = "violations"
)

// undecidedError says why a policy could not judge its subject.
type undecidedError struct{ error }

func (e undecidedError) Unwrap() error { return e.error }

// judge asks every policy of the request about its input and nodes. The error holds the mistakes of
// policies that judge nothing at all.
func (p *Evaluator) judge(req evaluate.Request, nodes []*object.Node) (violations []evaluate.Violation, undecided object.Errors, err error) {
	if len(req.Policies) == 0 {
		return nil, nil, nil
	}
	subject := subjectOf(req, nodes)
	var errs object.Errors
	for _, policy := range req.Policies {
		verdicts, err := p.judgeBy(req, policy, subject)
		if err != nil {
			policyReq := req
			policyReq.Pos = object.FirstValid(policy.Pos, req.Pos)
			mistakes, _ := diagnose.Fail(policyReq, err).(object.Errors) //nolint:errorlint // fail gives no other type
			for _, e := range mistakes {
				e.Policy = policy.Name
			}
			if errors.As(err, &undecidedError{}) {
				undecided = append(undecided, mistakes...)
			} else {
				errs = append(errs, mistakes...)
			}
			continue
		}
		violations = append(violations, verdicts...)
	}
	return violations, undecided, errs.Err()
}

// subjectOf returns what a policy sees of a spec.
func subjectOf(req evaluate.Request, nodes []*object.Node) object.Value {
	objects := object.Value{Kind: object.KindMap}
	for _, n := range nodes {
		objects.Members = append(objects.Members, object.Member{Name: n.ID.Node(), Value: diagnose.ValueOf(map[string]any(n.Object))})
	}
	input := req.Input
	if input.Kind == object.KindNone {
		input = object.Value{Kind: object.KindMap}
	}
	return object.Value{Kind: object.KindMap, Members: []object.Member{
		{Name: "spec", Value: diagnose.ValueOf(req.Spec)},
		{Name: diagnose.FieldInput, Value: input},
		{Name: "objects", Value: objects},
	}}
}

// judgeBy asks one policy about a subject.
func (p *Evaluator) judgeBy(req evaluate.Request, policy evaluate.Policy, subject object.Value) ([]evaluate.Violation, error) {
	s, err := p.open(req, policy.Module)
	if err != nil {
		return nil, err
	}
	if s.Compiled.Kind != evaluate.KindPolicy {
		name := diagnose.ModuleName(policy.Module)
		return nil, fmt.Errorf("module %q is not a policy: it lacks ropewalk.kind %q", name, evaluate.KindPolicy)
	}
	s.Input, s.Written = policy.Input, policy.Input
	s.Pos = object.FirstValid(policy.Pos, req.Pos)
	s.InputPath = object.Fields("policies", policy.Name, diagnose.FieldInput)
	return verdict(s.Session, policy, subject)
}

// verdict returns what a policy has against the subject.
func verdict(s *module.Session, policy evaluate.Policy, subject object.Value) ([]evaluate.Violation, error) {
	fillWith := func(input object.Value) (diagnose.Filled, error) {
		parts, err := s.Parts(input)
		if err != nil {
			return diagnose.Filled{}, err
		}
		return s.Fill(append(parts, diagnose.Part{Field: fieldSubject, At: []string{fieldSubject}, Value: subject})...), nil
	}
	f, err := fillWith(s.Input)
	if err != nil {
		return nil, err
	}
	if !s.Has(fieldViolations) {
		return nil, fmt.Errorf("policy %q has no field %q", s.Module.Name(), fieldViolations)
	}
	if err := s.Validate(f, fillWith, diagnose.FieldInput, diagnose.FieldContext); err != nil {
		return nil, err
	}
	if err := s.Validate(f, fillWith, fieldViolations); err != nil {
		return nil, undecidedError{err}
	}
	return readViolations(s, f, policy)
}

// readViolations reads the verdict of a policy.
func readViolations(s *module.Session, f diagnose.Filled, policy evaluate.Policy) ([]evaluate.Violation, error) {
	list, err := f.Root.LookupPath(cue.MakePath(cue.Str(fieldViolations))).List()
	if err != nil {
		return nil, fmt.Errorf("policy %q: violations must be a list", s.Module.Name())
	}
	var violations []evaluate.Violation
	var errs object.Errors
	for i := 0; list.Next(); i++ {
		v := list.Value()
		fieldPath := fmt.Sprintf("%s[%d]", fieldViolations, i)
		data, err := v.MarshalJSON()
		if err != nil {
			errs = append(errs, s.ModuleError(v, fieldPath, diagnose.Message(err)))
			continue
		}
		violation, message := decodeViolation(s, data, policy)
		if message != "" {
			errs = append(errs, s.ModuleError(v, fieldPath, message))
			continue
		}
		violation.PolicyPos = s.OwnPos(v.LookupPath(cue.MakePath(cue.Str("message"))), v)
		violations = append(violations, violation)
	}
	return violations, errs.Err()
}

// decodeViolation decodes one entry of a verdict strictly. The text says what is wrong with it.
func decodeViolation(s *module.Session, data []byte, policy evaluate.Policy) (evaluate.Violation, string) {
	m, ok := module.Unmarshal(data).(map[string]any)
	if !ok {
		return evaluate.Violation{}, "must be a violation"
	}

	// All fields are texts of known names.
	knownFields := []string{"policy", "severity", "message", "object", "path"}
	text := map[string]string{}
	for _, name := range object.SortedKeys(m) {
		value, isText := m[name].(string)
		switch {
		case !slices.Contains(knownFields, name):
			return evaluate.Violation{}, diagnose.UnknownField(name, knownFields)
		case !isText:
			return evaluate.Violation{}, name + " must be text, got " + module.GotJSON(m[name])
		}
		text[name] = value
	}

	// The severity and the name of the policy have defaults.
	v := evaluate.Violation{Policy: text["policy"], By: policy.Name, Message: text["message"], Path: object.ParsePath(text["path"])}
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
		v.Node = object.MakeID(s.Req.Spec, text["object"])
	}
	return v, ""
}
