// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/emit"
)

// Annotations of manifests: those that kustomize-controller heeds, and the mark of a
// hand-over. Its value says whether the author had forbidden to prune.
const (
	annotationPrune     = "kustomize.toolkit.fluxcd.io/prune"
	annotationSSA       = "kustomize.toolkit.fluxcd.io/ssa"
	annotationReconcile = "kustomize.toolkit.fluxcd.io/reconcile"
	annotationHandOver  = "ropewalk.dev/handover"

	disabled  = "disabled"
	prunable  = "prunable"
	protected = "protected"
)

// document is a manifest as it was parsed.
type document struct {
	ref  ObjectRef
	root *yaml.Node
}

// parse reads a manifest: one YAML document with one object.
func parse(data []byte) (document, error) {
	root := &yaml.Node{}
	documents := yaml.NewDecoder(bytes.NewReader(data))
	if err := documents.Decode(root); err != nil && !errors.Is(err, io.EOF) {
		return document{}, err
	}
	if err := documents.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return document{}, fmt.Errorf("it holds more than one document")
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return document{}, fmt.Errorf("it holds no object")
	}
	d := document{root: root}
	top := root.Content[0]
	meta := field(top, "metadata")
	d.ref = ObjectRef{Version: text(top, "apiVersion"), Kind: text(top, "kind"), Namespace: text(meta, "namespace"), Name: text(meta, "name")}
	if group, version, ok := strings.Cut(d.ref.Version, "/"); ok {
		d.ref.Group, d.ref.Version = group, version
	}
	if d.ref.Kind == "" || d.ref.Version == "" || d.ref.Name == "" {
		return document{}, fmt.Errorf("apiVersion, kind or metadata.name is missing")
	}
	switch notes := field(meta, "annotations"); {
	case notes == nil || notes.Kind == yaml.MappingNode:
	case notes.Tag == "!!null":
		d.annotate("", "")
	default:
		return document{}, fmt.Errorf("metadata.annotations is no map")
	}
	return d, nil
}

// field of a mapping, nil where there is none.
func field(n *yaml.Node, name string) *yaml.Node {
	if i := index(n, name); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

// index of the key of a field in the content of a mapping.
func index(n *yaml.Node, name string) int {
	if n == nil || n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return i
		}
	}
	return -1
}

// text of a field of a mapping.
func text(n *yaml.Node, name string) string {
	if f := field(n, name); f != nil && f.Kind == yaml.ScalarNode {
		return f.Value
	}
	return ""
}

// annotation of the object.
func (d document) annotation(name string) string {
	return text(field(field(d.root.Content[0], "metadata"), "annotations"), name)
}

// annotate sets an annotation, or takes it away where value is "". A map of
// annotations that is empty goes too, so that a manifest that was marked and
// unmarked is what it was.
func (d document) annotate(name, value string) {
	meta := field(d.root.Content[0], "metadata")
	notes := field(meta, "annotations")
	i := index(notes, name)
	switch {
	case value == "" && i >= 0:
		notes.Content = slices.Delete(notes.Content, i, i+2)
	case value == "" || i >= 0 && notes.Content[i+1].Value == value:
	case i >= 0:
		notes.Content[i+1] = scalar(value)
	default:
		if notes == nil {
			notes = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			meta.Content = append(meta.Content, scalar("annotations"), notes)
		}
		notes.Content = append(notes.Content, scalar(name), scalar(value))
	}
	if i := index(meta, "annotations"); i >= 0 && len(meta.Content[i+1].Content) == 0 {
		meta.Content = slices.Delete(meta.Content, i, i+2)
	}
}

func scalar(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: yaml.DoubleQuotedStyle}
}

// bytes is the text of the document.
func (d document) bytes() ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(d.root); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// mark of the manifest, which is taken away: what is left is plain.
func (d document) unmark() mark {
	m := plain
	switch d.annotation(annotationHandOver) {
	case prunable:
		m = marked
		d.annotate(annotationPrune, "")
	case protected:
		m = marked
	}
	d.annotate(annotationHandOver, "")
	return m
}

// enmark marks a plain manifest.
func (d document) enmark() {
	if d.annotation(annotationPrune) == disabled {
		d.annotate(annotationHandOver, protected)
		return
	}
	d.annotate(annotationPrune, disabled)
	d.annotate(annotationHandOver, prunable)
}

// once reports whether Flux leaves the object alone where it exists.
func (d document) once() bool {
	ssa := d.annotation(annotationSSA)
	return ssa == "IfNotPresent" || ssa == "Ignore" || d.annotation(annotationReconcile) == disabled
}

// library is the plain manifests that a delivery may put together, by their sum.
type library map[string]emit.File

// add reads the files of an artifact into a content.
func (l library) add(files []emit.File) (content, error) {
	c := make(content, len(files))
	for _, f := range files {
		d, err := parse(f.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		m := d.unmark()
		data, err := d.bytes()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		hash := sha256.Sum256(data)
		sum := hex.EncodeToString(hash[:])
		f.Data = data
		l[sum] = f
		c[d.ref.key()] = manifest{sum: sum, mark: m, once: d.once()}
	}
	return c, nil
}

// files are those of a content. Names are those of the artifacts that they come
// from; where two are the same, the sum tells them apart.
func (l library) files(c content) ([]emit.File, error) {
	keys := sortedKeys(c)
	taken := map[string]bool{}
	out := make([]emit.File, 0, len(keys))
	for _, k := range keys {
		f, ok := l[c[k].sum]
		if !ok {
			return nil, fmt.Errorf("the manifest of %s is not at hand", k)
		}
		if c[k].mark == marked {
			d, err := parse(f.Data)
			if err != nil {
				return nil, err
			}
			d.enmark()
			if f.Data, err = d.bytes(); err != nil {
				return nil, err
			}
		}
		if taken[f.Path] {
			f.Path = c[k].sum[:12] + "-" + f.Path
		}
		taken[f.Path] = true
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b emit.File) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}
