// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"strings"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

// volumeRules holds the rules of the volumes of a pod.
func volumeRules(component string) func(*finding.Value) {
	switch component {
	case "core.v1.Volume":
		return volume
	case "core.v1.KeyToPath":
		return keyToPath
	case "core.v1.ProjectedVolumeSource":
		return projected
	case "core.v1.SecretVolumeSource", "core.v1.ConfigMapVolumeSource", "core.v1.DownwardAPIVolumeSource":
		return filesMode
	case "core.v1.DownwardAPIVolumeFile":
		return downwardFile
	case "core.v1.ServiceAccountTokenProjection":
		return func(a *finding.Value) {
			between(a.Field("expirationSeconds"), 600, 1<<32)
			relative(a.Field("path"))
		}
	case "core.v1.HostPathVolumeSource":
		return func(a *finding.Value) { noParent(a.Field("path")) }
	case "core.v1.NFSVolumeSource":
		return func(a *finding.Value) {
			if p := a.Field("path"); p.Text() != "" && !strings.HasPrefix(p.Text(), "/") {
				p.Fail(finding.RuleFormat, "expected an absolute path, found %s", p.Show())
			}
		}
	case "core.v1.EmptyDirVolumeSource":
		return func(a *finding.Value) {
			if q, ok := amountOf(a.Field("sizeLimit")); ok && q.Sign() < 0 {
				a.Field("sizeLimit").Fail(finding.RuleRange, "must not be negative, found %s", a.Field("sizeLimit").Show())
			}
		}
	case "core.v1.CSIVolumeSource":
		return func(a *finding.Value) { Subdomain(a.Field("driver")) }
	}
	return nil
}

// volume wants exactly one source.
func volume(a *finding.Value) {
	label(a.Field("name"))
	var sources []string
	for _, n := range a.Names() {
		if n != "name" && a.Field(n).Has() {
			sources = append(sources, n)
		}
	}
	switch len(sources) {
	case 0:
		// The server takes it for an emptyDir.
		a.Warn(finding.RuleExclusive, "has no source, so that it is an emptyDir").Hint = "such as emptyDir, configMap, secret, persistentVolumeClaim or projected"
		return
	case 1:
	default:
		a.Fail(finding.RuleExclusive, "has more than one source: %s", strings.Join(sources, ", ")).Hint = "keep one"
		return
	}
	source := a.Field(sources[0])
	switch sources[0] {
	case "configMap":
		if source.Field("name").Text() == "" {
			source.Missing("name")
		}
	case "secret":
		if source.Field("secretName").Text() == "" {
			f := source.Missing("secretName")
			if source.Field("name").Has() {
				f.Hint = "a Secret is named by secretName, a ConfigMap by name"
			}
		}
	case "ephemeral":
		if !source.Field("volumeClaimTemplate").Has() {
			source.Missing("volumeClaimTemplate")
		}
	}
}

func keyToPath(a *finding.Value) {
	relative(a.Field("path"))
	fileMode(a.Field("mode"))
}

// fileMode wants permission bits.
func fileMode(a *finding.Value) {
	if i, ok := a.Int(); ok && (i < 0 || i > 0o777) {
		a.Fail(finding.RuleRange, "expected permissions from 0 to 511 (0777 in octal), found %d", i).Hint =
			"JSON and YAML 1.2 know decimal numbers: 0644 is 420, 0400 is 256"
	}
}

func filesMode(a *finding.Value) { fileMode(a.Field("defaultMode")) }

func projected(a *finding.Value) {
	fileMode(a.Field("defaultMode"))
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
		source := oneOf(s, "source", "secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
		if (source == "secret" || source == "configMap") && s.In(source, "name").Text() == "" {
			s.Field(source).Missing("name")
		}
	}
}

func downwardFile(a *finding.Value) {
	relative(a.Field("path"))
	fileMode(a.Field("mode"))
	switch oneOf(a, "source", "fieldRef", "resourceFieldRef") {
	case "fieldRef":
		path := a.In("fieldRef", "fieldPath")
		if t := path.Text(); t != "metadata.labels" && t != "metadata.annotations" {
			fieldPath(path, "metadata.name", "metadata.namespace", "metadata.uid")
		}
	case "resourceFieldRef":
		if a.In("resourceFieldRef", "containerName").Text() == "" {
			a.Field("resourceFieldRef").Missing("containerName")
		}
		resourceField(a.In("resourceFieldRef", "resource"))
	}
}
