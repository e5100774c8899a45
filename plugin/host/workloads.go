// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload"
	"github.com/ropewalk/ropewalk/render/workload/frontend"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// workloadModules are the modules that all workloads share: first the one that makes
// their objects, then the provisioners, the embedded ones last. Without a workload these
// are only those that the project names, so that mistakes in them are reported. The policy
// of a use is the name of the provisioner.
func (l *loading) workloadModules() ([]use, bool) {
	// Errors were reported when the project was parsed.
	config, err := l.document.Workloads(l.opts.Environment)
	if err != nil {
		return nil, false
	}
	l.config = config
	defaults, errs := score.ReadDefaults(l.document, l.opts.Environment)
	l.workloadDefaults, l.Errs = defaults, append(l.Errs, errs...)
	at := object.Fields("spec", "workloads")
	if len(l.docs.Workloads) == 0 && !config.Pos.IsValid() {
		return nil, true
	}
	w, ok := l.modules.reference(config.Module, at.Append(object.Field("module")))
	out, all := []use{{reference: w}}, slices.Clone(config.Provisioners)
	if len(l.docs.Workloads)+len(config.Config.Members) > 0 {
		all = append(all, spec.NamedModule{
			Name:   spec.DefaultProvisioners,
			CueRef: spec.CueRef{Type: spec.RefEmbedded, Ref: spec.DefaultProvisioners},
		})
	}
	for i, p := range all {
		w, good := l.modules.reference(p.CueRef, at.Append(object.Field("provisioners"), object.Index(i), object.Field("cueRef")))
		ok = ok && good
		out = append(out, use{reference: w, policy: spec.Policy{Name: p.Name, Pos: p.Pos}})
	}
	return out, ok
}

// workloads adds every complete workload to the request.
func (l *loading) workloads(ctx context.Context, out *Loaded, shared []use, policies []evaluate.Policy) error {
	l.imagesWithoutWorkloads()
	l.readVariables()
	defer l.unusedVariables()
	if len(shared) == 0 {
		return nil
	}
	module, ok := l.modules.tree(shared[0].reference)
	out.Request.Workloads.Config = l.config
	var sources []render.Source
	for _, u := range l.projectUses {
		if tree, fetched := l.modules.trees[u.key]; fetched {
			sources = append(sources, sourceOf("", u.policy.Name, tree))
		}
	}
	for _, u := range shared[1:] {
		tree, good := l.modules.tree(u.reference)
		if ok = ok && good; !good {
			continue
		}
		out.Request.Workloads.Provisioners = append(out.Request.Workloads.Provisioners, render.Provisioners{
			Name: u.policy.Name, Pos: u.policy.Pos, Module: l.modules.module(u.reference, tree, nil),
		})
		s := sourceOf("", "", tree)
		s.Provisioners = u.policy.Name
		sources = append(sources, s)
	}
	if len(l.docs.Workloads) == 0 {
		return nil
	}
	images := l.images()
	seen := map[string]bool{}
	for _, doc := range l.docs.Workloads {
		// Of two workloads with one name, which has been reported, the first counts.
		if seen[doc.Name] {
			continue
		}
		seen[doc.Name] = true
		value := withImages(l.workloadDefaults.Under(l.lowered(doc), doc.Score), doc, images)
		before := len(l.Errs)
		w, good := l.workload(doc, value)
		if doc.Written = l.written(doc); doc.Written != nil {
			l.Errs = append(l.Errs[:before], doc.Written(l.Errs[before:])...)
		}
		if !good || !ok {
			continue
		}
		s := render.Spec{
			Evaluate: evaluate.Request{
				Spec: doc.Name, Pos: doc.Pos, Module: l.modules.module(shared[0].reference, module, nil),
				Input: value, Context: w.Context, Policies: policies, Limits: l.opts.Limits,
			},
			Workload: &w, Written: doc.Written,
			Source: sourceOf(doc.Name, "", module),
		}
		for _, source := range sources {
			source.Spec = doc.Name
			s.Policies = append(s.Policies, source)
		}
		for _, d := range w.Spec.DependsOn {
			s.DependsOn = append(s.DependsOn, object.SpecDependency{Name: d.Value, Pos: d.Pos})
		}
		size := sizeOf(s)
		for _, data := range w.Files {
			size += int64(len(data))
		}
		if err := l.opts.charge(ctx, size); err != nil {
			return err
		}
		out.Request.Specs = append(out.Request.Specs, s)
	}
	l.unusedImages(images)
	return nil
}

// written leads errors on a workload to what its author wrote, and to the defaults of the
// project; nil where that is the workload itself.
func (l *loading) written(doc spec.Document) func(object.Errors) object.Errors {
	author := doc.Written
	if own := frontend.Of(doc.Kind).Written; own != nil {
		author = own
	}
	if l.workloadDefaults.Empty() {
		return author
	}
	return func(errs object.Errors) object.Errors {
		if author != nil {
			errs = author(errs)
		}
		return l.workloadDefaults.Written(errs, doc.Name, doc.NamePos)
	}
}

// lowered is the document of a workload with its overlays, or the workload that it becomes
// with them.
func (l *loading) lowered(doc spec.Document) object.Value {
	v, lower := l.overlaid(doc), frontend.Of(doc.Kind).Lower
	if lower == nil {
		return v
	}
	v, errs := lower(v)
	l.Errs = append(l.Errs, errs...)
	return v
}

// overlaid is the document of a workload with its overlays.
func (l *loading) overlaid(doc spec.Document) object.Value {
	if doc.Score {
		l.addedContainers(doc.Name, doc.Value)
		return l.overlays.Apply(doc.Name, doc.Value.Merge(l.inputs[doc.Name].Value))
	}
	body, _ := doc.Value.Get("spec")
	l.addedContainers(doc.Name, body)
	return withMember(doc.Value, "spec", l.overlays.Apply(doc.Name, body.Merge(l.inputs[doc.Name].Value)))
}

// addedContainers warns of each container that the environment adds to a workload and that has the
// name of one of the workload but for a slip: nothing else would tell that it was meant.
func (l *loading) addedContainers(spec string, workload object.Value) {
	const shortest, digits = 4, "0123456789" // app and api, and web1 and web2, are different on purpose.
	own, _ := workload.Get("containers")
	over, _ := l.inputs[spec].Value.Get("containers")
	for _, added := range over.Members {
		if _, known := own.Get(added.Name); known || len(added.Name) < shortest || strings.ContainsAny(added.Name, digits) {
			continue
		}
		for _, meant := range own.Members {
			if object.Distance(added.Name, meant.Name) != 1 || strings.ContainsAny(meant.Name, digits) {
				continue
			}
			l.Errs = append(l.Errs, &object.Error{
				Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: added.Pos,
				Err:  fmt.Errorf("environment %q adds container %q to %s", l.opts.Environment, added.Name, spec),
				Hint: fmt.Sprintf("did you mean %q?", meant.Name),
			})
			break
		}
	}
}

// withMember is v with another value of one member.
func withMember(v object.Value, name string, value object.Value) object.Value {
	if value.Kind == object.KindNone {
		return v
	}
	v.Members = slices.Clone(v.Members)
	for i, m := range v.Members {
		if m.Name == name {
			v.Members[i].Value = value
			return v
		}
	}
	v.Members = append(v.Members, object.Member{Name: name, Pos: value.Pos, Value: value})
	return v
}

// workload decodes one workload and reads the files that it names.
func (l *loading) workload(doc spec.Document, value object.Value) (workload.Source, bool) {
	decoded, errs := score.Decode(score.Document{Value: value, Blocks: doc.Blocks, Last: doc.Last, Score: doc.Score})
	l.Errs = append(l.Errs, errs...)
	if doc.Name == "" || doc.Unsure || l.overlays.Incomplete || errs.Err() != nil && decoded.Name.Value != doc.Name {
		return workload.Source{}, false
	}
	if decoded.Name.Value != doc.Name {
		l.Fail(decoded.Name.Pos, "remove the name", fmt.Errorf("overlays cannot rename a workload: expected %q", doc.Name))
		decoded.Name.Value = doc.Name
	}
	environment := l.opts.Environment
	if environment == "" {
		environment = decoded.Environment.Value
	}
	out := workload.Source{
		Spec: decoded, Files: map[string][]byte{}, Partial: errs.Err() != nil,
		Context: l.contextOf(doc.Name, decoded.Namespace.Value, environment),
	}
	if l.preview.ID != "" {
		out.Otherwise = l.preview.Base(cmp.Or(decoded.Namespace.Value, l.context.Namespace))
	}
	l.sourceFiles(doc, &out)
	out.Variables = l.variablesOf(out)
	return out, true
}

// sourceFiles reads the files that a workload names, relative to its document. A file
// that cannot be read fails the render; it counts as empty, so that other errors of the
// workload are reported too.
func (l *loading) sourceFiles(doc spec.Document, w *workload.Source) {
	at := l.Location(doc.Pos.File)
	for _, c := range w.Spec.Containers {
		for _, f := range c.Files {
			if f.Source == nil {
				continue
			}
			name := f.Source.Value
			if _, known := w.Files[name]; known {
				continue
			}
			data, err := at.Read(name)
			if err != nil {
				in := object.Fields("containers", c.Name, "files", f.Target, "source")
				l.Errs = append(l.Errs, &object.Error{
					Stage: object.StageSpec, Pos: f.Source.Pos, Path: append(doc.InputPath(), in...).String(),
					Err: fmt.Errorf("source %q: %w", name, err),
				})
			}
			w.Files[name] = data
		}
	}
}

// image is one of Options.Images.
type image struct {
	spec, container, image string
	pos                    object.Pos
	used                   bool
}

// images parses Options.Images.
func (l *loading) images() []*image {
	var out []*image
	for _, arg := range l.opts.Images {
		i := &image{image: arg, pos: object.Pos{File: "--image " + arg}}
		if before, after, ok := strings.Cut(arg, "="); ok {
			i.image = after
			i.spec, i.container, _ = strings.Cut(before, "/")
			if i.used = !l.overlays.Known(i.spec, i.pos); i.used {
				continue
			}
		}
		if i.image == "" || strings.ContainsAny(i.image, " \t\n") {
			l.Fail(i.pos, "write IMAGE, SPEC=IMAGE or SPEC/CONTAINER=IMAGE", fmt.Errorf("%q is not an image", i.image))
			continue
		}
		out = append(out, i)
	}
	return out
}

// unusedImages reports images that no container uses.
func (l *loading) unusedImages(images []*image) {
	for _, i := range images {
		switch {
		case i.used || l.overlays.NamesIncomplete:
		case i.container != "":
			l.Fail(i.pos, "", fmt.Errorf("workload %q has no container %q", i.spec, i.container))
		default:
			l.Fail(i.pos, "name the container: SPEC/CONTAINER=IMAGE", errors.New("no container has image: . to replace"))
		}
	}
}

// imagesWithoutWorkloads reports images where there is no workload.
func (l *loading) imagesWithoutWorkloads() {
	if len(l.docs.Workloads) > 0 || l.overlays.NamesIncomplete {
		return
	}
	for _, arg := range l.opts.Images {
		l.Fail(object.Pos{File: "--image " + arg}, "for a module, set the input that holds its image",
			errors.New("there is no workload to set an image of"))
	}
}

// withImages sets the images of a workload's containers in its document.
func withImages(v object.Value, doc spec.Document, images []*image) object.Value {
	at := append(doc.InputPath(), object.Field("containers"))
	containers, found := v.Lookup(at)
	if found < len(at) || containers.Kind != object.KindMap {
		return v
	}
	for _, i := range images {
		if i.spec != "" && i.spec != doc.Name {
			continue
		}
		for _, c := range containers.Members {
			current, _ := c.Value.Get("image")
			if i.container != "" && i.container != c.Name || i.container == "" && current.Text != "." {
				continue
			}
			set := spec.Set{
				Path: at.Append(object.Field(c.Name), object.Field("image")), Pos: i.pos,
				Value: object.Value{Kind: object.KindString, Pos: i.pos, Text: i.image},
			}
			if next, err := set.Over(v); err == nil {
				v, i.used = next, true
			}
		}
	}
	return v
}
