// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
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
		r, err := Read(w.t.Context(), s.Plane, s.Cluster)
		if err != nil {
			return err
		}
		if r != nil && r.Role == RoleSource && r.Step == Done {
			return nil
		}
		s.Resume = r != nil && !r.Step.Ended()
		_, err = s.Run(w.t.Context())
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

// TestTwoPivotsToDifferentTargets: both have found that nothing is under way before either
// writes its receipt.
func TestTwoPivotsToDifferentTargets(t *testing.T) {
	w := newWorld(t, 1)
	other := *w
	other.target = planetest.New("other", planetest.ClusterAPI()...)
	raced := false
	w.source.Before = func(r planetest.Request) error {
		if r.Ref == w.receiptRef() && r.Verb == "create" && !raced {
			raced = true
			_, err := other.coordinator().Run(t.Context())
			require.NoError(t, err)
		}
		return nil
	}
	_, err := w.coordinator().Run(t.Context())
	require.True(t, raced)
	require.ErrorIs(t, err, ErrFenced)
	require.ErrorContains(t, err, "look at it with `ropewalk pivot status`")
	other.moved()
	for _, r := range w.target.Requests() {
		require.False(t, r.Write(), "%s %s", r.Verb, r.Ref)
	}
}

// TestAProcessThatFailsAfterItWasOvertaken leaves the pivot to the other one.
func TestAProcessThatFailsAfterItWasOvertaken(t *testing.T) {
	w := newWorld(t, 1)
	first := w.coordinator()
	failing := LinkFunc(func(ctx context.Context, r Request) (Response, error) {
		if r.Op == Import {
			require.NoError(t, w.resume())
			return Response{Refused: Failed, Message: "a test"}, nil
		}
		return (&Target{Plane: w.plane("target", w.target), Now: w.clock}).Call(ctx, r)
	})
	first.Link = failing
	_, err := first.Run(t.Context())
	require.ErrorIs(t, err, ErrFenced)
	require.ErrorContains(t, err, "look at it with `ropewalk pivot status`")
	require.NotContains(t, err.Error(), "could not be undone")
	w.moved()
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
