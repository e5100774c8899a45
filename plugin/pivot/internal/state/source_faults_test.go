// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

func TestAChunkThatIsCorruptIsSentAgain(t *testing.T) {
	w := newWorld(t, 1)
	flipped := 0
	w.link = func(to Link) Link {
		return LinkFunc(func(ctx context.Context, r Request) (Response, error) {
			if r.Op == Stage && flipped == 0 {
				flipped++
				c := *r.Chunk
				c.Data = append([]byte("x"), c.Data[1:]...)
				r.Chunk = &c
			}
			return to.Call(ctx, r)
		})
	}
	_, err := w.coordinator().Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, flipped)
	w.moved()
}

func TestAStagedChunkThatIsChangedOrGoneIsSentAgain(t *testing.T) {
	damages := map[string]func(w *world, r plane.Ref){
		"changed": func(w *world, r plane.Ref) {
			w.target.Edit(r, "vandal", func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{chunkKey: "eA=="} })
		},
		"gone": func(w *world, r plane.Ref) { w.target.Remove(r) },
	}
	for name, damage := range damages {
		for _, step := range []Step{Staged, Imported, Verified, Committed, Activated} {
			w := newWorld(t, 1)
			w.until(step)
			for _, o := range w.target.Objects() {
				if o.GetLabels()[ChunkLabel] != "" {
					damage(w, plane.RefOf(o))
				}
			}
			require.NoError(t, w.resume(), "%s after %s", name, step)
			w.moved()
		}
	}
}

func TestAChangeOfTheSourceAfterTheSnapshotIsMoved(t *testing.T) {
	deployment := plane.Ref{Group: planetest.Core, Kind: "MachineDeployment", Namespace: "apps", Name: "blue-md"}
	for _, step := range []Step{Snapshotted, Staged, Imported} {
		w := newWorld(t, 1)
		s := w.coordinator()
		s.Report = func(e Event) {
			if e.Step == step {
				w.source.Edit(deployment, "user", func(o *unstructured.Unstructured) {
					o.SetAnnotations(map[string]string{"note": string(step)})
				})
			}
		}
		receipt, err := s.Run(t.Context())
		require.NoError(t, err)
		w.moved()
		require.Equal(t, string(step), w.target.Object(deployment).GetAnnotations()["note"])
		require.True(t, slices.ContainsFunc(receipt.Marks, func(m Mark) bool { return strings.Contains(m.Note, "MachineDeployment") }), "the receipt names it")
	}
}

func TestASourceThatNeverRestsIsLeftAlone(t *testing.T) {
	w := newWorld(t, 1)
	n := 0
	s := w.coordinator()
	s.Report = func(e Event) {
		if e.Step == Imported {
			n++
			w.source.Edit(w.cluster, "rogue", func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"n": fmt.Sprint(n)}) })
		}
	}
	_, err := s.Run(t.Context())
	require.ErrorIs(t, err, ErrAborted)
	var found inventory.Findings
	require.ErrorAs(t, err, &found)
	require.Len(t, found, 1)
	require.Equal(t, w.cluster, found[0].Ref)
	require.Contains(t, found[0].Problem, `changes on the source plane although its Cluster is paused, and was last written by "rogue" at `)
	w.back()
}

func TestAnObjectOfAnotherOnTheTargetIsNotTouched(t *testing.T) {
	w := newWorld(t, 1)
	machine := planetest.Object("v1", "Secret", "apps", "blue-ca")
	machine.Object["data"] = map[string]any{"tls.key": "b3RoZXI="}
	w.target.Put(machine)
	_, err := w.coordinator().Run(t.Context())
	var findings inventory.Findings
	require.ErrorAs(t, err, &findings)
	require.ErrorContains(t, err, "Secret apps/blue-ca")
	there, paused := w.paused(w.source)
	require.True(t, there && !paused)
	left := w.target.Object(plane.RefOf(machine))
	require.Equal(t, map[string]any{"tls.key": "b3RoZXI="}, left.Object["data"])
}

func TestAPausedClusterIsRefusedAndNamesWhatPausedIt(t *testing.T) {
	w := newWorld(t, 1)
	w.source.Edit(w.cluster, "clusterctl", func(o *unstructured.Unstructured) {
		o.Object["spec"].(map[string]any)["paused"] = true
	})
	_, err := w.coordinator().Run(t.Context())
	require.ErrorContains(t, err, "paused")
	require.Nil(t, w.receipt(w.source), "nothing is touched")
	require.Empty(t, w.target.Objects())
}

func TestTheSameClusterTwiceIsRefused(t *testing.T) {
	w := newWorld(t, 1)
	s := w.coordinator()
	s.Link = &Target{Plane: w.plane("target", w.source)}
	_, err := s.Run(t.Context())
	require.ErrorContains(t, err, "the same cluster")
}

func TestTakeover(t *testing.T) {
	silent := func(context.Context, string) error { return nil }
	t.Run("between commit and activation", func(t *testing.T) {
		w := newWorld(t, 1)
		w.until(Committed)
		target := &Target{Plane: w.plane("target", w.target), Now: w.clock}
		_, err := target.Takeover(t.Context(), w.coordinator().Cluster, "a test", func(context.Context, string) error { return errors.New("it answers 200 OK") })
		require.ErrorContains(t, err, "it answers 200 OK")
		_, paused := w.paused(w.target)
		require.True(t, paused)
		asked := ""
		receipt, err := target.Takeover(t.Context(), w.coordinator().Cluster, "its disks are gone", func(_ context.Context, server string) error {
			asked = server
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, "https://source.test", asked)
		require.True(t, receipt.TakenOver)
		note := receipt.Marks[len(receipt.Marks)-2].Note
		require.Contains(t, note, "tester")
		require.Contains(t, note, "its disks are gone")
		_, err = target.Takeover(t.Context(), w.coordinator().Cluster, "again", silent)
		require.ErrorIs(t, err, ErrStep)
		require.ErrorContains(t, err, "nothing to take over")
		require.NoError(t, w.resume(), "the source comes back, and goes forward")
		w.moved()
	})
	t.Run("a source that comes back before its commit goes forward, and aborts nothing", func(t *testing.T) {
		for _, abort := range []bool{false, true} {
			w := newWorld(t, 1)
			w.until(Verified)
			target := &Target{Plane: w.plane("target", w.target), Now: w.clock}
			_, err := target.Takeover(t.Context(), w.coordinator().Cluster, "a test", silent)
			require.NoError(t, err)
			w.invariants()
			if abort {
				_, err := w.coordinator().Abort(t.Context(), false)
				require.ErrorContains(t, err, "the target is active")
				w.invariants()
			}
			require.NoError(t, w.resume())
			w.moved()
		}
	})
	t.Run("refused", func(t *testing.T) {
		w := newWorld(t, 1)
		target := &Target{Plane: w.plane("target", w.target), Now: w.clock}
		_, err := target.Takeover(t.Context(), w.coordinator().Cluster, "a test", silent)
		require.ErrorContains(t, err, "no receipt")
		for _, step := range []Step{Freezing, Frozen, Snapshotted} {
			w := newWorld(t, 1)
			w.until(step)
			target := &Target{Plane: w.plane("target", w.target), Now: w.clock}
			_, err = target.Takeover(t.Context(), w.coordinator().Cluster, "a test", silent)
			require.Error(t, err)
			_, err = (&Target{Plane: w.plane("source", w.source)}).Takeover(t.Context(), w.coordinator().Cluster, "a test", silent)
			require.ErrorContains(t, err, "it is the source")
		}
	})
}

// TestATakeoverWithoutWhatWasStaged is refused with what to do by hand, and a source that comes
// back after that goes forward.
func TestATakeoverWithoutWhatWasStaged(t *testing.T) {
	w := newWorld(t, 1)
	w.until(Committed)
	w.unstage()
	before := w.receipt(w.target)
	target := &Target{Plane: w.plane("target", w.target), Now: w.clock}
	_, err := target.Takeover(t.Context(), w.coordinator().Cluster, "a test", func(context.Context, string) error { return nil })
	var found inventory.Findings
	require.ErrorAs(t, err, &found)
	require.Contains(t, found[0].Problem, "chunk 0 is missing")
	require.Contains(t, found[0].Advice, fmt.Sprintf("the %d objects", len(w.refs)))
	require.Equal(t, before, w.receipt(w.target), "nothing is written")

	w.target.Edit(w.receiptRef(), "kubectl", func(o *unstructured.Unstructured) {
		data := o.Object["data"].(map[string]any)
		data[receiptKey] = strings.Replace(data[receiptKey].(string), `"step": "Verified"`, `"step": "Active"`, 1)
	})
	marked := 0
	for _, o := range w.target.Objects() {
		if o.GetAnnotations()[snapshot.ImportAnnotation] != "" {
			marked++
			w.target.Edit(plane.RefOf(o), "kubectl", func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
		}
	}
	require.Equal(t, len(w.refs), marked)
	w.pause(w.target, false)
	w.invariants()
	_, err = w.coordinator().Abort(t.Context(), false)
	require.Error(t, err)
	require.NoError(t, w.resume())
	w.moved()
}

func TestAbortWithoutTheTarget(t *testing.T) {
	w := newWorld(t, 1)
	w.until(Verified)
	s := w.coordinator()
	s.Link = LinkFunc(func(context.Context, Request) (Response, error) { return Response{}, errDead })
	_, err := s.Abort(t.Context(), false)
	require.ErrorIs(t, err, errLink)
	require.ErrorIs(t, err, errDead)
	_, err = s.Abort(t.Context(), true)
	require.NoError(t, err)
	there, paused := w.paused(w.source)
	require.True(t, there && !paused)
	w.invariants()
	_, err = s.Abort(t.Context(), true)
	require.ErrorContains(t, err, "no pivot")
}

func TestANamespaceThatIsDeletedAfterTheCommitIsWaitedFor(t *testing.T) {
	for _, step := range []Step{Committed, Activated, Confirmed} {
		w := newWorld(t, 1)
		w.until(step)
		w.source.Terminate("apps")
		require.NotNil(t, w.receipt(w.source), "the receipt stays")
		require.NoError(t, w.resume(), step)
		w.moved()
		require.Nil(t, w.receipt(w.source), "the receipt goes with its namespace")
	}
}

func TestServersThatFailAtRandom(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, 2)
		random := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // which ones
		fail := func(r planetest.Request) error {
			if !r.Write() || random.IntN(4) > 0 {
				return nil
			}
			return []error{
				apierrors.NewConflict(schema.GroupResource{Resource: "things"}, r.Ref.Name, errors.New("a test")),
				apierrors.NewTooManyRequests("a test", 1), apierrors.NewInternalError(errors.New("etcdserver: leader changed")),
			}[random.IntN(3)]
		}
		w.source.Before, w.target.Before = fail, fail
		lose := func(r planetest.Request) error {
			if r.Write() && random.IntN(8) == 0 {
				return apierrors.NewTimeoutError("a test", 1)
			}
			return nil
		}
		w.source.After, w.target.After = lose, lose
		require.NoError(t, w.resume(), "seed %d", seed)
		w.source.Before, w.target.Before, w.source.After, w.target.After = nil, nil, nil, nil
		w.moved()
	}
}

func TestReceiptsThatCannotBeRead(t *testing.T) {
	w := newWorld(t, 1)
	broken := planetest.Object("v1", "ConfigMap", "apps", ReceiptName("blue"))
	broken.Object["data"] = map[string]any{"receipt.json": "{"}
	w.source.Put(broken)
	_, err := w.coordinator().Run(t.Context())
	require.ErrorContains(t, err, "is not a receipt of a pivot")
	for _, outline := range []string{"!", "eA=="} {
		w.source.Edit(plane.RefOf(broken), "vandal", func(o *unstructured.Unstructured) {
			o.Object["data"], o.Object["binaryData"] = map[string]any{"receipt.json": "{}"}, map[string]any{outlineKey: outline}
		})
		_, err = w.coordinator().Run(t.Context())
		require.ErrorContains(t, err, "outline.gz")
	}
}

func TestTheReceiptHasTheNamesOfThousandsOfObjects(t *testing.T) {
	entries := make([]snapshot.Entry, 2000)
	for i := range entries {
		entries[i] = snapshot.Entry{
			Ref: plane.Ref{Group: planetest.Core, Kind: "Machine", Namespace: "apps", Name: fmt.Sprintf("blue-md-0-%05d", i)},
			UID: fmt.Sprintf("%032x", rand.Uint64()), Digest: snapshot.Sum([]byte{byte(i), byte(i >> 8)}), //nolint:gosec // as good as any
		}
	}
	packed, err := pack(entries)
	require.NoError(t, err)
	require.Less(t, len(packed), maxOutline/4)
}

func TestATargetThatLosesAnObjectAfterItWasVerified(t *testing.T) {
	for _, step := range []Step{Verified, Committed} {
		w := newWorld(t, 1)
		w.until(step)
		w.target.Remove(plane.Ref{Group: planetest.Core, Kind: "MachineSet", Namespace: "apps", Name: "blue-md-0"})
		require.NoError(t, w.resume(), step)
		w.moved()
	}
}

func TestAnObjectThatIsCreatedOnTheSourceAfterTheCommit(t *testing.T) {
	w := newWorld(t, 1)
	w.until(Committed)
	late := planetest.Object("v1", "Secret", "apps", "late")
	late.SetLabels(map[string]string{planetest.ClusterName: "blue"})
	w.source.Put(late)
	err := w.resume()
	require.ErrorContains(t, err, "Secret apps/late: was created on the source after the commit")
	require.Equal(t, len(w.refs), w.has(w.source), "nothing is deleted")
	w.source.Remove(plane.RefOf(late))
	require.NoError(t, w.resume())
	w.moved()

	w = newWorld(t, 1)
	w.until(Committed)
	w.source.Put(late)
	s := w.coordinator()
	s.Resume, s.DiscardChanges = true, true
	_, err = s.Run(t.Context())
	require.NoError(t, err)
	w.moved()
	require.NotNil(t, w.source.Object(plane.RefOf(late)), "it is left")
}

// TestATargetThatIsDoneIsNotWrittenAgain: the source died before it could note that the target is
// done, which has given up its rights since.
func TestATargetThatIsDoneIsNotWrittenAgain(t *testing.T) {
	for _, step := range []Step{Committed, Activated, Confirmed} {
		w := newWorld(t, 1)
		w.until(step)
		before := w.source.Object(w.receiptRef())
		ctx, die := context.WithCancel(t.Context())
		w.link = func(to Link) Link {
			return LinkFunc(func(ctx context.Context, r Request) (Response, error) {
				out, err := to.Call(ctx, r)
				if r.Op == Finish {
					die()
				}
				return out, err
			})
		}
		s := w.coordinator()
		s.Resume = true
		_, err := s.Run(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, Done, w.receipt(w.target).Step)
		w.link = nil
		if step != Confirmed {
			// An etcd that is restored from a backup is older yet.
			w.source.Edit(w.receiptRef(), "restore", func(o *unstructured.Unstructured) { o.Object["data"] = before.Object["data"] })
		}
		w.target.Before = func(r planetest.Request) error {
			if r.Write() {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, r.Ref.Name, nil)
			}
			return nil
		}
		require.NoError(t, w.resume(), step)
		w.moved()
	}
}
