// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// Source checks the source: whether the Cluster is at rest and not paused, and the rights of the
// user of the kubeconfig.
func Source(ctx context.Context, p *plane.Plane, kinds plane.Kinds, set inventory.Set) inventory.Findings {
	var out inventory.Findings
	if set.PausedBy != "" {
		out = append(out, inventory.Finding{
			Ref:     set.Cluster,
			Problem: fmt.Sprintf("is paused on the %s plane already, by %s", p.Name(), set.PausedBy),
			Advice:  "let that end and unpause the Cluster; or, where a pivot paused it, resume or abort that pivot",
		})
	}
	for _, item := range set.Items {
		if len(item.Busy) == 0 || item.Stays {
			continue
		}
		f := inventory.Finding{
			Ref:     item.Ref,
			Problem: fmt.Sprintf("is not at rest on the %s plane: %s", p.Name(), strings.Join(item.Busy, "; ")),
			Advice:  "wait until its controller is done, or see in its conditions what keeps it",
		}
		if slices.Contains(item.Busy, inventory.Deleting) {
			f.Advice = "wait until it is gone, or see which of its finalizers are left"
		}
		out = append(out, f)
	}
	return append(out, sourceRights(ctx, p, kinds, set)...).Sorted()
}

// sourceRights returns findings for the rights that are missing on the source.
func sourceRights(ctx context.Context, p *plane.Plane, kinds plane.Kinds, set inventory.Set) inventory.Findings {
	namespace := set.Cluster.Namespace
	need := rights{}
	need.add(plane.Kind{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, "", "list")
	need.add(plane.NamespaceKind, "", "get")
	need.add(plane.ConfigMapKind, namespace, "create", "get", "update")
	for _, item := range set.Items {
		verbs := []string{"get", "list", "update", "delete"}
		if item.Stays {
			verbs = verbs[:2]
		}
		need.add(kinds[item.Ref.GroupKind()], item.Ref.Namespace, verbs...)
	}
	out, _ := need.missing(ctx, p, set.Cluster)
	return out
}

// rights is a set of rights.
type rights map[plane.Right]bool

// add adds the right to each verb on a kind.
func (r rights) add(k plane.Kind, namespace string, verbs ...string) {
	for _, verb := range verbs {
		r[plane.Right{Verb: verb, Group: k.Group, Resource: k.Resource, Namespace: namespace}] = true
	}
}

// missing returns the rights that the user does not have, as a finding for each resource, and as a
// set.
func (r rights) missing(ctx context.Context, p *plane.Plane, cluster plane.Ref) (inventory.Findings, rights) {
	// Review them all.
	var wanted []plane.Right
	for right := range r {
		wanted = append(wanted, right)
	}
	denied, err := p.Missing(ctx, wanted)
	if err != nil {
		return inventory.Findings{unknown(p, cluster, "the rights of the user of its kubeconfig cannot be reviewed", err)}, nil
	}
	if len(denied) == 0 {
		return nil, nil
	}

	// The advice names the user if the server tells it.
	user, err := p.User(ctx)
	if err != nil || user == "" {
		user = "of the kubeconfig"
	}
	var out inventory.Findings
	missing := rights{}

	// They are sorted, so that the verbs of a resource follow each other.
	for i := 0; i < len(denied); {
		first := denied[i]
		isSame := func(right plane.Right) bool {
			return right.Group == first.Group && right.Resource == first.Resource && right.Namespace == first.Namespace
		}
		var verbs []string
		for ; i < len(denied) && isSame(denied[i]); i++ {
			missing[denied[i]] = true
			verbs = append(verbs, denied[i].Verb)
		}
		combined := first
		combined.Verb = strings.Join(verbs, ", ")
		role := "Role"
		if first.Namespace == "" {
			role = "ClusterRole"
		}
		const format = "grant it with a %s with apiGroups [%q], resources [%q], verbs [%s]"
		out = append(out, inventory.Finding{
			Ref:     cluster,
			Problem: fmt.Sprintf("user %s of the %s plane may not %s", user, p.Name(), combined),
			Advice:  fmt.Sprintf(format, role, first.Group, first.Resource, quoted(verbs)),
		})
	}
	return out, missing
}

// quoted returns texts in quotes, with commas between.
func quoted(texts []string) string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = fmt.Sprintf("%q", t)
	}
	return strings.Join(out, ", ")
}

// unknown returns the finding for a check that could not be made.
func unknown(p *plane.Plane, r plane.Ref, what string, err error) inventory.Finding {
	return inventory.Finding{
		Ref:     r,
		Problem: fmt.Sprintf("%s plane: %s: %v", p.Name(), what, err),
		Advice:  "see why its API server answers so, and try again",
	}
}
