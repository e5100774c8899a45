// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Bounds of an announcement: the inputs of all specs together and of one spec, the time to describe
// one module, and the length of texts.
const (
	maxAnnounced    = 1000
	maxOfOne        = 200 // as in render/evaluate
	describeTimeout = 5 * time.Second
	maxTitle        = 80
	maxTooltip      = 1000
)

// announceInputs returns the inputs of an application's specs as its parameters. A module that is
// broken is left out, because the application still has a form; its render reports the error.
func (s *Server) announceInputs(ctx context.Context, r request, files fs.FS) []*wire.Parameter {
	h, err := s.host(r, files)
	if err != nil {
		return nil
	}

	// A form must not wait as long as a render.
	limits := s.opts.Limits
	if limits.Timeout == 0 || limits.Timeout > describeTimeout {
		limits.Timeout = describeTimeout
	}
	session := s.service.Open(r.tenant(), r.Scope)
	defer session.Close()
	loaded, err := session.Load(ctx, h, r.bare.options(files, limits))
	if err != nil {
		return nil
	}
	inputs, err := loaded.Parameters(ctx, session.Evaluator)
	if err != nil {
		s.opts.Report(fmt.Errorf("parameters of application %q: %w", r.app, err))
	}

	// The number of parameters is bounded. The last one of a spec says that there are more.
	several := len(loaded.Request.Specs)+len(loaded.Request.Broken) > 1
	var announced []*wire.Parameter
	listed := inputs[:min(len(inputs), maxAnnounced)]
	ofOne := 0
	for i, input := range listed {
		ofOne++
		if i > 0 && input.Spec != listed[i-1].Spec {
			ofOne = 1
		}
		name := inputName(input, several)
		if name == "" {
			continue
		}
		p := inputParameter(input, name)
		isLast := i+1 == len(listed)
		isLastOfSpec := isLast || listed[i+1].Spec != input.Spec
		specIsCut := isLastOfSpec && ofOne >= maxOfOne
		listIsCut := isLast && len(listed) < len(inputs)
		if specIsCut || listIsCut {
			p.Tooltip = cut(p.GetTooltip(), maxTooltip-len(andMore)-1) + " " + andMore
		}
		announced = append(announced, p)
	}
	return announced
}

// andMore ends the tooltip of the last input of a list that was cut.
const andMore = "There may be more inputs than are listed: each can be set by its path."

// inputName returns the name by which an application sets an input: the path, as --set takes it.
// The spec is before it if there are others, or if another parameter has that name. The name is ""
// for a path that no name leads to.
func inputName(p host.Parameter, several bool) string {
	var b strings.Builder
	for i, step := range p.Path {
		switch {
		case strings.Contains(step.Name, "="):
			return ""
		case step.Name == "" || strings.ContainsAny(step.Name, ".:[]\" "):
			b.WriteString("[" + strconv.Quote(step.Name) + "]")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step.Name)
		}
	}
	if name := b.String(); !several && !slices.ContainsFunc(static(), func(o *wire.Parameter) bool { return o.GetName() == name }) {
		return name
	}
	return p.Spec + ":" + b.String()
}

// inputParameter returns an input as it is announced.
func inputParameter(p host.Parameter, name string) *wire.Parameter {
	out := &wire.Parameter{
		Name: name, Title: title(p.Doc), Tooltip: tooltip(p), Required: p.Required, ItemType: string(p.Type), CollectionType: paramString,
	}
	if out.GetTitle() == "" {
		out.Title = cut(name, maxTitle)
	}
	// The form is for all that may read the Application.
	p.Value = public(p.Value)
	if slices.ContainsFunc(p.Path, func(s object.Step) bool { return object.SensitiveName(s.Name) }) {
		p.Value = object.Value{}
	}

	// The value is announced in the form in which an application may set it.
	if p.Type == evaluate.InputAny {
		out.ItemType = string(evaluate.InputString)
	}
	switch p.Collection {
	case evaluate.CollectionList:
		out.CollectionType = paramArray
		for _, item := range p.Value.Items {
			out.Array = append(out.Array, element(item))
		}
	case evaluate.CollectionMap:
		out.CollectionType = paramMap
		out.Map = make(map[string]string, len(p.Value.Members))
		for _, m := range p.Value.Members {
			out.Map[m.Name] = element(m.Value)
		}
	default:
		out.String_ = settable(p.Value)
	}
	return out
}

// public returns a value without what is under the names of secrets.
func public(v object.Value) object.Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m object.Member) bool { return object.SensitiveName(m.Name) })
	for i := range v.Members {
		v.Members[i].Value = public(v.Members[i].Value)
	}
	v.Items = slices.Clone(v.Items)
	for i := range v.Items {
		v.Items[i] = public(v.Items[i])
	}
	return v
}

// Collections of parameters.
const (
	paramString = "string"
	paramArray  = "array"
	paramMap    = "map"
)

// title returns the first sentence of a comment.
func title(doc string) string {
	doc, _, _ = strings.Cut(doc, "\n\n")
	doc = printable.OneLine(doc)
	if end := strings.Index(doc, ". "); end >= 0 {
		doc = doc[:end]
	}
	return cut(strings.TrimSuffix(doc, "."), maxTitle)
}

// tooltip returns what is known of an input beside its title, in one line.
func tooltip(p host.Parameter) string {
	doc := printable.OneLine(p.Doc)
	if rest, ok := strings.CutPrefix(doc, title(p.Doc)); ok {
		doc = strings.TrimPrefix(rest, ".")
	}
	parts := strings.Fields(doc)
	if last := len(parts) - 1; last >= 0 && !strings.HasSuffix(parts[last], ".") {
		parts[last] += "."
	}
	if p.Expected != "" {
		parts = append(parts, "Expected "+p.Expected+".")
	}
	switch {
	case p.Cut:
		parts = append(parts, "Too many fields to list: set one by its path, or all as YAML in one line.")
	case p.Type == evaluate.InputAny && p.Collection == evaluate.CollectionNone:
		parts = append(parts, "A list or a map is YAML in one line.")
	}
	return cut(strings.Join(parts, " "), maxTooltip)
}

// element returns a value as an element of a list or a map is given.
func element(v object.Value) string {
	if v.Kind == object.KindString && isNoText(v.Text) {
		return quoted(v.Text)
	}
	return plainText(v)
}

// plainText returns the text of a value, which does not show its kind.
func plainText(v object.Value) string {
	switch v.Kind {
	case object.KindNone, object.KindNull:
		return ""
	case object.KindMap, object.KindList:
		return string(v.JSON())
	default:
		return v.Text
	}
}

// settable returns a value as a parameter of one text is given, so that it is read as the same
// again: text that looks like something else is in quotes.
func settable(v object.Value) string {
	text := plainText(v)
	if v.Kind != object.KindString {
		return text
	}
	if set, err := spec.ParseSet("x=" + text); err != nil || set.Value.Kind != object.KindString || set.Value.Text != text {
		return quoted(text)
	}
	return text
}
