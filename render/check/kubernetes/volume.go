// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"strings"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

// volumeRules returns the rule of a component among the rules of the volumes of a pod, or nil if
// it has no rule.
func volumeRules(component string) func(*finding.Value) {
	switch component {
	case "core.v1.Volume":
		return checkVolume
	case "core.v1.ProjectedVolumeSource":
		return checkProjected
	case "core.v1.DownwardAPIVolumeFile":
		return checkDownwardFile
	}
	return nil
}

// checkVolume requires exactly one source.
func checkVolume(a *finding.Value) {
	var sources []string
	for _, n := range a.Names() {
		if n != "name" && a.Field(n).Has() {
			sources = append(sources, n)
		}
	}
	switch len(sources) {
	case 0:
		// The server takes it for an emptyDir.
		f := a.Warn(finding.RuleExclusive, "has no source, so that it is an emptyDir")
		f.Hint = "such as emptyDir, configMap, secret, persistentVolumeClaim or projected"
		return
	case 1:
	default:
		a.Fail(finding.RuleExclusive, "has more than one source: %s", strings.Join(sources, ", ")).Hint = "keep one"
		return
	}
	source := a.Field(sources[0])
	if sources[0] == "secret" && source.Field("secretName").Text() == "" {
		f := source.Missing("secretName")
		if source.Field("name").Has() {
			f.Hint = "a Secret is named by secretName, a ConfigMap by name"
		}
	}
}

// checkFileMode requires permission bits.
func checkFileMode(a *finding.Value) {
	if i, ok := a.Int(); ok && (i < 0 || i > 0o777) {
		a.Fail(finding.RuleRange, "expected permissions from 0 to 511 (0777 in octal), found %d", i).Hint =
			"JSON and YAML 1.2 know decimal numbers: 0644 is 420, 0400 is 256"
	}
}

func checkProjected(a *finding.Value) {
	paths := map[string]bool{}
	for _, s := range a.Field("sources").Items() {
		for _, kind := range [...]string{"secret", "configMap", "downwardAPI"} {
			for _, item := range s.In(kind, "items").Items() {
				if path := item.Field("path"); paths[path.Text()] {
					path.Fail(finding.RuleUnique, "is written by another item of the volume: %s", path.Show())
				}
				paths[item.Field("path").Text()] = true
			}
		}
		if len(s.Names()) == 0 || s.Size() == 1 && !s.Field(s.Names()[0]).Has() {
			s.Warn(finding.RuleExclusive, "has no source")
			continue
		}
		checkOneOf(s, "source", "secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
	}
}

func checkDownwardFile(a *finding.Value) {
	switch checkOneOf(a, "source", "fieldRef", "resourceFieldRef") {
	case "fieldRef":
		path := a.In("fieldRef", "fieldPath")
		if t := path.Text(); t != "metadata.labels" && t != "metadata.annotations" {
			checkFieldPath(path, "metadata.name", "metadata.namespace", "metadata.uid")
		}
	case "resourceFieldRef":
		if a.In("resourceFieldRef", "containerName").Text() == "" {
			a.Field("resourceFieldRef").Missing("containerName")
		}
		checkResourceField(a.In("resourceFieldRef", "resource"))
	}
}
