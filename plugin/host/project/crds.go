// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// maxCRDs limits the size of a file of CustomResourceDefinitions, in bytes: bundles of
// operators come near 10 MiB.
const maxCRDs = 32 << 20

// CRDs reads the CustomResourceDefinitions in files and directories.
func (d *Discovery) CRDs(args []string) []object.Object {
	var out []object.Object
	for _, arg := range args {
		before := len(out)
		err := eachCRDFile(d.Places, arg, func(name string, data []byte) error {
			more, err := crdsIn(spec.File{Name: name, Data: data})
			out = append(out, more...)
			return err
		})
		switch {
		case errors.Is(err, fs.ErrNotExist):
			d.failNamed(d.Places, "--crds", arg, err)
		case err != nil:
			for _, e := range object.AsErrors(err, object.StageCheck) {
				if !e.Pos.IsValid() {
					e.Pos = argPos(arg)
				}
				d.Errs = append(d.Errs, e)
			}
		case len(out) == before:
			d.Fail(argPos(arg), "", errors.New("contains no CustomResourceDefinition"))
		}
	}
	return out
}

// eachCRDFile calls do with every YAML and JSON file that arg names, in order.
func eachCRDFile(places *Places, arg string, do func(name string, data []byte) error) error {
	r, rel, folder, err := places.openNamed(arg)
	if err != nil {
		return err
	}
	w := &walk{files: []string{rel}}
	if folder {
		w, err = walkFrom(r, rel)
		if err != nil {
			return err
		}
	}
	if err := w.unreadable.Failures().Err(); err != nil {
		return err
	}
	for _, name := range w.files {
		data, err := r.read(name, maxCRDs)
		if err != nil {
			return err
		}
		if err := do(r.Display(name), data); err != nil {
			return err
		}
	}
	return nil
}

// crdsIn returns the CustomResourceDefinitions of a file, also from lists.
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
