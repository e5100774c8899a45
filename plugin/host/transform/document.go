// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// hidden is the folder of files that no source has: sources are without hidden
// files.
const hidden = ".ropewalk"

// newDocument returns a Transform as a spec document, with all fields that such a document has. If
// the Transform has no module, only its policies and their overrides are in the document, with a
// module that makes nothing. The document is in dir, which its paths are relative to.
func newDocument(t *v1alpha1.Transform, dir string) (*spec.Structured, error) {
	part := *t.Spec.RenderSpec.DeepCopy()
	if !part.One() {
		part = v1alpha1.RenderSpec{
			Policies: part.Policies, PolicyOverrides: part.PolicyOverrides, CueRef: &v1alpha1.CueReference{Type: source.TypeInline, Ref: "package none\n"},
		}
	}
	references(&part, t.Namespace)
	fields, err := generic(part)
	return spec.NewStructured(path.Join(dir, hidden+".yaml"), map[string]any{
		"apiVersion": spec.APIVersion, "kind": spec.KindTransform,
		"metadata": map[string]any{"name": label(t.Name)}, "spec": fields,
	}), err
}

// References returns the references to modules of a Transform and of its policies, with the
// namespace of sources that they leave out.
func References(t *v1alpha1.Transform) []v1alpha1.NamedReference {
	return references(t.Spec.RenderSpec.DeepCopy(), t.Namespace)
}

// references returns the references of part, which get the namespace that they leave out.
func references(part *v1alpha1.RenderSpec, namespace string) []v1alpha1.NamedReference {
	out := part.References()
	for i := range part.Policies {
		out = append(out, v1alpha1.NamedReference{At: fmt.Sprintf("spec.policies[%d].cueRef", i), Ref: &part.Policies[i].CueRef})
	}
	for _, named := range out {
		qualify(named.Ref, namespace)
	}
	return out
}

// generic returns a value as JSON has it, with numbers as they were written.
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

// qualify sets the namespace that a reference to a source leaves out.
func qualify(ref *v1alpha1.CueReference, namespace string) {
	if kind, name, ok := strings.Cut(ref.Ref, "/"); ok && ref.Type == source.TypeFlux && !strings.Contains(name, "/") {
		ref.Ref = kind + "/" + namespace + "/" + name
	}
}

// folderOf returns the folder, or the file, of the source that is rendered.
func folderOf(t *v1alpha1.Transform) string {
	ref := t.SourceRef()
	if ref == nil {
		return "."
	}
	return path.Join(".", path.Join("/", ref.Path)[1:])
}

// label returns a name that a spec may have: a DNS label. Dots of a name become dashes.
func label(name string) string {
	const most = 63
	name = strings.ReplaceAll(name, ".", "-")
	if len(name) > most {
		name = name[:most]
	}
	return strings.TrimRight(name, "-")
}
