// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

var (
	machine = ref(planetest.Core, "Machine", "blue-md-0-0")
	config  = ref(planetest.Bootstrap, "KubeadmConfig", "blue-md-0-0")
	set     = ref(planetest.Core, "MachineSet", "blue-md-0")
)

// entry is the one of an object.
func (w *world) entry(r plane.Ref) *snapshot.Entry {
	w.Helper()
	i := slices.IndexFunc(w.entries, func(e snapshot.Entry) bool { return e.Ref == r })
	require.GreaterOrEqual(w, i, 0, r.String())
	return &w.entries[i]
}

// writes are the requests that a server got, and that change something.
func writes(s *planetest.Server) []planetest.Request {
	return slices.DeleteFunc(s.Requests(), func(r planetest.Request) bool { return !r.Write() })
}

// set alters an entry's object.
func (w *world) alter(r plane.Ref, change func(*unstructured.Unstructured)) {
	w.Helper()
	e := w.entry(r)
	o, err := decode(e)
	require.NoError(w, err)
	change(o)
	e.Object, err = snapshot.Canonical(o)
	require.NoError(w, err)
	e.Digest = snapshot.Sum(e.Object)
}

// named is a Secret of the cluster without owners.
func named(name string) *unstructured.Unstructured {
	o := planetest.Object("v1", "Secret", "apps", name)
	o.SetLabels(map[string]string{planetest.ClusterName: "blue"})
	o.Object["data"] = map[string]any{"key": "aHVudGVyMg=="}
	return o
}

func TestImportCreatesOwnersFirstWithTheirUIDsAndAMark(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	w.imported()
	made := map[string]bool{"": true}
	for _, r := range writes(w.target) {
		require.Equal(t, "create", r.Verb)
		require.Equal(t, "Strict", r.Validation)
		require.Equal(t, "ropewalk-pivot", r.Manager)
		require.Equal(t, pivot+"/"+w.entry(r.Ref).UID, r.Object.GetAnnotations()[snapshot.ImportAnnotation])
		for _, owner := range r.Object.GetOwnerReferences() {
			require.True(t, made[string(owner.UID)], "%s is created after its owner %s, which the target gave the UID %q", r.Ref, owner.Name, owner.UID)
		}
		made[string(w.target.Object(r.Ref).GetUID())] = true
	}
	require.Len(t, made, 22)
}

func TestImportConverges(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.doImport())
	for name, edit := range map[string]func(o *unstructured.Unstructured){
		"label":     func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"new": "label"}) },
		"spec":      func(o *unstructured.Unstructured) { o.Object["spec"] = map[string]any{"clusterName": "red"} },
		"finalizer": func(o *unstructured.Unstructured) { o.SetFinalizers(nil) },
		"owner": func(o *unstructured.Unstructured) {
			owners := o.GetOwnerReferences()
			owners[0].UID = "of the source"
			o.SetOwnerReferences(owners)
		},
		"mark": func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{snapshot.ImportAnnotation: pivot + "/an object of before"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w.T = t
			w.target.Edit(machine, "other", func(o *unstructured.Unstructured) { edit(o); o.Object["status"] = map[string]any{"phase": "Running"} })
			before := len(writes(w.target))
			require.NoError(t, w.doImport())
			w.imported()
			after := writes(w.target)[before:]
			require.Equal(t, 1, len(after)-len(w.entries), "what does not differ is not written")
			require.Equal(t, "Strict", after[len(after)-1].Validation)
			require.Equal(t, map[string]any{"phase": "Running"}, w.target.Object(machine).Object["status"])
		})
	}
}

func TestImportRemovesWhatIsOfAnEarlierSnapshotOfThePivot(t *testing.T) {
	w := newWorld(t, named("blue-old"), named("other"))
	require.NoError(t, w.doImport())
	w.imported()
	w.source.Remove(secret("blue-old"))
	w.take()
	w.target.Put(named("foreign"))
	require.NoError(t, w.doImport())
	require.Nil(t, w.target.Object(secret("blue-old")))
	require.NotNil(t, w.target.Object(secret("foreign")), "what has no mark is left")
	w.target.Remove(secret("foreign"))
	w.imported()

	w.source.Remove(secret("other"))
	w.take()
	lost := errors.New("lost the lease")
	calls := 0
	err := Import(w.ctx, w.target.Plane(), w.kinds, w.entries, pivot, func(context.Context) error {
		if calls++; calls == len(stages(w.entries))+1 {
			return lost
		}
		return nil
	})
	require.ErrorIs(t, err, lost)
	require.NotNil(t, w.target.Object(secret("other")), "the fence is before the removal too")
}

func TestImportOverwritesNothingForeign(t *testing.T) {
	w := newWorld(t)
	foreign := func(r plane.Ref, mark string) *unstructured.Unstructured {
		o := planetest.Object(w.entry(r).APIVersion, r.Kind, r.Namespace, r.Name)
		o.Object["data"] = map[string]any{"not": "ours"}
		if mark != "" {
			o.SetAnnotations(map[string]string{snapshot.ImportAnnotation: mark})
		}
		return o
	}
	deleted := foreign(config, pivot+"/u")
	deleted.SetFinalizers([]string{"x/y"})
	now := metav1.Now()
	deleted.SetDeletionTimestamp(&now)
	w.target.Put(foreign(secret("blue-ca"), ""), foreign(machine, "p0/u"), foreign(set, "no pivot"), deleted)
	before := w.target.Objects()
	require.Equal(t, []string{
		"KubeadmConfig.bootstrap.cluster.x-k8s.io apps/blue-md-0-0: is being deleted from the target plane: see what deletes it, and stop that; then remove its finalizers with kubectl, which deletes this copy and no machine, and go on with `ropewalk pivot run --resume`: it is imported again",
		`Machine.cluster.x-k8s.io apps/blue-md-0-0: is being imported to the target plane by pivot "p0": let that pivot end, or abort it`,
		`MachineSet.cluster.x-k8s.io apps/blue-md-0: is being imported to the target plane by pivot "no pivot": let that pivot end, or abort it`,
		"Secret apps/blue-ca: is on the target plane already, and not from this pivot: delete it there if it is not needed, or choose another target",
	}, sortedLines(w.findings(w.doImport())))
	require.Empty(t, writes(w.target))
	require.Equal(t, before, w.target.Objects())
}

func sortedLines(err error) []string {
	lines := strings.Split(err.Error(), "\n")
	slices.Sort(lines)
	return lines
}

func TestImportDoesNotOverwriteWhatIsCreatedMeanwhile(t *testing.T) {
	w := newWorld(t)
	var once sync.Once
	w.target.Before = func(r planetest.Request) error {
		if r.Verb == "create" && r.Ref == cluster {
			once.Do(func() { w.target.Put(named("blue-ca")) })
		}
		return nil
	}
	require.Equal(t, secret("blue-ca"), w.findings(w.doImport())[0].Ref)
	require.Equal(t, map[string]any{"key": "aHVudGVyMg=="}, w.target.Object(secret("blue-ca")).Object["data"])
	require.Nil(t, w.target.Object(machine), "it ended after the depth")

	require.NoError(t, w.doDiscard())
	require.Len(t, w.target.Objects(), 1)
}

func TestAnEntryThatStaysMayBeThereAsItIs(t *testing.T) {
	shared := secret("shared")
	w := newWorld(t, named("shared"))
	w.entry(shared).Stays = true
	w.target.Put(named("shared"))
	require.NoError(t, w.doImport())
	w.imported()
	require.Empty(t, w.target.Object(shared).GetAnnotations())

	require.NoError(t, w.doActivate())
	require.NoError(t, w.doDelete())
	require.Len(t, w.source.Objects(), 1, "it is left on the source")

	w = newWorld(t, named("shared"))
	w.entry(shared).Stays = true
	w.target.Put(named("shared"))
	w.target.Edit(shared, "other", func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{"more": "labels"})
		o.Object["data"] = map[string]any{"key": "b3RoZXI="}
	})
	require.EqualError(t, w.doImport(), "Secret apps/shared: is on the target plane already, and differs at data.key, metadata.labels.cluster.x-k8s.io/cluster-name, metadata.labels.more: "+
		"make both the same, or rename one of them")

	w.target.Remove(shared)
	require.NoError(t, w.doImport())
	w.imported()
	require.NotEmpty(t, w.target.Object(shared).GetAnnotations(), "it is ours where it was not there")
	require.NoError(t, w.doDiscard())
	require.Empty(t, w.target.Objects())
}

func TestImportRefusesWhatIsUnfit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"a Cluster that is not paused": {func(w *world) {
			w.alter(cluster, func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "paused") })
		}, "Cluster.cluster.x-k8s.io apps/blue: is not paused in the snapshot: abort the pivot, and begin it again"},
		"no Cluster": {func(w *world) {
			w.entries = slices.DeleteFunc(w.entries, func(e snapshot.Entry) bool { return e.Ref.Kind != "Secret" })
			w.entries = slices.DeleteFunc(w.entries, func(e snapshot.Entry) bool { return len(e.Object) > 0 })
		}, "the snapshot has 0 Clusters, expected 1: abort the pivot, and begin it again"},
		"a kind that is not served": {func(w *world) { delete(w.kinds, machine.GroupKind()) }, `version "cluster.x-k8s.io/v1beta2" of its kind is not served by the target plane: install its provider, or upgrade it`},
		"an owner that is not in it": {func(w *world) {
			w.entries = slices.DeleteFunc(w.entries, func(e snapshot.Entry) bool { return e.Ref == set })
		}, "Machine.cluster.x-k8s.io apps/blue-md-0-0: its owner MachineSet.cluster.x-k8s.io apps/blue-md-0 is not in the snapshot before it: abort the pivot, and begin it again"},
		"an owner that comes later": {func(w *world) { w.entry(set).Depth = 9 }, "apps/blue-md-0-0: its owner MachineSet.cluster.x-k8s.io apps/blue-md-0 is not in the snapshot before it"},
		"no JSON":                   {func(w *world) { w.entry(secret("blue-ca")).Object = []byte(`{"data":{"key":"aHVudGVyMg==`) }, "Secret apps/blue-ca: corrupt: its snapshot is no object"},
		"no object":                 {func(w *world) { w.entry(secret("blue-ca")).Object = []byte(`{"data":{"key":"aHVudGVyMg=="}}`) }, "Secret apps/blue-ca: corrupt: its snapshot is no object"},
		"another object": {func(w *world) { w.entry(secret("blue-ca")).Object = w.entry(secret("blue-kubeconfig")).Object },
			"Secret apps/blue-ca: corrupt: its snapshot is of Secret apps/blue-kubeconfig in v1, expected v1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.change(w)
			err := w.doImport()
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "aHVudGVyMg")
		})
	}
}

func TestTheFenceIsBeforeEachDepthAndEvery32Objects(t *testing.T) {
	var extra []*unstructured.Unstructured
	for i := range 40 {
		extra = append(extra, named(fmt.Sprintf("secret-%02d", i)))
	}
	w := newWorld(t, extra...)
	var at []int
	require.NoError(t, Import(w.ctx, w.target.Plane(), w.kinds, w.entries, pivot, func(context.Context) error {
		at = append(at, len(writes(w.target)))
		return nil
	}))
	require.Equal(t, []int{0, 1, 33, 46, 50, 54, 59}, at)

	w = newWorld(t, extra...)
	lost := errors.New("lost the lease")
	calls := 0
	err := Import(w.ctx, w.target.Plane(), w.kinds, w.entries, pivot, func(context.Context) error {
		if calls++; calls == 3 {
			return lost
		}
		return nil
	})
	require.ErrorIs(t, err, lost)
	require.Len(t, writes(w.target), 33)
}

func TestImportTakesFaultsOfTheServer(t *testing.T) {
	w := newWorld(t)
	random := rand.New(rand.NewPCG(1, 2))
	gr := schema.GroupResource{Resource: "things"}
	faults := func(planetest.Request) error {
		switch random.IntN(10) {
		case 0:
			return apierrors.NewConflict(gr, "thing", errors.New("injected"))
		case 1:
			return apierrors.NewTooManyRequests("injected", 1)
		case 2:
			return apierrors.NewInternalError(errors.New("injected"))
		}
		return nil
	}
	// A list and a read may not be answered with a conflict.
	w.target.Before = func(r planetest.Request) error {
		if err := faults(r); err != nil && (r.Write() || !apierrors.IsConflict(err)) {
			return err
		}
		return nil
	}
	w.target.After = func(r planetest.Request) error {
		if err := faults(r); err != nil && !apierrors.IsConflict(err) {
			return err
		}
		return nil
	}
	require.NoError(t, w.doImport())
	w.imported()
	require.NoError(t, w.doImport())
	require.NoError(t, w.doActivate())
	w.source.Before, w.source.After = w.target.Before, w.target.After
	require.NoError(t, w.doDelete())
	require.Empty(t, w.source.Objects())
}

func TestErrorsShowNoSecrets(t *testing.T) {
	const plain, coded = "ca-key", "Y2Eta2V5"
	gk := schema.GroupKind{Group: planetest.Core, Kind: "Machine"}
	forms := []error{
		apierrors.NewInvalid(gk, "blue", field.ErrorList{field.Invalid(field.NewPath("spec", "files").Index(0), plain, "must be "+coded)}),
		apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "blue-ca", fmt.Errorf("webhook does not like %q or %s", plain, coded)),
		&apierrors.StatusError{ErrStatus: metav1.Status{Status: "Failure", Reason: metav1.StatusReasonInvalid, Code: 422, Message: "it is " + plain}},
	}
	for i, form := range forms {
		w := newWorld(t)
		w.target.Before = func(r planetest.Request) error {
			if r.Write() && r.Ref == secret("blue-ca") {
				return form
			}
			return nil
		}
		err := w.doImport()
		require.ErrorIs(t, err, form)
		require.ErrorContains(t, err, "target plane: importing Secret apps/blue-ca: ")
		require.NotContains(t, err.Error(), plain)
		require.NotContains(t, err.Error(), coded)
		if i == 0 {
			require.ErrorContains(t, err, "the server rejects it as invalid: spec.files[0] (FieldValueInvalid)")
		}
	}
}

func TestAClusterMoves(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, AwaitPaused(w.ctx, w.source.Plane(), w.kinds, w.set.Items, time.Second))
	require.NoError(t, w.doImport())
	w.imported()
	require.NoError(t, w.doActivate())
	w.target.Observe()
	require.NoError(t, AwaitActive(w.ctx, w.target.Plane(), w.kinds, w.entries, time.Second))
	for _, o := range w.target.Objects() {
		require.NotContains(t, o.GetAnnotations(), snapshot.ImportAnnotation)
	}
	require.False(t, isPaused(w.target.Object(cluster)))
	var steps [][2]int
	require.NoError(t, Delete(w.ctx, w.source.Plane(), w.kinds, snapshot.Outline(w.entries), false, open, func(done, of int) { steps = append(steps, [2]int{done, of}) }))
	require.Empty(t, w.source.Objects())
	require.Len(t, steps, len(w.entries))
	require.Equal(t, [2]int{21, 21}, steps[20])
	require.Empty(t, w.target.Collect())
	require.Len(t, w.target.Objects(), 21)
}
