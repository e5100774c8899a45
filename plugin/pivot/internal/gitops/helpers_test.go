// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/artifact"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
	"github.com/ropewalk/ropewalk/test/servers"
)

const namespace = "rw-blue"

// refs of what delivers PivotCluster blue.
var (
	cluster     = plane.Ref{Group: planetest.Core, Kind: "Cluster", Namespace: namespace, Name: "blue"}
	transform   = plane.Ref{Group: v1alpha1.Group, Kind: "Transform", Namespace: namespace, Name: "blue"}
	layer0      = plane.Ref{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: namespace, Name: "blue-layer-00"}
	layer1      = plane.Ref{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: namespace, Name: "blue-layer-01"}
	source0     = plane.Ref{Group: "source.toolkit.fluxcd.io", Kind: "OCIRepository", Namespace: namespace, Name: "blue-layer-00"}
	application = plane.Ref{Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: "rw-blue.blue"}
	receipt     = plane.Ref{Kind: "ConfigMap", Namespace: namespace, Name: state.ReceiptName("blue")}
)

// world is a parent with a delivery, and controllers that do with what they see suspended, or
// deleted, what the real ones do; those are in test/e2e.
type world struct {
	*testing.T
	server   *planetest.Server
	registry *servers.OCI
	gitops   *GitOps
	// away: no controller works.
	away bool
	// lag is how many requests come between two looks of the controllers.
	lag, count int
	// pruned are objects whose deletion deleted what they had applied.
	pruned []string
	// left is how many writes the registry takes; negative is all.
	left int
}

func newWorld(t *testing.T) *world { return newWorldWith(t, servers.InProcess(t)) }

func newWorldWith(t *testing.T, registry *servers.OCI) *world {
	w := &world{T: t, lag: 1, left: -1, registry: registry}
	kinds := append(planetest.ClusterAPI(), sources())
	policy, binding := policies()
	kinds = append(kinds, policy, binding)
	w.gitops = &GitOps{
		Cluster: &v1alpha1.PivotCluster{ObjectMeta: metav1.ObjectMeta{Name: "blue", UID: "pc-1"}}, Applications: []string{"argocd"}, Within: 5 * time.Second,
		Open: func(ctx context.Context, at *v1alpha1.Transform) (artifact.Store, error) {
			require.Equal(t, namespace, at.Namespace)
			repo, err := (&remote.Registries{PlainHTTP: func(string) bool { return true }, Attempts: 1}).Repository(ctx, strings.TrimPrefix(at.Spec.Output.OCI.Repository, "oci://"), nil)
			return fragile{repo, w}, err
		},
	}
	w.gitops.Cluster.Spec.Output.OCI = &v1alpha1.OCIOutput{Repository: "oci://" + w.registry.Host + "/clusters"}
	for _, e := range w.gitops.engines() {
		kinds = append(kinds, e.Kind)
	}
	for i := range kinds {
		if kinds[i].Served == nil {
			kinds[i].Served = []string{kinds[i].Version}
		}
	}
	w.server = planetest.New("parent", kinds...)
	w.gitops.Plane = w.server.Plane()
	w.deliver()
	w.server.Before = w.before
	return w
}

// deliver puts what delivers the cluster, and what it delivers.
func (w *world) deliver() {
	w.server.Put(
		w.object(transform, v1alpha1.Finalizer), w.object(layer0, "finalizers.fluxcd.io"), w.object(layer1, "finalizers.fluxcd.io"),
		w.object(source0, "finalizers.fluxcd.io"), w.object(application), w.object(cluster),
	)
	w.server.Edit(application, "", func(o *unstructured.Unstructured) {
		o.Object["spec"] = map[string]any{"project": "default", "syncPolicy": map[string]any{
			"automated": map[string]any{"prune": true, "selfHeal": false}, "syncOptions": []any{"FailOnSharedResource=false"},
		}}
	})
	w.at(state.Freezing)
}

func (w *world) object(r plane.Ref, finalizers ...string) *unstructured.Unstructured {
	version := map[string]string{"Transform": "v1alpha1", "Application": "v1alpha1", "Cluster": "v1beta2"}[r.Kind]
	if version == "" {
		version = "v1"
	}
	o := planetest.Object(schema.GroupVersion{Group: r.Group, Version: version}.String(), r.Kind, r.Namespace, r.Name)
	o.SetLabels(map[string]string{v1alpha1.LabelTransform: "blue", v1alpha1.LabelNamespace: namespace})
	o.SetFinalizers(finalizers)
	o.Object["spec"] = map[string]any{"prune": true}
	return o
}

// at puts the receipt of the pivot at a step.
func (w *world) at(step state.Step) {
	r := state.Receipt{
		ID: "pivot-1", Role: state.RoleSource, Step: step, Epoch: 1, Cluster: cluster, Digest: "sha256:moved",
		Source: state.Peer{UID: w.uid()}, Target: state.Peer{UID: "child-uid", Server: "https://blue.example:6443"},
		Marks: []state.Mark{{Step: state.Committed, At: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}},
	}
	text, err := json.Marshal(r)
	require.NoError(w, err)
	o := planetest.Object("v1", "ConfigMap", namespace, receipt.Name)
	o.Object["data"] = map[string]any{"receipt.json": string(text)}
	w.server.Put(o)
}

func (w *world) uid() string {
	return string(w.server.Object(plane.Ref{Kind: "Namespace", Name: "kube-system"}).GetUID())
}

// before lets the controllers work, and denies by the policy.
func (w *world) before(r planetest.Request) error {
	if w.count++; w.count%w.lag == 0 && !w.away {
		w.controllers()
	}
	policy, binding := policies()
	name := Policy("blue")
	if r.Verb == "create" && r.Ref.Name == probe &&
		w.server.Object(plane.Ref{Group: policy.Group, Kind: policy.Kind, Name: name}) != nil &&
		w.server.Object(plane.Ref{Group: binding.Group, Kind: binding.Kind, Name: name}) != nil {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, probe, &denied{name})
	}
	return nil
}

type denied struct{ policy string }

func (d *denied) Error() string {
	return "ValidatingAdmissionPolicy '" + d.policy + "' with binding '" + d.policy + "' denied request: no"
}

// controllers work once.
func (w *world) controllers() {
	for _, r := range []plane.Ref{transform, layer0, layer1} {
		o := w.server.Object(r)
		if o == nil {
			continue
		}
		suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
		if o.GetDeletionTimestamp() != nil {
			if policy, _, _ := unstructured.NestedString(o.Object, "spec", "deletionPolicy"); !suspended || r != transform && policy != "Orphan" {
				w.pruned = append(w.pruned, r.String())
			}
			w.server.Remove(r)
			continue
		}
		if asked := o.GetAnnotations()[meta.ReconcileRequestAnnotation]; asked != "" {
			w.server.Edit(r, "", func(o *unstructured.Unstructured) {
				require.NoError(w, unstructured.SetNestedField(o.Object, asked, "status", "lastHandledReconcileAt"))
			})
		}
	}
	if o := w.server.Object(source0); o != nil && o.GetDeletionTimestamp() != nil {
		w.server.Remove(source0)
	}
	if o := w.server.Object(application); o != nil && o.GetAnnotations()[refresh] != "" {
		w.server.Edit(application, "", func(o *unstructured.Unstructured) {
			notes := o.GetAnnotations()
			delete(notes, refresh)
			o.SetAnnotations(notes)
		})
	}
}

// specs are those of what delivers, as they are stored, with the annotation of Freeze.
func (w *world) specs() map[string]any {
	out := map[string]any{}
	for _, r := range []plane.Ref{transform, layer0, layer1, source0, application} {
		if o := w.server.Object(r); o != nil {
			out[r.String()] = []any{o.Object["spec"], o.GetAnnotations()[Frozen]}
		}
	}
	return out
}

func (w *world) freeze() error { w.at(state.Freezing); return w.gitops.Freeze(w.Context(), cluster) }
func (w *world) thaw() error   { w.at(state.Aborting); return w.gitops.Thaw(w.Context(), cluster) }
func (w *world) tombstone() error {
	w.at(state.Confirmed)
	return w.gitops.Tombstone(w.Context(), cluster)
}

// still wants that nothing can be applied.
func (w *world) still() {
	w.Helper()
	for _, r := range []plane.Ref{transform, layer0, layer1} {
		o := w.server.Object(r)
		suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
		require.True(w, suspended, r)
		answered, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
		require.Equal(w, o.GetAnnotations()[meta.ReconcileRequestAnnotation], answered, r)
		require.NotEmpty(w, answered, r)
	}
	o := w.server.Object(application)
	_, automated, _ := unstructured.NestedMap(o.Object, "spec", "syncPolicy", "automated")
	require.False(w, automated)
	require.NotContains(w, o.GetAnnotations(), refresh)
}

// ended wants that nothing delivers any more, and that nothing delivered is gone.
func (w *world) ended() {
	w.Helper()
	require.Empty(w, w.specs())
	require.Empty(w, w.pruned)
	require.NotNil(w, w.server.Object(cluster))
	t, found, err := w.gitops.Lookup(w.Context())
	require.NoError(w, err)
	require.True(w, found)
	require.Equal(w, "pivot-1", t.Pivot)
	require.NotEmpty(w, t.Artifact)
}

// fragile is a registry that is cut off after some writes.
type fragile struct {
	artifact.Store
	w *world
}

func (f fragile) write() error {
	if f.w.left == 0 {
		return planetest.ErrKilled
	}
	f.w.left--
	return nil
}

func (f fragile) Push(ctx context.Context, d ocispec.Descriptor, r io.Reader) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Store.Push(ctx, d, r)
}

func (f fragile) PushReference(ctx context.Context, d ocispec.Descriptor, r io.Reader, tag string) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Store.PushReference(ctx, d, r, tag)
}
