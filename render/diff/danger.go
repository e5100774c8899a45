// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Danger is a consequence of a change that a reviewer must not miss.
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
	// DangerOrphan is an object that stays in the cluster unmanaged.
	DangerOrphan = "orphan"
	// DangerPrune is an object that was exempt from pruning and is not any more.
	DangerPrune = "prune"
	// DangerRecreate is an object that must be deleted and created again.
	DangerRecreate = "recreate"
	// DangerHandover is an object that changes its owner.
	DangerHandover = "handover"
	// DangerCRD is a change of a CustomResourceDefinition that affects its objects.
	DangerCRD = "crd"
	// DangerRBAC is a role or a binding that grants more than before.
	DangerRBAC = "rbac"
	// DangerExposure is something that becomes reachable from outside.
	DangerExposure = "exposure"
	// DangerHost is a workload with access to its node.
	DangerHost = "host-access"
	// DangerStopped is a workload that is scaled to zero.
	DangerStopped = "stopped"
)

func danger(code, format string, args ...any) Danger {
	return Danger{Code: code, Message: fmt.Sprintf(format, args...)}
}

// deletion are the dangers of deleting an object.
func deletion(ref object.Ref, i Item) []Danger {
	if i.Kept {
		return []Danger{danger(DangerOrphan, "it stays in the cluster, because it is exempt from pruning, and is no longer managed: delete it by hand once it is not needed")}
	}
	switch ref.GroupKind() {
	case "PersistentVolumeClaim", "PersistentVolume":
		return []Danger{danger(DangerData, "its data may be lost: the volume is deleted if its reclaim policy is Delete; set apply.prune: false to keep it")}
	case "StatefulSet.apps":
		if i.Object.Text("spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") == "Delete" {
			return []Danger{danger(DangerData, "its pods are deleted, and its PersistentVolumeClaims with their data, because persistentVolumeClaimRetentionPolicy.whenDeleted is Delete")}
		}
		return []Danger{danger(DangerData, "its pods are deleted; its PersistentVolumeClaims stay")}
	case "Namespace":
		return []Danger{danger(DangerData, "everything in the namespace is deleted with it")}
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return []Danger{danger(DangerData, "every %s in the cluster is deleted with it", i.Object.Text("spec", "names", "kind"))}
	}
	if strings.Contains(ref.Group, ".") && !strings.HasSuffix(ref.Group, ".k8s.io") {
		return []Danger{danger(DangerData, "its operator may delete the data that belongs to it")}
	}
	return nil
}

// changeDangers are those of any change of a kind.
func changeDangers(after Item, c Change) (out []Danger) {
	var fixed []string
	for _, f := range c.Fields {
		if f.Immutable {
			fixed = append(fixed, f.Path)
		}
	}
	if len(fixed) > 0 {
		what := strings.Join(fixed, ", ")
		if after.Forced {
			out = append(out, danger(DangerRecreate, "%s is immutable: the engine deletes the object and creates it again%s", what, lost(c.Ref)))
		} else {
			out = append(out, danger(DangerRecreate, "%s is immutable: the API server rejects the change until the object is deleted%s", what, lost(c.Ref)))
		}
	}
	if c.Layer != nil && object.HoldsData(c.Ref) {
		out = append(out, danger(DangerHandover, "it moves from layer %s to %s: hand it over first, or the layer that it leaves prunes it", c.Layer.Before, c.Layer.After))
	}
	return out
}

// pruning is a change of whether the engine prunes the object.
func pruning(before, after Item) []Danger {
	switch was, is := before.Kept, after.Kept; {
	case was && !is:
		return []Danger{danger(DangerPrune, "it is no longer exempt from pruning: it is deleted when it leaves the render")}
	case !was && is:
		return []Danger{danger(DangerOrphan, "it is exempt from pruning from now on: it stays in the cluster when it leaves the render")}
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

// dangers are those of the content of an object that it did not have before; before is
// nil where the object is new.
func dangers(before, after object.Object, changed []Field) []Danger {
	var out []Danger
	switch after.Ref().GroupKind() {
	case "CustomResourceDefinition.apiextensions.k8s.io":
		out = crd(before, after)
	case "PersistentVolumeClaim":
		for _, f := range changed {
			if f.Path == "spec.resources.requests.storage" && shrinks(f) {
				out = append(out, danger(DangerData, "a PersistentVolumeClaim cannot shrink from %v to %v", f.Before, f.After))
			}
		}
	case "PersistentVolume":
		for _, f := range changed {
			if f.Path == "spec.persistentVolumeReclaimPolicy" && f.After == "Delete" {
				out = append(out, danger(DangerData, "its reclaim policy is Delete from now on: its data is deleted with its claim"))
			}
		}
	case "Role.rbac.authorization.k8s.io", "ClusterRole.rbac.authorization.k8s.io":
		out = added(powers(before), powers(after), DangerRBAC, "it grants %s")
	case "RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		out = added(grants(before), grants(after), DangerRBAC, "it grants %s")
	case "Service":
		out = added(reach(before), reach(after), DangerExposure, "it becomes reachable from outside the cluster: %s")
	case "Ingress.networking.k8s.io", "HTTPRoute.gateway.networking.k8s.io":
		out = added(hosts(before), hosts(after), DangerExposure, "it serves a new host: %s")
	}
	if before != nil && after.Get("spec", "replicas") == int64(0) && before.Get("spec", "replicas") != int64(0) {
		out = append(out, danger(DangerStopped, "it is scaled to 0: none of its pods runs any more"))
	}
	return append(out, added(hostPowers(before), hostPowers(after), DangerHost, "its pods get %s")...)
}

// added are dangers for the entries of after that before does not have.
func added(before, after []string, code, format string) (out []Danger) {
	for _, a := range after {
		if !slices.Contains(before, a) {
			out = append(out, danger(code, format, a))
		}
	}
	return out
}

// crd is how a change of a definition affects its objects.
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
			out = append(out, danger(DangerCRD, "version %s is removed: manifests and clients that use it break, and the API server rejects that while objects are stored in it", v.name))
		case v.served && !now[i].served:
			out = append(out, danger(DangerCRD, "version %s is no longer served: manifests and clients that use it break", v.name))
		case v.storage && !now[i].storage:
			out = append(out, danger(DangerCRD, "the storage version of %s is no longer %s: migrate the stored objects", kind, v.name))
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

// powers are the rules of a role that grant unusually much.
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

// grants are the subjects of a binding, where its role is powerful or the subject is
// every client.
func grants(o object.Object) (out []string) {
	role := o.Text("roleRef", "name")
	for _, s := range o.List("subjects") {
		m, _ := s.(map[string]any)
		subject := fmt.Sprint(m["kind"], " ", m["name"])
		name, _ := m["name"].(string)
		switch {
		case strings.HasPrefix(name, "system:authenticated"), strings.HasPrefix(name, "system:unauthenticated"), name == "system:anonymous",
			name == "system:serviceaccounts":
			out = append(out, "the role "+role+" to "+name)
		case role == "cluster-admin" || role == "admin" || role == "edit":
			out = append(out, "the role "+role+" to "+subject)
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

// hostPowers are the access that the pods of an object have to their node.
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

// podSpec is the spec of the pods of an object, nil where it has none.
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
