// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// hello is the first frame that a worker gets.
type hello struct {
	// Memory limits the memory of the worker, in bytes; 0 leaves the process as it is.
	Memory int64
	// Release is the build of the pool.
	Release string
	// Schemas lie over modules, as packed trees by import path.
	Schemas map[string][]byte
}

// message is any further frame that a worker gets: one of its fields is set.
type message struct {
	Tree *packedTree
	Call *call
}

// packedTree is a tree with the number by which calls name it.
type packedTree struct {
	ID  treeID
	Zip []byte
}

// treeID is the number of a tree between one pool and one worker; 0 is no tree.
type treeID uint64

// call is one call of an evaluator.
type call struct {
	Request evaluate.Request
	// Trees are the trees of the modules of the Request, in their order; the Request holds no files.
	Trees []treeID
	// Trace asks for the origins of Queries.
	Trace   bool
	Queries []evaluate.Query
}

// reply is the answer to a call.
type reply struct {
	// Crash says that the evaluator panicked, and how.
	Crash string
	// Retire asks the pool to replace the worker.
	Retire bool
	// Live is bytes of live heap at the last collection.
	Live     int64
	Mistakes []mistakeFrame
	Result   resultFrame
	Origins  []evaluate.Origin
}

// resultFrame is a Result whose errors can be sent.
type resultFrame struct {
	evaluate.Result
	Undecided, Warnings []mistakeFrame
}

// frameOf returns a result as it is sent.
func frameOf(r evaluate.Result) resultFrame {
	return resultFrame{Result: r, Undecided: mistakeFrames(r.Undecided), Warnings: mistakeFrames(r.Warnings)}
}

// mistakeFrame is an object.Error whose cause can be sent.
type mistakeFrame struct {
	object.Error
	Err *reasonFrame
}

// reasonFrame is the text of an error, and the sentinel that it wraps.
type reasonFrame struct {
	Text string
	// Sentinel is an index of sentinels, from 1; 0 is none of them.
	Sentinel int
}

// sentinels returns the errors that a caller may look for with errors.Is. Of any other error only
// the text is sent.
func sentinels() []error {
	return []error{evaluate.ErrCrashed, evaluate.ErrTimeout, evaluate.ErrMemory}
}

func mistakeFrames(list object.Errors) []mistakeFrame {
	if list == nil {
		return nil
	}
	frames := make([]mistakeFrame, len(list))
	for i, m := range list {
		frames[i] = mistakeFrame{Error: *m}
		if m.Err == nil {
			continue
		}
		frames[i].Err = &reasonFrame{Text: m.Err.Error()}
		for n, s := range sentinels() {
			if errors.Is(m.Err, s) {
				frames[i].Err.Sentinel = n + 1
			}
		}
	}
	return frames
}

func mistakesOf(frames []mistakeFrame) object.Errors {
	if frames == nil {
		return nil
	}
	mistakes := make(object.Errors, len(frames))
	for i, f := range frames {
		m := f.Error
		if f.Err != nil {
			m.Err = errors.New(f.Err.Text)
			if n, s := f.Err.Sentinel, sentinels(); n > 0 && n <= len(s) {
				m.Err = &diagnose.ReasonError{Text: f.Err.Text, Reason: s[n-1]}
			}
		}
		mistakes[i] = &m
	}
	return mistakes
}

// result returns the Result of a reply.
func (r *reply) result() evaluate.Result {
	out := r.Result.Result
	out.Undecided = mistakesOf(r.Result.Undecided)
	out.Warnings = mistakesOf(r.Result.Warnings)
	return out
}

// pack writes files as an uncompressed zip, which is a file system at the other end.
// What is no regular file keeps its type and loses its content: the evaluator
// refuses it by name.
func pack(fsys fs.FS) ([]byte, error) {
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
		if n := int64(b.Len() + len(data)); n > maxFrame {
			return &sizeError{size: n, limit: maxFrame}
		}
		_, err = w.Write(data)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// unpack returns the file system of a packed tree.
func unpack(packed []byte) (fs.FS, error) {
	return zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
}
