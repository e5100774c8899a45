// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// attack makes what is meant to take all memory and all time of the controller, in a
// namespace of its own, and returns the Transforms that are refused, with a part of the
// message of each.
func (n *tenant) attack(t *testing.T) map[string]string {
	t.Helper()
	dense := "[" + strings.TrimSuffix(strings.Repeat("1,", 250_000), ",") + "]"
	n.transform("dense", "{text: a, list: "+dense+"}", "")
	const maps = 40
	from := "  inputsFrom:\n"
	for i := range maps {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: fmt.Sprintf("large-%d", i)}}
		m.Data = map[string]string{"values.yaml": "list: " + dense + "\n"}
		require.NoError(t, n.Client.Create(t.Context(), m))
		from += fmt.Sprintf("    - {kind: ConfigMap, name: large-%d}\n", i)
	}
	n.transform("values", "{text: a}", from)
	inline := func(name, text string) {
		n.Apply(t, fmt.Sprintf("apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: %s, namespace: %s, annotations: {note: %q}}\nspec:\n"+
			"  output: {oci: {repository: \"oci://%s/%s/%s\", insecure: true}}\n  cueRef:\n    type: inline\n    ref: |\n      %s\n",
			name, n.namespace, strings.Repeat("x", 200_000), n.Registry, n.namespace, name, indented(text, 6)))
	}
	const head = "package m\n\nimport (\"list\", \"strings\")\n\nropewalk: apiVersion: \"v1alpha1\"\ninput: {...}\ncontext: {...}\n"
	inline("hangs", head+"graph: nodes: x: object: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"x\", data: a: \"\\(len(strings.Repeat(\"a\", list.Sum([for i in list.Range(0, 100000000, 1) {i}]))))\"}\n")
	inline("objects", head+`graph: nodes: {for i in list.Range(0, 20000, 1) {"n\(i)": object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "n\(i)", data: a: strings.Repeat("x", 3000)}}}`+"\n")
	before := []string{}
	for i := range 60 {
		name := fmt.Sprintf("after-%d", i)
		n.transform(name, "{text: a}", "  dependsOn: ["+strings.Join(before, ", ")+"]\n")
		before = append(before, name)
	}
	return map[string]string{"dense": "holds more than 100000 values", "values": "over the limit: the documents, modules and objects"}
}

// A namespace whose Transforms, ConfigMaps and modules are as large as the API server takes
// them, and some modules that do not end, delay no other namespace and take no more memory
// than the controller has.
func TestAHostileNamespaceDoesNotStopOthers(t *testing.T) {
	n := newTenant(t, shipped)
	hostile := &tenant{Cluster: n.Cluster, t: t, namespace: n.Namespace(t), controller: n.controller}
	var memory gauge
	memory.watch(t, n.controller.Process)
	serve := func(name string) time.Duration {
		began := time.Now()
		n.transform(name, "{text: "+name+"}", "")
		n.ready(name)
		return time.Since(began).Round(10 * time.Millisecond)
	}
	t.Logf("before: Ready after %s", serve("calm"))
	refused := hostile.attack(t)
	for i := range 8 {
		t.Logf("beside it: Ready after %s; load %s", serve(fmt.Sprintf("good-%d", i)), load())
	}
	for name, why := range refused {
		require.Contains(t, hostile.stalled(name).Message, why, name)
	}
	t.Logf("after: Ready after %s", serve("late"))
	most, _ := memory.read()
	t.Logf("the controller and its workers took %s at most (PSS), of %s; load %s", mebibytes(most), mebibytes(shippedPod), load())
	require.Less(t, most, int64(shippedPod))
	require.True(t, n.controller.Running())
}
