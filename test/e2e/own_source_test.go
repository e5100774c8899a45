// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// repositoryOf returns the GitRepository of a name, or nil.
func (n *tenant) repositoryOf(name string) *sourcev1.GitRepository {
	n.t.Helper()
	out := &sourcev1.GitRepository{}
	err := n.Client.Get(n.t.Context(), client.ObjectKey{Namespace: n.namespace, Name: name}, out)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(n.t, err)
	return out
}

// TestATransformHasASourceOfItsOwn registers a Git repository with a Transform: the GitRepository
// is made, follows the spec, is made again, and goes with the Transform.
func TestATransformHasASourceOfItsOwn(t *testing.T) {
	n := newTenant(t)
	repository := n.Git(t)
	repository.Commit(fluxProject("one"))
	registered := func(name, git string) {
		t.Helper()
		n.Apply(t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  source: {git: {%[3]s}, path: app}
  output: {oci: {repository: "oci://%[4]s/%[2]s/%[1]s", insecure: true}}
`, name, n.namespace, git, n.Registry))
	}
	main := fmt.Sprintf("url: %q, ref: {branch: main}, interval: 1h", repository.URL)
	registered("app", main)
	n.ready("app")
	made := n.repositoryOf("app")
	require.Equal(t, repository.URL, made.Spec.URL)
	require.Equal(t, "main", made.Spec.Reference.Branch)
	require.Equal(t, n.get("app").UID, made.OwnerReferences[0].UID)

	// A commit is rendered, and what a user deletes or changes comes back.
	hash := repository.Commit(fluxProject("two"))
	n.fetch(t, n.namespace, "app", hash)
	n.await("app", "has the commit", func(t *v1alpha1.Transform) bool { return strings.Contains(t.Status.Artifact.Revision, hash) })
	n.Kubectl(t, "delete", "-n", n.namespace, "gitrepository", "app")
	n.Await(t, soon, "it is made again", func() bool { now := n.repositoryOf("app"); return now != nil && now.UID != made.UID })
	n.Kubectl(t, "patch", "-n", n.namespace, "gitrepository", "app", "--type=merge", `-p={"spec": {"ref": {"branch": "other"}}}`)
	n.Await(t, soon, "it is corrected", func() bool { return n.repositoryOf("app").Spec.Reference.Branch == "main" })
	n.ready("app")

	// A source that is not Ready is the reason, with what Flux says of it.
	registered("app", strings.Replace(main, "main", "nowhere", 1))
	waiting := n.await("app", "waits for its source", func(t *v1alpha1.Transform) bool {
		return strings.Contains(jsonOf(n.t, t.Status.Conditions), v1alpha1.SourceNotReadyReason) && strings.Contains(jsonOf(n.t, t.Status.Conditions), "nowhere")
	})
	require.NotNil(t, waiting.Status.Artifact, "what was published stays")
	registered("app", main)
	n.ready("app")

	// One that somebody else made is not touched.
	n.gitRepository(t, n.namespace, "taken", repository.URL)
	registered("taken", strings.Replace(main, "1h", "30m", 1))
	refused := n.stalled("taken")
	require.Equal(t, v1alpha1.ForeignObjectsReason, refused.Reason)
	require.Contains(t, refused.Message, `GitRepository "taken" exists already`)
	require.Empty(t, n.repositoryOf("taken").OwnerReferences)

	// Both kinds of sources are refused.
	object := decode(t, []byte(fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: both, namespace: %s}
spec:
  source: {git: {url: "https://example.com/a"}}
  sourceRef: {kind: GitRepository, name: a}
`, n.namespace)))[0]
	require.ErrorContains(t, n.Client.Create(t.Context(), object), "source makes a GitRepository, and sourceRef names one that is there: take one of them away")

	// It goes with the Transform.
	n.Kubectl(t, "delete", "-n", n.namespace, "transform", "app", "--wait=false")
	n.Await(t, soon, "the source is gone", func() bool { return n.repositoryOf("app") == nil })
	require.NotNil(t, n.repositoryOf("taken"))
	allowed(t, n.controller)
}
