// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// hidden is the folder of files that no source has: sources are without hidden
// files.
const hidden = ".ropewalk"

// document is a Transform as a repository would have it.
type document struct {
	// name is that of its file: beside the files that it refers to by paths.
	name  string
	data  []byte
	value object.Value
}

// newDocument writes the parts of a Transform down that a render takes. Of a
// Transform without a module only its policies are in it, with a module that makes
// nothing. It lies in dir, which its paths are relative to.
func newDocument(t *v1alpha1.Transform, dir string) (document, error) {
	part := v1alpha1.TransformSpec{Policies: t.Spec.Policies, CueRef: t.Spec.CueRef}
	if t.Spec.CueRef != nil {
		part.Tags, part.Input, part.Adopt, part.AllowSecrets = t.Spec.Tags, t.Spec.Input, t.Spec.Adopt, t.Spec.AllowSecrets
	} else {
		part.CueRef = &v1alpha1.CueReference{Type: source.TypeInline, Ref: "package none\n"}
	}
	whole, err := generic(part)
	if err != nil {
		return document{}, err
	}
	qualify(whole, t.Namespace)
	delete(whole, "interval")
	doc := document{name: path.Join(dir, hidden+".yaml")}
	doc.data = block(nil, map[string]any{
		"apiVersion": spec.APIVersion, "kind": spec.KindTransform,
		"metadata": map[string]any{"name": label(t.Name)}, "spec": whole,
	}, 0)
	doc.value, err = spec.ParseValue(spec.File{Name: doc.name, Data: doc.data})
	return doc, err
}

// generic is a value as JSON has it, with numbers as they were written.
func generic(v any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	out := map[string]any{}
	return out, d.Decode(&out)
}

// qualify gives references to sources the namespace that they leave out.
func qualify(whole map[string]any, namespace string) {
	fix := func(holder any) {
		m, _ := holder.(map[string]any)
		ref, _ := m["cueRef"].(map[string]any)
		text, _ := ref["ref"].(string)
		if kind, name, ok := strings.Cut(text, "/"); ok && ref["type"] == source.TypeFlux && !strings.Contains(name, "/") {
			ref["ref"] = kind + "/" + namespace + "/" + name
		}
	}
	fix(whole)
	policies, _ := whole["policies"].([]any)
	for _, p := range policies {
		fix(p)
	}
}

// folderOf is the folder, or the file, of the source that is rendered.
func folderOf(t *v1alpha1.Transform) string {
	if t.Spec.SourceRef == nil {
		return "."
	}
	return path.Join(".", path.Join("/", t.Spec.SourceRef.Path)[1:])
}

// label is a name that a spec may have: a DNS label. Dots of a name become dashes.
func label(name string) string {
	const most = 63
	name = strings.ReplaceAll(name, ".", "-")
	if len(name) > most {
		name = name[:most]
	}
	return strings.TrimRight(name, "-")
}

// block writes v as YAML in block style, each part on lines of its own, so that a
// module that stands in the Transform keeps its lines. All else is as in JSON.
func block(b []byte, v any, indent int) []byte {
	pad := strings.Repeat("  ", indent)
	nested := func(v any) []byte {
		switch v := v.(type) {
		case map[string]any:
			if len(v) > 0 {
				return block([]byte{'\n'}, v, indent+1)
			}
		case []any:
			if len(v) > 0 {
				return block([]byte{'\n'}, v, indent+1)
			}
		case string:
			if isText(v) {
				return literal(v, pad+"  ")
			}
		}
		return append([]byte{' '}, append(scalar(v), '\n')...)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b = append(append(append(b, pad...), scalar(key)...), ':')
			b = append(b, nested(v[key])...)
		}
	case []any:
		for _, item := range v {
			b = append(append(b, pad...), '-')
			b = append(b, nested(item)...)
		}
	}
	return b
}

// scalar is JSON, which YAML takes as it is.
func scalar(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // it was decoded from JSON
	return bytes.TrimRight(b.Bytes(), "\n")
}

// isText reports whether a block scalar can hold a text with several lines.
func isText(s string) bool {
	return strings.Contains(strings.TrimRight(s, "\n"), "\n") && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == 0x85 || r == 0xfeff || r == 0x2028 || r == 0x2029 || r >= 0xfffe && r <= 0xffff
		})
}

// literal is a block scalar, whose first character says how it ends.
func literal(s, pad string) []byte {
	ending := ""
	switch {
	case !strings.HasSuffix(s, "\n"):
		ending = "-"
	case strings.HasSuffix(s, "\n\n"):
		ending = "+"
	}
	b := []byte(" |2" + ending + "\n")
	for line := range strings.Lines(s) {
		if strings.TrimRight(line, "\n") != "" {
			b = append(b, pad...)
		}
		b = append(b, line...)
	}
	if !strings.HasSuffix(s, "\n") {
		b = append(b, '\n')
	}
	return b
}
