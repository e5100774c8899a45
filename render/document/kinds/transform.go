// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import "github.com/ropewalk/ropewalk/internal/reftype"

// Transform is the table of a Transform.
func Transform() Document {
	spec := append([]Field{
		cueRef().Named("cueRef"),
		{Name: "input", Kind: fields, Free: true, Doc: "Input of the module."},
		{Name: "tags", Kind: fields, Doc: "Values of @tag attributes of the module.", Each: loose()},
		component().Named("component"),
	}, ofSpec()...)
	return Whole("Transform", "A spec that sends an input through a CUE module.",
		Metadata(), Field{Name: "spec", Kind: fields, Need: true, Fields: spec, OneOf: []string{"cueRef", "component"}}, Status())
}

// Component is the table of a Component.
func Component() Document {
	spec := append(component().Fields, ofSpec()...)
	return Whole("Component", "A spec whose objects are built without CUE: of manifests, a kustomization, a Helm chart or an artifact.",
		Metadata(), Field{Name: "spec", Kind: fields, Need: true, Fields: spec}, Status())
}

// ofSpec is what every spec has whose objects are made as they are.
func ofSpec() []Field {
	return []Field{
		DependsOn(),
		{Name: "policies", Kind: list, Doc: "Policies beside those of the project.", Each: each(policy())},
		{Name: "adopt", Kind: text, Values: choices("Never", "TakeOwnership", "Mirror"), Doc: "What happens to objects that exist already."},
		{Name: "allowSecrets", Kind: list, Doc: "Names, or patterns such as \"app-*\", of Secrets that may be rendered with data in them."},
		{Name: "overlays", Kind: list, Doc: "What is laid over the objects.", Each: each(overlay())},
	}
}

// DependsOn are the specs that come first.
func DependsOn() Field {
	return Field{Name: "dependsOn", Kind: list, Doc: "Specs whose objects come first.", Rule: label()}
}

// CueRef is a reference to a module, as a field of that name and meaning.
func CueRef(name, doc string) Field { return cueRef().Named(name).Means(doc) }

func cueRef() Field {
	return Field{Kind: fields, Doc: "Reference to a CUE module.", Fields: []Field{
		{Name: "type", Kind: text, Values: choices(reftype.Names()...), Need: true, Doc: "Where the module comes from."},
		{Name: "ref", Kind: text, Need: true, Doc: "A path relative to this file, a name, CUE text or a URL, as the type demands."},
		{Name: "path", Kind: text, Doc: "Folder of the module inside of what ref names."},
		pullSecretRef(),
		verify(),
	}}
}

func policy() Field {
	return Field{Kind: fields, Fields: []Field{
		{Name: "name", Kind: text, Rule: label(), Need: true},
		cueRef().Named("cueRef").Needed(),
		{Name: "input", Kind: fields, Free: true, Doc: "Input of the policy."},
	}}
}

func overlay() Field {
	return Field{Kind: fields, Doc: "What is laid over the objects that it selects.", Fields: []Field{
		{Name: "select", Kind: fields, Need: true, Doc: "Which objects; texts are patterns such as \"app-*\".", Fields: []Field{
			{Name: "kind", Kind: text},
			{Name: "name", Kind: text},
			{Name: "namespace", Kind: text},
			{Name: "group", Kind: text},
			{Name: "labels", Kind: fields, Each: loose()},
		}},
		{Name: "dependsOn", Kind: list, Doc: "Nodes that come first."},
		{Name: "readyWhen", Kind: list, Doc: "Rules that must all hold.", Fields: []Field{
			{Name: "type", Kind: text, Values: choices("Exists", "ConditionMatch", "DeploymentAvailable", "CEL"), Need: true},
			{Name: "status", Kind: text, Values: choices("True", "False", "Unknown")},
			{Name: "expr", Kind: text, Doc: "Expression of CEL."},
			{Name: "condition", Kind: text, Doc: "Condition of ConditionMatch."},
		}},
		{Name: "apply", Kind: fields, Doc: "How it is applied.", Fields: []Field{
			{Name: "mode", Kind: text, Values: choices("Apply", "Create", "Replace", "Force")},
			{Name: "conflict", Kind: text, Values: choices("Engine", "Error")},
			{Name: "adopt", Kind: text, Values: choices("Never", "TakeOwnership", "Mirror")},
			{Name: "deletion", Kind: text, Values: choices("Delete", "Orphan")},
			{Name: "prune", Kind: truth},
		}},
		{Name: "patch", Kind: fields, Free: true, Or: []Field{{Kind: list, Free: true}}, Doc: "A strategic merge patch, or operations of RFC 6902."},
	}}
}

func pullSecretRef() Field {
	return Field{Name: "pullSecretRef", Kind: fields, Doc: "Secret with the credentials of a git or oci reference.", Fields: []Field{
		{Name: "name", Kind: text, Need: true},
	}}
}

func verify() Field {
	return Field{Name: "verify", Kind: fields, Doc: "The signature that is required.", Fields: []Field{
		{Name: "provider", Kind: text, Values: choices("cosign", "pgp", "ssh"), Need: true},
		{Name: "secretRef", Kind: fields, Doc: "Secret with the public keys.", Fields: []Field{
			{Name: "name", Kind: text, Need: true},
		}},
	}}
}
