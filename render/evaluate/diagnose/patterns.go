// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"

	"cuelang.org/go/cue"
)

// patternOfNames returns in plain words what the names of the fields of v must be. It returns "" if
// there is no pattern for them.
func patternOfNames(v cue.Value) string {
	if !v.Exists() {
		return ""
	}
	for _, one := range append(alternatives(v), v) {
		members, err := one.Fields(cue.Patterns(true), cue.Optional(true))
		for err == nil && members.Next() {
			if members.Selector().ConstraintType() != cue.PatternConstraint {
				continue
			}
			if name := Expected(members.Selector().Pattern()); name != "" && name != "text" {
				return name
			}
		}
	}
	return ""
}

// patternName returns in plain words what a regular expression stands for. It knows the patterns in
// the embedded modules, in the schema of modules, and in definitions that Timoni and "cue get crd" make
// of Kubernetes. It returns "" for any other.
func patternName(pattern string) string {
	return cmp.Or(patternOfName(pattern), patternOfValue(pattern), patternOfCluster(pattern))
}

// patternOfName returns what patternName returns for names of objects, hosts, variables, keys and
// labels.
func patternOfName(pattern string) string {
	const (
		begin  = `^[a-z]([-a-z0-9]{0,`
		end    = `}[a-z0-9])?$`
		label  = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
		domain = label + `(\.` + label + `)*`
		prefix = `^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?`
	)
	switch pattern {
	case begin + `61` + end:
		return `a name of at most 63 lower-case letters, digits and "-", beginning with a letter`
	case begin + `50` + end:
		return `a name of at most 52 lower-case letters, digits and "-", beginning with a letter`
	case `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`:
		return `a name of at most 63 lower-case letters, digits and "-"`
	case `^` + label + `$`:
		return `a name of lower-case letters, digits and "-"`
	case `^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$`:
		return `a name of at most 253 lower-case letters, digits, "-" and "."`
	case `^` + domain + `$`:
		return `a name of lower-case letters, digits, "-" and "."`
	case `^[a-z](-?[a-z0-9]){0,14}$`:
		return `a name of at most 15 lower-case letters, digits and single "-", beginning with a letter`
	case `^[a-z_][a-z0-9_]{0,30}$`:
		return `a name of at most 31 lower-case letters, digits and "_", not beginning with a digit`
	case `^[A-Za-z_][A-Za-z0-9_]*$`, `^[a-zA-Z_][a-zA-Z0-9_]*$`:
		return `a name of letters, digits and "_", not beginning with a digit`
	case `^[A-Za-z_][-.A-Za-z0-9_]{0,62}$`:
		return `a name of at most 63 letters, digits, "-", "_" and ".", beginning with a letter or "_"`
	case `^[A-Za-z0-9]([-_A-Za-z0-9]{0,61}[A-Za-z0-9])?$`:
		return `a name of at most 63 letters, digits, "-" and "_"`
	case `^[-._a-zA-Z0-9]{1,253}$`, `^[\-._a-zA-Z0-9]+$`:
		return `a key of letters, digits, "-", "_" and "."`
	case prefix + `[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`:
		return "a key of a label such as app.kubernetes.io/name"
	case `^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`:
		return `a value of a label: at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit`
	case `^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`:
		return `text of letters, digits, "-", "_" and ".", beginning and ending with a letter or digit`
	case `^(\*\.)?` + domain + `$`:
		return "a host name such as app.example.org"
	case `^[a-z0-9][-.a-z0-9]{1,61}[a-z0-9]$`:
		return `a name of 3 to 63 lower-case letters, digits, "-" and "."`
	}
	return ""
}

// patternOfValue returns what patternName returns for amounts, numbers, paths and references.
func patternOfValue(pattern string) string {
	const quantity = `(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$`
	switch pattern {
	case `^([a-zA-Z0-9][-a-zA-Z0-9.]*(:[0-9]+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?(@sha256:[0-9a-f]{64})?$`:
		return "an image such as ghcr.io/org/app:1.2"
	case `^[0-9]+(\.[0-9]+)?` + quantity,
		`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`:
		return `an amount such as "500m", "128Mi" or "1.5"`
	case `^[1-9]\d*m$`:
		return `an amount of cpu such as "500m"`
	case `^[1-9]\d*(Mi|Gi)$`:
		return `an amount of memory such as "128Mi"`
	case `^[0-9]+%$`:
		return `a percentage such as "25%"`
	case `^[1-9][0-9]{0,4}$`:
		return `the number of a port such as "8080"`
	case `^/`:
		return `a path that begins with "/"`
	case `^[A-Z][A-Z_]*$`:
		return "a capability such as NET_BIND_SERVICE"
	case `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`, `^([0-9]+(\.[0-9]+)?(ms|s|m))+$`:
		return "a duration such as 30s or 1h30m"
	case `^((oci|file)://.*)$`:
		return "a URL such as oci://ghcr.io/org/module"
	}
	return ""
}

// patternOfCluster returns what patternName returns for patterns that only the module cluster has.
func patternOfCluster(pattern string) string {
	switch pattern {
	case `^v1\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`:
		return "a version with its patch, such as v1.36.3"
	case `^[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?$`:
		return `a name of at most 20 lower-case letters, digits and "-"`
	case `^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`:
		return "a failure domain such as eu-west-1a or 2"
	case `^[a-z]{2}(-[a-z]+)+-[0-9]+$`:
		return "a region such as eu-west-1"
	case `^[a-z]+-[a-z]+[0-9]+$`:
		return "a region such as europe-west1"
	case `^[a-z][a-z0-9]+$`:
		return "a location such as westeurope"
	case `^([a-z0-9.-]+:)?[a-z][-a-z0-9]{4,28}[a-z0-9]$`:
		return "the id of a project"
	case `^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`:
		return "an id such as 01234567-89ab-cdef-0123-456789abcdef"
	case `^vpc-[0-9a-f]+$`:
		return "a VPC such as vpc-0123456789abcdef0"
	case `^subnet-[0-9a-f]+$`:
		return "a subnet such as subnet-0123456789abcdef0"
	case `^sha256:[0-9a-f]{64}$`:
		return "a digest: sha256: and 64 digits of 0-9 and a-f"
	case `^[0-9a-f]{64}$`:
		return "a SHA-256 sum: 64 digits of 0-9 and a-f"
	case `^oci://[A-Za-z0-9.:\[\]-]+(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`:
		return "a repository such as oci://ghcr.io/org/name, without a tag"
	}
	return ""
}
