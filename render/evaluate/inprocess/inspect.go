// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"bytes"
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue/format"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inputs"
)

// inspect returns what is known of a module without an input.
func inspect(req evaluate.Request, s *opened) (*evaluate.Inspection, error) {
	if err := s.Vet(); err != nil {
		return nil, err
	}
	inspection := &evaluate.Inspection{Flavour: s.Compiled.Flavour, Mark: s.Compiled.Mark}
	var err error
	inspection.Inputs, inspection.Findings, err = inputs.Findings(s.Session)
	if err != nil {
		return nil, err
	}
	inspection.Schema, err = inputs.Schema(s.Session)
	if err != nil {
		return nil, err
	}
	unformatted, err := unformatted(req.Module)
	if err != nil {
		return nil, err
	}
	inspection.Findings = append(inspection.Findings, unformatted...)
	slices.SortStableFunc(inspection.Findings, func(a, b evaluate.Finding) int {
		return cmp.Or(a.Pos.Compare(b.Pos), strings.Compare(a.Path, b.Path), strings.Compare(a.Rule, b.Rule))
	})
	if s.provisioners != nil {
		inspection.Points = s.provisioners.Cover(s.Session, req.Cases)
		return inspection, nil
	}
	inspection.Points, err = inputs.Cover(s.Session, req.Cases)
	return inspection, err
}

// unformatted returns a finding for each file in and below the folder of the package that `cue fmt`
// would change. Files of dependencies are not judged.
func unformatted(m evaluate.Module) (findings []evaluate.Finding, err error) {
	err = fs.WalkDir(m.FS, path.Clean("./"+m.Dir), func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "cue.mod":
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".cue":
			return nil
		}
		data, err := fs.ReadFile(m.FS, name)
		if line := firstUnformatted(data); line > 0 {
			findings = append(findings, evaluate.Finding{
				Rule: evaluate.RuleFormat, Pos: m.Position(name, line, 1),
				Message: "the file is not formatted from here on", Hint: "run cue fmt ./...",
			})
		}
		return err
	})
	return findings, err
}

// firstUnformatted returns the first line that a formatter would write otherwise, or 0 if the file
// is formatted.
func firstUnformatted(data []byte) int {
	want, err := format.Source(data)
	if err != nil || bytes.Equal(want, data) {
		return 0
	}
	now, then := strings.Split(string(data), "\n"), strings.Split(string(want), "\n")
	line := 1
	for line <= len(now) && line <= len(then) && now[line-1] == then[line-1] {
		line++
	}
	return min(line, len(now))
}
