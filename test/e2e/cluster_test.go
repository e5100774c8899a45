// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// soon is how long the controllers of a busy cluster may take, on a busy machine. How
// long they do take is for the tests of speed to bound.
const soon = 2 * time.Minute

func TestTheServerSaysItsVersion(t *testing.T) {
	c := Shared(t)
	source, err := c.modules.Source(t.Context(), "kubernetes")
	require.NoError(t, err)
	said := c.Kubectl(t, "version")
	require.Contains(t, said, "Server Version: "+source.Version)
	require.Contains(t, said, "Client Version: "+source.Version)
}

// TestAServiceAccountHasNoMoreRightsThanItWasGiven: what runs with its token shows
// which rights it lacks.
func TestAServiceAccountHasNoMoreRightsThanItWasGiven(t *testing.T) {
	c := Shared(t)
	namespace := c.Namespace(t)
	account := c.ClientFor(t, namespace, "default")
	list := func() error {
		return account.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(namespace))
	}
	err := list()
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, "system:serviceaccount:"+namespace+":default")

	kubectl := exec.CommandContext(t.Context(), c.program(t, "kubectl"), "get", "configmaps", "--kubeconfig", c.KubeconfigFor(t, namespace, "default"))
	said, err := kubectl.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "Forbidden")

	c.Kubectl(t, "create", "role", "reader", "-n", namespace, "--verb=list", "--resource=configmaps")
	c.Kubectl(t, "create", "rolebinding", "reader", "-n", namespace, "--role=reader", "--serviceaccount="+namespace+":default")
	c.Await(t, soon, "the role is in force", func() bool { return list() == nil })
	err = account.List(t.Context(), &corev1.SecretList{}, client.InNamespace(namespace))
	require.True(t, apierrors.IsForbidden(err), "%v", err)
}

// TestWorkloadsRunWithoutAKubelet: pods get ready, jobs end, claims are bound, and
// what waits for a balancer gets an address.
func TestWorkloadsRunWithoutAKubelet(t *testing.T) {
	c := Shared(t)
	namespace := c.Namespace(t)
	start := time.Now()
	c.Apply(t, workloads(namespace))
	key := client.ObjectKey{Namespace: namespace, Name: "app"}
	read := func(object client.Object) bool { return c.Client.Get(t.Context(), key, object) == nil }

	waits := map[string]func() bool{
		"the Deployment is available": func() bool {
			var d appsv1.Deployment
			return read(&d) && d.Status.AvailableReplicas == 3
		},
		"the StatefulSet is ready": func() bool {
			var s appsv1.StatefulSet
			return read(&s) && s.Status.ReadyReplicas == 2
		},
		"the Job is complete": func() bool {
			var j batchv1.Job
			return read(&j) && j.Status.Succeeded == 1 && j.Status.CompletionTime != nil
		},
		"the Ingress has an address": func() bool {
			var i networkingv1.Ingress
			return read(&i) && len(i.Status.LoadBalancer.Ingress) == 1
		},
		"the Service has an address": func() bool {
			var s corev1.Service
			return read(&s) && len(s.Status.LoadBalancer.Ingress) == 1
		},
	}
	for what, is := range waits {
		c.Await(t, soon, what, is)
	}
	t.Logf("all of it is ready after %s", time.Since(start).Round(10*time.Millisecond))
	var claims corev1.PersistentVolumeClaimList
	require.NoError(t, c.Client.List(t.Context(), &claims, client.InNamespace(namespace)))
	require.Len(t, claims.Items, 2)
	for _, claim := range claims.Items {
		require.Equal(t, corev1.ClaimBound, claim.Status.Phase)
	}

	start = time.Now()
	require.NoError(t, c.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	c.Await(t, soon, "the namespace is gone", func() bool {
		return apierrors.IsNotFound(c.Client.Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}))
	})
	t.Logf("all of it is gone after %s", time.Since(start).Round(10*time.Millisecond))
}

// workloads are one of each kind that something must make ready.
func workloads(namespace string) string {
	const pod = `{metadata: {labels: {app: app}}, spec: {containers: [{name: main, image: "registry.example/app:1"}]}}`
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: ` + namespace + `}
spec: {replicas: 3, selector: {matchLabels: {app: app}}, template: ` + pod + `}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: app, namespace: ` + namespace + `}
spec:
  replicas: 2
  serviceName: app
  selector: {matchLabels: {app: app}}
  template: ` + pod + `
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: app, namespace: ` + namespace + `}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example/app:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: app, namespace: ` + namespace + `}
spec: {type: LoadBalancer, selector: {app: app}, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: app, namespace: ` + namespace + `}
spec: {defaultBackend: {service: {name: app, port: {number: 80}}}}
`
}

// TestTheServerComesBack: what was written is there after a kill, and the others
// go on.
func TestTheServerComesBack(t *testing.T) {
	c := Shared(t)
	namespace := c.Namespace(t)
	c.APIServer.Kill()
	require.Error(t, c.Client.Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}))
	c.RestartAPIServer(t)
	require.NoError(t, c.Client.Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}))
	c.Namespace(t) // which the controller manager has a part in
	for _, p := range c.all() {
		require.True(t, p.Running(), p.Name)
	}
}

func TestAProcessCanBeStoppedKilledAndStartedAgain(t *testing.T) {
	c := Shared(t)
	file := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(file, []byte("trap 'echo asked; exit 3' TERM\necho started $GIVEN \"$@\"\nwhile :; do sleep 0.01; done\n"), 0o600))
	p := c.Process(t, "script", []string{"sh", file}, "GIVEN=this")
	says := func(text string) { c.Await(t, soon, text, func() bool { return p.Log() == text }) }
	says("started this\n")
	require.ErrorContains(t, p.Wait(time.Millisecond), "still runs")

	p.Interrupt()
	require.ErrorContains(t, p.Wait(soon), "exit status 3")
	require.False(t, p.Running())
	says("started this\nasked\n")

	p.Restart(t, "more")
	says("started this\nasked\nstarted this more\n")
	first := p.Pid()
	p.Restart(t)
	says("started this\nasked\nstarted this more\nstarted this\n")
	require.NotEqual(t, first, p.Pid())
}

func TestTheGitServerServesWhatIsCommitted(t *testing.T) {
	c := Shared(t)
	repository := c.Git(t)
	hash := repository.Commit(map[string]string{"a/b.txt": "hello\n"})
	require.Contains(t, c.Command(t, []string{"git", "ls-remote", repository.URL}), hash+"\trefs/heads/main")
}
