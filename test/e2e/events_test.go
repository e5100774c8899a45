// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Prefixes of the metadata of an event: that of the group of its object, and that of
// annotations, which the notification-controller leaves in place.
const (
	sourceNotes = "source.toolkit.fluxcd.io/"
	eventNotes  = "event.toolkit.fluxcd.io/"
)

// notified is an event as the notification-controller of Flux takes it; see the CRD
// reference of Flux for events, v1beta1.
type notified struct {
	InvolvedObject struct {
		Kind, Namespace, Name, UID, APIVersion, ResourceVersion string
	}
	Severity, Timestamp, Message, Reason   string
	Metadata                               map[string]string
	ReportingController, ReportingInstance string

	// fields are the paths that were there in JSON.
	fields []string
}

// listener takes events as the notification-controller does, and keeps them.
type listener struct {
	url string

	mu     sync.Mutex
	events []notified
}

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		var e notified
		var raw struct {
			InvolvedObject map[string]any `json:"involvedObject"`
		}
		top := map[string]any{}
		if err != nil || json.Unmarshal(data, &e) != nil || json.Unmarshal(data, &raw) != nil || json.Unmarshal(data, &top) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		e.fields = slices.Sorted(maps.Keys(top))
		for _, name := range slices.Sorted(maps.Keys(raw.InvolvedObject)) {
			e.fields = append(e.fields, "involvedObject."+name)
		}
		l.mu.Lock()
		l.events = append(l.events, e)
		l.mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(server.Close)
	l.url = server.URL + "/"
	return l
}

// of are the events of a controller about an object of a namespace, Kind/name.
func (l *listener) of(controller, namespace, object string) []notified {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []notified
	for _, e := range l.events {
		if e.ReportingController == controller && e.InvolvedObject.Namespace == namespace && e.InvolvedObject.Kind+"/"+e.InvolvedObject.Name == object {
			out = append(out, e)
		}
	}
	return out
}

// await waits for an event with a reason that is as wanted.
func (l *listener) await(t *testing.T, c *Cluster, controller, namespace, object, reason string, is func(notified) bool) notified {
	t.Helper()
	var found notified
	defer func() {
		if t.Failed() {
			for _, e := range l.of(controller, namespace, object) {
				t.Logf("%s %s: %s %v", e.Severity, e.Reason, e.Message, e.Metadata)
			}
		}
	}()
	c.Await(t, soon, fmt.Sprintf("%s says %s of %s", controller, reason, object), func() bool {
		all := l.of(controller, namespace, object)
		i := slices.IndexFunc(all, func(e notified) bool { return e.Reason == reason && is(e) })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// TestEventsAreThoseThatFluxSends compares the events about one OCIRepository: those of
// source-controller, of kustomize-controller about what is applied from it, and ours.
func TestEventsAreThoseThatFluxSends(t *testing.T) {
	n, l := newTenant(t), listen(t)
	n.controller.Kill()
	n.controller = startReplica(t, n.Cluster, "ropewalk-controller-events", "--events-addr="+l.url)
	n.Flags(t, n.SourceController, "--events-addr="+l.url)
	n.Flags(t, n.KustomizeController, "--events-addr="+l.url)
	repository := n.Git(t)
	commit := func(text string) string {
		files := project(text)
		for name, text := range files { // Flux wants every object to say where it is
			files[name] = strings.NewReplacer("#Input: text", "context: {namespace: string, ...}\n#Input: text",
				`metadata: name: "greeting"`, `metadata: {name: "greeting", namespace: context.namespace}`).Replace(text)
		}
		return repository.Commit(files)
	}
	pull := func(hash string) {
		n.Kubectl(t, "annotate", "-n", n.namespace, "gitrepository", "app", "reconcile.fluxcd.io/requestedAt="+hash, "--overwrite")
	}
	const own, repo = "ropewalk-controller", "OCIRepository/app-layer-00"
	whatever := func(notified) bool { return true }
	failed := func(revision string) func(notified) bool {
		return func(e notified) bool { return e.Metadata[sourceNotes+"revision"] == revision }
	}

	// What was never published has nothing in the cluster yet, and is told of all the same.
	first := commit("3")
	n.Apply(t, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: app, namespace: `+n.namespace+`}
spec: {url: "`+repository.URL+`", interval: 1h, ref: {branch: main}}
---
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: app, namespace: `+n.namespace+`, annotations: {event.toolkit.fluxcd.io/change_request: "7"}}
spec:
  sourceRef: {kind: GitRepository, name: app, path: app}
  output: {oci: {repository: "oci://`+n.Registry+`/`+n.namespace+`/app", insecure: true}}
`)
	broken := l.await(t, n.Cluster, own, n.namespace, repo, "Invalid", failed("main@sha1:"+first))
	require.Equal(t, "error", broken.Severity)
	require.Equal(t, "7", broken.Metadata[eventNotes+"change_request"])

	good := commit("hello")
	pull(good)
	n.ready("app")
	ours := l.await(t, n.Cluster, own, n.namespace, repo, "ReconciliationSucceeded", whatever)
	theirs := l.await(t, n.Cluster, "source-controller", n.namespace, repo, "NewArtifact", whatever)
	applied := l.await(t, n.Cluster, "kustomize-controller", n.namespace, "Kustomization/app-layer-00", "ReconciliationSucceeded", whatever)

	sameSchema(t, n, theirs, ours)
	require.Equal(t, applied.Metadata["kustomize.toolkit.fluxcd.io/originRevision"], ours.Metadata[sourceNotes+"originRevision"])
	require.Equal(t, "main@sha1:"+good, ours.Metadata[sourceNotes+"originRevision"])
	require.Equal(t, "7", ours.Metadata[eventNotes+"change_request"])
	about := l.await(t, n.Cluster, own, n.namespace, "Transform/app", "ReconciliationSucceeded", whatever)
	require.Equal(t, "ropewalk.dev/v1alpha1", about.InvolvedObject.APIVersion)
	require.Equal(t, string(n.get("app").UID), about.InvolvedObject.UID)
	require.Equal(t, "main@sha1:"+good, about.Metadata["ropewalk.dev/originRevision"])

	// Whoever sets commit statuses must not put the failure of one down to the one before.
	bad := commit("4")
	pull(bad)
	broken = l.await(t, n.Cluster, own, n.namespace, repo, "Invalid", failed("main@sha1:"+bad))
	require.Equal(t, "error", broken.Severity)
	require.NotContains(t, fmt.Sprint(broken.Metadata), good)
	require.Contains(t, broken.Message, "app/greeting.yaml:5:")

	// A commit that changes nothing is for commit statuses alone, and no chat hears of it.
	pull(commit("hello"))
	n.ready("app")
	same := repository.Commit(map[string]string{"README.md": "hello"})
	pull(same)
	told := l.await(t, n.Cluster, own, n.namespace, repo, "Published", func(e notified) bool {
		return e.Metadata[sourceNotes+"originRevision"] == "main@sha1:"+same
	})
	require.Equal(t, "update", told.Metadata[sourceNotes+"commit_status"])
	require.Equal(t, "info", told.Severity)
	require.Empty(t, ours.Metadata[sourceNotes+"commit_status"])

	l.prefixed(t, own, n.namespace, repo)
	l.prefixed(t, own, n.namespace, "Transform/app")
	allowed(t, n.controller)
}

// sameSchema compares our event about the OCIRepository with that of source-controller.
func sameSchema(t *testing.T, n *tenant, theirs, ours notified) {
	t.Helper()
	t.Logf("ours:   %+v", ours)
	t.Logf("theirs: %+v", theirs)
	require.Equal(t, theirs.fields, ours.fields)
	require.Equal(t, theirs.Severity, ours.Severity)
	require.Equal(t, theirs.ReportingInstance, ours.ReportingInstance, "the name of the host")
	_, err := time.Parse(time.RFC3339, ours.Timestamp)
	require.NoError(t, err)
	var live sourcev1.OCIRepository
	require.NoError(t, n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: ours.InvolvedObject.Name}, &live))
	require.Equal(t, string(live.UID), ours.InvolvedObject.UID)
	ours.InvolvedObject.ResourceVersion, theirs.InvolvedObject.ResourceVersion = "", ""
	require.Equal(t, theirs.InvolvedObject, ours.InvolvedObject)
	require.Equal(t, theirs.Metadata[sourceNotes+"revision"], ours.Metadata[sourceNotes+"revision"])
}

// prefixed fails where metadata of an event would be left out by the
// notification-controller.
func (l *listener) prefixed(t *testing.T, controller, namespace, object string) {
	t.Helper()
	for _, e := range l.of(controller, namespace, object) {
		group, _, _ := strings.Cut(e.InvolvedObject.APIVersion, "/")
		for _, key := range slices.Sorted(maps.Keys(e.Metadata)) {
			require.True(t, strings.HasPrefix(key, group+"/") || strings.HasPrefix(key, eventNotes), "%s of %s is left out", key, object)
		}
		require.Contains(t, []string{"info", "error"}, e.Severity)
	}
}
