// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/emit"
)

// Stream returns all files as one YAML stream, or as one List in JSON.
func Stream(files []emit.File, format string) ([]byte, error) {
	if format == "json" {
		return jsonList(files)
	}
	var b bytes.Buffer
	for _, f := range files {
		if !bytes.HasPrefix(f.Data, []byte("---\n")) {
			b.WriteString("---\n")
		}
		b.Write(f.Data)
	}
	return b.Bytes(), nil
}

// jsonList returns the objects of files as a v1 List, which kubectl applies and jq takes apart.
func jsonList(files []emit.File) ([]byte, error) {
	items := make([]json.RawMessage, len(files))
	for i, f := range files {
		data, err := toJSON(f.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		items[i] = data
	}
	return Encode(struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}{"v1", "List", items})
}

// JSONFiles returns files with JSON in place of YAML.
func JSONFiles(files []emit.File) ([]emit.File, error) {
	out := make([]emit.File, len(files))
	for i, f := range files {
		data, err := toJSON(f.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		f.Path = strings.TrimSuffix(f.Path, ".yaml") + ".json"
		f.Data = data
		out[i] = f
	}
	return out, nil
}

// toJSON converts a file, which holds one document. The names of an object sort alike in both
// forms, so that the result is as canonical as its source.
func toJSON(data []byte) ([]byte, error) {
	var v, second any
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	switch err := d.Decode(&second); {
	case err == nil:
		return nil, errors.New("expected one document, found a second one")
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return Encode(v)
}

// Encode returns v as indented JSON, with text as people wrote it.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return printableJSON(b.Bytes()), err
}

// printableJSON returns JSON of the same value without characters that a terminal obeys or hides:
// they are in strings only, where an escape stands for the same character.
func printableJSON(data []byte) []byte {
	if !bytes.ContainsFunc(data, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }) {
		return data
	}
	var b bytes.Buffer
	for _, r := range string(data) {
		if r == '\n' || unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			_, _ = fmt.Fprintf(&b, `\u%04x`, unit) // A buffer takes everything.
		}
	}
	return b.Bytes()
}
