// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"regexp"
	"slices"
)

// AddGateway is AddNamed of a Gateway, in which secret is the name of a Secret: only what
// cannot be a name is hidden there.
func (s *Secrets) AddGateway(v Value) { s.named(withoutNames(v), false) }

var secretName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

func withoutNames(v Value) Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m Member) bool { return m.Name == "secret" && secretName.MatchString(m.Value.Text) })
	v.Items = slices.Clone(v.Items)
	for i, m := range v.Members {
		v.Members[i].Value = withoutNames(m.Value)
	}
	for i, item := range v.Items {
		v.Items[i] = withoutNames(item)
	}
	return v
}

// isReference reports whether v names a secret of a provider, of the namespace or of a file,
// as variables of workloads, bindings and pull secrets of a project and secrets of a compose
// file do: names are no secrets.
func isReference(v Value) bool {
	return len(v.Members) > 0 && !slices.ContainsFunc(v.Members, func(m Member) bool {
		return !slices.Contains([]string{"secret", "local", "provider", "version", "key", "keys", "file", "environment", "external", "name"}, m.Name)
	})
}
