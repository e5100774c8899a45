// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// applied returns the fields below spec, by the kinds of units, that say how an engine applies the
// objects and change none of them. A project has no place for them.
func applied() map[string][]string {
	return map[string][]string{
		"Application": {"ignoreDifferences", "info", "revisionHistoryLimit", "sourceHydrator", "syncPolicy"},
		"Kustomization": {
			"buildMetadata", "decryption", "deletionPolicy", "force", "healthCheckExprs", "healthChecks", "ignore", "kubeConfig", "prune", "retryInterval",
			"serviceAccountName", "timeout", "wait",
		},
		"HelmRelease": {
			"commonMetadata", "driftDetection", "healthCheckExprs", "install", "kubeConfig", "maxHistory", "persistentClient", "rollback",
			"serviceAccountName", "storageNamespace", "test", "timeout", "uninstall", "upgrade", "waitStrategy",
		},
	}
}

// leftOf returns the fields of units that no spec has, each with how many units have it.
func leftOf(units []Unit) []string {
	holders := map[string][]Unit{}
	for _, u := range units {
		for _, field := range uncarried(u) {
			holders[field] = append(holders[field], u)
		}
		if len(units) > 1 && u.KubeVersion != "" {
			holders["source.helm.kubeVersion"] = append(holders["source.helm.kubeVersion"], u)
		}
	}
	var out []string
	for _, field := range object.SortedKeys(holders) {
		switch have := holders[field]; {
		case len(units) == 1:
			out = append(out, field)
		case len(have) == 1:
			out = append(out, fmt.Sprintf("%s of %s", field, have[0].ID))
		default:
			out = append(out, fmt.Sprintf("%s of %d units, such as %s", field, len(have), have[0].ID))
		}
	}
	return out
}

// uncarried returns the fields of a unit that no spec has.
func uncarried(u Unit) []string {
	var out []string
	spec := field(u.Object, "spec")
	for _, m := range spec.Members {
		crds := m.Name == "install" && len(m.Value.Members) == 1 && m.Value.Members[0].Name == "crds"
		metadata := m.Name == "commonMetadata" && len(u.Overlays) > 0
		if slices.Contains(applied()[u.Kind], m.Name) && !crds && !metadata {
			out = append(out, "spec."+m.Name)
		}
	}

	// A project of Argo CD bounds rights, and a wave orders the Applications themselves.
	if name := spec.TextOf("project"); u.Kind == "Application" && name != "" && name != "default" {
		out = append(out, "spec.project")
	}
	if u.Kind == "Application" {
		for _, m := range field(spec, "destination").Members {
			if m.Name != "namespace" && m.Value.Text != ownServer {
				out = append(out, "spec.destination."+m.Name)
			}
		}
	}
	if field(u.Object, "metadata", "annotations").TextOf("argocd.argoproj.io/sync-wave") != "" {
		out = append(out, "metadata.annotations.argocd.argoproj.io/sync-wave")
	}
	return out
}

// SourceFields returns the fields of a source of Flux that no spec has. The Secret of one is carried
// over to specs that fetch its files alone.
func SourceFields(o object.Object, withSecret bool) []string {
	known := []string{"interval", "provider", "ref", "timeout", "type", "url"}
	if withSecret && (o.Kind() != "HelmRepository" || strings.HasPrefix(o.Text("spec", "url"), "oci://")) {
		known = append(known, "secretRef")
	}
	var out []string
	for _, name := range object.SortedKeys(o.Map("spec")) {
		if isSource(o) && !slices.Contains(known, name) {
			out = append(out, o.Kind()+".spec."+name)
		}
	}
	return out
}

// field returns the value at a path of names below v, of KindNone if there is none.
func field(v object.Value, names ...string) object.Value {
	for _, name := range names {
		below, ok := v.Get(name)
		if !ok {
			return object.Value{}
		}
		v = below
	}
	return v
}
