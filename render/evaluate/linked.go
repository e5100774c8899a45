// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"cmp"
	"maps"
	"strings"
	"sync"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
)

// compileLinked compiles the linked form of a native module. It gives nil where
// there is none, or anything is wrong with it; inst is then as it was.
func compileLinked(m Module, t *tree, inst *build.Instance) *compiled {
	if !marked(inst.Files) {
		return nil
	}
	nodes, lists := declared(inst.Files), declaredInLists(inst.Files)
	linked, unchecked, undo := link(inst, t.genuine)
	if linked == nil {
		return nil
	}
	c, err := attempt(func() (*compiled, error) {
		root := newContext(false).BuildInstance(linked)
		c := &compiled{
			tree: t, declared: nodes, unchecked: unchecked, outlines: newOutlines(),
			value: root.LookupPath(cue.MakePath(cue.Str(linkedField))),
		}
		err := cmp.Or(root.Err(), c.value.Err(), c.mark(m))
		if err == nil && c.kind == kindProvisioners {
			err = c.readProvisioners(m, root, lists)
		}
		return c, err
	})
	// A mark that depends on the input is none.
	if err != nil || c.flavour != FlavourNative {
		undo()
		return nil
	}
	// The text is kept instead of a second set of syntax trees.
	m.FS = nil
	maps.DeleteFunc(t.files, func(name string, _ []byte) bool { return !strings.HasSuffix(name, ".cue") })
	c.written = sync.OnceValues(func() (*compiled, error) {
		again := *t
		t.files = nil
		return compileWritten(m, &again, nil, nil, again.quick(m))
	})
	return c
}

// marked reports whether files have the mark of a native module.
func marked(files []*ast.File) bool {
	for _, f := range files {
		if len(values(f.Decls, "ropewalk")) > 0 {
			return true
		}
	}
	return false
}

// linkedFirst does work with the linked form of the session's module. Where that
// fails in any way, it is done again with the module as it was written, which
// alone knows where and why. Modules that are right never pay for the second
// form.
func linkedFirst[T any](s *session, work func() (T, error)) (T, error) {
	if s.module.written != nil {
		if v, err := attempt(work); err == nil {
			return v, nil
		}
		if err := s.toWritten(); err != nil {
			var none T
			return none, err
		}
	}
	return work()
}

// attempt does work; a panic of CUE is an error like any other, because the
// module as it was written has the last word.
func attempt[T any](work func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errLinked
		}
	}()
	return work()
}

// toWritten goes on with the module as it was written.
func (s *session) toWritten() error {
	if s.module.written == nil {
		return nil
	}
	c, err := s.module.written()
	if err != nil {
		return inModule(s.source, err)
	}
	s.module, s.declared = c, c.declared
	return nil
}
