// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// overlays lays values files and sets over the inputs of specs.
type overlays struct {
	*finding
	names []string
	// unsure says that a name that is not known may be that of a spec that
	// could not be read; nothing is said of it then.
	unsure bool
	texts  map[string][]byte
	// values are laid over the input of a spec, in this order.
	values map[string][]object.Value
	// lost says that a file of values could not be read, so that every input
	// may lack something.
	lost bool
	sets map[string][]spec.Set
}

// read reads what the options lay over the inputs of the specs.
func (o *overlays) read() {
	for _, arg := range o.opts.Values {
		o.valuesFile(arg)
	}
	for _, arg := range o.opts.Set {
		set, err := spec.ParseSet(arg)
		if err != nil {
			o.errs = append(o.errs, object.AsErrors(err, object.StageSpec)...)
			continue
		}
		if name, ok := o.target(set.Spec, set.Pos, "write SPEC:PATH=VALUE"); ok {
			o.sets[name] = append(o.sets[name], set)
		}
	}
}

// target is the spec that an option is for: the one that it names, or the
// only one.
func (o *overlays) target(name string, pos object.Pos, form string) (string, bool) {
	switch {
	case name != "":
		return name, o.known(name, pos)
	case len(o.names) == 1:
		return o.names[0], true
	case !o.unsure:
		o.fail(pos, form, fmt.Errorf("there are %d specs: expected one to be named", len(o.names)))
	}
	return "", false
}

// known reports whether there is a spec of that name, and says so where there
// is none.
func (o *overlays) known(name string, pos object.Pos) bool {
	for _, n := range o.names {
		if n == name {
			return true
		}
	}
	if !o.unsure {
		o.fail(pos, object.Suggest(name, o.names), fmt.Errorf("no spec is called %q", name))
	}
	return false
}

// valuesFile reads one values file: FILE or SPEC:FILE.
func (o *overlays) valuesFile(arg string) {
	name, file := "", arg
	if before, after, ok := strings.Cut(arg, ":"); ok && after != "" && spec.CheckName(before) == nil {
		name, file = before, after
	}
	pos := object.Pos{File: filepath.ToSlash(filepath.Clean(file))}
	if name != "" && !o.known(name, object.Pos{File: "--values " + arg}) {
		return
	}
	data, err := o.readNamed(file)
	if err != nil {
		o.lost = true
		o.fail(pos, "", err)
		return
	}
	o.texts[pos.File] = data
	v, err := spec.ParseValue(spec.File{Name: pos.File, Data: data})
	if err != nil {
		o.lost = true
		o.errs = append(o.errs, object.AsErrors(err, object.StageSpec)...)
		return
	}
	o.valuesOf(name, v)
}

// valuesOf sorts the content of a values file by spec.
func (o *overlays) valuesOf(name string, v object.Value) {
	if v.Kind == object.KindNone || v.Kind == object.KindNull {
		return
	}
	if v.Kind != object.KindMap {
		o.fail(v.Pos, "", fmt.Errorf("expected a map of values, got a %s", v.Kind))
		return
	}
	if name == "" && len(o.names) == 1 {
		name = o.names[0]
	}
	if name != "" {
		o.values[name] = append(o.values[name], v)
		return
	}
	for _, m := range v.Members {
		switch {
		case !o.known(m.Name, m.Pos):
		case m.Value.Kind == object.KindNull:
		case m.Value.Kind != object.KindMap:
			o.fail(m.Value.Pos, "", fmt.Errorf("expected the values of spec %q as a map, got a %s", m.Name, m.Value.Kind))
		default:
			o.values[m.Name] = append(o.values[m.Name], m.Value)
		}
	}
}

// readNamed reads a file that an option names: from anywhere on disk where the
// caller gave no root, also from a pipe, and below the root else.
func (f *finding) readNamed(name string) ([]byte, error) {
	full, err := f.full(name)
	if err != nil {
		return nil, err
	}
	if f.opts.Root != "" || f.memory != nil {
		a, rel, err := f.area(filepath.Dir(full), false)
		if err != nil {
			return nil, err
		}
		data, err := a.read(path.Join(rel, filepath.Base(full)), spec.MaxFile)
		if err != nil {
			return nil, notThere(err)
		}
		return data, nil
	}
	file, err := os.Open(full) //nolint:gosec // the user named it
	if err != nil {
		return nil, notThere(err)
	}
	defer func() { _ = file.Close() }()
	return readAll(nil, file, 0, spec.MaxFile)
}

// over is the input of a spec with everything laid over it.
func (o *overlays) over(name string, input object.Value) object.Value {
	for _, v := range o.values[name] {
		input = input.Merge(v)
	}
	for _, set := range o.sets[name] {
		next, err := set.Over(input)
		if err != nil {
			o.errs = append(o.errs, object.AsErrors(err, object.StageSpec)...)
			continue
		}
		input = next
	}
	return input
}

// crds reads the CustomResourceDefinitions that the options name.
func (f *finding) crds() []object.Object {
	var out []object.Object
	for _, arg := range f.opts.CRDs {
		pos := object.Pos{File: filepath.ToSlash(filepath.Clean(arg))}
		before := len(out)
		err := f.crdFiles(arg, func(name string, data []byte) error {
			more, err := crdsIn(spec.File{Name: name, Data: data})
			out = append(out, more...)
			return err
		})
		switch {
		case err != nil:
			for _, e := range object.AsErrors(err, object.StageCheck) {
				if !e.Pos.IsValid() {
					e.Pos = pos
				}
				f.errs = append(f.errs, e)
			}
		case len(out) == before:
			f.fail(pos, "", errors.New("holds no CustomResourceDefinition"))
		}
	}
	return out
}

// maxCRDs is how large a file of CustomResourceDefinitions may be: bundles of
// operators come near 10 MiB.
const maxCRDs = 32 << 20

// crdFiles calls do with every YAML and JSON file that arg names, in order.
func (f *finding) crdFiles(arg string, do func(name string, data []byte) error) error {
	a, rel, folder, err := f.at(arg)
	if err != nil {
		return err
	}
	s := search{area: a, found: []string{rel}}
	if folder {
		s.found = nil
		if err := s.folder(rel, 0); err != nil {
			return err
		}
	}
	for _, name := range s.found {
		data, err := a.read(name, maxCRDs)
		if err != nil {
			return err
		}
		if err := do(a.display(name), data); err != nil {
			return err
		}
	}
	return nil
}

// crdsIn are the CustomResourceDefinitions of a file, those in lists too.
func crdsIn(file spec.File) ([]object.Object, error) {
	if !strings.Contains(string(file.Data), "CustomResourceDefinition") {
		return nil, nil
	}
	manifests, err := spec.ParseManifests(file, maxCRDs)
	if err != nil {
		return nil, err
	}
	var out []object.Object
	for _, m := range manifests {
		values := []object.Value{m.Value}
		if items, ok := m.Value.Get("items"); ok {
			values = items.Items
		}
		for _, v := range values {
			if kind, _ := v.Get("kind"); kind.Text != "CustomResourceDefinition" {
				continue
			}
			o, err := object.Decode(v.JSON())
			if err != nil {
				return nil, &object.Error{Stage: object.StageCheck, Pos: v.Pos, Err: err}
			}
			out = append(out, o)
		}
	}
	return out, nil
}
