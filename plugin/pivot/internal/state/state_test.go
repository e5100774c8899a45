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

func TestAClusterMoves(t *testing.T) {
	w := newWorld(t, 2)
	var steps []Step
	s := w.coordinator()
	s.Report = func(e Event) {
		if e.Step != "" {
			steps = append(steps, e.Step)
		}
	}
	receipt, err := s.Run(t.Context())
	require.NoError(t, err)
	w.moved()
	require.Equal(t, []Step{Freezing, Frozen, Snapshotted, Staged, Imported, Verified, Committed, Activated, Confirmed, Done}, steps)
	require.Equal(t, len(w.refs), receipt.Objects)
	require.Equal(t, "https://target.test", receipt.Target.Server)
	require.False(t, receipt.Paused.IsZero())
	for _, server := range []*planetest.Server{w.source, w.target} {
		for _, o := range server.Objects() {
			if o.GetKind() == "ConfigMap" {
				require.NotContains(t, fmt.Sprint(o.Object), "Y2Eta2V5", "no secret is in a receipt")
				require.Empty(t, o.GetFinalizers())
			}
		}
	}
	_, err = w.coordinator().Run(t.Context())
	require.ErrorContains(t, err, "blue", "there is nothing more to move")
	again := w.coordinator()
	again.Resume = true
	receipt, err = again.Run(t.Context())
	require.NoError(t, err, "a pivot that is done is not an error for a run that goes on")
	require.Equal(t, Done, receipt.Step)
}

func TestAClusterMovesThereAndBack(t *testing.T) {
	w := newWorld(t, 1)
	_, err := w.coordinator().Run(t.Context())
	require.NoError(t, err)
	w.source, w.target = w.target, w.source
	for _, r := range w.refs {
		if r.Kind == "Machine" {
			w.source.Edit(r, "manager", func(o *unstructured.Unstructured) {
				o.Object["status"].(map[string]any)["nodeRef"] = map[string]any{"name": r.Name}
			})
		}
	}
	_, err = w.coordinator().Run(t.Context())
	require.NoError(t, err)
	w.moved()
}

// TestEveryKillConverges kills the process of either end before each of its writes, and
// after each of them so that the answer is lost.
func TestEveryKillConverges(t *testing.T) {
	for _, end := range []string{"source", "target"} {
		for _, when := range []string{"before", "after"} {
			t.Run(end+" "+when, func(t *testing.T) {
				points := 0
				for n := 0; ; n++ {
					w := newWorld(t, 1)
					victim := map[string]*planetest.Server{"source": w.source, "target": w.target}[end]
					if when == "before" {
						victim.Kill(n)
					} else {
						killAfter(victim, n)
					}
					_, err := w.coordinator().Run(t.Context())
					killed := victim.Revive()
					victim.After = nil
					if !killed {
						require.NoError(t, err)
						break
					}
					points++
					require.Error(t, err)
					w.invariants()
					require.NoError(t, w.resume(), "%s write %d", when, n)
					w.moved()
				}
				require.GreaterOrEqual(t, points, 18, "the points of the kill matrix")
				t.Logf("%d points", points)
			})
		}
	}
}

// killAfter loses the answer of write n, and all that comes after it.
func killAfter(s *planetest.Server, n int) {
	count := -1
	s.After = func(r planetest.Request) error {
		if r.Write() {
			count++
		}
		if r.Write() && count == n {
			s.Die()
			return planetest.ErrKilled
		}
		return nil
	}
}

// resume runs new processes until the pivot is done; one that an earlier one has undone is
// begun again.
func (w *world) resume() error {
	for range 3 {
		s := w.coordinator()
		s.Resume = true
		_, err := s.Run(w.t.Context())
		if err == nil || !errors.Is(err, ErrAborted) {
			return err
		}
		w.invariants()
	}
	return errors.New("it is undone again and again")
}

func TestEveryKillOfAnAbortConverges(t *testing.T) {
	for _, end := range []string{"source", "target"} {
		for _, when := range []string{"before", "after"} {
			for n := 0; ; n++ {
				w := newWorld(t, 1)
				w.until(Verified)
				victim := map[string]*planetest.Server{"source": w.source, "target": w.target}[end]
				if when == "before" {
					victim.Kill(n)
				} else {
					killAfter(victim, n)
				}
				_, err := w.coordinator().Abort(t.Context(), false)
				killed := victim.Revive()
				victim.After = nil
				if !killed {
					require.NoError(t, err)
					w.back()
					break
				}
				w.invariants()
				if _, err := w.coordinator().Abort(t.Context(), false); err != nil {
					require.ErrorContains(t, err, "no pivot", "%s write %d of the %s", when, n, end)
				}
				w.back()
			}
		}
	}
}

// until runs a pivot up to a step of the source, and no further.
func (w *world) until(step Step) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	s := w.coordinator()
	s.Report = func(e Event) {
		if e.Step == step {
			cancel()
		}
	}
	_, err := s.Run(ctx)
	require.ErrorIs(w.t, err, context.Canceled)
	require.Equal(w.t, step, w.receipt(w.source).Step)
}

func (w *world) receipt(s *planetest.Server) *Receipt {
	w.t.Helper()
	r, err := Read(w.t.Context(), w.plane("any", s), w.coordinator().Cluster)
	require.NoError(w.t, err)
	return r
}

func TestAbortUndoesEveryStepBeforeTheCommit(t *testing.T) {
	for _, step := range []Step{Freezing, Frozen, Snapshotted, Staged, Imported, Verified} {
		w := newWorld(t, 1)
		w.until(step)
		_, err := w.coordinator().Abort(t.Context(), false)
		require.NoError(t, err, step)
		w.back()
		_, err = w.coordinator().Run(t.Context())
		require.NoError(t, err, "a new pivot after %s", step)
		w.moved()
	}
	for _, step := range []Step{Committed, Activated, Confirmed} {
		w := newWorld(t, 1)
		w.until(step)
		_, err := w.coordinator().Abort(t.Context(), false)
		require.ErrorContains(t, err, "only go forward")
		_, err = w.coordinator().Abort(t.Context(), true)
		require.ErrorContains(t, err, "only go forward")
		require.NoError(t, w.resume())
		w.moved()
	}
}

func TestAPivotThatIsUnderWayNeedsResume(t *testing.T) {
	w := newWorld(t, 1)
	w.until(Staged)
	_, err := w.coordinator().Run(t.Context())
	require.ErrorIs(t, err, ErrUnfinished)
	require.ErrorContains(t, err, "--resume")
	w.invariants()
	other := w.coordinator()
	other.Resume = true
	third := planetest.New("third", planetest.ClusterAPI()...)
	third.Put(planetest.Object("v1", "Namespace", "", "kube-system"))
	other.Link = &Target{Plane: w.plane("third", third)}
	_, err = other.Run(t.Context())
	require.ErrorContains(t, err, "give the kubeconfig of the former")
	back := w.coordinator()
	back.Plane, back.Link = w.plane("target", w.target), &Target{Plane: w.plane("source", w.source)}
	_, err = back.Run(t.Context())
	require.ErrorIs(t, err, ErrUnfinished, "the target of one pivot is not the source of another")
}

func TestMessagesThatAreRepeatedReorderedAndLostConverge(t *testing.T) {
	for seed := range uint64(30) {
		w := newWorld(t, 1)
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // which ones
		var old []Request
		w.link = func(to Link) Link {
			return LinkFunc(func(ctx context.Context, r Request) (Response, error) {
				old = append(old, r)
				for range random.IntN(3) { // Late ones come before and after it.
					_, _ = to.Call(ctx, old[random.IntN(len(old))])
				}
				if random.IntN(4) == 0 {
					return Response{}, errors.New("the request is lost")
				}
				out, err := to.Call(ctx, r)
				_, _ = to.Call(ctx, old[random.IntN(len(old))])
				if random.IntN(4) == 0 {
					return Response{}, errors.New("the answer is lost")
				}
				w.invariants()
				return out, err
			})
		}
		require.NoError(t, w.resume(), "seed %d", seed)
		w.moved()
	}
}

func TestTwoCoordinatorsRace(t *testing.T) {
	for _, step := range []Step{Freezing, Frozen, Snapshotted, Staged, Imported, Verified, Committed, Activated, Confirmed} {
		w := newWorld(t, 1)
		first := w.coordinator()
		raced := false
		first.Report = func(e Event) {
			if e.Step == step && !raced {
				raced = true
				w.invariants()
				require.NoError(t, w.resume())
			}
		}
		_, err := first.Run(t.Context())
		require.True(t, raced)
		if err != nil {
			require.ErrorIs(t, err, ErrFenced, step)
		}
		w.moved()
	}
}

func TestACoordinatorIsOvertakenByAnAbort(t *testing.T) {
	for _, step := range []Step{Freezing, Frozen, Snapshotted, Staged, Imported, Verified} {
		w := newWorld(t, 1)
		first := w.coordinator()
		raced := false
		first.Report = func(e Event) {
			if e.Step == step && !raced {
				raced = true
				_, err := w.coordinator().Abort(t.Context(), false)
				require.NoError(t, err)
			}
		}
		_, err := first.Run(t.Context())
		require.ErrorIs(t, err, ErrFenced, step)
		w.back()
	}
}

func TestRequestsOfAnOlderEpochAreRefused(t *testing.T) {
	w := newWorld(t, 1)
	w.until(Verified)
	r := w.receipt(w.source)
	target := &Target{Plane: w.plane("target", w.target), Now: w.clock}
	for _, op := range []Op{Held, Stage, Seal, Import, Verify, Activate, Confirm, Finish, Prepare, Abort} {
		old := Request{Op: op, Pivot: r.ID, Epoch: r.Epoch - 1, Cluster: w.cluster, Round: r.Round, Digest: r.Digest, Chunks: r.Chunks, Source: &r.Source}
		out, err := target.Call(t.Context(), old)
		require.NoError(t, err)
		require.Equal(t, Fenced, out.Refused, op)
	}
	_, paused := w.paused(w.target)
	require.True(t, paused)
	out, err := target.Call(t.Context(), Request{Op: Activate, Pivot: r.ID, Epoch: r.Epoch, Cluster: w.cluster, Round: r.Round, Digest: "sha256:other"})
	require.NoError(t, err)
	require.Equal(t, Stale, out.Refused, "another snapshot is not activated")
	out, err = target.Call(t.Context(), Request{Op: "Guess", Pivot: r.ID, Epoch: r.Epoch, Round: r.Round, Cluster: w.cluster})
	require.NoError(t, err)
	require.Equal(t, Failed, out.Refused)
}

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
	require.ErrorContains(t, err, "change although it is paused")
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
		require.NoError(t, err)
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
		for _, step := range []Step{Freezing, Frozen, Staged, Imported} {
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
