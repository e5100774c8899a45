// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "strings"

// volumeRules holds the rules of the volumes of a pod.
func volumeRules(component string) func(*at) {
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
		return func(a *at) {
			between(a.field("expirationSeconds"), 600, 1<<32)
			relative(a.field("path"))
		}
	case "core.v1.HostPathVolumeSource":
		return func(a *at) { noParent(a.field("path")) }
	case "core.v1.NFSVolumeSource":
		return func(a *at) {
			if p := a.field("path"); p.text() != "" && !strings.HasPrefix(p.text(), "/") {
				p.fail(RuleFormat, "expected an absolute path, found %s", p.show())
			}
		}
	case "core.v1.EmptyDirVolumeSource":
		return func(a *at) {
			if q, ok := amountOf(a.field("sizeLimit")); ok && q.Sign() < 0 {
				a.field("sizeLimit").fail(RuleRange, "must not be negative, found %s", a.field("sizeLimit").show())
			}
		}
	case "core.v1.CSIVolumeSource":
		return func(a *at) { subdomain(a.field("driver")) }
	}
	return nil
}

// volume wants exactly one source.
func volume(a *at) {
	label(a.field("name"))
	var sources []string
	for _, n := range a.names() {
		if n != "name" && a.field(n).has() {
			sources = append(sources, n)
		}
	}
	switch len(sources) {
	case 0:
		// The server takes it for an emptyDir.
		a.warn(RuleExclusive, "has no source, so that it is an emptyDir").Hint = "such as emptyDir, configMap, secret, persistentVolumeClaim or projected"
		return
	case 1:
	default:
		a.fail(RuleExclusive, "has more than one source: %s", strings.Join(sources, ", ")).Hint = "keep one"
		return
	}
	source := a.field(sources[0])
	switch sources[0] {
	case "configMap":
		if source.field("name").text() == "" {
			source.missing("name")
		}
	case "secret":
		if source.field("secretName").text() == "" {
			f := source.missing("secretName")
			if source.field("name").has() {
				f.Hint = "a Secret is named by secretName, a ConfigMap by name"
			}
		}
	case "ephemeral":
		if !source.field("volumeClaimTemplate").has() {
			source.missing("volumeClaimTemplate")
		}
	}
}

func keyToPath(a *at) {
	relative(a.field("path"))
	fileMode(a.field("mode"))
}

// fileMode wants permission bits.
func fileMode(a *at) {
	if i, ok := a.integer(); ok && (i < 0 || i > 0o777) {
		a.fail(RuleRange, "expected permissions from 0 to 511 (0777 in octal), found %d", i).Hint =
			"JSON and YAML 1.2 know decimal numbers: 0644 is 420, 0400 is 256"
	}
}

func filesMode(a *at) { fileMode(a.field("defaultMode")) }

func projected(a *at) {
	fileMode(a.field("defaultMode"))
	paths := map[string]bool{}
	for _, s := range a.field("sources").items() {
		for _, kind := range [...]string{"secret", "configMap", "downwardAPI"} {
			for _, item := range s.in(kind, "items").items() {
				if path := item.field("path"); paths[path.text()] {
					path.fail(RuleUnique, "is written by another item of the volume: %s", path.show())
				}
				paths[item.field("path").text()] = true
			}
		}
		if len(s.names()) == 0 || s.size() == 1 && !s.field(s.names()[0]).has() {
			s.warn(RuleExclusive, "has no source")
			continue
		}
		source := oneOf(s, "source", "secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
		if (source == "secret" || source == "configMap") && s.in(source, "name").text() == "" {
			s.field(source).missing("name")
		}
	}
}

func downwardFile(a *at) {
	relative(a.field("path"))
	fileMode(a.field("mode"))
	switch oneOf(a, "source", "fieldRef", "resourceFieldRef") {
	case "fieldRef":
		path := a.in("fieldRef", "fieldPath")
		if t := path.text(); t != "metadata.labels" && t != "metadata.annotations" {
			fieldPath(path, "metadata.name", "metadata.namespace", "metadata.uid")
		}
	case "resourceFieldRef":
		if a.in("resourceFieldRef", "containerName").text() == "" {
			a.field("resourceFieldRef").missing("containerName")
		}
		resourceField(a.in("resourceFieldRef", "resource"))
	}
}
