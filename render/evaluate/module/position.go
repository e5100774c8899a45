// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
	"cuelang.org/go/mod/module"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// position is p as the user knows it; not valid where p is in no file of the
// module.
func (t *tree) position(m evaluate.Module, p token.Pos) object.Pos {
	if !p.HasAbsPos() || p.Filename() == "" || p.Filename() == diagnose.UserFile {
		return object.Pos{}
	}
	at := p.Position()
	return t.pos(m, at.Filename, at.Line, at.Column)
}

// own reports whether p is in a file that the author of the module wrote, and
// neither in a dependency nor in a schema.
func (t *tree) own(p token.Pos) bool {
	name, ok := strings.CutPrefix(p.Filename(), virtualRoot+"/")
	return ok && !strings.HasPrefix(name, path.Join(t.root, modFolder)+"/")
}

// moduleErrors is err, which CUE has against the module itself.
func (t *tree) moduleErrors(m evaluate.Module, err error) error {
	if broken := t.syntaxErrors(m, err); len(broken) > 0 {
		return broken.Sorted()
	}
	var out object.Errors
	for _, e := range cueerrors.Errors(err) {
		one := &object.Error{
			Stage: object.StageEvaluate,
			Err:   fmt.Errorf("%s", t.clean(m, loadMessage(e))),
		}
		if bad := t.badModuleFile(m, one.Err.Error()); bad != nil {
			out = append(out, bad)
			continue
		}
		unnamed := t.unnameable(e)
		if unnamed {
			one.Err = fmt.Errorf("the package in the folder %q cannot import anything: CUE has no name for it", t.dir)
			one.Hint = "rename the folder: CUE takes letters from a to z and A to Z, digits, and any of -._+~ there"
		}
		places := cueerrors.Positions(e)
		foreign := slices.DeleteFunc(slices.Clone(places), t.own)
		for _, p := range append(slices.DeleteFunc(places, func(p token.Pos) bool { return !t.own(p) }), foreign...) {
			at := t.position(m, p)
			switch {
			case !at.IsValid():
			case !one.Pos.IsValid():
				one.Pos = at
			default:
				one.Notes = append(one.Notes, object.Note{Pos: at, Text: "required here"})
			}
		}
		switch {
		case one.Pos.IsValid():
		case unnamed:
			one.Pos = object.Pos{File: path.Join(m.Label, t.dir)}
		default:
			one.Pos = object.Pos{File: diagnose.ModuleName(m)}
		}
		out = append(out, one)
	}
	return out.Sorted()
}

// loadMessage is an error of the loader in plain words.
func loadMessage(e cueerrors.Error) string {
	text := diagnose.Message(e)
	_, after, missing := strings.Cut(text, `cannot find package "`)
	if name, _, ok := strings.Cut(after, `"`); missing && ok {
		return fmt.Sprintf("import %q is not in the module: list its module in cue.mod/module.cue (cue mod tidy), or vendor it under %q", name, "cue.mod/pkg/"+name)
	}
	return text
}

// unnameable reports whether CUE's loader has e against a package because the name of
// its folder cannot be part of the path of an import. Such a package has no path of its
// own; the loader resolves none of its imports then, or takes an @ or a colon in the
// name for what follows a path, and says neither.
func (t *tree) unnameable(e cueerrors.Error) bool {
	inside := t.dir
	if t.root != "." {
		inside = strings.TrimPrefix(strings.TrimPrefix(t.dir, t.root), "/")
	}
	if inside == "" || inside == "." || module.CheckImportPath("module.local/"+inside) == nil && !strings.ContainsAny(inside, "@:") {
		return false
	}
	return len(cueerrors.Positions(e)) == 0 || strings.Contains(diagnose.Message(e), "no dependency found for package")
}

// clean takes the virtual root out of a message.
func (t *tree) clean(m evaluate.Module, text string) string {
	text = strings.ReplaceAll(text, virtualRoot+"/", path.Join(m.Label)+"/")
	return strings.TrimPrefix(strings.ReplaceAll(text, virtualRoot, diagnose.ModuleName(m)), "/")
}

// InModule says which module err is about, where err does not say so by its
// position.
func InModule(m evaluate.Module, err error) error {
	var one *object.Error
	if errors.As(err, &one) {
		return err
	}
	err = fmt.Errorf("module %q: %w", diagnose.ModuleName(m), err)
	if m.Pos.IsValid() {
		return &object.Error{Stage: object.StageEvaluate, Pos: m.Pos, Err: err}
	}
	return err
}
