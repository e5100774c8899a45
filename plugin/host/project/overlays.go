// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Overlays are values files and single values over the inputs of specs.
type Overlays struct {
	// Names are the names of all specs.
	Names []string
	// NamesIncomplete is true where a spec could not be read: an unknown name may be
	// its name, and is no error then.
	NamesIncomplete bool
	// Incomplete is true where values could not be read, so that every input may lack
	// something.
	Incomplete bool
	// Texts are the values files by their name in positions.
	Texts map[string][]byte

	// Charts are the specs that are charts, with what is before the name of a value in the
	// sets of Helm for them.
	Charts map[string]string

	// CUE evaluates a values file in CUE; nil refuses them.
	CUE func(file string, data []byte) (object.Value, error)

	report    *Report
	kept      *Texts
	places    *Places
	known     map[string]bool           // Names, once a name was looked for
	values    map[string][]object.Value // by spec, in order
	sets      map[string][]spec.Set
	overrides map[string][]spec.Override
	helm      map[string][]spec.HelmSet
}

// Overlays returns overlays for the specs of these names, without any value yet.
func (d *Discovery) Overlays(names []string, incomplete bool) *Overlays {
	return &Overlays{
		Names: names, NamesIncomplete: incomplete, Texts: map[string][]byte{},
		report: &d.Report, kept: &d.Texts, places: d.Places,
		values: map[string][]object.Value{}, sets: map[string][]spec.Set{},
		overrides: map[string][]spec.Override{}, helm: map[string][]spec.HelmSet{},
	}
}

// Read reads values files, FILE or SPEC:FILE, and single values, [SPEC:]PATH=VALUE: sets, and
// overrides in the syntax of Score.
func (o *Overlays) Read(files, sets, overrides []string) {
	// Values files come first, and single values override them.
	for _, arg := range files {
		o.readValuesFile(arg)
	}
	for _, arg := range sets {
		if o.kept.hasEnded() {
			break
		}
		set, err := spec.ParseSet(arg)
		if err != nil {
			o.report.Errs = append(o.report.Errs, object.AsErrors(err, object.StageSpec)...)
			continue
		}

		// A path that begins with the name of a spec is a likely mistake.
		form := "write SPEC:PATH=VALUE"
		if first := set.Path[0].Name; len(set.Path) > 1 && slices.Contains(o.Names, first) {
			form = fmt.Sprintf("%s is a spec: write %[1]s:%s=VALUE", first, set.Path[1:])
		}
		if name, ok := o.target(set.Spec, set.Pos, form); ok {
			o.sets[name] = append(o.sets[name], set)
		}
	}
	for _, arg := range overrides {
		override, err := spec.ParseOverride(arg)
		if err != nil {
			o.report.Errs = append(o.report.Errs, object.AsErrors(err, object.StageSpec)...)
			continue
		}
		if name, ok := o.target(override.Spec, override.Pos, "write SPEC:PATH=VALUE"); ok {
			o.overrides[name] = append(o.overrides[name], override)
		}
	}
}

// target returns the spec that an option is for: the spec that it names, or the only spec. It
// returns false, and reports a mistake, if there is no such spec.
func (o *Overlays) target(name string, pos object.Pos, form string) (string, bool) {
	switch {
	case name != "":
		return name, o.Known(name, pos)
	case len(o.Names) == 1:
		return o.Names[0], true
	case !o.NamesIncomplete:
		o.report.Fail(pos, form, fmt.Errorf("there are %d specs: name the one that the value is for", len(o.Names)))
	}
	return "", false
}

// Known reports whether there is a spec of that name. It adds an error if the spec does not exist.
func (o *Overlays) Known(name string, pos object.Pos) bool {
	if o.known == nil {
		o.known = make(map[string]bool, len(o.Names))
		for _, n := range o.Names {
			o.known[n] = true
		}
	}
	if o.known[name] {
		return true
	}
	if !o.NamesIncomplete {
		o.report.Fail(pos, o.report.Suggest(name, o.Names), fmt.Errorf("there is no spec %q", name))
	}
	return false
}

// readValuesFile reads one values file: FILE or SPEC:FILE.
func (o *Overlays) readValuesFile(arg string) {
	name := ""
	file := arg
	if before, after, ok := strings.Cut(arg, ":"); ok && after != "" && spec.CheckName(before) == nil {
		name = before
		file = after
	}

	// The file is kept for excerpts, also if it has mistakes.
	pos := argPos(file)
	if name != "" && !o.Known(name, object.Pos{File: "--values " + arg}) {
		return
	}
	data, err := o.places.readNamed(file)
	if err != nil {
		o.Incomplete = true
		o.report.failNamed(o.places, "--values", file, err)
		return
	}
	o.Texts[pos.File] = data
	if o.kept.charge(spec.File{Name: pos.File, Data: data}) != nil {
		return
	}

	// An empty file changes nothing, which may not be meant.
	v, err := o.parse(pos.File, data)
	if err != nil {
		o.Incomplete = true
		o.report.Errs = append(o.report.Errs, object.AsErrors(err, object.StageSpec)...)
		return
	}
	if v.Kind == object.KindNone || v.Kind == object.KindNull {
		o.report.Errs = slices.DeleteFunc(o.report.Errs, func(e *object.Error) bool { return e.Pos == pos && e.Err.Error() == emptyFile })
		o.report.Errs = append(o.report.Errs, &object.Error{
			Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: pos, Err: errors.New("the values file is empty"),
			Hint: "remove the option if that is meant",
		})
	}
	o.add(name, v)
}

// parse reads the content of a values file: YAML, JSON, or CUE by its name.
func (o *Overlays) parse(file string, data []byte) (object.Value, error) {
	switch {
	case path.Ext(file) != ".cue":
		return spec.ParseValues(spec.File{Name: file, Data: data})
	case o.CUE == nil:
		return object.Value{}, &object.Error{
			Stage: object.StageSpec, Pos: object.Pos{File: file}, Err: errors.New("values in CUE are not evaluated here"),
			Hint: "write them as YAML or JSON (cue export)",
		}
	}
	return o.CUE(file, data)
}

// add adds the content of a values file: for the spec name, or for the only spec, or by spec.
func (o *Overlays) add(name string, v object.Value) {
	if v.Kind == object.KindNone || v.Kind == object.KindNull {
		return
	}
	if v.Kind != object.KindMap {
		o.report.Fail(v.Pos, "", fmt.Errorf("expected a map of values, got a %s", v.Kind))
		return
	}
	if o.refuseSpec(v) || o.refuseFlat(name, v) {
		return
	}
	if name == "" && len(o.Names) == 1 {
		name = o.Names[0]
	}
	if name != "" {
		o.values[name] = append(o.values[name], v)
		return
	}
	for _, m := range v.Members {
		switch {
		case !o.Known(m.Name, m.Pos):
		case m.Value.Kind == object.KindNull:
		case m.Value.Kind != object.KindMap:
			o.report.Fail(m.Value.Pos, "", fmt.Errorf("expected the values of spec %q as a map, got a %s", m.Name, m.Value.Kind))
		default:
			o.values[m.Name] = append(o.values[m.Name], m.Value)
		}
	}
}

// refuseSpec refuses a document of Ropewalk in the place of values, and reports whether it did.
func (o *Overlays) refuseSpec(v object.Value) bool {
	version, _ := v.Get("apiVersion")
	kind, _ := v.Get("kind")
	isDocument := version.Text == spec.APIVersion && kind.Kind == object.KindString
	if !isDocument && version.Text != spec.ScoreVersion {
		return false
	}
	o.Incomplete = true
	o.report.Fail(v.Pos, "leave -f away: a spec is an argument", errors.New("the file is a spec, not values"))
	return true
}

// refuseFlat refuses values without the name of a spec if there are several, and reports whether
// it did.
func (o *Overlays) refuseFlat(name string, v object.Value) bool {
	isAmbiguous := name == "" && len(o.Names) >= 2 && !o.NamesIncomplete
	if !isAmbiguous || len(v.Members) == 0 {
		return false
	}
	namesSpec := slices.ContainsFunc(v.Members, func(m object.Member) bool {
		_, near := object.Nearest(m.Name, o.Names)
		return near || slices.Contains(o.Names, m.Name)
	})
	if namesSpec {
		return false
	}
	o.Incomplete = true
	o.report.Fail(v.Pos, fmt.Sprintf("write %s: {...} around them, or -f %[1]s:%s", o.Names[0], v.Pos.File),
		fmt.Errorf("there are %d specs (%s), and the values name none of them", len(o.Names), strings.Join(o.Names, ", ")))
	return true
}

// Apply returns the input of a spec with its overlays.
func (o *Overlays) Apply(name string, input object.Value) object.Value {
	input, _ = o.apply(name, input, false)
	return input
}

// ApplyTimoni returns the input of a module of Timoni with its overlays: its values files have all
// values below the field values. The result layers has the values that were merged, if they come
// from several files and nothing else was laid over them.
func (o *Overlays) ApplyTimoni(name string, input object.Value) (out object.Value, layers []object.Value) {
	out, layers = o.apply(name, input, true)
	if len(layers) < 2 || len(o.sets[name])+len(o.overrides[name]) > 0 {
		layers = nil
	}
	return out, layers
}

// apply returns the input of a spec with its overlays, and the values that were merged.
func (o *Overlays) apply(name string, input object.Value, timoni bool) (out object.Value, layers []object.Value) {
	// The input of the document is the first layer.
	if len(input.Members) > 0 {
		layers = append(layers, input)
	}
	for _, v := range o.values[name] {
		if o.kept.hasEnded() {
			break
		}

		// A file in CUE has been reduced to the field values already.
		values, ok := v.Get("values")
		isWrapped := ok && values.Kind == object.KindMap && path.Ext(v.Pos.File) != ".cue"
		if timoni && isWrapped {
			for _, m := range v.Members {
				if m.Name != "values" {
					err := fmt.Errorf("%q is beside the field values, which holds all values for a module of Timoni", m.Name)
					o.report.Fail(m.Pos, "move it into values", err)
				}
			}
			v = values
		}
		input = input.Merge(v)
		layers = append(layers, v)
	}

	// Single values override all files.
	owned := spec.Own{}
	for _, set := range o.sets[name] {
		if o.kept.hasEnded() {
			break
		}
		next, err := set.Into(input, owned)
		if err != nil {
			o.report.Errs = append(o.report.Errs, object.AsErrors(err, object.StageSpec)...)
			continue
		}
		input = next
	}
	for _, override := range o.overrides[name] {
		if o.kept.hasEnded() {
			break
		}
		next, err := override.Over(input)
		o.report.Errs = append(o.report.Errs, object.AsErrors(err, object.StageSpec)...)
		input = next
	}
	return input, layers
}
