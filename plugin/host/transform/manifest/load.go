// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/transform"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/configmap"
)

// Options say what a manifest is loaded with.
type Options struct {
	// Host are the options of the command, of which those count that a manifest does not say: the
	// evaluator, limits, the context and the output.
	Host host.Options
	// FS is where Sources are read; nil is the disk.
	FS fs.FS
	// Sources are what the Transform names.
	Sources Sources
	// Strict makes every warning an error.
	Strict bool
	// Connect returns the host with what fetches modules. Required.
	Connect func(host.Options) (host.Host, error)
}

// Load makes the request of the Transform. The error is an object.Errors with all that is not
// given, or that of Connect.
func (m *Manifest) Load(ctx context.Context, o Options) (host.Loaded, error) {
	// What the Transform names must be given by flags.
	t := &m.transform
	given := configMaps{}
	if err := m.gather(o, given); err != nil {
		return host.Loaded{Texts: m.texts()}, err
	}
	from := host.Options{
		Evaluator: o.Host.Evaluator, Limits: o.Host.Limits, SkipSchemas: o.Host.SkipSchemas, AllowEmpty: o.Host.AllowEmpty,
		Context: o.Host.Context, Emit: o.Host.Emit,
	}
	from.Emit.Awaited = from.Emit.Dialect == dialect.Flux && (t.Spec.Delivery == nil || t.Spec.Delivery.Type != v1alpha1.EngineNone)
	if d := t.Spec.Delivery; d != nil && d.Flux != nil {
		from.Emit.DecryptionConfigured = d.Flux.Decryption != nil
	}

	// The flags stand for the cluster.
	to := transform.Options{
		Host: from, ConfigMaps: given, Place: m.place,
		// Its name is all that a render needs.
		HasSecret: func(context.Context, string) error { return nil },
		Connect: func(opts host.Options) (host.Host, error) {
			if t.Spec.One() {
				// The lock of a project is not for a module, as in a cluster.
				none, _ := source.NewTree(nil, "", "")
				opts.FS = none.FS
			}
			h, err := o.Connect(opts)
			if err == nil {
				h.Fetchers[source.TypeFlux] = o.Sources.fetcher(o.FS)
			}
			return h, err
		},
	}
	if m.source.files != nil {
		to.Files = m.source.files
	}

	// Positions are those of the files on disk, also of a load that failed.
	loaded, err := transform.Load(ctx, to, t)
	m.loaded = loaded
	out := loaded.Loaded
	out.Texts = m.texts()
	if err != nil {
		return out, m.explainMissing(err)
	}
	// The environment is that of sourceRef.
	out.Project.Environments = nil
	out.Request.Strict = o.Strict || t.Spec.Strict
	return out, nil
}

// explainMissing returns the error of a load. What is still missing then is an entry of a
// ConfigMap.
func (m *Manifest) explainMissing(err error) error {
	var missing *transform.WaitError
	if !errors.As(err, &missing) {
		return m.Explain(err)
	}
	pos, field := m.place(missing.At)
	return object.Errors{{Stage: object.StageResolve, Pos: pos, Path: field, Err: errors.New(missing.Message)}}
}

// Warnings returns the inputs that the Transform declares optional and that are not given.
func (m *Manifest) Warnings() object.Errors {
	if m == nil {
		return nil
	}
	return m.warnings
}

// AllowEmpty reports whether the Transform accepts a render without objects.
func (m *Manifest) AllowEmpty() bool { return m != nil && m.transform.Spec.AllowEmpty }

// Notes returns what keeps the controller from delivering this render.
func (m *Manifest) Notes() (out []string) {
	if m != nil && m.transform.Spec.Suspend {
		out = append(out, "the Transform is suspended (spec.suspend): the controller renders and delivers nothing until it is resumed")
	}
	if m != nil && m.transform.Spec.Rollback != nil {
		out = append(out, "the Transform is rolled back (spec.rollback): the controller delivers an earlier artifact, and not this render")
	}
	return out
}

// configMaps are those that are given, by name.
type configMaps map[string]configmap.ConfigMap

// Get returns a ConfigMap of the namespace of the Transform.
func (c configMaps) Get(_ context.Context, name string) (configmap.ConfigMap, error) {
	m, ok := c[name]
	if !ok {
		return m, source.Refuse(source.ErrNotFound, fmt.Sprintf("ConfigMap %q is not given", name))
	}
	return m, nil
}

// gather finds all that the Transform names.
func (m *Manifest) gather(o Options, given configMaps) error {
	// The source of the project is a folder.
	t := &m.transform
	var found object.Errors
	if ref := t.SourceRef(); ref != nil {
		name := ref.Kind + "/" + cmp.Or(ref.Namespace, t.Namespace) + "/" + ref.Name
		dir, ok := o.Sources[name]
		field := "spec.sourceRef.name"
		if t.Spec.Source != nil {
			field = "spec.source.git.url"
		}
		opened, err := openFolder(o.FS, dir, name)
		switch {
		case !ok:
			found = append(found, m.missing(o, field, name, "DIR"))
		case err != nil:
			found = append(found, broken(name+"="+dir, "pass the folder that has the files of the source", err)...)
		default:
			m.source = opened
		}
	}

	// Modules are in folders too, or in ConfigMaps.
	for _, ref := range transform.References(t) {
		field := ref.At + ".ref"
		switch ref.Ref.Type {
		case source.TypeFlux:
			name, _, _ := strings.Cut(ref.Ref.Ref, "@")
			if _, ok := o.Sources[name]; !ok {
				found = append(found, m.missing(o, field, name, "DIR"))
			}
		case source.TypeConfigMap:
			found = append(found, m.addConfigMap(o, given, ref.Ref.Ref, field)...)
		}
	}
	for i, in := range t.Spec.InputsFrom {
		found = append(found, m.addInput(o, given, i, in)...)
	}
	return found.Sorted().Err()
}

// addInput gathers an entry of inputsFrom.
func (m *Manifest) addInput(o Options, given configMaps, i int, in v1alpha1.InputReference) (wrong object.Errors) {
	field := fmt.Sprintf("spec.inputsFrom[%d]", i)
	if in.Kind == kindConfigMap {
		wrong = m.addConfigMap(o, given, in.Name, field+".name")
	}
	key := transform.KeyOf(in)
	if _, ok := given[in.Name].Data[key]; in.Kind == kindConfigMap && in.Optional && len(wrong) == 0 && !ok {
		pos, at := m.place(field + ".key")
		wrong = object.Errors{{Stage: object.StageResolve, Pos: pos, Path: at, Err: fmt.Errorf("ConfigMap %q %w %q", in.Name, errNoEntry, key)}}
	}
	absent := len(wrong) == 1 && (errors.Is(wrong[0], errNotGiven) || errors.Is(wrong[0], errNoEntry))
	if absent && in.Optional && !o.Strict && !m.transform.Spec.Strict {
		wrong[0].Severity = object.SeverityWarning
		m.warnings = append(m.warnings, wrong...)
		wrong = nil
	}
	var text entry
	if in.TargetPath != "" {
		// The text, or the name of the Secret, is one value of the input.
		text.value, _ = m.doc.Value.Lookup(object.ParsePath(field + ".targetPath"))
	} else {
		text.blocks = m.beside[in.Name].Blocks
		text.value, _ = m.beside[in.Name].Value.Lookup(object.Fields("data", key))
	}
	m.entries[transform.Entry(in)] = text
	return wrong
}

// The errors for an object that no flag gives, and for an entry that its ConfigMap lacks.
var (
	errNotGiven = errors.New("is in the cluster, and is not given here")
	errNoEntry  = errors.New("has no entry")
)

// missing returns the error for what no flag gives.
func (m *Manifest) missing(o Options, field, name, what string) *object.Error {
	pos, path := m.place(field)
	hint := "pass " + flag + name + "=" + what
	if near := o.Sources.near(name); near != "" {
		hint += "; given is " + near
	}
	return &object.Error{Stage: object.StageResolve, Pos: pos, Path: path, Hint: hint, Err: fmt.Errorf("%s %w", name, errNotGiven)}
}

// addConfigMap adds a ConfigMap to those that are given.
func (m *Manifest) addConfigMap(o Options, given configMaps, name, field string) object.Errors {
	if _, ok := given[name]; ok {
		return nil
	}
	full := kindConfigMap + "/" + m.transform.Namespace + "/" + name
	if file, ok := o.Sources[full]; ok {
		d, err := configMap(o.FS, m.transform.Namespace, name, file)
		if err != nil {
			return object.AsErrors(err, object.StageResolve)
		}
		m.beside[name] = d
	}
	d, ok := m.beside[name]
	if !ok {
		return object.Errors{m.missing(o, field, full, "FILE")}
	}
	decoded, err := decodeConfigMap(name, d)
	given[name] = decoded
	return object.AsErrors(err, object.StageResolve)
}

// Explain returns an error of a render with the positions of the user's input.
func (m *Manifest) Explain(err error) error {
	var mistakes object.Errors
	if m == nil || !errors.As(err, &mistakes) {
		return err
	}
	return m.Positions(mistakes)
}

// Positions returns mistakes of a render at the positions of the user's input.
func (m *Manifest) Positions(mistakes object.Errors) object.Errors {
	if m == nil || len(mistakes) == 0 {
		return mistakes
	}
	out := m.loaded.Positions(mistakes)
	for _, e := range out {
		e.Pos = m.onDisk(e.Pos)
		for i := range e.Notes {
			e.Notes[i].Pos = m.onDisk(e.Notes[i].Pos)
		}
	}
	return out.Sorted()
}

// Pos returns a position of the user's input for a position of the render.
func (m *Manifest) Pos(pos object.Pos) object.Pos {
	if m == nil {
		return pos
	}
	return m.onDisk(m.loaded.Pos(pos))
}

// onDisk returns a position in the folder of the source, or in a ConfigMap, as a path from the
// working directory of the user.
func (m *Manifest) onDisk(pos object.Pos) object.Pos {
	if e, ok := m.entries[pos.File]; ok {
		return inText(e.value, e.blocks, pos.Line, pos.Column)
	}
	if pos.File != m.file.Name && m.isOfSource(pos.File) {
		pos.File = path.Join(m.source.dir, pos.File)
	}
	return pos
}

// isOfSource reports whether a file is of the source.
func (m *Manifest) isOfSource(name string) bool {
	if m.source.files == nil || !fs.ValidPath(name) {
		return false
	}
	_, err := m.source.files.Lstat(name)
	return err == nil
}

// texts returns the files that were read, by the names that positions have.
func (m *Manifest) texts() map[string][]byte {
	out := map[string][]byte{m.file.Name: m.file.Data}
	for name, data := range m.loaded.Texts {
		if m.isOfSource(name) {
			out[path.Join(m.source.dir, name)] = data
		}
	}
	return out
}
