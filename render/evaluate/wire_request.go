// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"math"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// hello is the first frame that a worker gets: what it may use, and the
// schemas that lie over modules.
type hello struct {
	memory  int64 // bytes; 0 leaves the process as it is
	schemas map[string]fs.FS
}

func (e *encoder) hello(h hello) {
	e.int64(h.memory)
	encodeMap(e, h.schemas, e.tree)
}

func (d *decoder) hello() hello {
	return hello{memory: d.int64(), schemas: decodeMap(d, d.tree)}
}

// tree writes files as an uncompressed zip, which is a file system as it is at
// the other end. What is no regular file keeps its type and loses its content:
// the evaluator refuses it by name.
func (e *encoder) tree(fsys fs.FS) {
	e.bool(fsys != nil)
	if fsys == nil {
		return
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		head := &zip.FileHeader{Name: name, Method: zip.Store}
		head.SetMode(d.Type() | 0o644)
		w, err := z.CreateHeader(head)
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		if int64(b.Len()+len(data)) > maxRequestSize {
			return &sizeError{size: int64(b.Len() + len(data)), limit: maxRequestSize}
		}
		_, err = w.Write(data)
		return err
	})
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		e.fail(err)
		return
	}
	e.text(b.String())
}

func (d *decoder) tree() fs.FS {
	if !d.bool() {
		return nil
	}
	packed := d.text()
	if d.err != nil {
		return nil
	}
	var at io.ReaderAt = strings.NewReader(packed)
	z, err := zip.NewReader(at, int64(len(packed)))
	if err != nil {
		d.fail(err)
		return nil
	}
	return z
}

// treeID is the number of a tree between one pool and one worker; 0 is no tree.
type treeID uint64

// request writes req without its limits; ids are the numbers of the trees of its module and of
// its policies, in this order.
func (e *encoder) request(req Request, ids []treeID) {
	e.text(req.Spec)
	e.pos(req.Pos)
	e.module(req.Module, ids[0])
	e.value(req.Input, 0)
	e.path(req.InputPath)
	for _, s := range contextFields(&req.Context) {
		e.text(*s)
	}
	i := 0
	encodeList(e, req.Policies, func(p Policy) {
		i++
		e.text(p.Name)
		e.module(p.Module, ids[i])
		e.value(p.Input, 0)
		e.pos(p.Pos)
	})
	e.bool(req.AllowEmpty)
	e.bool(req.Catalog)
	e.bool(req.Describe)
}

func (d *decoder) request(trees map[treeID]fs.FS) Request {
	req := Request{Spec: d.text(), Pos: d.pos(), Module: d.module(trees), Input: d.value(0), InputPath: d.path()}
	for _, s := range contextFields(&req.Context) {
		*s = d.text()
	}
	req.Policies = decodeList(d, func() Policy {
		return Policy{Name: d.text(), Module: d.module(trees), Input: d.value(0), Pos: d.pos()}
	})
	req.AllowEmpty, req.Catalog, req.Describe = d.bool(), d.bool(), d.bool()
	// The pool watches the limits from outside. A limit that the evaluator
	// watched as well would leave the evaluation running behind its back.
	req.Limits = Limits{Timeout: math.MaxInt64, Memory: math.MaxInt64}
	return req
}

func contextFields(c *object.Context) [6]*string {
	return [...]*string{&c.Name, &c.Namespace, &c.Environment, &c.Engine, &c.KubeVersion, &c.ClusterDomain}
}

func (e *encoder) module(m Module, id treeID) {
	e.uint(uint64(id))
	e.text(m.Digest)
	e.text(m.Dir)
	e.text(m.Label)
	encodeMap(e, m.Sources, func(s Source) { e.pos(s.Pos); e.int(s.Indent) })
	encodeMap(e, m.Tags, e.text)
	e.pos(m.Pos)
}

func (d *decoder) module(trees map[treeID]fs.FS) Module {
	return Module{
		FS: trees[treeID(d.uint())], Digest: d.text(), Dir: d.text(), Label: d.text(),
		Sources: decodeMap(d, func() Source { return Source{Pos: d.pos(), Indent: d.int()} }),
		Tags:    decodeMap(d, d.text),
		Pos:     d.pos(),
	}
}

func (e *encoder) queries(list []Query) {
	encodeList(e, list, func(q Query) { e.text(string(q.Node)); e.path(q.Path) })
}

func (d *decoder) queries() []Query {
	return decodeList(d, func() Query { return Query{Node: object.ID(d.text()), Path: d.path()} })
}
