// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ropewalk/ropewalk/test/pivot/faults"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// through are ConfigMaps of a new namespace by way of a proxy, and without it.
func through(t *testing.T) (p *faults.Proxy, way, direct func(ctx context.Context, name string) error) {
	t.Helper()
	w := harness.Start(t)
	namespace := w.Namespace(t, w.A)
	p = faults.New(t, w.A.Config)
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	way = func(ctx context.Context, name string) error {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	direct = func(ctx context.Context, name string) error {
		_, err := kubernetesOf(t, w.A).CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	}
	return p, way, direct
}

// TestTheProxyInjectsWhatItIsTold, and is an API server without a rule.
func TestTheProxyInjectsWhatItIsTold(t *testing.T) {
	p, create, get := through(t)
	require.NoError(t, create(t.Context(), "plain"))
	require.Len(t, p.Writes(), 1)
	require.Equal(t, 1, p.Writes()[0].Write)
	require.Equal(t, http.MethodPost, p.Writes()[0].Method)
	require.Zero(t, p.Faults())

	p.Set(func(faults.Request) faults.Fault { return faults.Fault{Status: http.StatusConflict} })
	require.True(t, apierrors.IsConflict(create(t.Context(), "conflict")))
	require.True(t, apierrors.IsNotFound(get(t.Context(), "conflict")))

	p.Set(func(faults.Request) faults.Fault { return faults.Fault{Lose: true} })
	require.Error(t, create(t.Context(), "lost"))
	require.NoError(t, get(t.Context(), "lost"), "the server has handled it")

	p.Set(func(faults.Request) faults.Fault { return faults.Fault{Delay: 300 * time.Millisecond} })
	began := time.Now()
	require.NoError(t, create(t.Context(), "late"))
	require.Greater(t, time.Since(began), 300*time.Millisecond)
	require.Equal(t, 3, p.Faults())

	// client-go asks again after a second when a server is busy.
	var asked atomic.Int32
	p.Reset()
	p.Set(func(faults.Request) faults.Fault {
		if asked.Add(1) == 1 {
			return faults.Fault{Status: http.StatusTooManyRequests}
		}
		return faults.Fault{}
	})
	require.NoError(t, create(t.Context(), "busy"))
	require.Len(t, p.Writes(), 2)
}

// TestTheProxyKillsBeforeAndAfterAWrite, and lets nothing through from a client that is dead.
func TestTheProxyKillsBeforeAndAfterAWrite(t *testing.T) {
	p, create, get := through(t)
	for after, there := range map[bool]bool{false: false, true: true} {
		killed := 0
		p.Reset()
		p.Set(faults.Kill(2, after, func() { killed++ }))
		name := map[bool]string{false: "before", true: "after"}[after]
		require.NoError(t, create(t.Context(), name+"-1"))
		require.Zero(t, killed)
		require.Error(t, create(t.Context(), name+"-2"))
		require.Equal(t, 1, killed)
		require.Equal(t, there, get(t.Context(), name+"-2") == nil)
		require.Error(t, create(t.Context(), name+"-3"))
		require.Equal(t, 1, killed)
		require.True(t, apierrors.IsNotFound(get(t.Context(), name+"-3")))
		p.Reset()
		require.NoError(t, create(t.Context(), name+"-3"))
	}
}

// TestTheProxyRefusesOthers: the right that it has itself is for those with its token.
func TestTheProxyRefusesOthers(t *testing.T) {
	p, _, _ := through(t)
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	require.NoError(t, err)
	config.BearerToken = "another"
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	_, err = client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsUnauthorized(err), "%v", err)
}
