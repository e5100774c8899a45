// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"strings"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/render/object"
)

// Transform returns the table of a Transform.
func Transform() Document {
	spec := append([]Field{
		moduleRef(),
		{Name: "input", Kind: fields, Free: true, Doc: "Input of the module."},
		{Name: "tags", Kind: fields, Doc: "Values of @tag attributes of the module.", Each: loose()},
		component().Named("component"),
	}, OfSpec()...)
	return Whole("Transform", "A spec that sends an input through a CUE module.",
		Metadata(), Field{Name: "spec", Kind: fields, Need: true, Fields: spec, OneOf: []string{"cueRef", "component"}}, Status())
}

// Component returns the table of a Component.
func Component() Document {
	spec := append(component().Fields, OfSpec()...)
	return Whole("Component", "A spec whose objects are built without CUE: of manifests, a kustomization, a Helm chart or an artifact.",
		Metadata(), Field{Name: "spec", Kind: fields, Need: true, Fields: spec}, Status())
}

// OfSpec returns the fields that every spec has whose objects are made as they are.
func OfSpec() []Field {
	return []Field{
		DependsOn(),
		{Name: "policies", Kind: list, Doc: "Policies beside those of the project.", Each: each(policy())},
		policyOverrides(),
		{Name: "adopt", Kind: text, Values: choices("Never", "TakeOwnership", "Mirror"), Doc: "What happens to objects that exist already."},
		allowSecrets(),
		overlays(),
	}
}

// policyOverrides returns the field of the policies of the project that a spec loosens.
func policyOverrides() Field {
	return Field{Name: "policyOverrides", Kind: list, Doc: "Policies of the project that hold less for this spec, where they are overridable.", Fields: []Field{
		{Name: "policy", Kind: text, Rule: label(), Need: true, Doc: "Name of the policy in the project."},
		{Name: "action", Kind: text, Values: choices("warning", "ignore"), Other: notLooser, Need: true, Hint: "write warning or ignore", Doc: "What its errors become: a warning, or a note that is on record alone."},
		{Name: "reason", Kind: text, Full: true, Need: true, Hint: "write why, for those who read the record", Doc: "Why, for the record."},
	}}
}

// notLooser returns what to do about an action that loosens nothing.
func notLooser(action string) string {
	switch action {
	case "error":
		return "the policy is an error without an override: write warning or ignore, or remove the override"
	case "off":
		return "write ignore"
	}
	return ""
}

func overlays() Field {
	return Field{Name: "overlays", Kind: list, Doc: "What is laid over the objects.", Each: each(overlay())}
}

// Built returns the table of how a component is built. If own is set, the component is a document
// of its own; its other fields were read before, and may be anything here.
func Built(own bool) Field {
	f := component()
	if !own {
		return f
	}
	for _, own := range OfSpec() {
		f.Fields = append(f.Fields, Field{Name: own.Name})
	}
	return f
}

// DependsOn returns the field of the specs that come first.
func DependsOn() Field {
	return Field{Name: "dependsOn", Kind: list, Unique: true, Doc: "Specs whose objects come first.", Rule: label()}
}

// CueRef returns the field of a reference to a module, with a name and a meaning.
func CueRef(name, doc string) Field { return cueRef().Named(name).Means(doc) }

// moduleRef returns the field of the reference of the module that a spec or a policy is made by.
func moduleRef() Field {
	f := cueRef().Named("cueRef")
	f.Hint = "write cueRef: {type: path, ref: ./modules/NAME}, or another type: " + strings.Join(reftype.Names()[1:], ", ")
	return f
}

func cueRef() Field {
	return Field{Kind: fields, Mistyped: moduleOf, Doc: "Reference to a CUE module.", Fields: []Field{
		{Name: "type", Kind: text, Values: choices(reftype.Names()...), Need: true, Hint: "write one of " + strings.Join(reftype.Names(), ", "), Doc: "Where the module comes from."},
		{Name: "ref", Kind: text, Full: true, Need: true, Hint: "write the path, the name, the text or the URL of the module", Doc: "A path relative to this file, a name, CUE text or a URL, as the type demands."},
		{Name: "path", Kind: text, Doc: "Folder of the module inside of what ref names."},
		pullSecretRef(),
		verify(),
	}}
}

func policy() Field {
	return Field{Kind: fields, Fields: []Field{
		{Name: "name", Kind: text, Rule: label(), Need: true},
		moduleRef().Needed(),
		{Name: "input", Kind: fields, Free: true, Doc: "Input of the policy."},
	}}
}

// projectPolicy returns the table of a policy that a spec may loosen.
func projectPolicy() Field {
	f := policy()
	f.Fields = append(f.Fields, Field{Name: "overridable", Kind: truth, Doc: "Let specs loosen it, each with a reason: policyOverrides."})
	return f
}

func overlay() Field {
	return Field{Kind: fields, Doc: "What is laid over the objects that it selects.", Fields: []Field{
		{Name: "select", Kind: fields, Need: true, Doc: "Which objects; texts are patterns such as \"app-*\".", Fields: []Field{
			{Name: "kind", Kind: text, Rule: pattern(), Hint: "write a name, or a pattern such as \"app-*\""},
			{Name: "name", Kind: text, Rule: pattern(), Hint: "write a name, or a pattern such as \"app-*\""},
			{Name: "namespace", Kind: text, Rule: pattern(), Hint: "write a name, or a pattern such as \"app-*\""},
			{Name: "group", Kind: text, Rule: pattern(), Hint: "write a name, or a pattern such as \"app-*\""},
			{Name: "labels", Kind: fields, Each: loose()},
		}},
		{Name: "dependsOn", Kind: list, Doc: "Nodes that come first."},
		{Name: "readyWhen", Kind: list, Doc: "Rules that must all hold.", Fields: []Field{
			{Name: "type", Kind: text, Values: choices(object.ReadyExists, object.ReadyConditionMatch, object.ReadyDeploymentAvailable, object.ReadyCEL), Need: true},
			{Name: "status", Kind: text, Values: choices("True", "False", "Unknown")},
			{Name: "expr", Kind: text, Doc: "Expression of CEL."},
			{Name: "condition", Kind: text, Doc: "Condition of ConditionMatch."},
			{Name: "timeout", Kind: text, Rule: timeout(), Doc: "How long the object may take to be ready, such as 10m."},
		}},
		{Name: "needs", Kind: list, Doc: "Objects outside of the render that must be in the cluster first.", Fields: []Field{
			{Name: "apiVersion", Kind: text, Full: true, Doc: "v1 where it is absent."},
			{Name: "kind", Kind: text, Full: true, Need: true},
			{Name: "name", Kind: text, Full: true, Need: true},
			{Name: "namespace", Kind: text, Full: true, Doc: "Namespace of the object that needs it where it is absent."},
			{Name: "ready", Kind: text, Full: true, Doc: "Condition that must be True, such as Ready; without it the object has to exist."},
		}},
		{Name: "apply", Kind: fields, Doc: "How it is applied.", Fields: []Field{
			{Name: "mode", Kind: text, Values: choices("Apply", "Create", "Replace", "Force")},
			{Name: "conflict", Kind: text, Values: choices("Engine", "Error")},
			{Name: "adopt", Kind: text, Values: choices("Never", "TakeOwnership", "Mirror")},
			{Name: "deletion", Kind: text, Values: choices("Delete", "Orphan")},
			{Name: "prune", Kind: truth},
		}},
		{Name: "patch", Kind: fields, Free: true, Mistyped: patchText, Or: []Field{{Kind: list, Fields: []Field{
			{Name: "op", Kind: text, Need: true, Values: choices("add", "copy", "move", "remove", "replace", "test")},
			{Name: "path", Kind: text, Full: true, Need: true},
			{Name: "from", Kind: text, Full: true, Doc: "For copy and move."},
			{Name: "value", Doc: "For add, replace and test."},
		}}}, Doc: "A strategic merge patch, or operations of RFC 6902."},
	}}
}

func allowSecrets() Field {
	return Field{Name: "allowSecrets", Kind: list, Each: &Field{Kind: text, Rule: pattern(), Hint: "write a name, or a pattern such as \"app-*\""}, Doc: "Names, or patterns such as \"app-*\", of Secrets that may be rendered with data in them."}
}

func pullSecretRef() Field {
	return Field{Name: "pullSecretRef", Kind: fields, Doc: "Secret with the credentials of a git or oci reference.", Fields: []Field{
		{Name: "name", Kind: text, Full: true, Need: true},
	}}
}

func verify() Field {
	return Field{Name: "verify", Kind: fields, Doc: "The signature that is required.", Fields: []Field{
		{Name: "provider", Kind: text, Values: choices("cosign", "pgp", "ssh"), Need: true},
		{Name: "secretRef", Kind: fields, Doc: "Secret with the public keys.", Fields: []Field{
			{Name: "name", Kind: text, Full: true, Need: true},
		}},
	}}
}

// patchText returns what to do about a patch that is a text.
func patchText(v object.Value) string {
	if v.Kind != text {
		return ""
	}
	return "write the patch as YAML below patch:, without the bar"
}
