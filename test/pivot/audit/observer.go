// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// ID is an object of the namespace of the Cluster.
type ID struct{ Group, Kind, Name string }

// String is Kind.group/name.
func (id ID) String() string {
	return schema.GroupKind{Group: id.Group, Kind: id.Kind}.String() + "/" + id.Name
}

// set is a set of objects, by the resource that they are listed as.
type set map[ID]schema.GroupVersionResource

func (s set) sorted() []ID {
	return slices.SortedFunc(maps.Keys(s), func(a, b ID) int { return strings.Compare(a.String(), b.String()) })
}

// observer reads one plane.
type observer struct {
	name     string
	cluster  *harness.Cluster
	objects  dynamic.Interface
	metadata metadata.Interface
	kinds    map[schema.GroupVersionResource]string // those of Cluster API, and Secrets
	want     set
}

// clusterctl marks the definitions of kinds that belong to Clusters.
const clusterctl = "clusterctl.cluster.x-k8s.io"

func newObserver(ctx context.Context, name string, config *rest.Config, c *harness.Cluster) (*observer, error) {
	objects, err := dynamic.NewForConfig(unlimited(config))
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfig(unlimited(config))
	if err != nil {
		return nil, err
	}
	o := &observer{name: name, cluster: c, objects: objects, metadata: meta, kinds: map[schema.GroupVersionResource]string{
		{Version: "v1", Resource: "secrets"}: "Secret",
	}}
	crds, err := objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).
		List(ctx, metav1.ListOptions{LabelSelector: clusterctl})
	if err != nil {
		return nil, err
	}
	for _, crd := range crds.Items {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
		scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, v := range versions {
			if v, ok := v.(map[string]any); ok && v["storage"] == true && scope == "Namespaced" && group != clusterctl {
				version, _ := v["name"].(string)
				o.kinds[schema.GroupVersionResource{Group: group, Version: version, Resource: plural}] = kind
			}
		}
	}
	return o, nil
}

// resources are those of kinds, sorted.
func (o *observer) resources() []schema.GroupVersionResource {
	return slices.SortedFunc(maps.Keys(o.kinds), func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) })
}

// record finds the objects of the Cluster: what carries its label or has its name as Cluster
// API gives it, and what those own. The secrets among them are added to secrets.
func (o *observer) record(ctx context.Context, secrets needles) (set, error) {
	type object struct {
		id       ID
		resource schema.GroupVersionResource
		item     unstructured.Unstructured
	}
	var all []object
	for _, resource := range o.resources() {
		list, err := o.objects.Resource(resource).Namespace(o.cluster.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, item := range list.Items {
			all = append(all, object{ID{resource.Group, o.kinds[resource], item.GetName()}, resource, item})
		}
	}
	out, in := set{}, map[types.UID]bool{}
	for grown := true; grown; {
		grown = false
		for _, one := range all {
			if in[one.item.GetUID()] || !o.belongs(&one.item) && !slices.ContainsFunc(one.item.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return in[r.UID] }) {
				continue
			}
			grown, in[one.item.GetUID()], out[one.id] = true, true, one.resource
			if one.id.Kind == "Secret" {
				secrets.secret(&one.item)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("plane %s has nothing of Cluster %s/%s", o.name, o.cluster.Namespace, o.cluster.Name)
	}
	return out, nil
}

// belongs reports whether an object is of the Cluster by its label or by its name.
func (o *observer) belongs(item *unstructured.Unstructured) bool {
	if item.GetLabels()["cluster.x-k8s.io/cluster-name"] == o.cluster.Name {
		return true
	}
	kind, _, _ := unstructured.NestedString(item.Object, "type")
	return item.GetKind() == "Cluster" && item.GetName() == o.cluster.Name ||
		kind == "cluster.x-k8s.io/secret" && strings.HasPrefix(item.GetName(), o.cluster.Name+"-")
}

// view is what one plane has at one time.
type view struct {
	err             error
	present, paused bool
	of, have        int
	missing         []ID
}

// active is that the controllers of the plane are in charge.
func (v view) active() bool { return v.err == nil && v.present && !v.paused }

// incomplete is that the plane answers and lacks something.
func (v view) incomplete() bool { return v.err == nil && len(v.missing) > 0 }

// lacking are some of what it lacks.
func (v view) lacking() string {
	if v.err != nil {
		return "an answer"
	}
	const most = 3
	var names []string
	for _, id := range v.missing[:min(most, len(v.missing))] {
		names = append(names, id.String())
	}
	return fmt.Sprintf("%d (%s)", len(v.missing), strings.Join(names, ", "))
}

// String is the state for a timeline.
func (v view) String() string {
	state := "active"
	switch {
	case v.err != nil:
		return "no answer"
	case !v.present && v.have == 0:
		return "nothing"
	case !v.present:
		state = "no Cluster"
	case v.paused:
		state = "paused"
	}
	return fmt.Sprintf("%s %d/%d", state, v.have, v.of)
}

// key is String without the counts.
func (v view) key() string {
	state, _, _ := strings.Cut(v.String(), " ")
	switch {
	case v.err != nil || v.have == 0:
		return state
	case v.incomplete():
		return state + " some"
	default:
		return state + " all"
	}
}

// look reads the Cluster, and then the names of all else.
func (o *observer) look(ctx context.Context) view {
	v := view{of: len(o.want)}
	cluster, err := o.cluster.Read(ctx, o.objects)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		v.err = err
		return v
	default:
		v.present = true
		v.paused, _, _ = unstructured.NestedBool(cluster.Object, "spec", "paused")
	}
	there := map[ID]bool{}
	for _, resource := range o.wanted() {
		list, err := o.metadata.Resource(resource).Namespace(o.cluster.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			v.err = err
			return v
		}
		for _, item := range list.Items {
			there[ID{resource.Group, o.kinds[resource], item.Name}] = true
		}
	}
	for _, id := range o.want.sorted() {
		if there[id] {
			v.have++
		} else {
			v.missing = append(v.missing, id)
		}
	}
	return v
}

// wanted are the resources of what is wanted.
func (o *observer) wanted() []schema.GroupVersionResource {
	seen := map[schema.GroupVersionResource]bool{}
	for _, resource := range o.want {
		seen[resource] = true
	}
	return slices.DeleteFunc(o.resources(), func(r schema.GroupVersionResource) bool { return !seen[r] })
}

// search finds secrets in Events, in ConfigMaps, and in the status of what belongs to
// Clusters. A plane that does not answer is searched the next time.
func (o *observer) search(ctx context.Context, secrets needles) []string {
	var out []string
	look := func(resource schema.GroupVersionResource, fields ...string) {
		if ctx.Err() != nil {
			return
		}
		list, err := o.objects.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return
		}
		for _, item := range list.Items {
			part, _, err := unstructured.NestedFieldNoCopy(item.Object, fields...)
			text, encodeErr := json.Marshal(part)
			if errors.Join(err, encodeErr) != nil {
				continue // there is no status
			}
			out = append(out, secrets.in(fmt.Sprintf("%s %s/%s of plane %s", item.GetKind(), item.GetNamespace(), item.GetName(), o.name), string(text))...)
		}
	}
	look(schema.GroupVersionResource{Version: "v1", Resource: "events"})
	look(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
	for _, resource := range o.resources() {
		if resource.Group != "" {
			look(resource, "status")
		}
	}
	return out
}
