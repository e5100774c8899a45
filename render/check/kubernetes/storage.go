// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

// storageRules returns the rule of a component among the rules of claims, volumes and classes, or
// nil if it has no rule. The sources are the validation packages of core and storage in
// k8s.io/kubernetes.
func storageRules(component string) func(*finding.Value) {
	switch component {
	case "core.v1.PersistentVolumeClaimSpec":
		return checkClaim
	case "core.v1.PersistentVolumeSpec":
		return checkPersistentVolume
	case "storage.v1.StorageClass":
		return checkStorageClass
	}
	return nil
}

func checkClaim(a *finding.Value) {
	// A StatefulSet passes its templates on; the server judges the claims.
	checkAccessModes(a)
	request := a.In("resources", "requests", "storage")
	if !request.Has() {
		request.Fail(finding.RuleRequired, "is required: the amount of storage to request")
	}
	checkPositive(request)
}

func checkAccessModes(a *finding.Value) {
	modes := a.Field("accessModes")
	if modes.Size() == 0 {
		modes.Fail(finding.RuleRequired, "needs at least one mode such as \"ReadWriteOnce\"")
		return
	}
	once := slices.ContainsFunc(modes.Items(), func(m *finding.Value) bool { return m.Text() == "ReadWriteOncePod" })
	if once && modes.Size() > 1 {
		modes.Fail(finding.RuleExclusive, "must not contain other modes together with \"ReadWriteOncePod\"")
	}
}

// checkPersistentVolume checks the size and the source of a volume.
func checkPersistentVolume(a *finding.Value) {
	// The size is the only capacity that a volume has.
	checkAccessModes(a)
	if s := a.In("capacity", "storage"); !s.Has() {
		s.Fail(finding.RuleRequired, "is required: the size of the volume")
	} else {
		checkPositive(s)
	}
	for _, n := range a.Field("capacity").Names() {
		if n != "storage" {
			a.In("capacity", n).Fail(finding.RuleEnum, "expected \"storage\" alone")
		}
	}

	// What is not one of the common fields is a source.
	var sources []string
	for _, n := range a.Names() {
		switch n {
		case "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
			"storageClassName", "volumeAttributesClassName", "volumeMode":
		default:
			if a.Field(n).Has() {
				sources = append(sources, n)
			}
		}
	}
	switch {
	case len(sources) == 0:
		a.Fail(finding.RuleExclusive, "needs one source").Hint = "such as csi, nfs, hostPath or local"
	case len(sources) > 1:
		a.Fail(finding.RuleExclusive, "has more than one source: %s", strings.Join(sources, ", ")).Hint = "keep one"
	}
	if a.Field("local").Has() && !a.Field("nodeAffinity").Has() {
		a.Missing("nodeAffinity").Hint = "a local volume is on one node"
	}
}

func checkStorageClass(a *finding.Value) {
	provisioner := a.Field("provisioner")
	if t := provisioner.Text(); t != "" && len(content.IsLabelKey(strings.ToLower(t))) > 0 {
		provisioner.Fail(finding.RuleName, "expected a name such as \"ebs.csi.aws.com\", found %s", provisioner.Show())
	}
	if p := a.Field("parameters"); p.Size() > 512 {
		p.Fail(finding.RuleSize, "expected at most 512 parameters, found %d", p.Size())
	}
}
