// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// Module answers what messages need to know of a module.
type Module interface {
	// Name returns the name of the module in messages.
	Name() string
	// Position returns p as the user knows it; not valid if p is in no file of
	// the module.
	Position(p token.Pos) object.Pos
	// Own reports whether p is in a file that the author of the module wrote, and
	// neither in a dependency nor in a schema.
	Own(p token.Pos) bool
	// Depth counts the fields that p is inside of.
	Depth(p token.Pos) int
	// Clean removes internal names from a message of CUE.
	Clean(text string) string
	// Near returns the hint for a message of CUE about a name that it does not know; "" for others.
	Near(text string) string
	// Selects reports whether p is in an expression that selects the field name.
	Selects(p token.Pos, name string) bool
	// Tag returns the tag of the first field at positions that has a tag.
	Tag(positions []token.Pos) string
}

// Subject describes one evaluation, as far as messages need it.
type Subject struct {
	Req    evaluate.Request
	Module Module
	// Input is the input of the module; InputPath and Pos tell where it stands.
	Input object.Value
	// Written is the part of it that the user wrote.
	Written   object.Value
	InputPath object.Path
	Pos       object.Pos
	Began     time.Time
	// Resource is the key of the resource whose provisioner is evaluated, and Skip
	// counts the labels of CUE's paths that lead to the provisioner. Both are zero
	// if a whole module is evaluated.
	Resource string
	Skip     int
}

// maxNodeName limits the characters of the name of a node.
const maxNodeName = 63

// NodeID returns the id of a node that the module calls name.
func (s *Subject) NodeID(name string) object.ID {
	if s.Resource != "" {
		name = shortName(FieldResource + "-" + s.Resource + "-" + name)
	}
	return object.MakeID(s.Req.Spec, name)
}

// shortName returns name, cut and with a hash of the complete name if it is too long.
func shortName(name string) string {
	if len(name) <= maxNodeName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:maxNodeName-len(hash)-1], "-") + "-" + hash
}

// OwnPos returns the line of the module that made the first of values that has such a line. A value
// may come from a schema and from the module; the author looks for the line of the module.
func (s *Subject) OwnPos(values ...cue.Value) object.Pos {
	firstPos := object.Pos{}
	for _, v := range values {
		if !v.Exists() {
			continue
		}
		ownPos, otherPos := s.places(v)
		if ownPos.IsValid() {
			return ownPos
		}
		firstPos = object.FirstValid(firstPos, otherPos)
	}
	return firstPos
}

// places returns the first line of v that the author of the module wrote, and its first line in a
// schema or a dependency.
func (s *Subject) places(v cue.Value) (ownPos, otherPos object.Pos) {
	positions := []token.Pos{v.Pos()}
	if !s.Module.Own(positions[0]) {
		positions = append(positions, parts(v)...)
	}
	for _, p := range positions {
		if pos := s.Module.Position(p); s.Module.Own(p) {
			return pos, otherPos
		} else if !otherPos.IsValid() {
			otherPos = pos
		}
	}
	return ownPos, otherPos
}

// parts returns the places of the conjuncts or the alternatives of v.
func parts(v cue.Value) (places []token.Pos) {
	// CUE's reflection gives up on some values.
	defer func() { _ = recover() }()
	if field, ok := v.Source().(*ast.Field); ok {
		places = append(places, field.Value.Pos())
	}
	if op, args := v.Expr(); op == cue.AndOp || op == cue.OrOp {
		for _, a := range args {
			places = append(places, a.Pos())
		}
	}
	return places
}

// nearest returns the line of the module's author that made the value at path, or the nearest line
// around it.
func (s *Subject) nearest(root cue.Value, path object.Path) object.Pos {
	for n := len(path); n > 0; n-- {
		if v := SchemaAt(root, path[:n]); v.Exists() {
			if own, _ := s.places(v); own.IsValid() {
				return own
			}
		}
	}
	return object.Pos{}
}

// ModuleError returns a mistake of the module at v.
func (s *Subject) ModuleError(v cue.Value, path, message string) *object.Error {
	return &object.Error{
		Stage: object.StageEvaluate, Pos: object.FirstValid(s.OwnPos(v), s.Req.Pos), Path: path,
		Err: fmt.Errorf("%s", message),
	}
}

// InInput returns a path below the filled-in fields as a path of the input of the request. It reports
// false if the path does not lead into the input.
func (s *Subject) InInput(path object.Path) (object.Path, bool) {
	switch {
	case s.Resource == "":
		return path, true
	case len(path) == 0:
		return nil, false
	case path[0].Name == FieldConfig:
		return path, true
	case path[0].Name == FieldParams, path[0].Name == FieldResource:
		return object.Fields("resources", s.Resource).Append(path...), true
	default:
		return nil, false
	}
}
