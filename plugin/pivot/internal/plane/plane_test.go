// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

var gr = schema.GroupResource{Group: planetest.Core, Resource: "machines"}

func conflict() error { return apierrors.NewConflict(gr, "m", errInjected) }

func TestRequestsAreRepeatedWhileTheServerMayRecover(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		err   error
		again bool
	}{
		"429":                {apierrors.NewTooManyRequests("injected", 0), true},
		"500":                {apierrors.NewInternalError(errInjected), true},
		"503":                {apierrors.NewServiceUnavailable("injected"), true},
		"server timeout":     {apierrors.NewServerTimeout(gr, "get", 1), true},
		"timeout":            {apierrors.NewTimeoutError("injected", 1), true},
		"connection refused": {&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, true},
		"connection reset":   {fmt.Errorf("read: %w", syscall.ECONNRESET), true},
		"broken pipe":        {fmt.Errorf("write: %w", syscall.EPIPE), true},
		"EOF":                {io.EOF, true},
		"unexpected EOF":     {fmt.Errorf("body: %w", io.ErrUnexpectedEOF), true},
		"deadline":           {os.ErrDeadlineExceeded, true},
		"http2":              {errors.New("http2: client connection lost"), true},
		"stream reset":       {&url.Error{Op: "Get", Err: http2.StreamError{StreamID: 57, Code: http2.ErrCodeInternal}}, true},
		"400":                {apierrors.NewBadRequest("injected"), false},
		"403":                {apierrors.NewForbidden(gr, "m", errInjected), false},
		"404":                {apierrors.NewNotFound(gr, "m"), false},
		"409":                {conflict(), false},
		"422":                {apierrors.NewInvalid(schema.GroupKind{}, "m", nil), false},
		"another":            {errInjected, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := server()
			s.Before = failing("get", c.err, c.err)
			p, slept := sleeper(s, time.Hour)
			_, err := p.Get(ctx, machines, ref)
			require.Equal(t, c.again, plane.IsTemporary(c.err))
			if c.again {
				require.NoError(t, err)
				require.Len(t, *slept, 2)
			} else {
				require.Equal(t, c.err, err)
				require.Empty(t, *slept)
			}
		})
	}
}

func TestPatienceEnds(t *testing.T) {
	s := server()
	down := apierrors.NewServiceUnavailable("injected")
	s.Before = func(planetest.Request) error { return down }
	p, slept := sleeper(s, 10*time.Second)
	_, err := p.Get(context.Background(), machines, ref)
	require.ErrorIs(t, err, down)
	ms := time.Millisecond
	require.Equal(t, []time.Duration{20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, 1280 * ms, 2000 * ms, 2000 * ms, 2000 * ms, 2000 * ms}, *slept)

	s.Before = failing("get", apierrors.NewTooManyRequests("injected", 1), apierrors.NewTooManyRequests("injected", 60))
	p, slept = sleeper(s, 10*time.Second)
	_, err = p.Get(context.Background(), machines, ref)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{time.Second, 2 * time.Second}, *slept, "the server says how long, up to a bound")

	ctx, cancel := context.WithCancel(context.Background())
	s.Before = func(planetest.Request) error { cancel(); return down }
	p, slept = sleeper(s, 10*time.Second)
	_, err = p.Get(ctx, machines, ref)
	require.ErrorIs(t, err, down)
	require.Empty(t, *slept)

	p = plane.New(s.Client(), plane.Options{Sleep: func(context.Context, time.Duration) error { return errInjected }})
	_, err = p.Get(context.Background(), machines, ref)
	require.ErrorIs(t, err, down, "the last error of the server says more than that of a sleep")
}

func TestALongWaitSaysWhatFor(t *testing.T) {
	s := server()
	s.Before = func(planetest.Request) error { return apierrors.NewServiceUnavailable("injected") }
	for patience, want := range map[time.Duration][]string{
		plane.Silence: nil,
		time.Minute:   {"waiting for the API server of the source plane, up to 1m0s: injected"}, // Once in ten seconds of the clock.
	} {
		var waits []string
		p := plane.New(s.Client(), plane.Options{
			Name: "source", Patience: patience, Waits: func(what string) { waits = append(waits, what) },
			Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		})
		_, err := p.Get(context.Background(), machines, ref)
		require.Error(t, err)
		require.Equal(t, want, waits)
	}
}

func TestSleepEndsWithItsTimeOrItsContext(t *testing.T) {
	p := plane.New(server().Client(), plane.Options{})
	require.NoError(t, p.Sleep(context.Background(), time.Millisecond))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, p.Sleep(ctx, time.Hour), context.Canceled)
}

func TestCreate(t *testing.T) {
	ctx := context.Background()
	s := server()
	s.Before = failing("create", conflict(), apierrors.NewServiceUnavailable("injected"))
	p, slept := sleeper(s, time.Hour)
	made, err := p.Create(ctx, machines, machine("n"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, made.GetUID())
	require.Len(t, *slept, 2, "nothing is there that it could be in conflict with")

	s.After = failing("create", apierrors.NewInternalError(errInjected))
	_, err = p.Create(ctx, machines, machine("o"), metav1.CreateOptions{})
	require.True(t, apierrors.IsAlreadyExists(err), "as after an answer that was lost")
	require.Len(t, *slept, 3)
}

func label(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) }

func TestUpdateReadsAgain(t *testing.T) {
	ctx := context.Background()
	s := server()
	p, slept := sleeper(s, time.Hour)
	edits, calls := 0, 0
	s.Before = func(r planetest.Request) error {
		if r.Verb == "update" && edits < 2 {
			edits++
			s.Edit(ref, "other", func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"edit": strconv.Itoa(edits)}) })
		}
		return nil
	}
	out, err := p.Update(ctx, machines, ref, metav1.UpdateOptions{FieldManager: "me"}, func(o *unstructured.Unstructured) error {
		calls++
		label(o)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 3, calls)
	require.Len(t, *slept, 2)
	require.Equal(t, map[string]string{"edit": "2"}, out.GetAnnotations(), "the change of another client is kept")
	require.Equal(t, map[string]string{"a": "b"}, s.Object(ref).GetLabels())

	requests := len(s.Requests())
	out, err = p.Update(ctx, machines, ref, metav1.UpdateOptions{}, func(*unstructured.Unstructured) error { return plane.ErrUnchanged })
	require.NoError(t, err)
	require.Equal(t, "m", out.GetName())
	require.Len(t, s.Requests(), requests+1, "nothing is written")
	_, err = p.Update(ctx, machines, ref, metav1.UpdateOptions{}, func(*unstructured.Unstructured) error { return errInjected })
	require.ErrorIs(t, err, errInjected)
	require.Len(t, s.Requests(), requests+2)
	_, err = p.Update(ctx, machines, plane.Ref{Kind: "Machine", Namespace: "apps", Name: "none"}, metav1.UpdateOptions{}, func(*unstructured.Unstructured) error { return nil })
	require.True(t, apierrors.IsNotFound(err))
}

func TestReplaceReturnsAConflict(t *testing.T) {
	ctx := context.Background()
	s := server()
	p, slept := sleeper(s, time.Hour)
	o, err := p.Get(ctx, machines, ref)
	require.NoError(t, err)
	label(o)
	s.Before = failing("update", apierrors.NewServiceUnavailable("injected"))
	out, err := p.Replace(ctx, machines, o)
	require.NoError(t, err)
	require.Len(t, *slept, 1)
	require.NotEqual(t, o.GetResourceVersion(), out.GetResourceVersion())
	_, err = p.Replace(ctx, machines, o)
	require.True(t, apierrors.IsConflict(err))
}

func TestDeleteHasPreconditions(t *testing.T) {
	ctx := context.Background()
	s := server()
	p, slept := sleeper(s, time.Hour)
	o := s.Object(ref)
	s.Edit(ref, "other", label)
	require.True(t, apierrors.IsConflict(p.Delete(ctx, machines, o)))
	again := s.Object(ref)
	again.SetUID("another")
	require.True(t, apierrors.IsConflict(p.Delete(ctx, machines, again)))
	o.SetResourceVersion("")
	s.After = failing("delete", apierrors.NewServiceUnavailable("injected"))
	require.NoError(t, p.Delete(ctx, machines, o), "without a version any is good; and gone is gone")
	require.Len(t, *slept, 1)
	require.Nil(t, s.Object(ref))
}

func TestRemoveWritesBeforeItDeletes(t *testing.T) {
	ctx := context.Background()
	release := func(o *unstructured.Unstructured) error {
		if len(o.GetFinalizers()) == 0 {
			return plane.ErrUnchanged
		}
		o.SetFinalizers(nil)
		return nil
	}
	s := server()
	hold := func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"x/y"}) }
	s.Edit(ref, "manager", hold)
	p, slept := sleeper(s, time.Hour)
	require.ErrorIs(t, p.Remove(ctx, machines, ref, metav1.UpdateOptions{}, func(*unstructured.Unstructured) error { return errInjected }), errInjected)
	require.NotNil(t, s.Object(ref))

	edits := 0
	s.Before = func(r planetest.Request) error {
		if (r.Verb == "update" || r.Verb == "delete") && edits < 3 {
			edits++
			s.Edit(ref, "manager", func(o *unstructured.Unstructured) {
				o.SetAnnotations(map[string]string{"edit": strconv.Itoa(edits)})
				hold(o)
			})
		}
		return nil
	}
	require.NoError(t, p.Remove(ctx, machines, ref, metav1.UpdateOptions{}, release))
	require.Nil(t, s.Object(ref))
	require.Len(t, *slept, 3)
	for _, r := range s.Requests() {
		if r.Verb == "delete" {
			require.NotEmpty(t, r.UID)
			require.NotEmpty(t, r.ResourceVersion)
		}
	}
	require.NoError(t, p.Remove(ctx, machines, ref, metav1.UpdateOptions{}, release), "gone is gone")
	s.Put(machine("m"))
	s.Terminate("apps")
	s.Put(machine("m"))
	s.Edit(ref, "manager", hold)
	s.Terminate("apps")
	require.NoError(t, p.Remove(ctx, machines, ref, metav1.UpdateOptions{}, release), "the write itself ends a deletion")
	require.Nil(t, s.Object(ref))
}

func TestListReadsAllPages(t *testing.T) {
	ctx := context.Background()
	s := server()
	for i := range 119 {
		o := machine(fmt.Sprintf("m-%03d", i))
		if i%2 == 0 {
			label(o)
		}
		s.Put(o)
	}
	other := machine("m")
	other.SetNamespace("other")
	s.Put(other)
	p, slept := sleeper(s, time.Hour)
	count := func(list func(f func(*unstructured.Unstructured) error) error) (n, requests int) {
		before := len(s.Requests())
		seen := map[plane.Ref]bool{}
		require.NoError(t, list(func(o *unstructured.Unstructured) error { seen[plane.RefOf(o)] = true; return nil }))
		return len(seen), len(s.Requests()) - before
	}
	// The fake client loses the options of a list of all namespaces.
	for _, c := range []struct {
		namespace   string
		size        int64
		n, requests int
	}{{"apps", 0, 120, 3}, {"", 0, 121, 1}, {"apps", 120, 120, 1}, {"apps", 7, 120, 18}, {"none", 0, 0, 1}} {
		n, requests := count(func(f func(*unstructured.Unstructured) error) error {
			return p.List(ctx, machines, c.namespace, c.size, f)
		})
		require.Equal(t, c.n, n)
		require.Equal(t, c.requests, requests)
	}
	n, _ := count(func(f func(*unstructured.Unstructured) error) error {
		return p.Select(ctx, machines, "apps", "!a", 0, f)
	})
	require.Equal(t, 60, n)

	require.ErrorIs(t, p.List(ctx, machines, "apps", 0, func(*unstructured.Unstructured) error { return errInjected }), errInjected)
	s.Before = failing("list", apierrors.NewServiceUnavailable("injected"), apierrors.NewForbidden(gr, "", errInjected))
	err := p.List(ctx, machines, "apps", 0, func(*unstructured.Unstructured) error { return nil })
	require.True(t, apierrors.IsForbidden(err))
	require.ErrorContains(t, err, "source plane: listing Machine.cluster.x-k8s.io: ")
	require.Len(t, *slept, 1)
}

func TestEachReturnsAllErrorsInOrder(t *testing.T) {
	p := plane.New(server().Client(), plane.Options{Parallel: 3})
	var running, most, calls atomic.Int32
	err := p.Each(context.Background(), 20, func(_ context.Context, i int) error {
		calls.Add(1)
		now := running.Add(1)
		defer running.Add(-1)
		for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
		}
		time.Sleep(time.Duration(20-i) * 100 * time.Microsecond)
		if i%7 == 0 {
			return fmt.Errorf("error %d", i)
		}
		return nil
	})
	require.EqualError(t, err, "error 0\nerror 7\nerror 14")
	require.EqualValues(t, 20, calls.Load(), "the others go on")
	require.LessOrEqual(t, most.Load(), int32(3))

	ctx, cancel := context.WithCancel(context.Background())
	calls.Store(0)
	err = p.Each(ctx, 20, func(context.Context, int) error { calls.Add(1); cancel(); return errInjected })
	require.Equal(t, context.Canceled, err)
	require.Less(t, calls.Load(), int32(20))
	require.NoError(t, p.Each(context.Background(), 0, nil))
}

func TestThePlaneIsNamed(t *testing.T) {
	ctx := context.Background()
	s := server()
	p := s.Plane()
	require.Equal(t, "source", p.Name())
	require.Equal(t, "https://source", p.Server())
	uid, err := p.UID(ctx)
	require.NoError(t, err)
	require.Equal(t, string(s.Object(plane.Ref{Kind: "Namespace", Name: "kube-system"}).GetUID()), uid)
	s.Before = failing("get", errInjected)
	_, err = p.UID(ctx)
	require.EqualError(t, err, "source plane: injected")
	impatient, slept := sleeper(s, time.Hour)
	s.Before = func(planetest.Request) error { return apierrors.NewServiceUnavailable("injected") }
	_, err = impatient.Within(30 * time.Millisecond).UID(ctx)
	require.Error(t, err)
	require.Len(t, *slept, 2)
	_, err = impatient.Within(10 * time.Hour).UID(ctx)
	require.Error(t, err)
	require.Greater(t, len(*slept), 1000, "it gets no more patient")
	require.Less(t, len(*slept), 2000)
}

func TestRefs(t *testing.T) {
	require.Equal(t, ref, plane.RefOf(machine("m")))
	require.Equal(t, "Machine.cluster.x-k8s.io apps/m", ref.String())
	require.Equal(t, "Namespace apps", plane.Ref{Kind: "Namespace", Name: "apps"}.String())
	sorted := []plane.Ref{
		{Kind: "Secret", Namespace: "b", Name: "a"},
		{Group: "a", Kind: "A", Namespace: "z", Name: "z"},
		{Group: "a", Kind: "B", Namespace: "a", Name: "b"},
		{Group: "a", Kind: "B", Namespace: "b", Name: "a"},
		{Group: "a", Kind: "B", Namespace: "b", Name: "b"},
	}
	for i := range sorted {
		for j := range sorted {
			require.Equal(t, i < j, sorted[i].Compare(sorted[j]) < 0)
		}
	}
}

func TestIgnoreNotFound(t *testing.T) {
	require.NoError(t, plane.IgnoreNotFound(nil))
	require.NoError(t, plane.IgnoreNotFound(fmt.Errorf("reading: %w", apierrors.NewNotFound(gr, "m"))))
	require.NoError(t, plane.IgnoreNotFound(&meta.NoKindMatchError{}))
	require.ErrorIs(t, plane.IgnoreNotFound(errInjected), errInjected)
}
