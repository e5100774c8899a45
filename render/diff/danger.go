// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Danger is something that a reviewer must not miss.
type Danger struct {
	// Code names the kind of danger, for machines: see the constants.
	Code string `json:"code"`
	// Message is a sentence for people, with what to do where that is known.
	Message string `json:"message"`
}

// Codes of dangers.
const (
	// DangerData is data that can be lost.
	DangerData = "data-loss"
	// DangerOrphan is an object that stays in the cluster without an owner.
	DangerOrphan = "orphan"
	// DangerPrune is an object that was left alone before and is now pruned.
	DangerPrune = "prune"
	// DangerRecreate is an object that has to be made again.
	DangerRecreate = "recreate"
	// DangerHandover is an object that changes its owner.
	DangerHandover = "handover"
	// DangerCRD is a change of a CustomResourceDefinition that its objects feel.
	DangerCRD = "crd"
	// DangerRBAC is more power for someone.
	DangerRBAC = "rbac"
	// DangerExposure is something that becomes reachable from outside.
	DangerExposure = "exposure"
	// DangerHost is a workload with power over its node.
	DangerHost = "host-access"
	// DangerStopped is a workload that is scaled to nothing.
	DangerStopped = "stopped"
)

func danger(code, format string, args ...any) Danger {
	return Danger{Code: code, Message: fmt.Sprintf(format, args...)}
}

// deletion says what the end of an object means.
func deletion(ref object.Ref, i Item) []Danger {
	if i.stays() {
		return []Danger{danger(DangerOrphan, "it stays in the cluster, because it is never pruned, and nobody manages it any more: delete it by hand once nothing needs it")}
	}
	switch ref.GroupKind() {
	case "PersistentVolumeClaim", "PersistentVolume":
		return []Danger{danger(DangerData, "its data may be lost: the volume is deleted where its reclaim policy is Delete; set apply.deletion: Orphan to keep it")}
	case "StatefulSet.apps":
		if i.Object.Text("spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") == "Delete" {
			return []Danger{danger(DangerData, "its pods are deleted, and its claims with their data, because persistentVolumeClaimRetentionPolicy says so")}
		}
		return []Danger{danger(DangerData, "its pods are deleted; its claims stay")}
	case "Namespace":
		return []Danger{danger(DangerData, "everything in the namespace is deleted with it")}
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return []Danger{danger(DangerData, "every %s in the cluster is deleted with it", i.Object.Text("spec", "names", "kind"))}
	}
	if strings.Contains(ref.Group, ".") && !strings.HasSuffix(ref.Group, ".k8s.io") {
		return []Danger{danger(DangerData, "what its operator keeps for it may be deleted with it")}
	}
	return nil
}

// changeDangers are those of a change as such.
func changeDangers(after Item, c Change) (out []Danger) {
	var fixed []string
	for _, f := range c.Fields {
		if f.Immutable {
			fixed = append(fixed, f.Path)
		}
	}
	if len(fixed) > 0 {
		what := strings.Join(fixed, ", ")
		if after.forced() {
			out = append(out, danger(DangerRecreate, "%s cannot be changed: the engine deletes the object and makes it again%s", what, lost(c.Ref)))
		} else {
			out = append(out, danger(DangerRecreate, "%s cannot be changed: the API server refuses it until the object is deleted%s", what, lost(c.Ref)))
		}
	}
	if c.Layer != nil && object.HoldsData(c.Ref) {
		out = append(out, danger(DangerHandover, "it moves from layer %s to %s: it must be handed over and not pruned by the layer that it leaves", c.Layer.Before, c.Layer.After))
	}
	return out
}

// pruning is what is different about the end of the object.
func pruning(before, after Item) []Danger {
	switch stayed, stays := before.stays(), after.stays(); {
	case stayed && !stays:
		return []Danger{danger(DangerPrune, "it was never pruned, and is from now on: it is deleted when it leaves the render")}
	case !stayed && stays:
		return []Danger{danger(DangerOrphan, "it is not pruned any more: it stays in the cluster when it leaves the render")}
	}
	return nil
}

func lost(ref object.Ref) string {
	switch ref.GroupKind() {
	case "PersistentVolumeClaim", "PersistentVolume":
		return "; its data may be lost"
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return "; all of its objects are lost"
	}
	return ""
}

// dangers are those of what an object says, as far as it did not say it before;
// before is nil where the object is new.
func dangers(before, after object.Object, changed []Field) []Danger {
	var out []Danger
	switch after.Ref().GroupKind() {
	case "CustomResourceDefinition.apiextensions.k8s.io":
		out = crd(before, after)
	case "PersistentVolumeClaim":
		for _, f := range changed {
			if f.Path == "spec.resources.requests.storage" && shrinks(f) {
				out = append(out, danger(DangerData, "a claim cannot shrink from %v to %v", f.Before, f.After))
			}
		}
	case "PersistentVolume":
		for _, f := range changed {
			if f.Path == "spec.persistentVolumeReclaimPolicy" && f.After == "Delete" {
				out = append(out, danger(DangerData, "its data is deleted with its claim from now on"))
			}
		}
	case "Role.rbac.authorization.k8s.io", "ClusterRole.rbac.authorization.k8s.io":
		out = fresh(powers(before), powers(after), DangerRBAC, "it grants %s")
	case "RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		out = fresh(grants(before), grants(after), DangerRBAC, "it gives %s")
	case "Service":
		out = fresh(reach(before), reach(after), DangerExposure, "it becomes reachable from outside of the cluster: %s")
	case "Ingress.networking.k8s.io", "HTTPRoute.gateway.networking.k8s.io":
		out = fresh(hosts(before), hosts(after), DangerExposure, "it serves a new host: %s")
	}
	if before != nil && after.Get("spec", "replicas") == int64(0) && before.Get("spec", "replicas") != int64(0) {
		out = append(out, danger(DangerStopped, "it is scaled to 0: nothing of it runs any more"))
	}
	return append(out, fresh(hostPowers(before), hostPowers(after), DangerHost, "its pods get %s")...)
}

// fresh are dangers for what was not there before.
func fresh(before, after []string, code, format string) (out []Danger) {
	for _, a := range after {
		if !slices.Contains(before, a) {
			out = append(out, danger(code, format, a))
		}
	}
	return out
}

// crd is what objects of a definition feel.
func crd(before, after object.Object) (out []Danger) {
	if before == nil {
		return nil
	}
	kind := after.Text("spec", "names", "kind")
	now := versions(after)
	for _, v := range versions(before) {
		i := slices.IndexFunc(now, func(n version) bool { return n.name == v.name })
		switch {
		case i < 0:
			out = append(out, danger(DangerCRD, "version %s is gone: manifests and clients that use it break, and the API server refuses that while objects are stored in it", v.name))
		case v.served && !now[i].served:
			out = append(out, danger(DangerCRD, "version %s is not served any more: manifests and clients that use it break", v.name))
		case v.storage && !now[i].storage:
			out = append(out, danger(DangerCRD, "objects of %s are stored in another version than %s from now on: migrate those that are there", kind, v.name))
		}
	}
	return out
}

type version struct {
	name            string
	served, storage bool
}

func versions(o object.Object) (out []version) {
	for _, v := range o.List("spec", "versions") {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		out = append(out, version{name: name, served: m["served"] == true, storage: m["storage"] == true})
	}
	return out
}

// powers are the rules of a role that give more than the usual.
func powers(o object.Object) (out []string) {
	for _, r := range o.List("rules") {
		m, _ := r.(map[string]any)
		verbs, resources := texts(m["verbs"]), texts(m["resources"])
		groups := texts(m["apiGroups"])
		where := strings.Join(resources, ", ")
		if len(resources) == 0 {
			where = strings.Join(texts(m["nonResourceURLs"]), ", ")
		}
		switch {
		case slices.Contains(verbs, "*") && slices.Contains(resources, "*"):
			out = append(out, "every verb on every resource of "+groupNames(groups))
		case slices.Contains(verbs, "*"):
			out = append(out, "every verb on "+where)
		case slices.Contains(resources, "*"):
			out = append(out, strings.Join(verbs, ", ")+" on every resource of "+groupNames(groups))
		}
		for _, v := range verbs {
			if v == "escalate" || v == "bind" || v == "impersonate" {
				out = append(out, v+" on "+where)
			}
		}
		reads := slices.ContainsFunc(verbs, func(v string) bool { return v == "get" || v == "list" || v == "watch" })
		if slices.Contains(resources, "secrets") && reads {
			out = append(out, "reading Secrets")
		}
		for _, r := range resources {
			if r == "pods/exec" || r == "serviceaccounts/token" || r == "nodes/proxy" {
				out = append(out, strings.Join(verbs, ", ")+" on "+r)
			}
		}
	}
	return out
}

func groupNames(groups []string) string {
	var out []string
	for _, g := range groups {
		switch g {
		case "*":
			return "every group"
		case "":
			g = "the core group"
		}
		out = append(out, g)
	}
	return strings.Join(out, ", ")
}

// grants are who gets a role by a binding, where that is much or everyone.
func grants(o object.Object) (out []string) {
	role := o.Text("roleRef", "name")
	for _, s := range o.List("subjects") {
		m, _ := s.(map[string]any)
		who := fmt.Sprint(m["kind"], " ", m["name"])
		name, _ := m["name"].(string)
		switch {
		case strings.HasPrefix(name, "system:authenticated"), strings.HasPrefix(name, "system:unauthenticated"), name == "system:anonymous",
			name == "system:serviceaccounts":
			out = append(out, "the role "+role+" to "+name)
		case role == "cluster-admin" || role == "admin" || role == "edit":
			out = append(out, "the role "+role+" to "+who)
		}
	}
	return out
}

func reach(o object.Object) []string {
	switch t := o.Text("spec", "type"); t {
	case "LoadBalancer", "NodePort":
		return []string{"type " + t}
	}
	if len(o.List("spec", "externalIPs")) > 0 {
		return []string{"externalIPs"}
	}
	return nil
}

func hosts(o object.Object) []string {
	out := texts(o.Get("spec", "hostnames"))
	for _, r := range o.List("spec", "rules") {
		m, _ := r.(map[string]any)
		if h, _ := m["host"].(string); h != "" {
			out = append(out, h)
		}
	}
	return out
}

// hostPowers are what the pods of an object may do to their node.
func hostPowers(o object.Object) (out []string) {
	if o == nil {
		return nil
	}
	spec := podSpec(o)
	for _, name := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if spec[name] == true {
			out = append(out, name)
		}
	}
	for _, v := range list(spec["volumes"]) {
		m, _ := v.(map[string]any)
		if p, ok := m["hostPath"].(map[string]any); ok {
			out = append(out, fmt.Sprint("the path ", p["path"], " of the node"))
		}
	}
	for _, field := range []string{"initContainers", "containers"} {
		for _, c := range list(spec[field]) {
			m, _ := c.(map[string]any)
			security, _ := m["securityContext"].(map[string]any)
			if security["privileged"] == true {
				out = append(out, fmt.Sprint("a privileged container ", m["name"]))
			}
			capabilities, _ := security["capabilities"].(map[string]any)
			for _, c := range texts(capabilities["add"]) {
				if c == "ALL" || c == "SYS_ADMIN" || c == "NET_ADMIN" || c == "SYS_PTRACE" {
					out = append(out, "the capability "+c)
				}
			}
		}
	}
	return out
}

// podSpec is the spec of the pods of an object, nil where it makes none.
func podSpec(o object.Object) map[string]any {
	switch o.Ref().GroupKind() {
	case "Pod":
		return o.Map("spec")
	case "CronJob.batch":
		return o.Map("spec", "jobTemplate", "spec", "template", "spec")
	}
	return o.Map("spec", "template", "spec")
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func texts(v any) (out []string) {
	for _, e := range list(v) {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
