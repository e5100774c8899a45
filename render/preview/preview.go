// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// What to do about what a preview cannot have of its own.
const (
	ofAnother = "keep it in an environment that previews do not use"
	leaveOut  = "leave it out in previews, so that the cluster chooses one, or " + ofAnother
)

// Rewrite returns the nodes of a render in the preview of the rules. Every object that belongs to a
// namespace must name it; ofCluster reports whether a node belongs to the cluster. Nodes are not
// changed. Mistakes name the node and the path; only mistakes of a rule have a position.
func Rewrite(rules Rules, nodes []*object.Node, ofCluster func(*object.Node) bool) ([]*object.Node, object.Errors) {
	var errs object.Errors
	for _, n := range nodes {
		errs = append(errs, single(n, ofCluster(n))...)
	}
	w := rewriter{rules: &rules}
	errs = append(errs, w.findNamespaces(nodes)...)
	w.findServices(nodes)
	errs = append(errs, w.findHosts(nodes)...)
	out := make([]*object.Node, len(nodes))
	for i, n := range nodes {
		moved := *n
		moved.Object = n.Object.Clone()
		errs = append(errs, w.rewrite(n.ID, moved.Object)...)
		out[i] = &moved
	}
	return out, errs
}

// single returns the mistakes in an object that can exist only once in a cluster.
func single(n *object.Node, ofCluster bool) (errs object.Errors) {
	o := n.Object
	if ofCluster && !isNamespace(o) {
		errs = append(errs, fail(n.ID, object.Fields("kind"), ofAnother, "%s belongs to the cluster: all previews would share it", o.Ref()))
	}
	if strings.HasPrefix(o.Namespace(), "kube-") {
		errs = append(errs, fail(n.ID, object.Fields("metadata", "namespace"), ofAnother,
			"%s is in a namespace of Kubernetes: all previews would share it", o.Ref()))
	}
	if addresses := o.List("spec", "addresses"); o.Kind() == "Gateway" && len(addresses) > 0 {
		errs = append(errs, fail(n.ID, object.Fields("spec", "addresses"), leaveOut, "the addresses are fixed: previews would fight over them"))
	}
	isText := o.Group() == "" && (o.Kind() == "ConfigMap" || o.Kind() == "Secret")
	if isText {
		return errs
	}
	walk(map[string]any(o), nil, func(path object.Path, v any) {
		why := fixed(path[len(path)-1].Name, v)
		if why != "" {
			errs = append(errs, fail(n.ID, path, leaveOut, "%s: previews would fight over it", why))
		}
	})
	return errs
}

// fixed returns what a field takes of a cluster or a node that is there only once, or "" for any
// other field.
func fixed(field string, v any) string {
	number, isNumber := v.(int64)
	text, isText := v.(string)
	list, _ := v.([]any)

	// 0 and "" leave the choice to the cluster.
	switch field {
	case "nodePort", "healthCheckNodePort", "hostPort":
		if isNumber && number != 0 {
			return fmt.Sprintf("port %d of the nodes is fixed", number)
		}
	case "hostNetwork":
		if v == true {
			return "the pods have the ports of their node"
		}
	case "loadBalancerIP", "clusterIP", "metallb.universe.tf/loadBalancerIPs", "metallb.io/loadBalancerIPs", "lbipam.cilium.io/ips":
		if isText && text != "" && text != "None" {
			return fmt.Sprintf("the address %q is fixed", text)
		}
	case "externalIPs":
		if len(list) > 0 {
			return "the addresses are fixed"
		}
	case "volumeName":
		if isText && text != "" {
			return fmt.Sprintf("the volume %q is of the cluster", text)
		}
	}
	return ""
}

// walk calls yield for every field below v, in order.
func walk(v any, path object.Path, yield func(path object.Path, v any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range object.SortedKeys(v) {
			in := path.Append(object.Field(name))
			yield(in, v[name])
			walk(v[name], in, yield)
		}
	case []any:
		for i, item := range v {
			walk(item, path.Append(object.Index(i)), yield)
		}
	}
}

func isNamespace(o object.Object) bool { return o.Kind() == "Namespace" && o.Group() == "" }

// fail returns a mistake in a part of an object.
func fail(id object.ID, path object.Path, hint, format string, args ...any) *object.Error {
	return &object.Error{Stage: object.StageCheck, Node: id, Path: path.String(), Err: fmt.Errorf(format, args...), Hint: hint}
}

// one returns the mistake that an error of a rule is.
func one(err error) *object.Error {
	var out *object.Error
	errors.As(err, &out)
	return out
}
