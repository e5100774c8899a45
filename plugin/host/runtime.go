// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// runtime are the values of @timoni(runtime:TYPE:NAME) attributes that the caller gives.
type runtime struct {
	// values are by name. The names of single values, which are not in a file, are in given in
	// their order, and must be of use.
	values map[string]string
	given  []string
	// listed are the values of files, with their positions.
	listed []object.Member
	lookup func(name string) (string, bool)
	// definition is the runtime of a bundle; its Name is "" where the caller gives no runtime.
	definition spec.File
	// asked are the names of all attributes so far.
	asked map[string]bool
	// attributes are the names in modules by their digest: many specs may share a module.
	attributes map[string][]string
	// texts are all values so far, which may be secret.
	texts []string
}

// recordUse records that a render depends on a value, and returns the value.
func (r *runtime) recordUse(value string) string {
	r.texts = append(r.texts, value)
	return value
}

// readRuntime reads the options of the runtime: NAME=VALUE, a file of values, or the runtime of a
// bundle.
func readRuntime(d *project.Discovery, opts Options) *runtime {
	r := &runtime{values: map[string]string{}, lookup: opts.LookupRuntime, asked: map[string]bool{}, attributes: map[string][]string{}}
	for _, arg := range opts.Runtime {
		// NAME=VALUE is a value.
		name, value, ok := CutRuntime(arg)
		if ok {
			r.values[name] = value
			r.given = append(r.given, name)
			continue
		}

		// Anything else is a file of values, or of CUE.
		pos := object.Pos{File: "--runtime " + path.Clean(arg)}
		if strings.Contains(arg, "=") {
			// The text behind the sign may be a secret.
			beginning := regexp.MustCompile(`^[\w.-]*`).FindString(arg)
			d.Fail(object.Pos{File: "--runtime"}, "", fmt.Errorf("what begins with %q is not a name: expected NAME=VALUE or FILE", beginning))
			continue
		}
		file, err := d.Places.ReadNamed(arg)
		if err != nil && !slices.Contains([]string{".yaml", ".yml", ".json", ".cue"}, path.Ext(arg)) {
			pos.File = "--runtime"
			err = errors.New("it is neither, or its name does not end in .yaml, .json or .cue") // It may be a value.
		}
		if err != nil {
			d.Fail(pos, "expected NAME=VALUE or FILE", err)
			continue
		}
		if path.Ext(arg) == ".cue" {
			r.definition = file
			continue
		}
		r.readFile(d, file)
	}
	return r
}

// CutRuntime splits NAME=VALUE of an option --runtime, and reports whether it has that form. The
// value may be empty: NAME= sets a text of no characters.
func CutRuntime(arg string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(arg, "=")
	if !ok || !regexp.MustCompile(`^[\w.-]+$`).MatchString(name) {
		return "", "", false
	}
	return name, value, true
}

// readFile reads a file of values: a map of texts, numbers and booleans.
//
// No excerpt of the file is shown, and none of its values: all of them may be secrets.
func (r *runtime) readFile(d *project.Discovery, file spec.File) {
	before := len(d.Errs)
	defer func() {
		for _, e := range d.Errs[before:] {
			e.Secret = true
		}
	}()
	v, err := spec.ParseValue(file)
	d.Errs = append(d.Errs, object.AsErrors(err, object.StageSpec)...)
	if err == nil && v.Kind != object.KindMap && v.Kind != object.KindNone {
		d.Fail(v.Pos, "", fmt.Errorf("expected a map of runtime values, got a %s", v.Kind))
	}
	r.hide(v)
	for _, m := range v.Members {
		switch m.Value.Kind {
		case object.KindString, object.KindNumber, object.KindBool:
			// Values stay as they are written: 1.10 and 01234 are texts where a bundle wants texts.
			r.values[m.Name] = m.Value.Written()
			r.listed = append(r.listed, m)
		default:
			d.FailAt(m.Value.Pos, object.Fields(m.Name), "", fmt.Errorf("expected a text, a number or a boolean, got a %s", m.Value.Kind))
		}
	}
}

// hide keeps all texts of a value from messages.
func (r *runtime) hide(v object.Value) {
	if v.Kind == object.KindString {
		r.texts = append(r.texts, v.Text)
	}
	for _, m := range v.Members {
		r.hide(m.Value)
	}
	for _, item := range v.Items {
		r.hide(item)
	}
}

// valuesOf returns the values that the text of a CUE file asks for.
func (r *runtime) valuesOf(data []byte) map[string]string {
	return r.valuesNamed(evaluate.RuntimeNames(data))
}

// valuesNamed returns the values of attributes.
func (r *runtime) valuesNamed(names []string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		r.asked[name] = true
		if value, ok := r.values[name]; ok {
			out[name] = r.recordUse(value)
		} else if r.lookup != nil {
			if value, ok := r.lookup(name); ok {
				out[name] = r.recordUse(value)
			}
		}
	}
	return out
}

// overTags lays the values that a module asks for over the tags of its spec. A value that is only
// looked up does not replace a tag.
func (r *runtime) overTags(tags map[string]string, tree source.Tree) map[string]string {
	if tree.FS == nil || len(r.values) == 0 && r.lookup == nil {
		return tags
	}
	out := maps.Clone(tags)
	if out == nil {
		out = map[string]string{}
	}
	names, known := r.attributes[tree.Digest]
	if !known {
		names = attributes(tree.FS)
		r.attributes[tree.Digest] = names
	}
	for name, value := range r.valuesNamed(names) {
		if _, ok := r.values[name]; ok || !hasKey(tags, name) {
			out[name] = value
		}
	}
	return out
}

// attributes returns the names in the CUE files of a tree, each once.
func attributes(tree fs.FS) []string {
	names := map[string]bool{}
	// A tree is in memory, and was read when it was fetched: there are no errors.
	_ = fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || path.Ext(name) != ".cue" {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		for _, name := range evaluate.RuntimeNames(data) {
			names[name] = true
		}
		return err
	})
	return object.SortedKeys(names)
}

// hasKey reports whether a map has a key.
func hasKey(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}

// reportUnused reports values that nothing asks for. The argument complete is true if everything
// was read, and has no mistakes. A file may be shared with others, so that its values are only
// worth a warning.
func (r *runtime) reportUnused(d *project.Discovery, complete bool) {
	if !complete {
		r.suggest(d.Errs)
		return
	}
	asked := object.SortedKeys(r.asked)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(r.given))) {
		if !r.asked[name] {
			d.Fail(object.Pos{File: "--runtime " + name}, d.Suggest(name, asked),
				fmt.Errorf("no bundle and no module has an attribute @timoni(runtime:TYPE:%s)", name))
		}
	}
	for _, m := range r.listed {
		if !r.asked[m.Name] {
			d.Errs = append(d.Errs, &object.Error{
				Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: m.Pos, Path: object.Fields(m.Name).String(),
				Hint: object.DidYouMean(m.Name, asked[:min(len(asked), 100)]),
				Err:  fmt.Errorf("no bundle and no module has an attribute @timoni(runtime:TYPE:%s)", m.Name),
			})
		}
	}
}

// suggest adds a hint to each error about a value that is not set, if a name like it was given.
func (r *runtime) suggest(errs object.Errors) {
	for _, name := range r.given {
		meant, near := object.Nearest(name, object.SortedKeys(r.asked))
		for _, e := range errs {
			if near && !r.asked[name] && e.Err.Error() == fmt.Sprintf("runtime value %q is not set", meant) {
				e.Hint = fmt.Sprintf("--runtime %s is given: did you mean %s?", name, meant)
			}
		}
	}
}
