// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rendercache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/render/object"
)

// Key returns the identity of a request of a tenant to a version of the program: equal keys mean
// equal renders. It is a SHA-256 in hex, and "" if the request cannot be encoded.
//
// It is made from the encoding of the request, so that a new field is part of the key
// unless it is excluded by a tag.
func Key(req render.Request, version, scope string) string {
	// How an evaluation is bounded makes no difference to its result.
	req.Specs = slices.Clone(req.Specs)
	for i := range req.Specs {
		req.Specs[i].Evaluate.Limits = evaluate.Limits{}
	}
	keyed := struct {
		Format, Version, Scope string
		Request                render.Request
		// Warnings from before the render are part of its result.
		Warnings []string
	}{Format: "ropewalk render 2", Version: version, Scope: scope, Request: req}
	for _, m := range req.Mistakes {
		keyed.Warnings = append(keyed.Warnings, m.Error())
	}
	sum, _, err := worker.Sum(keyed)
	if err != nil {
		return ""
	}
	return hex.EncodeToString(sum[:sha256.Size])
}

// entry is an outcome as it is stored.
type entry struct {
	Files    []emit.File
	Layers   []emit.Layer
	Warnings []warning
	Sources  []render.Source
	Graph    []byte
}

// warning is an object.Error whose cause can be stored.
type warning struct {
	object.Error
	Err string
}

var errEntry = errors.New("rendercache: corrupt entry")

// encode returns the outcome as bytes.
func (o Outcome) encode() ([]byte, error) {
	e := entry{Files: o.Files, Layers: o.Layers, Sources: o.Sources, Graph: o.Graph}
	for _, w := range o.Warnings {
		e.Warnings = append(e.Warnings, warning{Error: *w, Err: w.Err.Error()})
	}
	return cbor.Marshal(e)
}

// decode returns the outcome of bytes that encode has made.
func decode(data []byte) (Outcome, error) {
	mode, err := cbor.DecOptions{
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		// What users wrote need not be UTF-8.
		UTF8: cbor.UTF8DecodeInvalid,
	}.DecMode()
	if err != nil {
		return Outcome{}, err
	}
	var e entry
	if mode.Unmarshal(data, &e) != nil {
		return Outcome{}, errEntry
	}
	o := Outcome{Files: e.Files, Layers: e.Layers, Sources: e.Sources, Graph: e.Graph}
	for _, w := range e.Warnings {
		w.Error.Err = errors.New(w.Err)
		o.Warnings = append(o.Warnings, &w.Error)
	}
	return o, nil
}
