// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

// field is a field of a document.
type field = document.Field

// Short forms of the kinds of values, for the tables.
const (
	list   = object.KindList
	text   = object.KindString
	truth  = object.KindBool
	fields = object.KindMap
)

// Tables returns the tables of the documents.
func Tables() []document.Document {
	return []document.Document{
		table(KindArtifactSync, "Artifacts to copy.", []field{
			{Name: "artifacts", Kind: list, Need: true, Fields: []field{
				{Name: "from", Kind: text, Need: true, Rule: reference()},
				{Name: "to", Kind: text, Need: true, Rule: target()},
				{Name: "tags", Kind: list, Rule: tag()},
			}},
			verify(),
		}),
		table(KindBuildPlan, "What a build fetches, renders and pushes.", buildPlan(), checksumField()),
		table(KindDeployPlan, "What deploy writes.", append([]field{
			wrote(),
			{Name: "artifact", Kind: text, Need: true, Rule: pinned(), Doc: "The reference with the digest."},
			{Name: "documents", Kind: text, Need: true, Rule: digest(), Doc: "The digest of what is written."},
		}, applied(document.Label(), "")...), checksumField()),
		table(KindInstallation, "A cluster, or a part of one, and what runs there.", append([]field{
			{Name: "environment", Kind: text, Full: true},
			{Name: "registry", Kind: text, Need: true, Rule: folder(), Doc: "The folder of repositories that the cluster pulls from."},
			verify(),
			{Name: "components", Kind: list, Need: true, Fields: []field{
				{Name: "name", Kind: text, Need: true, Rule: document.Label()},
				{Name: "from", Kind: text, Need: true, Rule: repository(), Doc: "The repository that the build pushed to."},
				{Name: "version", Kind: text, Rule: tag(), Doc: "The tag. With digest as well, the tag is moved to the digest."},
				{Name: "digest", Kind: text, Rule: digest()},
				{Name: "namespace", Kind: text, Rule: namespaces(), Doc: "As that of the Installation, which it is in place of."},
			}},
			clusterField(),
		}, applied(namespaces(), ": shop-{name} has the name of the Installation in it; {environment} and {labels.NAME} are its environment and a label")...)),
		table(KindPreviewPlan, "What a preview showed.", previewPlan(), checksumField()),
	}
}

// table returns the table of a document with metadata and a spec.
func table(kind, doc string, spec []field, more ...field) document.Document {
	metadata := field{Name: "metadata", Kind: fields, Need: true, Fields: []field{
		{Name: "name", Kind: text, Need: true, Rule: document.Label()},
		{Name: "labels", Kind: fields, Each: words()},
	}}
	return kinds.Whole(kind, doc, append([]field{metadata, {Name: "spec", Kind: fields, Need: true, Fields: spec}}, more...)...)
}

// buildPlan returns the fields of a BuildPlan.
func buildPlan() []field {
	return []field{
		wrote(),
		{Name: "paths", Kind: list, Each: words()},
		{Name: "environment", Kind: text, Full: true},
		{Name: "dialect", Kind: text, Need: true, Full: true},
		{Name: "options", Kind: fields, Each: &field{Kind: list, Each: &field{Kind: text}}, Doc: "The other options of the command build, by their names."},
		{Name: "again", Kind: list, Each: words(), Doc: "The options whose values may be secret: the build is given them again."},
		{Name: "inputs", Kind: text, Need: true, Rule: digest(), Doc: "The digest of what the specs are given, values and workload files included."},
		{Name: "variables", Kind: fields, Fields: []field{
			{Name: "names", Kind: list, Need: true, Each: words()},
			{Name: "digest", Kind: text, Need: true, Rule: digest(), Doc: "That of names and values together."},
		}},
		Sources(),
		Modules(),
		{Name: "credentials", Kind: list, Each: words(), Doc: "The names of the Secrets that the references name."},
		{Name: "destination", Kind: fields, Need: true, Fields: []field{
			{Name: "repository", Kind: text, Need: true, Rule: repository()},
			{Name: "tags", Kind: list, Need: true, Least: 1, Rule: tag()},
		}},
		{Name: "artifact", Kind: fields, Need: true, Fields: []field{
			{Name: "digest", Kind: text, Need: true, Rule: digest()}, {Name: "tree", Kind: text, Need: true, Rule: digest()},
		}},
	}
}

// Sources returns the field of references with what they led to, as a plan and a lock have them.
func Sources() document.Field {
	return field{Name: "sources", Kind: list, Fields: []field{
		{Name: "type", Kind: text, Need: true, Full: true}, {Name: "ref", Kind: text, Need: true, Full: true}, {Name: "path", Kind: text, Full: true},
		{Name: "revision", Kind: text, Full: true}, {Name: "pinned", Kind: text, Full: true}, {Name: "digest", Kind: text, Need: true, Rule: digest()},
	}}
}

// Modules returns the field of CUE modules that others depend on, as a plan and a lock have them.
func Modules() document.Field {
	return field{Name: "modules", Kind: list, Fields: []field{
		{Name: "module", Kind: text, Need: true, Full: true}, {Name: "version", Kind: text, Need: true, Full: true}, {Name: "digest", Kind: text, Need: true, Rule: digest()},
	}}
}

// Images returns the field of the images that a render runs, as a lock has them.
func Images() document.Field {
	return field{Name: "images", Kind: list, Doc: "The images that the render runs in any environment: a record, which \"ropewalk lock --check\" compares.", Fields: []field{
		{Name: "image", Kind: text, Need: true, Full: true}, {Name: "digest", Kind: text, Need: true, Rule: digest()},
	}}
}

// applied returns the fields of how an artifact is applied. The namespace has a rule, and more words
// to describe it.
func applied(namespace document.Rule, more string) []field {
	return []field{
		{Name: "engine", Kind: text, Need: true, Values: document.Choices(Engines()...)},
		{Name: "namespace", Kind: text, Rule: namespace, Doc: "That of the objects, where the artifact leaves it open" + more + "."},
		{Name: "engineNamespace", Kind: text, Rule: document.Label(), Doc: "That of the engine's objects: argocd for Argo CD and flux-system for the others where it is absent."},
		{Name: "insecure", Kind: truth, Doc: "The cluster speaks to the registry without TLS."},
		{Name: "secrets", Kind: fields, Doc: "Secrets in the namespace of the engine, for Flux.", Fields: []field{
			{Name: "pull", Kind: text, Rule: document.Label(), Doc: "Credentials of the registry."},
			{Name: "verify", Kind: text, Rule: document.Label(), Doc: "Public keys of cosign."},
		}},
	}
}

// verify returns the field of public keys.
func verify() field {
	return field{Name: "verify", Kind: fields, Doc: "Public keys of which one must have signed.", Fields: []field{
		{Name: "keys", Kind: list, Need: true, Each: words(), Doc: "Files, relative to the document."},
	}}
}

// wrote returns the field of the version that wrote a plan.
func wrote() field {
	return field{Name: "ropewalk", Kind: text, Need: true, Full: true, Doc: "The version that wrote the plan."}
}

// checksumField returns the field of the checksum.
func checksumField() field {
	return field{Name: "checksum", Kind: text, Need: true, Rule: digest(), Doc: "That of the document without it: it finds accidents. A signature beside the file is what makes a plan trusted."}
}

// words returns a field that is a text.
func words() *field { return &field{Kind: text, Full: true} }

// pinned returns the rule of an artifact by its digest.
func pinned() document.Rule {
	return location("oci://REGISTRY/REPOSITORY@sha256:…", "^oci://.+@sha256:[0-9a-f]{64}$", "", func(at artifact.Location) bool { return at.Digest != "" && at.Tag == "" })
}

// reference returns the rule of an artifact by a tag or its digest.
func reference() document.Rule {
	return location("oci://REGISTRY/REPOSITORY with :TAG or @sha256:…", "^oci://.+/.+[:@]", "", func(at artifact.Location) bool { return at.Digest != "" || at.Tag != "" })
}

// target returns the rule of where an artifact is copied to.
func target() document.Rule {
	return location("oci://REGISTRY/REPOSITORY or oci://REGISTRY/REPOSITORY:TAG", "^oci://.+/.+", "", func(at artifact.Location) bool { return at.Digest == "" })
}

// repository returns the rule of a repository.
func repository() document.Rule {
	return location("oci://REGISTRY/REPOSITORY without a tag", "^oci://.+/.+", "", bare)
}

// folder returns the rule of a registry, or a folder of it.
func folder() document.Rule {
	return location("oci://REGISTRY or oci://REGISTRY/FOLDER", "^oci://.+", "/a", bare)
}

// bare reports whether a location has neither a tag nor a digest.
func bare(at artifact.Location) bool { return at.Digest == "" && at.Tag == "" }

// location returns the rule of a location, which is valid with an end behind it. A location with
// credentials is not repeated.
func location(words, pattern, end string, is func(artifact.Location) bool) document.Rule {
	return document.Rule{
		Words: words + ", without credentials", Pattern: pattern,
		Holds: func(s string) bool {
			at, err := artifact.ParseLocation(s + end)
			return err == nil && strings.HasPrefix(s, "oci://") && is(at)
		},
		Secret: func(s string) bool { return strings.Contains(s, "@") && !strings.Contains(s, "@sha256:") },
	}
}

// digest returns the rule of a digest.
func digest() document.Rule {
	return document.Rule{Words: "a digest: expected sha256: and 64 digits of 0-9a-f", Pattern: "^sha256:[0-9a-f]{64}$"}
}

// tag returns the rule of a tag.
func tag() document.Rule {
	return document.Rule{Words: "a tag", Pattern: `^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`, Holds: func(s string) bool { return artifact.CheckTags([]string{s}) == nil }}
}
