// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Define installs the definitions of files for the time of a test.
func (p *Plane) Define(t testing.TB, files ...string) {
	t.Helper()
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // a file of this project
		require.NoError(t, err)
		o := one(t, string(data))
		p.Create(t, o)
		t.Cleanup(func() {
			ctx := context.WithoutCancel(t.Context()) // it has ended by then
			client := p.Resource(t, o)
			require.NoError(t, client.Delete(ctx, o.GetName(), metav1.DeleteOptions{}))
			Await(t, time.Minute, o.GetName()+" is gone", func() bool {
				_, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
				return apierrors.IsNotFound(err)
			})
		})
	}
	p.established(t)
}

// Manage applies the objects of YAML documents as an engine does: server-side, and with every
// field known. It returns them as the server has them.
func (p *Plane) Manage(t testing.TB, manifests []byte) []*unstructured.Unstructured {
	t.Helper()
	return p.manage(t, manifests, nil)
}

// Judge is Manage that changes nothing.
func (p *Plane) Judge(t testing.TB, manifests []byte) []*unstructured.Unstructured {
	t.Helper()
	return p.manage(t, manifests, []string{metav1.DryRunAll})
}

func (p *Plane) manage(t testing.TB, manifests []byte, dry []string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := decode(manifests)
	require.NoError(t, err)
	force := true
	for i, o := range objects {
		data, err := o.MarshalJSON()
		require.NoError(t, err)
		objects[i], err = p.Resource(t, o).Patch(t.Context(), o.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{
			FieldManager: "engine", Force: &force, FieldValidation: metav1.FieldValidationStrict, DryRun: dry,
		})
		require.NoError(t, err, "%s %s/%s in plane %s", o.GetKind(), o.GetNamespace(), o.GetName(), p.Name)
	}
	return objects
}

// Prune deletes those of the objects before that are none of the objects now, as Flux does:
// at once, but for those that are annotated to stay.
func (p *Plane) Prune(t testing.TB, before, now []*unstructured.Unstructured) {
	t.Helper()
	stays := map[string]bool{}
	for _, o := range now {
		stays[o.GetKind()+"/"+o.GetName()] = true
	}
	for _, o := range before {
		if !stays[o.GetKind()+"/"+o.GetName()] && o.GetAnnotations()["kustomize.toolkit.fluxcd.io/prune"] != "disabled" {
			require.NoError(t, p.Resource(t, o).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}))
		}
	}
}
