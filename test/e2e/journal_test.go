// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// journal is what has happened in a namespace since it was begun, as watches tell
// it: each object that was there, and each change of it.
type journal struct {
	mu      sync.Mutex
	changes []change
	broken  error // why a watch ended early
}

// change is one change of an object.
type change struct {
	kind   watch.EventType
	object *unstructured.Unstructured // as it is after the change
	// revision is that of the store. All kinds share its count, so that it says
	// which of two changes came first, where times of objects have whole seconds.
	revision uint64
	at       time.Time // when the watch told
}

func (c change) identity() identity { return identify(c.object) }

func identify(object *unstructured.Unstructured) identity {
	kind := object.GroupVersionKind()
	return identity{kind.Group, kind.Kind, object.GetNamespace(), object.GetName()}
}

// journal begins one of objects of some kinds in a namespace, and of the namespace.
// It ends with the test.
func (c *Cluster) journal(t testing.TB, namespace string, kinds ...schema.GroupVersionKind) *journal {
	t.Helper()
	watcher, err := client.NewWithWatch(c.Config, client.Options{Scheme: c.Client.Scheme(), Mapper: c.Client.RESTMapper()})
	require.NoError(t, err)
	j := &journal{}
	for _, kind := range kinds {
		scope := client.ListOption(client.InNamespace(namespace))
		if kind.Kind == "Namespace" {
			scope = client.MatchingFields{"metadata.name": namespace}
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		changes, err := watcher.Watch(t.Context(), list, scope)
		require.NoError(t, err, "%s", kind)
		go func() {
			for event := range changes.ResultChan() {
				j.take(event)
			}
			if t.Context().Err() == nil {
				j.fail(fmt.Errorf("the watch of %s has ended", kind))
			}
		}()
	}
	return j
}

func (j *journal) take(event watch.Event) {
	object, ok := event.Object.(*unstructured.Unstructured)
	if !ok || event.Type == watch.Error {
		j.fail(fmt.Errorf("a watch says %v", event.Object))
		return
	}
	revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		j.fail(err)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.changes = append(j.changes, change{event.Type, object, revision, time.Now()})
}

func (j *journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.broken = err
}

// all are the changes until now, the first that was told first.
func (j *journal) all(t testing.TB) []change {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	require.NoError(t, j.broken)
	return append([]change{}, j.changes...)
}

// first is the first change after which an object is as is says, nil where there
// is none.
func (j *journal) first(t testing.TB, of identity, is func(*unstructured.Unstructured) bool) *change {
	t.Helper()
	for _, c := range j.all(t) {
		if c.identity() == of && c.kind != watch.Deleted && is(c.object) {
			return &c
		}
	}
	return nil
}

// created is the change that made an object.
func (j *journal) created(t testing.TB, of identity) change {
	t.Helper()
	c := j.first(t, of, func(*unstructured.Unstructured) bool { return true })
	require.NotNil(t, c, "%s was never there", of)
	require.Equal(t, watch.Added, c.kind, "%s", of)
	return *c
}

// uids are those of all objects that are there.
func (j *journal) uids(t testing.TB) map[identity]types.UID {
	t.Helper()
	out := map[identity]types.UID{}
	for _, c := range j.all(t) {
		if c.kind == watch.Deleted {
			delete(out, c.identity())
		} else {
			out[c.identity()] = c.object.GetUID()
		}
	}
	return out
}

// deletions are the objects that went away, or were asked to.
func (j *journal) deletions(t testing.TB) (out []string) {
	t.Helper()
	for _, c := range j.all(t) {
		if c.kind == watch.Deleted || c.object.GetDeletionTimestamp() != nil {
			out = append(out, c.identity().String())
		}
	}
	return out
}

// kindsOf are the kinds of a render, and further ones of the core and of apps that
// controllers make of it.
func kindsOf(objects []*unstructured.Unstructured, more ...schema.GroupVersionKind) (out []schema.GroupVersionKind) {
	seen := map[schema.GroupVersionKind]bool{}
	for _, object := range objects {
		if kind := object.GroupVersionKind(); !seen[kind] {
			seen[kind] = true
			out = append(out, kind)
		}
	}
	return append(out, more...)
}

// TestAJournalTellsWhatWasMadeChangedAndDeleted: what others prove by a journal
// rests on this.
func TestAJournalTellsWhatWasMadeChangedAndDeleted(t *testing.T) {
	c := Shared(t)
	namespace := c.Namespace(t)
	c.Kubectl(t, "create", "configmap", "before", "-n", namespace)
	j := c.journal(t, namespace, corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Namespace"))
	c.Kubectl(t, "create", "configmap", "one", "-n", namespace)
	c.Kubectl(t, "label", "configmap", "one", "-n", namespace, "changed=yes")
	c.Kubectl(t, "create", "configmap", "two", "-n", namespace)

	of := func(name string) identity { return identity{"", "ConfigMap", namespace, name} }
	changed := func(object *unstructured.Unstructured) bool { return object.GetLabels()["changed"] == "yes" }
	c.Await(t, soon, "all of it is told", func() bool {
		uids := j.uids(t)
		return uids[of("two")] != "" && uids[of("before")] != "" && uids[identity{"", "Namespace", "", namespace}] != ""
	})
	require.Less(t, j.created(t, of("one")).revision, j.first(t, of("one"), changed).revision)
	require.Less(t, j.first(t, of("one"), changed).revision, j.created(t, of("two")).revision)
	require.Empty(t, j.deletions(t))

	c.Kubectl(t, "delete", "configmap", "one", "-n", namespace)
	c.Await(t, soon, "the deletion is told", func() bool { return len(j.deletions(t)) > 0 })
	require.Equal(t, "ConfigMap/one", j.deletions(t)[0])
	require.NotContains(t, j.uids(t), of("one"))
}
