// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
)

// ArgoCD installs Argo CD on a plane, and runs it until the test ends, as its own
// ServiceAccount. It knows of no registry.
func (w *World) ArgoCD(t testing.TB, p *Plane) *plane.ArgoCD {
	t.Helper()
	p.Ensure(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+plane.ArgoCDNamespace+"}}")
	from, err := w.modules.Source(t.Context(), "argocd")
	require.NoError(t, err)
	objects, err := decodeFile(plane.ArgoCDManifest(from.Dir))
	require.NoError(t, err)
	for _, o := range objects {
		if plane.InstallsArgoCD(o) {
			p.Create(t, o)
		}
	}
	p.established(t)
	p.Manage(t, []byte(plane.ArgoCDSettings)) // Some of it is there, and empty.
	// Paths of sockets are short.
	dir := filepath.Join(w.Dir, p.Name+"-argocd")
	account := p.Account(t, plane.ArgoCDNamespace, "argocd-application-controller")
	return plane.StartArgoCD(t, dir, w.Program(t, "argocd"), account, func(name string, argv []string, env ...string) *Process {
		return w.Process(t, p.Name+"-"+name, argv, env...)
	})
}
