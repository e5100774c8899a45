// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"embed"
	"path"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// maxRule limits the annotation that the health check reads, in bytes, and maxNesting the depth of
// its operators; lua/ready.lua holds the same limits.
const (
	maxRule    = 2048
	maxNesting = 30
)

//go:embed lua/*.lua
var luaFiles embed.FS

// HealthConfig returns the ConfigMap argocd-cm with the health checks of every kind that needs them
// to honour readyWhen. It returns nil if no kind does.
//
// It is meant to be merged into the argocd-cm of the cluster, with `kubectl apply --server-side`,
// not to replace it. The check of a kind is the same for every project, so that several may
// install it; objects without readyWhen keep the health that Argo CD itself gives them. If Argo
// CD ships a check that is not known here, they follow their condition Ready, and Write warns.
func HealthConfig(plan *order.Plan) []byte {
	if plan == nil {
		return nil
	}

	// A kind needs a check as soon as one of its objects has a rule.
	data := map[string]any{}
	ready := newRules()
	for _, wave := range plan.Waves {
		for _, n := range wave.Nodes {
			if n.Apply.Adopt == object.AdoptMirror || len(n.ReadyWhen) == 0 {
				continue
			}
			if text, problems := ready.annotation(n); text != "" && len(problems) == 0 {
				data[healthKey(n.Object)] = HealthLua(n.Object.Group(), n.Object.Kind())
			}
		}
	}
	if len(data) == 0 {
		return nil
	}

	// The labels are those that Argo CD finds its configuration by.
	return YAML(object.Object{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": map[string]any{
			"name":      "argocd-cm",
			"namespace": "argocd",
			"labels": map[string]any{
				"app.kubernetes.io/name":    "argocd-cm",
				"app.kubernetes.io/part-of": "argocd",
			},
		},
		"data": data,
	})
}

// healthKey returns the key of argocd-cm for the kind of o. The core group has none in it
// (argo-cd, util/settings: convertToOverrideKey).
func healthKey(o object.Object) string {
	const prefix = "resource.customizations.health."
	if o.Group() == "" {
		return prefix + o.Kind()
	}
	return prefix + o.Group() + "_" + o.Kind()
}

// HealthLua returns the health check of a kind for Argo CD: Lua that needs no library beyond
// those that Argo CD opens for every script.
func HealthLua(group, kind string) string {
	var b strings.Builder
	for _, name := range []string{"ready", nativeHealth(group, kind), "check"} {
		text, err := luaFiles.ReadFile("lua/" + name + ".lua")
		if err != nil {
			// Every name here is a file that is compiled in; the test of each
			// kind would show one that is not.
			continue
		}
		if b.Len() > 0 {
			// The licence stands at the top once.
			_, rest, _ := strings.Cut(string(text), "\n\n")
			text = []byte("\n" + rest)
		}
		b.Write(text)
	}
	return b.String()
}

// The files of kinds without one of their own: those that Argo CD has no check for, and
// those with a condition Ready.
const (
	otherHealth     = "other"
	conditionHealth = "conditions"
)

// nativeHealth names the file with the health that Argo CD has built in for a
// kind.
func nativeHealth(group, kind string) string {
	switch name := (object.Ref{Group: group, Kind: kind}).GroupKind(); name {
	case "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch",
		"Pod", "PersistentVolumeClaim", "Service",
		"Ingress.networking.k8s.io", "HorizontalPodAutoscaler.autoscaling",
		"APIService.apiregistration.k8s.io", "CustomResourceDefinition.apiextensions.k8s.io":
		return strings.ToLower(kind)
	case "Cluster.postgresql.cnpg.io":
		return "cnpgcluster"
	case "Certificate.cert-manager.io":
		return "certificate"
	case "Service.serving.knative.dev":
		return "knativeservice"
	}
	if checkedByArgoCD(group, kind) {
		return conditionHealth
	}
	return otherHealth
}

// isExact reports whether objects of a kind without readyWhen keep exactly the health that
// Argo CD gives them.
func isExact(group, kind string) bool {
	switch (object.Ref{Group: group, Kind: kind}).GroupKind() {
	case "ExternalSecret.external-secrets.io", "SecretStore.external-secrets.io",
		"ClusterSecretStore.external-secrets.io", "PushSecret.external-secrets.io":
		return true
	}
	return nativeHealth(group, kind) != conditionHealth
}

//go:embed lua/kinds.txt
var checkedKinds string

// checkedByArgoCD reports whether Argo CD ships a health check for a kind that it does not
// know natively; lua/kinds.txt has a line GROUP/KIND for each of them.
func checkedByArgoCD(group, kind string) bool {
	for pattern := range strings.Lines(checkedKinds) {
		if ok, err := path.Match(strings.TrimSpace(pattern), group+"/"+kind); ok && err == nil {
			return true
		}
	}
	return false
}
