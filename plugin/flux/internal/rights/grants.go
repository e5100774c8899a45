// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"bytes"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

// Known returns the objects of layers whose rights are known before they are applied. A binding of
// the render itself may grant the account more: in its namespace if it is a RoleBinding, and
// everywhere otherwise.
func Known(layers []delivery.Layer, namespace, account string) []delivery.ObjectRef {
	// Bindings for the account are few.
	granted := map[string]bool{}
	for _, l := range layers {
		for _, f := range l.Files {
			mayBind := bytes.Contains(f.Data, []byte("RoleBinding")) && bytes.Contains(f.Data, []byte(account))
			if !mayBind {
				continue
			}
			if b, ok := binds(f.Data, namespace, account); ok {
				granted[b.Namespace] = true
			}
		}
	}
	if granted[""] {
		return nil
	}

	// Objects in the namespaces of these bindings are left out.
	var out []delivery.ObjectRef
	for _, l := range layers {
		for _, o := range l.Objects {
			if o.Namespace == "" || !granted[o.Namespace] {
				out = append(out, o)
			}
		}
	}
	return out
}

// binds returns a manifest as a binding, and whether an account is among its subjects.
func binds(manifest []byte, namespace, account string) (rbacv1.RoleBinding, bool) {
	// A ClusterRoleBinding has the same fields, and no namespace.
	var b rbacv1.RoleBinding
	if yaml.Unmarshal(manifest, &b) != nil || b.Kind != "RoleBinding" && b.Kind != "ClusterRoleBinding" {
		return b, false
	}
	return b, slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.ServiceAccountKind && s.Name == account && (s.Namespace == namespace || s.Namespace == "")
	})
}
