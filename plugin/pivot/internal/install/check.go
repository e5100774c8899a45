// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// need is a kind that a bootstrap cluster must serve, and what brings it.
type need struct{ group, kind, advice string }

// needs returns the kinds that a bootstrap cluster must serve for a PivotCluster.
func needs(cluster *unstructured.Unstructured) []need {
	provider := cmp.Or(text(cluster, "spec", "provider", "type"), "docker")
	clusterAPI := "install Cluster API: clusterctl init --infrastructure " + provider
	infrastructure := map[string]string{"docker": "DevCluster", "aws": "AWSCluster", "gcp": "GCPCluster", "azure": "AzureCluster"}[provider]
	definitions := "install the controller, as in section Install of deploy/pivot/children.md: kubectl apply --server-side -k bootstrap"
	out := []need{
		{inventory.ClusterGroup, "Cluster", clusterAPI},
		{"bootstrap." + inventory.ClusterGroup, "KubeadmConfigTemplate", clusterAPI},
		{"controlplane." + inventory.ClusterGroup, "KubeadmControlPlane", clusterAPI},
		{"infrastructure." + inventory.ClusterGroup, infrastructure, clusterAPI},
		{AddonsGroup, "ClusterResourceSet", clusterAPI + ", with the feature gate ClusterResourceSet"},
		{group, "PivotCluster", definitions},
		{group, "Transform", definitions},
	}
	if text(cluster, "spec", "delivery", "type") == "ArgoCD" {
		return append(out, need{"argoproj.io", "Application", "install Argo CD, as spec.delivery says"})
	}
	return append(out,
		need{"source.toolkit.fluxcd.io", "OCIRepository", "flux install"},
		need{"kustomize.toolkit.fluxcd.io", "Kustomization", "flux install"})
}

// Lacks returns findings for what the cluster needs and the manifest does not seem to bring: its
// engine, and the network of its pods, without which nothing but the host network runs. An image
// of machines may have both, so these findings are no errors.
func (o *Options) Lacks() inventory.Findings {
	var findings inventory.Findings
	add := func(problem, advice string) {
		findings = append(findings, inventory.Finding{Ref: refOf(o.Cluster), Problem: problem, Advice: advice})
	}
	engine := cmp.Or(text(o.Cluster, "spec", "gitOps", "engine"), "Flux")
	kind := "kustomizations.kustomize.toolkit.fluxcd.io"
	advice := "add what flux install --export prints"
	if engine == "ArgoCD" {
		kind = "applications.argoproj.io"
		advice = "add core-install.yaml of Argo CD and the AppProject default"
	}
	if !o.Manifest.has[definition+kind] {
		add(fmt.Sprintf("spec.gitOps.engine is %s, and the manifest has no %s%s: the cluster does not begin without its engine", engine, definition, kind), advice)
	}
	// An Installation is that of the operator of Calico, which makes the DaemonSet.
	if inMemory := text(o.Cluster, "spec", "provider", "docker", "backend") == "inMemory"; !inMemory && !o.Manifest.has["DaemonSet"] && !o.Manifest.has["Installation"] {
		add("the manifest has no DaemonSet, and so no network for pods (CNI): nodes do not become Ready, and the controller does not start", "add the network, such as what helm template of Cilium prints")
	}
	return findings
}

// check returns the kinds that the bootstrap cluster serves, and findings for all that is missing
// there.
func check(ctx context.Context, p *plane.Plane, cluster *unstructured.Unstructured) (plane.Kinds, error) {
	// It must serve the kinds.
	kinds, err := p.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	var findings inventory.Findings
	for _, n := range needs(cluster) {
		if _, ok := kinds[schema.GroupKind{Group: n.group, Kind: n.kind}]; !ok {
			findings = append(findings, inventory.Finding{Ref: refOf(cluster), Problem: fmt.Sprintf("the bootstrap cluster has no kind %s.%s", n.kind, n.group), Advice: n.advice})
		}
	}

	// The user must have the rights of a run.
	ns := namespace(cluster.GetName())
	rights := []plane.Right{{Verb: "create", Resource: "namespaces"}}
	for _, verb := range []string{"get", "create", "update"} {
		rights = append(rights, plane.Right{Verb: verb, Group: group, Resource: "pivotclusters"},
			plane.Right{Verb: verb, Resource: "secrets", Namespace: ns}, plane.Right{Verb: verb, Group: AddonsGroup, Resource: "clusterresourcesets", Namespace: ns})
	}
	missing, err := p.Missing(ctx, rights)
	if err != nil {
		return kinds, err
	}
	for _, m := range missing {
		findings = append(findings, inventory.Finding{Ref: refOf(cluster), Problem: fmt.Sprintf("the user of the kubeconfig may not %s", m), Advice: "grant that right"})
	}
	if len(findings) > 0 {
		return kinds, findings.Sorted()
	}
	return kinds, nil
}
