// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
	"github.com/ropewalk/ropewalk/test/e2e/programs"
)

// FluxNamespace is where the controllers of Flux live.
const FluxNamespace = "flux-system"

// startFlux installs the definitions and the rights of both controllers from
// their modules, and runs them as service accounts that have no other rights.
func (c *Cluster) startFlux() {
	t := c.run
	require.NoError(t, c.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: FluxNamespace}}))
	c.installFlux("sourcecontroller", "source-controller")
	c.installFlux("kustomizecontroller", "kustomize-controller")
	c.awaitDefinitions()

	storage := loopback + ":" + FreePort(t)
	c.SourceController = c.launchFlux("source-controller",
		"--storage-path="+t.TempDir(), "--storage-addr="+storage, "--storage-adv-addr="+storage)
	c.KustomizeController = c.launchFlux("kustomize-controller")
	c.awaitNodes()
	c.awaitFlux(t, c.SourceController)
	c.awaitFlux(t, c.KustomizeController)
}

// installFlux installs a controller, but for its Deployment.
func (c *Cluster) installFlux(folder, name string) {
	t := c.run
	source, err := c.modules.Source(t.Context(), folder)
	require.NoError(t, err)
	definitions, err := filepath.Glob(filepath.Join(source.Dir, "config", "crd", "bases", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, definitions)
	for _, file := range definitions {
		c.applyFile(file, nil)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: FluxNamespace, Name: name}}
	require.NoError(t, c.Client.Create(t.Context(), account))
	c.grantFlux(source, name)
}

// grantFlux gives a controller the rights that its module wants for it. The
// kustomize-controller is an administrator there, as it is in every Flux. What
// kustomize does with names at an installation is done here.
func (c *Cluster) grantFlux(source programs.Source, name string) {
	rights := []string{"role.yaml", "role_binding.yaml"}
	if name == "kustomize-controller" {
		rights = append(rights, "cluster_role_binding.yaml")
	}
	for _, file := range rights {
		c.applyFile(filepath.Join(source.Dir, "config", "rbac", file), func(object *unstructured.Unstructured) bool {
			own := object.GetName()
			object.SetName(name + "-" + own)
			if role, found, _ := unstructured.NestedString(object.Object, "roleRef", "name"); found && role == "manager-role" {
				require.NoError(c.run, unstructured.SetNestedField(object.Object, name+"-"+role, "roleRef", "name"))
			}
			if object.GetKind() == "ClusterRoleBinding" {
				subject := map[string]any{"kind": "ServiceAccount", "name": name, "namespace": FluxNamespace}
				require.NoError(c.run, unstructured.SetNestedSlice(object.Object, []any{subject}, "subjects"))
			}
			return true
		})
	}
}

// awaitDefinitions waits until every version of a definition is served. One that is
// established comes into the discovery of the server a moment later only.
func (c *Cluster) awaitDefinitions() {
	c.Await(c.run, startup, "definitions are served", func() bool {
		var list apiextensionsv1.CustomResourceDefinitionList
		return c.Client.List(c.run.Context(), &list) == nil && !slices.ContainsFunc(list.Items,
			func(d apiextensionsv1.CustomResourceDefinition) bool { return !established(d) || !c.discovered(d) })
	})
}

func (c *Cluster) discovered(d apiextensionsv1.CustomResourceDefinition) bool {
	kind := schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}
	return !slices.ContainsFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		_, err := c.Client.RESTMapper().RESTMapping(kind, v.Name)
		return v.Served && err != nil
	})
}

func established(d apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// launchFlux starts a controller as its service account, with default flags but
// for the addresses.
func (c *Cluster) launchFlux(name string, flags ...string) *Process {
	t := c.run
	health := loopback + ":" + FreePort(t)
	argv := append([]string{
		c.program(t, name), "--metrics-addr=" + loopback + ":" + FreePort(t), "--health-addr=" + health,
		"--log-level=info", "--log-encoding=json",
	}, flags...)
	p := c.launch(name, argv, "KUBECONFIG="+c.KubeconfigFor(t, FluxNamespace, name), "RUNTIME_NAMESPACE="+FluxNamespace)
	p.URL = "http://" + health + "/readyz"
	return p
}

// awaitFlux waits until a controller is ready.
func (c *Cluster) awaitFlux(t testing.TB, p *Process) {
	t.Helper()
	p.AwaitOther(t, func() bool { return plane.Good(p.URL) })
}

// Flags restarts a controller of Flux with further flags for the time of a test,
// such as --requeue-dependency=1s.
func (c *Cluster) Flags(t testing.TB, controller *Process, flags ...string) {
	t.Helper()
	controller.Restart(t, flags...)
	c.awaitFlux(t, controller)
	t.Cleanup(func() {
		controller.Restart(t)
		c.awaitFlux(t, controller)
	})
}
