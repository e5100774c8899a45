// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package krm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// rendered is one object of a render.
type rendered struct {
	id     object.ID
	object object.Object
	// pos is in the text of the spec.
	pos object.Pos
	// mark and path are its annotations.
	mark, path string
}

// decode reads the objects of a render, in the order of its waves.
func decode(files []emit.File, docs documents) ([]rendered, error) {
	out := make([]rendered, 0, len(files))
	for _, file := range files {
		if file.Node == "" {
			continue
		}
		found, err := spec.ParseDocuments(spec.File{Name: file.Path, Data: file.Data}, MaxList)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			o, err := object.Decode(m.Value.JSON())
			if err != nil {
				return nil, err
			}
			out = append(out, rendered{
				id: file.Node, object: o, pos: docs.specPos(file.Node.Spec()), mark: docs.owner.mark(file.Node.Spec()),
			})
		}
	}
	namePaths(out)
	return out, nil
}

// namePaths gives each object a path that does not depend on its wave: a file that moved at each
// new dependency would be a needless change. Names that are the same get group and namespace, and
// a hash if they are the same even then.
func namePaths(objects []rendered) {
	for _, pathOf := range []func(o *rendered) string{
		func(o *rendered) string { return o.object.Kind() + "-" + o.object.Name() },
		func(o *rendered) string {
			r := o.object.Ref()
			return r.GroupKind() + "-" + r.Namespace + "-" + r.Name
		},
		func(o *rendered) string {
			sum := sha256.Sum256([]byte(o.object.Ref().String()))
			return o.object.Kind() + "-" + o.object.Name() + "-" + hex.EncodeToString(sum[:5])
		},
	} {
		count := map[string]int{}
		for _, o := range objects {
			count[o.path]++
		}
		for i := range objects {
			if o := &objects[i]; o.path == "" || count[o.path] > 1 {
				o.path = fileSafe(o.id.Spec()) + "/" + fileSafe(pathOf(o)) + ".yaml"
			}
		}
	}
}

// fileSafe replaces the characters of a name that some file systems refuse, and makes it lower
// case.
func fileSafe(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '-'
	}, strings.ToLower(s))
}

// merge returns the items of others in their order, with the objects behind them. What an earlier
// run left is replaced or removed. The mistakes are objects of others that have the identity of an
// object of this run.
func merge(items []item, objects []rendered, thisRun owner) ([]item, object.Errors) {
	// An object is identified by its reference.
	ours := make(map[object.Ref]*rendered, len(objects))
	for i := range objects {
		ours[objects[i].object.Ref()] = &objects[i]
	}

	// Items of others stay, and the items of an earlier run leave their place.
	var out []item
	var clashes object.Errors
	earlier := map[object.Ref]item{}
	same := map[object.Ref]bool{}
	for _, i := range items {
		ref := i.object.Ref()
		mine := ours[ref]
		switch {
		case thisRun.owns(i.object.Annotations()[RenderedBy]):
			if _, twice := earlier[ref]; !twice {
				earlier[ref] = i
			}
			continue
		case mine != nil && equal(i.object, mine.object):
			same[ref] = true
		case mine != nil:
			clashes = append(clashes, i.clash(mine))
		}
		out = append(out, i)
	}

	// An equal object of another owner is not added a second time.
	for _, o := range objects {
		if ref := o.object.Ref(); !same[ref] {
			out = append(out, o.item(earlier[ref]))
		}
	}
	return out, clashes
}

// equal reports whether two objects are equal, but for where they came from.
func equal(a, b object.Object) bool {
	drop := func(key string) bool { return isOrigin(key) || key == RenderedBy }
	return bytes.Equal(emit.JSON(without(a, drop)), emit.JSON(without(b, drop)))
}

// clash returns the mistake that an item of another owner is the same object as o.
func (i item) clash(o *rendered) *object.Error {
	whose := "is an item already that this function did not render"
	if mark := i.object.Annotations()[RenderedBy]; mark != "" {
		whose = fmt.Sprintf("is an item already, rendered by %q", mark)
	}
	if path, _ := i.file(); path != "" {
		whose += ": " + path
	}
	return &object.Error{
		Stage: object.StageEmit, Pos: o.pos, Node: o.id, Err: fmt.Errorf("%s %s", o.object.Ref(), whose),
		Hint: "remove or rename one of the two",
	}
}

// item returns o as an item, with the path of the item that it replaces.
func (o rendered) item(before item) item {
	out := o.object.Clone()
	placed := false
	if before.object != nil {
		for key, value := range before.object.Annotations() {
			if isOrigin(key) {
				out.Annotate(key, value)
				placed = placed || strings.HasSuffix(key, "/path")
			}
		}
	}
	if !placed {
		out.Annotate(PathAnnotation, o.path)
	}
	out.Annotate(RenderedBy, o.mark)
	return item{object: out, text: emit.YAML(out)}
}
