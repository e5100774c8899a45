// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// EnvFile is a file of variables that a project declares.
type EnvFile struct {
	// Path is relative to the file of the project, with / between folders.
	Path string
	Pos  object.Pos
}

// envFiles decodes the list of files of variables.
func (f *fields) envFiles(name string) []EnvFile {
	items, path := f.list(name)
	var out []EnvFile
	for i, v := range items {
		at := path.Append(object.Index(i))
		switch {
		case !f.kind(v, at, object.KindString):
		case v.Text == "" || strings.HasPrefix(v.Text, "/") || strings.Contains(v.Text, `\`):
			f.fail(v.Pos, at, "", "%q is not a path relative to the project's folder, with / between folders", v.Text)
		default:
			out = append(out, EnvFile{Path: v.Text, Pos: v.Pos})
		}
	}
	return out
}

// allEnvFiles are the files of the project and, after them, those of an environment, in
// which a list would otherwise replace that of the project.
func allEnvFiles(project, environment object.Value) []EnvFile {
	var out []EnvFile
	for _, v := range []object.Value{project, environment} {
		if list, ok := v.Get("envFiles"); ok && list.Kind == object.KindList {
			d := &decoder{}
			out = append(out, (&fields{decoder: d, value: v}).envFiles("envFiles")...)
		}
	}
	return out
}
