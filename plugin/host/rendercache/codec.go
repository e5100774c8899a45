// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rendercache

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

// header is an entry without the graph and the contents of the files, which follow it in
// this order. As JSON strings they would be encoded and decoded once more.
type header struct {
	Files    []file          `json:"files"`
	Layers   []emit.Layer    `json:"layers"`
	Warnings []warning       `json:"warnings"`
	Sources  []render.Source `json:"sources"`
	Graph    int             `json:"graph"`
}

type file struct {
	Path string    `json:"path"`
	Node object.ID `json:"node"`
	Wave int       `json:"wave"`
	Size int       `json:"size"`
}

// warning is an object.Error that can be decoded.
type warning struct {
	Stage    object.Stage  `json:"stage"`
	Severity int           `json:"severity"`
	Pos      object.Pos    `json:"pos"`
	Path     string        `json:"path"`
	Node     object.ID     `json:"node"`
	Policy   string        `json:"policy"`
	Message  string        `json:"message"`
	Hint     string        `json:"hint"`
	Notes    []object.Note `json:"notes"`
}

var errEntry = errors.New("rendercache: corrupt entry")

// encode is the outcome as bytes.
func (o Outcome) encode() []byte {
	h := header{Layers: o.Layers, Sources: o.Sources, Graph: len(o.Graph)}
	size := len(o.Graph)
	for _, f := range o.Files {
		h.Files = append(h.Files, file{Path: f.Path, Node: f.Node, Wave: f.Wave, Size: len(f.Data)})
		size += len(f.Data)
	}
	for _, w := range o.Warnings {
		h.Warnings = append(h.Warnings, warning{
			Stage: w.Stage, Severity: int(w.Severity), Pos: w.Pos, Path: w.Path, Node: w.Node, Policy: w.Policy,
			Message: w.Err.Error(), Hint: w.Hint, Notes: w.Notes,
		})
	}
	text, err := json.Marshal(h)
	if err != nil {
		panic(err) // Text and numbers always marshal.
	}
	out := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(text)+size), uint64(len(text)))
	out = append(out, text...)
	out = append(out, o.Graph...)
	for _, f := range o.Files {
		out = append(out, f.Data...)
	}
	return out
}

// decode is the inverse of encode. The outcome refers to data.
func decode(data []byte) (Outcome, error) {
	if len(data) < 8 {
		return Outcome{}, errEntry
	}
	size := binary.BigEndian.Uint64(data)
	if data = data[8:]; size > uint64(len(data)) {
		return Outcome{}, errEntry
	}
	var h header
	d := json.NewDecoder(bytes.NewReader(data[:size]))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return Outcome{}, errEntry
	}
	rest := data[size:]
	take := func(n int) []byte {
		if n < 0 || n > len(rest) {
			rest = nil
			return nil
		}
		out := rest[:n:n]
		rest = rest[n:]
		return out
	}
	o := Outcome{Layers: h.Layers, Sources: h.Sources, Graph: take(h.Graph)}
	total := h.Graph
	for _, f := range h.Files {
		o.Files = append(o.Files, emit.File{Path: f.Path, Node: f.Node, Wave: f.Wave, Data: take(f.Size)})
		total += f.Size
	}
	if uint64(total) != uint64(len(data))-size { //nolint:gosec // a negative size is no match either
		return Outcome{}, errEntry
	}
	for _, w := range h.Warnings {
		o.Warnings = append(o.Warnings, &object.Error{
			Stage: w.Stage, Severity: object.Severity(w.Severity), Pos: w.Pos, Path: w.Path, Node: w.Node, Policy: w.Policy,
			Err: errors.New(w.Message), Hint: w.Hint, Notes: w.Notes,
		})
	}
	return o, nil
}
