// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package deploy holds the manifests of this folder that install Ropewalk, and writes an image
// into them.
package deploy

import (
	"embed"
	"regexp"
	"strings"
)

// Image is the repository of the image that the manifests name.
const Image = "ghcr.io/ropewalk/ropewalk"

//go:embed crds/ropewalk.dev_*.yaml flux/*.yaml argocd/sidecar argocd/helm
var files embed.FS

// WithImage returns a text with image in each place where it names a release of [Image].
func WithImage(text, image string) string {
	return regexp.MustCompile(regexp.QuoteMeta(Image)+`:v[0-9][0-9A-Za-z.-]*`).ReplaceAllLiteralString(text, image)
}

// Flux returns the objects of the kustomization flux as one stream, in its order.
func Flux(image string) string {
	var out strings.Builder
	for _, name := range []string{
		"crds/ropewalk.dev_transforms.yaml", "crds/ropewalk.dev_pivotclusters.yaml",
		"flux/namespace.yaml", "flux/rbac.yaml", "flux/deployment.yaml", "flux/service.yaml", "flux/network-policy.yaml",
	} {
		_, text, _ := strings.Cut(read(name), "SPDX-License-Identifier: Apache-2.0\n")
		out.WriteString("---\n" + strings.TrimPrefix(text, "---\n"))
	}
	return WithImage(out.String(), image)
}

// ArgoCD returns the component argocd/sidecar as one file: what lies beside its kustomization
// stands in it.
func ArgoCD(image string) string {
	text := strings.NewReplacer(
		"- path: container.yaml\n", "- patch: |-\n"+indent(read("argocd/sidecar/container.yaml"), 6),
		"files: [pull-policy.yaml]\n", "literals:\n      - |\n"+indent("pull-policy.yaml="+read("argocd/sidecar/pull-policy.yaml"), 8),
	).Replace(read("argocd/sidecar/kustomization.yaml"))
	return WithImage(text, image)
}

// ArgoCDValues returns the values that add the same sidecar to the chart argo-cd.
func ArgoCDValues(image string) string { return WithImage(read("argocd/helm/values.yaml"), image) }

// read returns a file. It is a part of the program, so that reading it cannot fail.
func read(name string) string {
	data, _ := files.ReadFile(name)
	return string(data)
}

// indent puts spaces in front of each line that is not empty.
func indent(text string, spaces int) string {
	return regexp.MustCompile(`(?m)^.`).ReplaceAllString(text, strings.Repeat(" ", spaces)+"$0")
}

// PivotClusters returns the CustomResourceDefinition of PivotCluster.
func PivotClusters() string { return read("crds/ropewalk.dev_pivotclusters.yaml") }
