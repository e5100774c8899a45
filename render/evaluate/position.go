// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"errors"
	"fmt"
	"path"
	"strings"

	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/object"
)

// position is p as the user knows it; not valid where p is in no file of the
// module.
func (t *tree) position(m Module, p token.Pos) object.Pos {
	if !p.HasAbsPos() || p.Filename() == "" || p.Filename() == userFile {
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
func (t *tree) moduleErrors(m Module, err error) error {
	var out object.Errors
	for _, e := range cueerrors.Errors(err) {
		one := &object.Error{
			Stage: object.StageEvaluate,
			Err:   fmt.Errorf("%s", t.clean(m, loadMessage(e))),
		}
		for _, p := range cueerrors.Positions(e) {
			at := t.position(m, p)
			switch {
			case !at.IsValid():
			case !one.Pos.IsValid():
				one.Pos = at
			default:
				one.Notes = append(one.Notes, object.Note{Pos: at, Text: "has to do with it"})
			}
		}
		if !one.Pos.IsValid() {
			one.Pos = object.Pos{File: m.name()}
		}
		out = append(out, one)
	}
	return out.Sorted()
}

// loadMessage is an error of the loader in plain words.
func loadMessage(e cueerrors.Error) string {
	text := plain(e)
	_, after, missing := strings.Cut(text, `cannot find package "`)
	if name, _, ok := strings.Cut(after, `"`); missing && ok {
		return fmt.Sprintf("import %q is not in the module: evaluation has no network, so vendor it under %q", name, "cue.mod/pkg/"+name)
	}
	return text
}

// clean takes the virtual root out of a message.
func (t *tree) clean(m Module, text string) string {
	text = strings.ReplaceAll(text, virtualRoot+"/", path.Join(m.Label)+"/")
	return strings.TrimPrefix(strings.ReplaceAll(text, virtualRoot, m.name()), "/")
}

// inModule says which module err is about, where err does not say so by its
// position.
func inModule(m Module, err error) error {
	var one *object.Error
	if errors.As(err, &one) {
		return err
	}
	return fmt.Errorf("module %q: %w", m.name(), err)
}
