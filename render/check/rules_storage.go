// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

// storageRules holds the rules of claims, volumes and classes. The sources
// are the validation packages of core and storage in k8s.io/kubernetes.
func storageRules(component string) func(*at) {
	switch component {
	case "core.v1.PersistentVolumeClaimSpec":
		return claim
	case "core.v1.PersistentVolumeSpec":
		return persistentVolume
	case "storage.v1.StorageClass":
		return storageClass
	}
	return nil
}

func claim(a *at) {
	// A StatefulSet passes its templates on; the server judges the claims.
	accessModes(a)
	request := a.in("resources", "requests", "storage")
	if !request.has() {
		request.fail(RuleRequired, "is required: how much storage is asked for")
	}
	positive(request)
	subdomain(a.field("storageClassName"))
}

func positive(a *at) {
	if q, ok := amountOf(a); ok && q.Sign() <= 0 {
		a.fail(RuleRange, "must be above 0, found %s", a.show())
	}
}

func accessModes(a *at) {
	modes := a.field("accessModes")
	if modes.size() == 0 {
		modes.fail(RuleRequired, "needs at least one mode such as \"ReadWriteOnce\"")
		return
	}
	once := slices.ContainsFunc(modes.items(), func(m *at) bool { return m.text() == "ReadWriteOncePod" })
	if once && modes.size() > 1 {
		modes.fail(RuleExclusive, "must not hold other modes beside \"ReadWriteOncePod\"")
	}
}

func persistentVolume(a *at) {
	accessModes(a)
	if s := a.in("capacity", "storage"); !s.has() {
		s.fail(RuleRequired, "is required: how large the volume is")
	} else {
		positive(s)
	}
	for _, n := range a.field("capacity").names() {
		if n != "storage" {
			a.in("capacity", n).fail(RuleEnum, "expected \"storage\" alone")
		}
	}
	subdomain(a.field("storageClassName"))
	var sources []string
	for _, n := range a.names() {
		switch n {
		case "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
			"storageClassName", "volumeAttributesClassName", "volumeMode":
		default:
			if a.field(n).has() {
				sources = append(sources, n)
			}
		}
	}
	switch {
	case len(sources) == 0:
		a.fail(RuleExclusive, "needs one source").Hint = "such as csi, nfs, hostPath or local"
	case len(sources) > 1:
		a.fail(RuleExclusive, "has more than one source: %s", strings.Join(sources, ", ")).Hint = "keep one"
	}
	if a.field("local").has() && !a.field("nodeAffinity").has() {
		a.missing("nodeAffinity").Hint = "a local volume is on one node"
	}
	noParent(a.in("hostPath", "path"))
	noParent(a.in("local", "path"))
}

func storageClass(a *at) {
	provisioner := a.field("provisioner")
	if t := provisioner.text(); t != "" && len(content.IsLabelKey(strings.ToLower(t))) > 0 {
		provisioner.fail(RuleName, "expected a name such as \"ebs.csi.aws.com\", found %s", provisioner.show())
	}
	if r := a.field("reclaimPolicy"); r.text() == "Recycle" {
		r.fail(RuleEnum, "expected \"Delete\" or \"Retain\", found %s", r.show())
	}
	if p := a.field("parameters"); p.size() > 512 {
		p.fail(RuleSize, "expected at most 512 parameters, found %d", p.size())
	}
}
