// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"bytes"
	"encoding/base64"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ropewalk/ropewalk/test/pivot/audit"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// aWhile is several polls of the auditor.
const aWhile = 1500 * time.Millisecond

// TestTheAuditorSeesNothingWhereNothingHappens, also while a plane does not answer.
func TestTheAuditorSeesNothingWhereNothingHappens(t *testing.T) {
	w := harness.Start(t)
	c, p := w.Standing(t)
	a := audit.Start(t, w, c, p)
	time.Sleep(aWhile)
	other := w.Other(p)
	other.Etcd.Pause()
	t.Cleanup(other.Etcd.Resume)
	time.Sleep(4 * aWhile)
	other.Etcd.Resume()
	time.Sleep(aWhile)
	report := a.Stop(t)
	report.Require(t)
	require.Positive(t, report.Unknown[other.Name])
	require.Zero(t, report.Unknown[p.Name])
	require.Equal(t, 3, report.Machines)
	require.Greater(t, report.Objects, 20, "%v", a.Set())
	t.Logf("%d objects: %v", report.Objects, a.Set())
}

// TestTheAuditorSeesEveryViolation that is made by hand.
func TestTheAuditorSeesEveryViolation(t *testing.T) {
	w := harness.Start(t)
	c, p := w.Standing(t)
	other := w.Other(p)
	core := kubernetesOf(t, p)

	t.Run("I1: both planes are in charge", func(t *testing.T) {
		o, err := c.Get(t.Context(), p)
		require.NoError(t, err)
		if _, err := c.Get(t.Context(), other); apierrors.IsNotFound(err) {
			_, err := kubernetesOf(t, other).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Namespace}}, metav1.CreateOptions{})
			require.True(t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
		}
		for _, field := range []string{"resourceVersion", "uid", "finalizers"} {
			delete(o.Object["metadata"].(map[string]any), field)
		}
		a := audit.Start(t, w, c, p)
		other.Create(t, o)
		a.Polled(t, 5)
		c.Pause(t, other, true)
		c.Remove(t, other)
		a.Polled(t, 1)
		report := a.Stop(t)
		require.Equal(t, []string{"I1"}, report.Violated())
		require.Greater(t, report.Violations[0].Polls, 2)
	})

	t.Run("I2: an object is gone", func(t *testing.T) {
		c.Pause(t, p, true)
		a := audit.Start(t, w, c, p)
		require.NoError(t, core.CoreV1().Secrets(c.Namespace).Delete(t.Context(), c.Name+"-kubeconfig", metav1.DeleteOptions{}))
		a.Polled(t, 5)
		report := a.Stop(t)
		require.Equal(t, []string{"I2"}, report.Violated())
		require.Contains(t, report.Violations[0].Text, "Secret/"+c.Name+"-kubeconfig")
		c.Pause(t, p, false)
		harness.Await(t, time.Minute, "the control plane provider makes it again", func() bool {
			_, err := core.CoreV1().Secrets(c.Namespace).Get(t.Context(), c.Name+"-kubeconfig", metav1.GetOptions{})
			return err == nil
		})
		c.AwaitAvailable(t, p)
	})

	t.Run("I3: a machine is deleted and made again", func(t *testing.T) {
		machine := c.Machines(t, p)[0].GetName()
		a := audit.Start(t, w, c, p)
		w.Cloud.Delete(t, c.Namespace, c.Name, machine)
		a.Polled(t, 5)
		c.Pause(t, p, true)
		c.Pause(t, p, false) // which has it looked at
		c.AwaitAvailable(t, p)
		harness.Await(t, time.Minute, "the machine is there again", func() bool {
			there, err := w.Cloud.Of(t.Context(), c.Namespace, c.Name)
			return err == nil && len(there.Machines) == 3
		})
		a.Polled(t, 1)
		report := a.Stop(t)
		require.Equal(t, []string{"I3"}, report.Violated())
		require.GreaterOrEqual(t, len(report.Violations), 3, "deleted, gone and made again")
	})
}

// TestTheAuditorSeesAKeyThatIsTold, wherever that is, and does not tell it itself.
func TestTheAuditorSeesAKeyThatIsTold(t *testing.T) {
	w := harness.Start(t)
	c, p := w.Standing(t)
	core := kubernetesOf(t, p)
	secret, err := core.CoreV1().Secrets(c.Namespace).Get(t.Context(), c.Name+"-ca", metav1.GetOptions{})
	require.NoError(t, err)
	key := secret.Data["tls.key"]
	places := map[string]func(t *testing.T, a *audit.Auditor){
		"a line of it in a log": func(_ *testing.T, a *audit.Auditor) {
			line := string(bytes.Split(key, []byte("\n"))[3])
			a.Watch(audit.Log{Name: "ropewalk", Text: func() string { return "moving " + line }})
		},
		"a token in a log": func(_ *testing.T, a *audit.Auditor) {
			a.Watch(audit.Log{Name: "ropewalk", Text: func() string { return "Authorization: Bearer a-token-of-the-proxy" }})
		},
		"in base64 in a ConfigMap": func(t *testing.T, _ *audit.Auditor) {
			receipt := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "receipt"}, Data: map[string]string{"chunk": base64.StdEncoding.EncodeToString(key)}}
			_, err := core.CoreV1().ConfigMaps(c.Namespace).Create(t.Context(), receipt, metav1.CreateOptions{})
			require.NoError(t, err)
		},
		"in an Event": func(t *testing.T, _ *audit.Auditor) {
			event := &corev1.Event{
				ObjectMeta: metav1.ObjectMeta{Name: "told"}, Message: string(key),
				InvolvedObject: corev1.ObjectReference{Kind: "Secret", Namespace: c.Namespace, Name: secret.Name},
			}
			_, err := core.CoreV1().Events(c.Namespace).Create(t.Context(), event, metav1.CreateOptions{})
			require.NoError(t, err)
		},
	}
	for name, tell := range places {
		t.Run(name, func(t *testing.T) {
			a := audit.Start(t, w, c, p, "a-token-of-the-proxy")
			tell(t, a)
			report := a.Stop(t)
			require.Equal(t, []string{"I4"}, report.Violated())
			require.NotContains(t, report.String(), string(bytes.Split(key, []byte("\n"))[3]), "the report tells it too")
			_ = core.CoreV1().ConfigMaps(c.Namespace).Delete(t.Context(), "receipt", metav1.DeleteOptions{}) // it may not be there
			_ = core.CoreV1().Events(c.Namespace).Delete(t.Context(), "told", metav1.DeleteOptions{})        // as above
		})
	}
}

// kubernetesOf is a client for the kinds of Kubernetes itself.
func kubernetesOf(t testing.TB, p *harness.Plane) kubernetes.Interface {
	t.Helper()
	out, err := kubernetes.NewForConfig(p.Config)
	require.NoError(t, err)
	return out
}
