// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

func component() Field {
	return Field{Kind: fields, Doc: "How the objects are built without CUE, in place of cueRef.", Fields: []Field{
		cueRef().Named("source").Means("What holds the files, in place of the project."),
		{Name: "manifests", Kind: fields, Doc: "Objects as they are.", Fields: []Field{
			{Name: "inline", Kind: text, Full: true, Doc: "YAML or JSON."},
			{Name: "paths", Kind: list, Each: full(), Doc: "Files, and folders with all that is below them."},
		}},
		{Name: "kustomize", Kind: fields, Doc: "A kustomization, with what is laid over it.", Fields: []Field{
			{Name: "path", Kind: text, Full: true, Doc: "Folder of the kustomization."},
			{Name: "enableHelm", Kind: truth, Doc: "Allow helmCharts."},
			{Name: "loadRestrictor", Kind: text, Values: choices("rootOnly", "none"), Doc: "Whether files may be outside of the folder of their kustomization."},
			{Name: "patches", Kind: list, Free: true, Doc: "Patches, as in a kustomization."},
			{Name: "components", Kind: list, Doc: "Folders of kustomize components."},
			{Name: "images", Kind: list, Free: true, Doc: "Images, as in a kustomization."},
			{Name: "replicas", Kind: list, Free: true, Doc: "Replicas, as in a kustomization."},
			{Name: "replacements", Kind: list, Free: true, Doc: "Replacements, as in a kustomization."},
			{Name: "labels", Kind: list, Free: true, Doc: "Labels, as in a kustomization."},
			{Name: "commonAnnotations", Kind: fields, Free: true, Doc: "Annotations of all objects."},
			{Name: "namespace", Kind: text, Doc: "Namespace of all objects."},
			{Name: "namePrefix", Kind: text, Doc: "Prefix of all names."},
			{Name: "nameSuffix", Kind: text, Doc: "Suffix of all names."},
		}},
		{Name: "helm", Kind: fields, Doc: "A Helm chart with its values.", Fields: []Field{
			{Name: "chart", Kind: text, Full: true, Need: true, Doc: "Path of a folder or an archive, oci://…, or the name of a chart of repo."},
			{Name: "repo", Kind: text, Full: true, Doc: "URL of an HTTP repository."},
			{Name: "version", Kind: text, Full: true, Doc: "Version or range of versions."},
			pullSecretRef(),
			verify(),
			{Name: "values", Kind: fields, Free: true, Doc: "Values; they win over valuesFiles."},
			{Name: "valuesFiles", Kind: list, Each: full(), Doc: "Files of values; a later one wins."},
			{Name: "releaseName", Kind: text, Doc: "Name of the release; that of the spec by default."},
			{Name: "namespace", Kind: text, Rule: label(), Doc: "Namespace of the release; that of the context by default."},
			{Name: "skipCRDs", Kind: truth, Doc: "Leave out the folder crds of the chart."},
			{Name: "apiVersions", Kind: list, Each: full(), Doc: "Further capabilities."},
			{Name: "hooks", Kind: text, Values: choices("waves", "reject"), Doc: "Whether hooks become waves."},
			{Name: "postRenderers", Kind: list, Doc: "What is laid over the objects of its templates, in order, as in a HelmRelease of Flux.", Each: &Field{Kind: fields, Fields: []Field{
				{Name: "kustomize", Kind: fields, Need: true, Doc: "Fields of a kustomization.", Fields: []Field{
					{Name: "patches", Kind: list, Free: true, Doc: "Patches, as in a kustomization."},
					{Name: "images", Kind: list, Free: true, Doc: "Images, as in a kustomization."},
				}},
			}}},
		}},
		{Name: "artifact", Kind: fields, Doc: "An OCI artifact with manifests in it.", Fields: []Field{
			{Name: "ref", Kind: text, Full: true, Need: true, Rule: ociReference(), Hint: "write oci://HOST/REPOSITORY@sha256:…", Doc: "oci://HOST/REPOSITORY@sha256:…, or a tag."},
			{Name: "path", Kind: text, Full: true, Doc: "Folder in it."},
			pullSecretRef(),
			verify(),
		}},
		{Name: "substitute", Kind: fields, Names: variable(), Each: loose(), Doc: "Values of ${NAME} in the objects, as postBuild.substitute of a Kustomization of Flux; {} replaces those with a default."},
		{Name: "substituteUnknown", Kind: text, Values: choices("empty", "fail", "keep"), Doc: "What becomes of a variable without a value and a default: nothing and a warning, a mistake, or it stays; empty where it is absent."},
	}}
}
