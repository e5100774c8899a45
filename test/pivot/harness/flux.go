// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
)

// FluxNamespace is where the controllers of Flux live.
const FluxNamespace = "flux-system"

// Flux installs Flux on a plane, and runs its controllers until the test ends. They are
// administrators there.
func (w *World) Flux(t testing.TB, p *Plane) (source, kustomize *Process) {
	t.Helper()
	p.Ensure(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+FluxNamespace+"}}")
	for _, folder := range []string{"sourcecontroller", "kustomizecontroller"} {
		from, err := w.modules.Source(t.Context(), folder)
		require.NoError(t, err)
		files, err := filepath.Glob(filepath.Join(from.Dir, "config", "crd", "bases", "*.yaml"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			objects, err := decodeFile(file)
			require.NoError(t, err)
			for _, o := range objects {
				p.Create(t, o)
			}
		}
	}
	p.established(t)
	storage := plane.Loopback + ":" + plane.FreePort(t)
	source = w.Controller(t, p, "source-controller", FluxNamespace,
		"--storage-path="+t.TempDir(), "--storage-addr="+storage, "--storage-adv-addr="+storage, "--log-level=info")
	kustomize = w.Controller(t, p, "kustomize-controller", FluxNamespace, "--requeue-dependency=1s", "--log-level=info")
	return source, kustomize
}

// Controller runs a controller of Flux, or ours, on a plane until the test ends, and waits until
// it is ready. Ours is its ServiceAccount there, and has no other rights. The name of its process
// tells the plane too.
func (w *World) Controller(t testing.TB, p *Plane, program, namespace string, flags ...string) *Process {
	t.Helper()
	health := plane.Loopback + ":" + plane.FreePort(t)
	argv := append([]string{w.Program(t, program), "--metrics-addr=" + plane.Loopback + ":" + plane.FreePort(t), "--health-addr=" + health}, flags...)
	kubeconfig := p.Kubeconfig
	if namespace != FluxNamespace {
		kubeconfig = p.Account(t, namespace, program)
	}
	process := w.Process(t, p.Name+"-"+program, argv, "KUBECONFIG="+kubeconfig, "RUNTIME_NAMESPACE="+namespace)
	process.AwaitOther(t, func() bool { return plane.Good("http://" + health + "/readyz") })
	return process
}
