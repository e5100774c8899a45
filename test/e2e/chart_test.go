// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

const definition = "transforms.ropewalk.dev"

// release is the chart, as Helm has installed it into a namespace.
type release struct {
	*Cluster
	t         *testing.T
	namespace string
	chart     string
	// programs is the folder of those that containers run; empty are those of this tree.
	programs string
	// storage is the address of the artifacts, as that of a Service stays when its pod is another one.
	storage string
}

// newRelease takes away what other tests have installed, which Helm would not take
// over, and installs a chart.
func newRelease(t *testing.T, chart string) release {
	t.Helper()
	c := Shared(t)
	r := release{Cluster: c, t: t, namespace: c.Namespace(t), chart: chart, storage: loopback + ":" + FreePort(t)}
	// They are of tests that ended, and so did their controllers.
	var left v1alpha1.TransformList
	_ = c.Client.List(t.Context(), &left) // the kind may not be there
	for i := range left.Items {
		// Whatever else becomes of them at this moment: their namespaces are being deleted.
		free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		require.NoError(t, client.IgnoreNotFound(c.Client.Patch(t.Context(), &left.Items[i], free)))
	}
	data, err := os.ReadFile(installed)
	require.NoError(t, err)
	for _, object := range decode(t, data) {
		if object.GetKind() != "Namespace" {
			require.NoError(t, client.IgnoreNotFound(c.Client.Delete(t.Context(), object)))
		}
	}
	c.Await(t, startup, "the definition is gone", func() bool { return apierrors.IsNotFound(r.definition()) })
	r.helm("install", "--wait", "--timeout=2m")
	t.Cleanup(func() {
		_ = c.Client.Delete(c.run.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "ropewalk-controller"}})
	})
	return r
}

// definition is why that of Transforms cannot be had.
func (r release) definition() error {
	return r.Client.Get(r.t.Context(), client.ObjectKey{Name: definition}, &apiextensionsv1.CustomResourceDefinition{})
}

// helm runs a command of Helm about the release.
func (r release) helm(command string, more ...string) {
	r.t.Helper()
	argv := []string{r.program(r.t, "helm"), command, "ropewalk"}
	if command != "uninstall" {
		argv = append(argv, r.chart)
	}
	argv = append(append(argv, "--namespace="+r.namespace), more...)
	r.t.Log(r.Command(r.t, argv, "KUBECONFIG="+r.Kubeconfig))
}

// get reads an object of the namespace of the release.
func (r release) get(name string, object client.Object) {
	r.t.Helper()
	require.NoError(r.t, r.Client.Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, object))
}

// place maps what is said to a pod to what there is of it here: folders that are
// mounted, and names of Services.
type place struct{ folders, hosts map[string]string }

// of is a value of an argument or of a variable.
func (p place) of(value string) string {
	for mount, folder := range p.folders {
		if value == mount || strings.HasPrefix(value, mount+"/") {
			return folder + strings.TrimPrefix(value, mount)
		}
	}
	for name, address := range p.hosts {
		value = strings.ReplaceAll(value, name, address)
	}
	return value
}

// start runs what the container of the Deployment runs, with its arguments and its
// environment, as its account. The events go to a listener.
func (r release) start(name string, events *listener) replica {
	r.t.Helper()
	var d appsv1.Deployment
	r.get("ropewalk-controller", &d)
	pod := d.Spec.Template.Spec
	container := pod.Containers[0]
	out := replica{metrics: loopback + ":" + FreePort(r.t), health: loopback + ":" + FreePort(r.t), storage: r.storage}
	here := place{folders: map[string]string{}, hosts: map[string]string{
		"ropewalk-controller." + r.namespace + ".svc.cluster.local.":               out.storage,
		"http://notification-controller." + FluxNamespace + ".svc.cluster.local./": events.url,
	}}
	dir := r.t.TempDir()
	for _, m := range container.VolumeMounts {
		here.folders[m.MountPath] = filepath.Join(dir, m.Name)
		require.NoError(r.t, os.Mkdir(here.folders[m.MountPath], 0o750))
	}
	env := []string{"KUBECONFIG=" + r.KubeconfigFor(r.t, r.namespace, pod.ServiceAccountName)}
	for _, e := range container.Env {
		if from := e.ValueFrom; from != nil {
			require.Equal(r.t, "metadata.namespace", from.FieldRef.FieldPath)
			e.Value = r.namespace
		}
		env = append(env, e.Name+"="+here.of(e.Value))
	}
	program := path.Base(container.Command[0])
	argv := []string{filepath.Join(r.programs, program)}
	if r.programs == "" {
		argv[0] = r.Program(r.t, program)
	}
	for _, arg := range container.Args {
		flag, value, _ := strings.Cut(strings.ReplaceAll(arg, "$(RUNTIME_NAMESPACE)", r.namespace), "=")
		argv = append(argv, strings.TrimSuffix(flag+"="+here.of(value), "="))
	}
	for port, address := range map[string]string{"metrics": out.metrics, "health": out.health, "storage": out.storage} {
		require.True(r.t, slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == port }), port)
		argv = append(argv, "--"+port+"-addr="+address)
	}
	out.Process = r.Process(r.t, name, argv, env...)
	probe := container.ReadinessProbe.HTTPGet
	require.Equal(r.t, "health", probe.Port.StrVal)
	r.Await(r.t, startup, name+" is ready", func() bool { _, ok := page(r.t.Context(), out.health, probe.Path); return ok })
	return out
}

// TestHelmInstallsWhatTheTutorialNeeds has Helm install, upgrade and uninstall the chart,
// and runs the controller as its Deployment says.
func TestHelmInstallsWhatTheTutorialNeeds(t *testing.T) {
	r := newRelease(t, "../../deploy/chart")
	require.NoError(t, r.definition())
	var d appsv1.Deployment
	r.get("ropewalk-controller", &d)
	require.Equal(t, int32(1), d.Status.ReadyReplicas)
	r.routed()
	r.Flags(t, r.KustomizeController, "--feature-gates=ExternalArtifact=true")

	events := listen(t)
	controller := r.start("controller-chart", events)
	began := time.Now()
	r.Apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: hello-chart}\n")
	t.Cleanup(func() {
		_ = r.Client.Delete(r.run.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hello-chart"}}) // the context of the test is done
	})
	of := hello(t, r.Cluster, "hello-chart")
	awaitReason(t, r.Cluster, of, v1alpha1.SucceededReason)
	t.Logf("hello is Ready after %s", time.Since(began).Round(10*time.Millisecond))
	t.Logf("\n%s", r.Kubectl(t, "-n", "hello-chart", "get", "rwt"))
	var web appsv1.Deployment
	require.NoError(t, r.Client.Get(t.Context(), client.ObjectKey{Namespace: "hello-chart", Name: "hello"}, &web))
	events.await(t, r.Cluster, "ropewalk-controller", "hello-chart", "ExternalArtifact/hello", v1alpha1.SucceededReason, func(notified) bool { return true })
	r.recorded()

	// An upgrade changes the pod, and the next one goes on with what there is.
	before := of.Status.Artifact.Digest
	r.helm("upgrade", "--reuse-values", "--set=extraArgs={--concurrent=2}", "--wait", "--timeout=2m")
	r.get("ropewalk-controller", &d)
	require.Contains(t, d.Spec.Template.Spec.Containers[0].Args, "--concurrent=2")
	controller.Interrupt()
	require.NoError(t, controller.Wait(startup))
	allowed(t, controller)
	controller = r.start("controller-chart-2", events)
	r.acts(controller)
	r.Kubectl(t, "-n", "hello-chart", "patch", "transform", "hello", "--type=merge", "-p", `{"spec":{"input":{"replicas":2}}}`)
	r.Await(t, soon, "the change is applied", func() bool {
		require.NoError(t, r.Client.Get(t.Context(), client.ObjectKeyFromObject(&web), &web))
		return *web.Spec.Replicas == 2
	})
	awaitReason(t, r.Cluster, of, v1alpha1.SucceededReason)
	require.NotEqual(t, before, of.Status.Artifact.Digest)
	allowed(t, controller)
	controller.Kill()

	// Who uninstalls the chart keeps what it rendered, and what asked for it.
	r.helm("uninstall", "--wait", "--timeout=2m")
	require.True(t, apierrors.IsNotFound(r.Client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "ropewalk-controller"}, &d)))
	require.True(t, apierrors.IsNotFound(r.Client.Get(t.Context(), client.ObjectKey{Name: "ropewalk-delivery"}, &rbacv1.ClusterRole{})))
	require.NoError(t, r.definition())
	require.NoError(t, r.Client.Get(t.Context(), client.ObjectKeyFromObject(of), of))
	require.Zero(t, of.DeletionTimestamp)
	require.NoError(t, r.Client.Get(t.Context(), client.ObjectKeyFromObject(&web), &web))
}

// acts has a Transform act as an account, follow a ConfigMap, and go: what hello needs
// no rights for.
func (r release) acts(controller replica) {
	r.t.Helper()
	n := &tenant{Cluster: r.Cluster, t: r.t, namespace: "hello-chart", controller: controller}
	settings := func(text string) {
		r.Apply(r.t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: hello-chart}\ndata: {values.yaml: 'text: "+text+"'}\n")
	}
	settings("one")
	r.Apply(r.t, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner, namespace: hello-chart}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner-delivers, namespace: hello-chart}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ropewalk-delivery}
subjects: [{kind: ServiceAccount, name: runner, namespace: hello-chart}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner-applies, namespace: hello-chart}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: ServiceAccount, name: runner, namespace: hello-chart}]
`)
	n.served("acts", "{text: none}", "  serviceAccountName: runner\n  inputsFrom: [{kind: ConfigMap, name: settings}]\n")
	n.ready("acts")
	require.Equal(r.t, "one", n.text("acts"))
	settings("two")
	r.Await(r.t, soon, "the ConfigMap is followed", func() bool { return n.text("acts") == "two" })
	n.ready("acts")
	r.Kubectl(r.t, "-n", "hello-chart", "delete", "transform", "acts", "--timeout="+soon.String())
	require.Empty(r.t, n.text("acts"))
}

// routed fails where the Service does not lead to the pod, or a policy is missing.
func (r release) routed() {
	r.t.Helper()
	r.Await(r.t, startup, "the Service has the pod", func() bool {
		var slicesOf discoveryv1.EndpointSliceList
		require.NoError(r.t, r.Client.List(r.t.Context(), &slicesOf, client.InNamespace(r.namespace), client.MatchingLabels{"kubernetes.io/service-name": "ropewalk-controller"}))
		return slices.ContainsFunc(slicesOf.Items, func(s discoveryv1.EndpointSlice) bool {
			return len(s.Endpoints) == 1 && len(s.Ports) == 1 && *s.Ports[0].Port == 9790 && *s.Endpoints[0].Conditions.Ready
		})
	})
	r.get("ropewalk-controller", &networkingv1.NetworkPolicy{})
	require.NoError(r.t, r.Client.Get(r.t.Context(), client.ObjectKey{Namespace: FluxNamespace, Name: "allow-ropewalk-controller"}, &networkingv1.NetworkPolicy{}))
}

// recorded fails where the API server has no event of the Transform: whoever may not
// write them is not told.
func (r release) recorded() {
	r.t.Helper()
	r.Await(r.t, startup, "the event is recorded", func() bool {
		var list corev1.EventList
		require.NoError(r.t, r.Client.List(r.t.Context(), &list, client.InNamespace("hello-chart"), client.MatchingFields{"involvedObject.kind": "Transform"}))
		return len(list.Items) > 0
	})
}
