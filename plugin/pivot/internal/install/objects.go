// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/base64"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// Options are those of a run.
type Options struct {
	// Cluster is the PivotCluster, and Manifest what its cluster gets by the ClusterResourceSet.
	Cluster  *unstructured.Unstructured
	Manifest *Manifest
	// Keep takes the kubeconfig of the cluster: first of all with nil where there is none yet. Its
	// error ends the run.
	Keep func(kubeconfig []byte) error
	// Report takes each change of the status.
	Report func(Mark)
	// Timeout bounds the run, and Grace how long a controller may take to look at a change; a
	// minute where zero. Interval is how often the status is read; 2 s where zero.
	Timeout, Grace, Interval time.Duration
	// Now is the clock; time.Now where nil.
	Now func() time.Time
}

// Mark is a status of the PivotCluster, and when it was seen first.
type Mark struct {
	At      time.Time `json:"at"`
	Phase   string    `json:"phase"`
	Message string    `json:"message"`
}

// Ref is an object.
type Ref = plane.Ref

// refOf returns a PivotCluster as an object.
func refOf(cluster *unstructured.Unstructured) Ref {
	return Ref{Group: group, Kind: "PivotCluster", Name: cluster.GetName()}
}

// text returns the text of a field; "" if there is none.
func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

// object returns an object with nothing but a name; the namespace may be "".
func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// namespace returns the namespace of the Cluster API objects of a PivotCluster.
func namespace(cluster string) string { return "rw-" + cluster }

// Objects returns what a run applies, in this order: the namespace, the Secrets of the
// ClusterResourceSet, the ClusterResourceSet, and the PivotCluster. Without data the Secrets have
// no values, so that they may be printed.
func (o *Options) Objects(now time.Time, data bool) []*unstructured.Unstructured {
	cluster := o.Cluster.DeepCopy()
	annotations := cluster.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[Annotation] = now.UTC().Format(time.RFC3339)
	cluster.SetAnnotations(annotations)
	name := cluster.GetName()
	ns := object("v1", "Namespace", "", namespace(name))
	ns.SetLabels(map[string]string{clusterLabel: name})
	out := []*unstructured.Unstructured{ns}
	var resources []any
	for i, part := range o.Manifest.parts {
		s := object("v1", "Secret", namespace(name), Name+"-"+strconv.Itoa(i))
		s.Object["type"] = resourceSet
		if data {
			s.Object["data"] = map[string]any{"manifest.yaml": base64.StdEncoding.EncodeToString(part)}
		}
		out = append(out, s)
		resources = append(resources, map[string]any{"kind": "Secret", "name": s.GetName()})
	}
	set := object(AddonsGroup+"/v1beta2", "ClusterResourceSet", namespace(name), Name)
	set.Object["spec"] = map[string]any{
		"strategy":        "ApplyOnce",
		"clusterSelector": map[string]any{"matchLabels": map[string]any{"cluster.x-k8s.io/cluster-name": name}},
		"resources":       resources,
	}
	return append(out, set, cluster)
}
