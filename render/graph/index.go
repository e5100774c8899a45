// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// item is a node with what is read from it repeatedly.
type item struct {
	node *object.Node
	ref  object.Ref
	// pod is the pod template of a workload; zero for all else.
	pod cursor
}

// secretKey names a Secret, whatever produces it.
type secretKey struct{ namespace, name string }

// crdKey names a type of custom resource.
type crdKey struct{ group, kind string }

// label is one label of the pods of a namespace.
type label struct{ namespace, key, value string }

// index finds nodes by what others call them. Its values are indexes into items,
// in ascending order.
type index struct {
	items []item
	ids   map[object.ID]int
	refs  map[object.Ref]int
	specs map[string][]object.ID
	crds  map[crdKey]int
	// hashed are the ConfigMaps and Secrets whose names end in a hash.
	hashed map[hashedName]int
	// producers are the objects whose controller makes a Secret.
	producers map[secretKey]int
	// issued are the Secrets that cert-manager makes by an annotation: no pod waits for its Ingress.
	issued map[secretKey]bool
	// bindings are the role bindings of a ServiceAccount.
	bindings map[object.Ref][]int
	// pods are the workloads whose pods wear a label.
	pods map[label][]int
	// customs are the custom resources of a group whose CRD is in the render.
	customs map[string][]int
	// quotas are the ResourceQuotas and LimitRanges of a namespace.
	quotas map[string][]int
}

// newIndex indexes nodes, which are sorted by id. If two have one id or one identity, the first
// counts; that is reported elsewhere.
func newIndex(nodes []*object.Node) *index {
	x := &index{
		items:     make([]item, len(nodes)),
		ids:       make(map[object.ID]int, len(nodes)),
		refs:      make(map[object.Ref]int, len(nodes)),
		specs:     map[string][]object.ID{},
		crds:      map[crdKey]int{},
		hashed:    map[hashedName]int{},
		producers: map[secretKey]int{},
		issued:    map[secretKey]bool{},
		bindings:  map[object.Ref][]int{},
		pods:      map[label][]int{},
		customs:   map[string][]int{},
		quotas:    map[string][]int{},
	}

	// The first node of an id or of an identity counts.
	for i, n := range nodes {
		x.items[i] = item{node: n, ref: n.Object.Ref(), pod: podSpec(n.Object)}
		if _, ok := x.ids[n.ID]; !ok {
			x.ids[n.ID] = i
			x.specs[n.ID.Spec()] = append(x.specs[n.ID.Spec()], n.ID)
		}
		if _, ok := x.refs[x.items[i].ref]; !ok {
			x.refs[x.items[i].ref] = i
		}
		x.indexKind(i)
	}

	// Custom resources are found by the definitions of the render.
	for i, it := range x.items {
		if _, ok := x.crds[crdKey{it.ref.Group, it.ref.Kind}]; ok {
			x.customs[it.ref.Group] = append(x.customs[it.ref.Group], i)
		}
	}
	return x
}

// indexKind indexes what other objects find the object i by.
func (x *index) indexKind(i int) {
	it := x.items[i]
	o := it.node.Object

	// Some kinds are found by what they define or bind.
	switch it.ref.GroupKind() {
	case "CustomResourceDefinition.apiextensions.k8s.io":
		x.crds[crdKey{o.Text("spec", "group"), o.Text("spec", "names", "kind")}] = i
	case "RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		for _, s := range root(o).get("subjects").items() {
			if account, ok := subject(s, it.ref.Namespace); ok {
				x.bindings[account] = append(x.bindings[account], i)
			}
		}
	case "ConfigMap", "Secret":
		if name, ok := withoutHash(it.ref); ok {
			x.hashed[name] = i
		}
	case "ResourceQuota", "LimitRange":
		x.quotas[it.ref.Namespace] = append(x.quotas[it.ref.Namespace], i)
	}

	// Controllers make further Secrets.
	for _, name := range produces(o, it.ref) {
		if _, ok := x.producers[name]; !ok {
			x.producers[name] = i
		}
	}
	if isIssued(o) {
		for _, t := range slices.Concat(o.List("spec", "tls"), o.List("spec", "listeners")) {
			m, _ := t.(map[string]any)
			x.issued[secretKey{it.ref.Namespace, object.Object(m).Text("secretName")}] = true
			for _, c := range object.Object(m).List("tls", "certificateRefs") {
				ref, _ := c.(map[string]any)
				x.issued[secretKey{cmp.Or(object.Object(ref).Text("namespace"), it.ref.Namespace), object.Object(ref).Text("name")}] = true
			}
		}
	}

	// Pods are found by their labels.
	if it.pod.value == nil {
		return
	}
	for k, v := range podLabels(o, it.ref.Kind) {
		if text, ok := v.(string); ok {
			l := label{it.ref.Namespace, k, text}
			x.pods[l] = append(x.pods[l], i)
		}
	}
}

// subject returns the ServiceAccount that a subject of a role binding names, and false if it names
// something else.
func subject(s cursor, namespace string) (object.Ref, bool) {
	if s.get("kind").text() != "ServiceAccount" {
		return object.Ref{}, false
	}
	return object.Ref{
		Kind:      "ServiceAccount",
		Namespace: cmp.Or(s.get("namespace").text(), namespace),
		Name:      s.get("name").text(),
	}, true
}

// produces returns the Secrets that the controller of o makes.
func produces(o object.Object, r object.Ref) []secretKey {
	key := func(name string) []secretKey { return []secretKey{{r.Namespace, name}} }
	switch r.GroupKind() {
	case "Certificate.cert-manager.io":
		return key(o.Text("spec", "secretName"))
	case "Issuer.cert-manager.io", "ClusterIssuer.cert-manager.io": // The key of its account.
		return key(o.Text("spec", "acme", "privateKeySecretRef", "name"))
	case "ExternalSecret.external-secrets.io":
		return key(cmp.Or(o.Text("spec", "target", "name"), r.Name))
	case "SealedSecret.bitnami.com":
		return key(cmp.Or(o.Text("spec", "template", "metadata", "name"), r.Name))
	case "VaultStaticSecret.secrets.hashicorp.com", "VaultDynamicSecret.secrets.hashicorp.com",
		"VaultPKISecret.secrets.hashicorp.com":
		return key(o.Text("spec", "destination", "name"))
	case "Cluster.postgresql.cnpg.io":
		// The operator of CloudNativePG names them so, see its documentation
		// under Applications and Certificates.
		var keys []secretKey
		for _, suffix := range [...]string{"-app", "-superuser", "-ca", "-server", "-replication"} {
			keys = append(keys, secretKey{r.Namespace, r.Name + suffix})
		}
		return keys
	}
	if name := o.Text("spec", "writeConnectionSecretToRef", "name"); name != "" {
		namespace := o.Text("spec", "writeConnectionSecretToRef", "namespace")
		return []secretKey{{cmp.Or(namespace, r.Namespace), name}}
	}
	return nil
}

// selected returns the workloads of a namespace whose pods have all of labels, in order. An empty
// selector selects none here.
func (x *index) selected(namespace string, labels map[string]any) []int {
	var found []int
	for n, key := range object.SortedKeys(labels) {
		value, ok := labels[key].(string)
		if !ok {
			return nil
		}
		with := x.pods[label{namespace, key, value}]
		if n == 0 {
			found = with
		} else {
			found = intersect(found, with)
		}
	}
	return found
}

// intersect returns what two ascending lists share.
func intersect(a, b []int) []int {
	var out []int
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			out = append(out, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return out
}
