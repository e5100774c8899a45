// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// providerGroup is the API group of clusterctl's inventory.
const providerGroup = "clusterctl.cluster.x-k8s.io"

// Provider is a provider that clusterctl, or the operator, installed.
type Provider struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Provider is its name, such as "kubeadm", and Type its kind, such as "BootstrapProvider".
	Provider string `json:"provider"`
	Type     string `json:"type"`
	Version  string `json:"version"`
}

// Providers returns the providers that a plane lists. It returns none if they were not installed
// by clusterctl, or if the user may not list them.
func Providers(ctx context.Context, p *plane.Plane, kinds plane.Kinds) []Provider {
	out, err := ListProviders(ctx, p, kinds)
	if err != nil {
		return nil
	}
	return out
}

// ListProviders returns the providers that a plane lists; none if it has no inventory.
func ListProviders(ctx context.Context, p *plane.Plane, kinds plane.Kinds) ([]Provider, error) {
	k, ok := kinds[schema.GroupKind{Group: providerGroup, Kind: "Provider"}]
	if !ok {
		return nil, nil
	}
	var out []Provider
	err := p.List(ctx, k, "", 0, func(o *unstructured.Unstructured) error {
		text := func(key string) string {
			s, _ := o.Object[key].(string)
			return s
		}
		out = append(out, Provider{
			Namespace: o.GetNamespace(),
			Name:      o.GetName(),
			Provider:  text("providerName"),
			Type:      text("type"),
			Version:   text("version"),
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Skew compares the providers of both planes, if both have an inventory. The target needs each
// provider of the set's kinds, in no older version.
func Skew(set inventory.Set, kinds plane.Kinds, source, target []Provider) inventory.Findings {
	if len(source) == 0 || len(target) == 0 {
		return nil
	}

	// Only providers of the kinds of the set count, if the kinds are labelled.
	used := map[string]bool{}
	for _, item := range set.Items {
		if label := kinds[item.Ref.GroupKind()].Labels["cluster.x-k8s.io/provider"]; label != "" {
			used[label] = true
		}
	}

	// Compare each provider with the newest version on the target.
	var out inventory.Findings
	for _, from := range source {
		if len(used) > 0 && !used[from.Name] {
			continue
		}
		ref := plane.Ref{Group: providerGroup, Kind: "Provider", Namespace: from.Namespace, Name: from.Name}
		best := ""
		for _, to := range target {
			isSame := to.Provider == from.Provider && to.Type == from.Type
			if isSame && (best == "" || older(best, to.Version)) {
				best = to.Version
			}
		}
		switch {
		case best == "":
			out = append(out, inventory.Finding{
				Ref:     ref,
				Problem: "is not installed on the target plane",
				Advice:  fmt.Sprintf("install it there in version %s", from.Version),
			})
		case older(best, from.Version):
			out = append(out, inventory.Finding{
				Ref:     ref,
				Problem: fmt.Sprintf("is at %s on the source plane, and at %s on the target plane", from.Version, best),
				Advice:  fmt.Sprintf("upgrade it on the target plane to at least %s", from.Version),
			})
		}
	}
	return out.Sorted()
}

// older reports whether a is an older version than b. Texts that are no versions are never older.
func older(a, b string) bool {
	v, err := version.ParseSemantic(a)
	if err != nil {
		return false
	}
	w, err := version.ParseSemantic(b)
	return err == nil && v.LessThan(w)
}
