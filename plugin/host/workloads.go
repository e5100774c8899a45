// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload"
	"github.com/ropewalk/ropewalk/render/workload/frontend"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// workloadFrontEnd makes the specs of workloads. The render compiles them together.
type workloadFrontEnd struct {
	documents []spec.Document
	config    spec.Workloads
	// defaults are the defaults of the project in its environment.
	defaults score.Defaults
	// module makes the objects of all workloads, and provisioners are tried in their order; the
	// policy of each is its name.
	module       *reference
	provisioners []use
	// complete is false where a reference among these does not lead to a module.
	complete bool
}

// planWorkloads takes the workloads, and the modules that they share: the module that makes their
// objects, then the provisioners, the embedded module last. Without a workload it takes only the
// modules that the project names, so that mistakes in them are reported.
func planWorkloads(p planning) frontEnd {
	// Most errors were reported when the project was parsed; new errors come from an environment
	// that contradicts the project.
	config, err := p.settings.project.Workloads(p.opts.Environment)
	if err != nil {
		p.Errs = append(p.Errs, object.AsErrors(err, object.StageSpec)...)
		return &workloadFrontEnd{}
	}
	out := &workloadFrontEnd{documents: p.docs.Workloads, config: config, complete: true}
	out.config.Variables = object.SortedKeys(p.variables.values)
	out.config.VariablesIncomplete = p.variables.incomplete
	defaults, errs := score.ReadDefaults(p.settings.project, p.opts.Environment)
	out.defaults = defaults
	p.Errs = append(p.Errs, errs...)
	if len(out.documents) == 0 && !config.Pos.IsValid() {
		return out
	}

	// A module that no document names is needed by the first workload.
	at := object.Fields("spec", "workloads")
	resolve := func(ref spec.CueRef, at object.Path) (reference, bool) {
		w, ok := p.modules.reference(ref, at)
		w.neededBy = firstWorkload(p.docs)
		return w, ok
	}
	module, ok := resolve(config.Module, at.Append(object.Field("module")))
	out.module = &module
	out.complete = ok

	// The embedded provisioners are tried last.
	provisioners := slices.Clone(config.Provisioners)
	if len(out.documents)+len(config.Config.Members) > 0 {
		provisioners = append(provisioners, embeddedProvisioners())
	}
	for i, m := range provisioners {
		w, ok := resolve(m.CueRef, at.Append(object.Field("provisioners"), object.Index(i), object.Field("cueRef")))
		out.complete = out.complete && ok
		out.provisioners = append(out.provisioners, use{reference: w, policy: spec.Policy{Name: m.Name, Pos: m.Pos}})
	}
	return out
}

// firstWorkload returns the position of the first workload of a project.
func firstWorkload(docs documents) object.Pos {
	if len(docs.Workloads) == 0 {
		return object.Pos{}
	}
	return docs.Workloads[0].Pos
}

// references implements frontEnd.
func (w *workloadFrontEnd) references() []reference {
	if w.module == nil || !w.complete {
		return nil
	}
	return append([]reference{*w.module}, referencesOf(w.provisioners)...)
}

// build implements frontEnd.
func (w *workloadFrontEnd) build(ctx context.Context, b *builder) error {
	if !w.complete {
		return nil
	}
	refuseImages(b, w.documents)
	err := w.buildSpecs(ctx, b)
	if err == nil && !b.settings.overlays.NamesIncomplete && b.Errs.Err() == nil {
		b.variables.reportUnused(b.Discovery)
	}
	return err
}

// buildSpecs adds every complete workload to the request, and what they share.
func (w *workloadFrontEnd) buildSpecs(ctx context.Context, b *builder) error {
	// The modules are part of the request, also if there is no workload.
	if w.module == nil {
		return nil
	}
	b.request.Workloads.Config = w.config
	module, fetched := b.modules.tree(*w.module)
	sources, known := w.addProvisioners(b)
	if len(w.documents) == 0 {
		return nil
	}

	var evaluated evaluate.Module
	if fetched {
		var err error
		evaluated, err = w.withoutCheck(b.modules.module(*w.module, module, nil))
		if err != nil {
			return err
		}
	}

	// A workload is decoded without its module too, for the mistakes in it.
	images := readImages(b)
	seen := map[string]bool{}
	for _, doc := range w.documents {
		// Of two workloads with one name, which has been reported, the first counts.
		if seen[doc.Name] {
			continue
		}
		seen[doc.Name] = true
		s, ok := w.buildSpec(b, doc, images)
		if !ok || !fetched || !known {
			continue
		}
		s.Evaluate.Module = evaluated
		s.Source = sourceOf(doc.Name, "", module)
		for _, source := range sources {
			source.Spec = doc.Name
			s.Policies = append(s.Policies, source)
		}
		size := sizeOf(s)
		for _, data := range s.Workload.Files {
			size += int64(len(data))
		}
		err := b.opts.charge(ctx, size)
		if err != nil {
			return err
		}
		b.request.Specs = append(b.request.Specs, s)
	}
	refuseUnusedImages(b, images)
	return nil
}

// checkFile is the file of the embedded module for workloads that declares its input.
const checkFile = "input.cue"

// withoutCheck returns the embedded module for workloads without the check of its input: its input
// is made here and not by a user, and the check would be a fifth of the time of a render of many
// workloads. The tests of the module compare both. Other modules are returned as they are.
func (w *workloadFrontEnd) withoutCheck(m evaluate.Module) (evaluate.Module, error) {
	isEmbedded := w.module.ref.Type == spec.RefEmbedded && w.module.ref.Ref == spec.DefaultWorkloadModule
	if !isEmbedded || m.FS == nil {
		return m, nil
	}
	files, err := memfs.Over(m.FS, map[string][]byte{path.Join(m.Dir, checkFile): []byte("package workload\n")})
	if err != nil {
		return m, err
	}
	m.FS = files
	m.Digest += " without " + checkFile
	return m, nil
}

// buildSpec decodes one workload. It returns false if its mistakes leave nothing to render.
func (w *workloadFrontEnd) buildSpec(b *builder, doc spec.Document, images []*image) (render.Spec, bool) {
	value := withImages(w.defaults.Under(lowered(b, doc), doc.Score), doc, images)
	before := len(b.Errs)
	source, ok := decodeWorkload(b, doc, value)
	doc.Written = w.written(doc)
	if doc.Written != nil {
		b.Errs = append(b.Errs[:before], doc.Written(b.Errs[before:])...)
	}
	if !ok {
		return render.Spec{}, false
	}
	out := render.Spec{
		Evaluate: evaluate.Request{
			Spec: doc.Name, Pos: doc.Pos, Input: value, Context: source.Context, Policies: b.policies, Limits: b.opts.Limits,
			Overlays: source.Spec.Overlays,
		},
		Workload: &source, Written: doc.Written,
	}
	b.loosen(&out, source.Spec.PolicyOverrides)
	for _, allowed := range source.Spec.AllowSecrets {
		out.AllowSecretsPos = append(out.AllowSecretsPos, allowed.Pos)
		b.request.AllowSecrets[doc.Name] = append(b.request.AllowSecrets[doc.Name], allowed.Value)
	}
	for _, d := range source.Spec.DependsOn {
		out.DependsOn = append(out.DependsOn, object.SpecDependency{Name: d.Value, Pos: d.Pos})
	}
	return out, true
}

// written returns a function that leads errors on a workload to the document of its author, and to
// the defaults of the project. It returns nil if the document is the workload itself.
func (w *workloadFrontEnd) written(doc spec.Document) func(object.Errors) object.Errors {
	author := doc.Written
	if lead := frontend.Of(doc.Kind).Written; lead != nil {
		author = lead
	}
	if w.defaults.Empty() {
		return author
	}
	return func(errs object.Errors) object.Errors {
		if author != nil {
			errs = author(errs)
		}
		return w.defaults.Written(errs, doc.Name, doc.NamePos)
	}
}

// lowered returns the document of a workload with its overlays, or the workload that it becomes
// with them.
func lowered(b *builder, doc spec.Document) object.Value {
	v := overlaid(b, doc)
	lower := frontend.Of(doc.Kind).Lower
	if lower == nil {
		return v
	}
	v, errs := lower(v)
	b.Errs = append(b.Errs, errs...)
	return v
}

// overlaid returns the document of a workload with its overlays.
func overlaid(b *builder, doc spec.Document) object.Value {
	if doc.Score {
		warnOfAdded(b, doc.Name, doc.Value)
		return b.settings.overlays.Apply(doc.Name, doc.Value.Merge(b.settings.inputs[doc.Name].Value))
	}
	body, _ := doc.Value.Get("spec")
	warnOfAdded(b, doc.Name, body)
	return withMember(doc.Value, "spec", b.settings.overlays.Apply(doc.Name, body.Merge(b.settings.inputs[doc.Name].Value)))
}

// warnOfAdded warns of each container that the environment adds to a workload under a name that
// differs by a slip from the name of a container there: the slip would not be found otherwise.
func warnOfAdded(b *builder, spec string, workload object.Value) {
	const shortest, digits = 4, "0123456789" // app and api, and web1 and web2, are different on purpose.
	containers, _ := workload.Get("containers")
	overlays, _ := b.settings.inputs[spec].Value.Get("containers")
	for _, added := range overlays.Members {
		_, isKnown := containers.Get(added.Name)
		mayDiffer := len(added.Name) < shortest || strings.ContainsAny(added.Name, digits)
		if isKnown || mayDiffer {
			continue
		}
		for _, meant := range containers.Members {
			if object.Distance(added.Name, meant.Name) != 1 || strings.ContainsAny(meant.Name, digits) {
				continue
			}
			b.Errs = append(b.Errs, &object.Error{
				Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: added.Pos,
				Err:  fmt.Errorf("environment %q adds container %q to %s", b.opts.Environment, added.Name, spec),
				Hint: fmt.Sprintf("did you mean %q?", meant.Name),
			})
			break
		}
	}
}

// withMember returns v with another value of one member.
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

// decodeWorkload decodes one workload and reads the files that it names.
func decodeWorkload(b *builder, doc spec.Document, value object.Value) (workload.Source, bool) {
	decoded, errs := score.Decode(score.Document{Value: value, Blocks: doc.Blocks, Last: doc.Last, Score: doc.Score})
	b.Errs = append(b.Errs, errs...)
	isUnsure := doc.Name == "" || doc.Unsure || b.settings.overlays.Incomplete
	hasLostName := errs.Err() != nil && decoded.Name.Value != doc.Name
	if isUnsure || hasLostName {
		return workload.Source{}, false
	}
	if decoded.Name.Value != doc.Name {
		b.Fail(decoded.Name.Pos, "remove the name", fmt.Errorf("overlays cannot rename a workload: expected %q", doc.Name))
		decoded.Name.Value = doc.Name
	}
	environment := b.opts.Environment
	if environment == "" {
		environment = decoded.Environment.Value
	}
	out := workload.Source{
		Spec: decoded, Files: map[string][]byte{}, Partial: errs.Err() != nil,
		Context: b.context(doc.Name, decoded.Namespace.Value, environment),
	}
	if b.settings.preview.ID != "" {
		out.Otherwise = b.settings.preview.Base(cmp.Or(decoded.Namespace.Value, b.settings.project.Context.Namespace))
	}
	readFiles(b, doc, &out)
	out.Variables = b.variables.mentioned(out)
	return out, true
}

// readFiles reads the files that a workload names, relative to its document. A file that cannot be
// read fails the render. It counts as empty, so that other errors of the workload are reported
// too.
func readFiles(b *builder, doc spec.Document, w *workload.Source) {
	location := b.Location(doc.Pos.File)
	for _, c := range w.Spec.Containers {
		for _, f := range c.Files {
			if f.Source == nil {
				continue
			}
			name := f.Source.Value
			if _, known := w.Files[name]; known {
				continue
			}
			data, err := location.Read(name)
			if err != nil {
				field := object.Fields("containers", c.Name, "files", f.Target, "source")
				b.Errs = append(b.Errs, &object.Error{
					Stage: object.StageSpec, Pos: f.Source.Pos, Path: append(doc.InputPath(), field...).String(),
					Err: fmt.Errorf("source %q: %w", name, err),
				})
			}
			w.Files[name] = data
		}
	}
}

// image is an entry of Options.Images.
type image struct {
	spec, container, image string
	pos                    object.Pos
	used                   bool
}

// readImages parses Options.Images.
func readImages(b *builder) []*image {
	var out []*image
	for _, arg := range b.opts.Images {
		i := &image{image: arg, pos: object.Pos{File: "--image " + arg}}
		if before, after, ok := strings.Cut(arg, "="); ok {
			i.image = after
			i.spec, i.container, _ = strings.Cut(before, "/")
			i.used = !b.settings.overlays.Known(i.spec, i.pos)
			if i.used {
				continue
			}
		}
		if i.image == "" || strings.ContainsAny(i.image, " \t\n") {
			b.Fail(i.pos, "write IMAGE, SPEC=IMAGE or SPEC/CONTAINER=IMAGE", fmt.Errorf("%q is not an image", i.image))
			continue
		}
		out = append(out, i)
	}
	return out
}

// refuseUnusedImages reports images that no container uses.
func refuseUnusedImages(b *builder, images []*image) {
	for _, i := range images {
		switch {
		case i.used || b.settings.overlays.NamesIncomplete:
		case i.container != "":
			b.Fail(i.pos, "", fmt.Errorf("workload %q has no container %q", i.spec, i.container))
		default:
			b.Fail(i.pos, "name the container: SPEC/CONTAINER=IMAGE", errors.New("no container has image: . to replace"))
		}
	}
}

// refuseImages reports images if there is no workload.
func refuseImages(b *builder, workloads []spec.Document) {
	if len(workloads) > 0 || b.settings.overlays.NamesIncomplete {
		return
	}
	for _, arg := range b.opts.Images {
		b.Fail(object.Pos{File: "--image " + arg}, "for a module, set the input that holds its image",
			errors.New("there is no workload to set an image of"))
	}
}

// withImages sets the images of a workload's containers in its document.
func withImages(v object.Value, doc spec.Document, images []*image) object.Value {
	field := append(doc.InputPath(), object.Field("containers"))
	containers, found := v.Lookup(field)
	if found < len(field) || containers.Kind != object.KindMap {
		return v
	}
	for _, i := range images {
		if i.spec != "" && i.spec != doc.Name {
			continue
		}
		for _, c := range containers.Members {
			current, _ := c.Value.Get("image")
			isMeant := i.container == c.Name
			if i.container == "" {
				isMeant = current.Text == "."
			}
			if !isMeant {
				continue
			}
			set := spec.Set{
				Path: field.Append(object.Field(c.Name), object.Field("image")), Pos: i.pos,
				Value: object.Value{Kind: object.KindString, Pos: i.pos, Text: i.image},
			}
			if next, err := set.Over(v); err == nil {
				v = next
				i.used = true
			}
		}
	}
	return v
}
