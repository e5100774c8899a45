// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/placeholder"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// The roots of placeholders (Score 0.4.1).
const rootMetadata = "metadata"

func roots() []string { return []string{rootMetadata, generate.RootResources, rootSecrets} }

const rootsExpected = "a placeholder begins with metadata, resources or secrets"

// The outputs of a call by the default provisioners that depend on the port of the other
// workload, and the type whose outputs are the texts that a project gives.
const (
	outputPort, outputCallURL = "port", "url"
	typeEnvironment           = "environment"
)

// outputURL is the output that, by custom, is a complete URL with its credentials.
const outputURL = "connection_string"

// classLocal is the class of servers for a laptop, some of which have no users.
const classLocal = "local"

// expand resolves the placeholders of raw. It returns false if a placeholder could not be
// resolved, which is in the errors or reported elsewhere. The result of a placeholder is never
// read again: an output that looks like a placeholder is text.
func (s scope) expand(raw string, origin position) (generate.Text, bool, object.Errors) {
	if strings.IndexByte(raw, '$') < 0 {
		return literal(raw, origin.pos), true, nil
	}

	// Warn of what was probably meant to be a placeholder.
	var errs object.Errors
	var out []generate.Piece
	ok := true
	if found, offset := placeholder.Missed(raw); found != "" {
		name := strings.Trim(found, "${( )}")
		errs = append(errs, &object.Error{
			Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: origin.within(raw, offset), Path: origin.path(),
			Err:  fmt.Errorf("%q is no placeholder, and stays as it is", found),
			Hint: fmt.Sprintf("write ${%s}, or $%s for the text itself", name, found),
		})
	}

	// Resolve each part. An error gets its position here, and names the placeholder unless that
	// may be a secret.
	for _, part := range placeholder.Parse(raw) {
		if !part.IsRef() {
			out = append(out, generate.Piece{Literal: part.Literal})
			continue
		}
		label := part.String()
		var pieces []generate.Piece
		var err *object.Error
		if v, isVariable := part.VariableAt(raw); isVariable {
			label = v.String()
			pieces, err = s.variable(v)
		} else {
			pieces, err = s.resolve(part.Ref)
		}
		if err != nil {
			ok = ok && err.Severity == object.SeverityWarning
			if err.Err != nil {
				if part.Ref != nil && origin.sensitive() && !slices.Contains(roots(), part.Ref[0]) {
					label = "${…}" // It may be a part of a password.
					err.Hint = "write $${…} for the text itself"
				}
				err.Stage, err.Pos, err.Path = object.StageSpec, origin.within(raw, part.Offset), origin.path()
				err.Err = fmt.Errorf("%s: %w", label, err.Err)
				err.Named = raw == part.String() && slices.Contains(roots(), part.Ref[0])
				errs = append(errs, err)
			}
			if len(errs) == maxMistakes {
				break
			}
		}
		out = append(out, pieces...)
	}
	return generate.Text{Pieces: generate.Join(out), Pos: origin.pos}, ok, errs
}

// maxMistakes limits the errors that are reported for one text: a file of another tool can hold
// thousands of placeholders.
const maxMistakes = 50

// resolve returns the pieces that replace a placeholder. An error has no position yet. An empty
// error stands for a mistake that is reported elsewhere. A warning comes together with the pieces.
func (s scope) resolve(steps []string) ([]generate.Piece, *object.Error) {
	switch steps[0] {
	case rootMetadata:
		return s.metadata(steps[1:])
	case generate.RootResources:
		return s.resource(steps[1:])
	case rootSecrets:
		return s.secretBinding(steps[1:])
	}
	if _, ok := s.member.resource(steps[0]); ok {
		full := placeholder.Part{Ref: append([]string{generate.RootResources}, steps...)}
		return nil, mistake(fmt.Sprintf("write %s", full), rootsExpected)
	}
	if near, ok := object.Nearest(steps[0], roots()); ok {
		return nil, mistake(fmt.Sprintf("did you mean %q?", near), rootsExpected)
	}
	return nil, mistake(fmt.Sprintf("write $%s for the text itself", placeholder.Part{Ref: steps}), rootsExpected)
}

// metadata returns a part of the metadata of the document: a scalar as it is written, and
// anything else as JSON.
func (s scope) metadata(keys []string) ([]generate.Piece, *object.Error) {
	if len(keys) == 0 {
		return nil, mistake(object.Suggest("", s.member.source.Spec.Metadata.MemberNames()), "names no key of the metadata")
	}
	value := s.member.source.Spec.Metadata
	for i, key := range keys {
		full := strings.Join(append([]string{rootMetadata}, keys[:i]...), ".")
		if value.Kind != object.KindMap {
			return nil, mistake("", "%s is a %s: it has no key %q", full, value.Kind, key)
		}
		next, ok := value.Get(key)
		if !ok {
			return nil, mistake(object.Suggest(key, value.MemberNames()), "%s has no key %q", full, key)
		}
		value = next
	}
	if slices.Contains([]object.Kind{object.KindString, object.KindNumber, object.KindBool}, value.Kind) {
		return []generate.Piece{{Literal: value.Written()}}, nil
	}
	return []generate.Piece{{Literal: string(value.JSON())}}, nil
}

// resource returns an output of a resource, or its uid if no output is named.
func (s scope) resource(steps []string) ([]generate.Piece, *object.Error) {
	if len(steps) == 0 {
		return nil, mistake(object.Suggest("", s.member.resourceNames()), "names no resource")
	}

	// Find the resource and its result.
	n, ok := s.member.resource(steps[0])
	switch {
	case !ok && s.member.lacksResources():
		return nil, &object.Error{} // reported elsewhere
	case !ok:
		return nil, mistake(object.Suggest(steps[0], s.member.resourceNames()),
			"the workload %q has no resource %q", s.member.name(), steps[0])
	}
	i := s.member.instances[n]
	if len(steps) == 1 {
		return []generate.Piece{{Literal: i.uid()}}, nil
	}
	r := s.result(i)
	if r == nil {
		return nil, &object.Error{} // reported elsewhere
	}

	// A plain output is text. The hint says what to write if there is no such output.
	output := steps[1]
	plain, isPlain := r.Outputs[output]
	_, isSensitive := r.Sensitive[output]
	switch {
	case !isPlain && !isSensitive:
		return nil, mistake(s.otherOutput(n, r, steps[0], output), "the resource %q has no output %q", steps[0], output)
	case len(steps) > 2:
		return nil, mistake("", "the output %q of the resource %q is text: it has no key %q", output, steps[0], steps[2])
	case isPlain && (output == outputCallURL || output == outputPort) && i.entry.Name == spec.DefaultProvisioners:
		return []generate.Piece{{Literal: plain}}, s.checkPort(n, r)
	case isPlain:
		public := i.entry.Name == spec.DefaultProvisioners && i.entry.Class == classLocal
		return []generate.Piece{{Literal: plain, Public: public}}, nil
	}
	return s.sensitive(i, r, steps[0], output)
}

// otherOutput returns a hint for the case that the resource n, which is called name, lacks output.
func (s scope) otherOutput(n int, r *resource.Result, name, output string) string {
	i := s.member.instances[n]
	if isVolume := r.Volume.Kind + r.Claim.Kind; isVolume != object.KindNone {
		return fmt.Sprintf("it is a volume: mount it with source: ${resources.%s}", name)
	}
	target, isCall := s.member.network.Target(&s.member.source.Spec.Resources[n])
	switch {
	case i.entry.Name != spec.DefaultProvisioners:
	case i.resource.Type.Value == typeEnvironment && object.DidYouMean(output, r.Names()) == "":
		return fmt.Sprintf("set %s under spec.workloads.config.environment of %s, or as a param of the resource", output, spec.ProjectFile)
	case isCall && output == outputPort && target.Workload == nil:
		return unknownPort(target)
	case resource.Class(i.resource) == classLocal && (output == "username" || output == "password"):
		return fmt.Sprintf("a server of class %s has no users: use ${resources.%s.connection_string}", classLocal, name)
	}
	return object.Suggest(output, r.Names())
}

// sensitive returns an output that holds secrets: their references, and the text between them.
func (s scope) sensitive(i *instance, r *resource.Result, name, output string) ([]generate.Piece, *object.Error) {
	pieces := make([]generate.Piece, 0, len(r.Sensitive[output]))
	for _, f := range r.Sensitive[output] {
		p := generate.Piece{Literal: f.Literal, Escape: f.Escape}
		if f.Reference.Kubernetes && i.namespace() != s.member.source.Context.Namespace {
			return nil, mistake("let both run in one namespace, or keep the secret in the store of the environment",
				"the resource %q keeps the secret in the namespace %q, and pods in %q cannot read it",
				name, i.namespace(), s.member.source.Context.Namespace)
		}
		if f.Output != "" {
			p.Secret = s.secret(name, f.Output, f.Reference)
			if _, ok := r.Sensitive[outputURL]; ok && output != outputURL {
				p.Secret.URL = strings.Join([]string{generate.RootResources, name, outputURL}, ".")
			}
		}
		pieces = append(pieces, p)
	}
	return pieces, nil
}

// checkPort returns a warning if the URL of another workload lacks a port because that workload is
// not in this render, or if the port is the first of several.
func (s scope) checkPort(n int, r *resource.Result) *object.Error {
	own := &s.member.source.Spec.Resources[n]
	target, isCall := s.member.network.Target(own)
	_, hasParam := own.Params.Get("port")
	port, hasPort := r.Outputs[outputPort]
	var e *object.Error
	switch {
	case !isCall || hasParam:
		return nil
	case target.Workload == nil && !hasPort && s.alone:
		e = mistake(unknownPort(target), "the URL has no port, because the workload %q is not in this render", target.Name)
	case target.Workload != nil && isGuess(target.Workload.Ports):
		e = mistake("write params.port: "+target.Workload.Ports[0].Name+", or the one that is meant",
			"the workload %q has several ports and none called http: port %s, the first by name, is taken", target.Name, port)
	default:
		return nil
	}
	e.Severity = object.SeverityWarning
	return e
}

// isGuess reports whether a service has several ports and none called http, so that the choice of
// its port is a guess.
func isGuess(ports []score.Port) bool {
	return len(ports) > 1 && !slices.ContainsFunc(ports, func(p score.Port) bool { return p.Name == "http" })
}

func unknownPort(target network.Target) string {
	return fmt.Sprintf("render it together with the workload %q, or write the number of its port into params.port", target.Name)
}
