// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

// rule is what a text has to be.
type rule = document.Rule

func label() rule { return document.Label() }

// installations returns the rule for the name of an Installation, or for a pattern of names.
func installations() rule {
	return rule{
		Words: "the name of an Installation, such as berlin, or of several, such as eu-*", Pattern: `^[-a-z0-9*]+$`,
		Why: func(text string) string { return document.BadLabel(strings.ReplaceAll(text, "*", "x")) },
	}
}

func rooted() rule {
	return rule{Words: "the beginning of a path: expected one such as /api", Pattern: "^/"}
}

func percent() rule {
	return rule{Words: "a percentage: expected 0% to 100%", Pattern: "^(0*[0-9]{1,2}|0*100)%$"}
}

// cronLine returns the rule for five fields of cron. The decoder of the line knows what the
// fields may be.
func cronLine() rule {
	return rule{Pattern: `^\s*\S+(\s+\S+){4}\s*$`, Holds: func(string) bool { return true }}
}

func uuid() rule {
	return rule{Words: "an identity of azure", Pattern: "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"}
}

func googleAccount() rule {
	return rule{Words: "an identity of gcp", Pattern: `^[a-z0-9]([-a-z0-9]*[a-z0-9])?@[a-z0-9][-.a-z0-9]*\.gserviceaccount\.com$`}
}

func awsRole() rule {
	return rule{Words: "an identity of aws", Pattern: `^arn:aws(-[a-z]+)*:iam::[0-9]{12}:role/[-\w+=,.@/]+$`}
}

func busNamespace() rule {
	return rule{Words: "a namespace of Service Bus: expected letters, digits and -, without .servicebus.windows.net", Pattern: "^[A-Za-z][-A-Za-z0-9]{4,48}[A-Za-z0-9]$"}
}

// trustDomain returns the rule for what SPIFFE allows (section 2.1 of the SPIFFE ID), except for
// its length.
func trustDomain() rule { return rule{Words: "a trust domain", Pattern: "^[a-z0-9._-]{1,255}$"} }

// kubeVersion returns the rule for a version of Kubernetes, with what vendors add to it.
func kubeVersion() rule {
	version := regexp.MustCompile(`^v?1(\.[0-9]{1,3}){1,2}([-+].*)?$`)
	return rule{Words: "a version of Kubernetes: expected one such as 1.36 or v1.36.2", Holds: func(s string) bool { return s == "" || version.MatchString(s) }}
}

// domain returns the rule for the DNS domain of a cluster.
func domain() rule {
	return rule{Why: func(s string) string {
		for part := range strings.SplitSeq(s, ".") {
			if bad := document.BadLabel(part); s != "" && bad != "" {
				return fmt.Sprintf("is not a domain: %q %s", part, bad)
			}
		}
		return ""
	}}
}

func duration() rule {
	return rule{Words: "a duration: expected one such as 30m or 1h", Holds: func(s string) bool {
		d, err := time.ParseDuration(s)
		return s == "" || err == nil && d >= 0
	}}
}

// timeout returns the rule for how long an object may take to be ready.
func timeout() rule {
	return rule{Words: "a timeout: expected " + object.TimeoutWords, Holds: func(s string) bool {
		_, ok := object.ParseTimeout(s)
		return ok
	}}
}

// cost returns the rule for a duration above 0.
func cost() rule {
	return rule{Words: "a time such as 50ms", Holds: func(s string) bool {
		d, err := time.ParseDuration(s)
		return err == nil && d > 0
	}}
}

// amount returns the rule for an amount of a resource, above 0.
func amount() rule {
	return rule{Words: "an amount such as 500m or 20Gi", Holds: func(s string) bool {
		q, err := resource.ParseQuantity(s)
		return err == nil && q.Sign() > 0
	}}
}

func memory() rule {
	return rule{Words: "a size such as 64Mi", Holds: func(s string) bool {
		q, err := resource.ParseQuantity(s)
		return err == nil && q.Value() > 0
	}}
}

func cidr() rule {
	return rule{Words: "a range of addresses: expected one such as 169.254.20.10/32", Holds: func(s string) bool {
		_, err := netip.ParsePrefix(s)
		return s == "" || err == nil
	}}
}

// appService returns the rule for the way in which an apps.yaml names the service of an
// application.
func appService() rule {
	return rule{Words: "the service of an application", Pattern: `^[a-z0-9-]+\.[a-z0-9-]+:[0-9]+$`}
}

// pattern returns the rule for a pattern of path.Match.
func pattern() rule {
	return rule{Words: "a valid pattern", Holds: func(s string) bool {
		_, err := path.Match(s, "")
		return err == nil
	}}
}

// previewRule returns the rule for the name of a namespace or a host in previews. It holds the
// placeholder ${preview}, and may hold one for the name that there is otherwise.
func previewRule(of string) rule {
	other := "${" + of + "}"
	return rule{Pattern: `\$\{preview\}`, Why: func(s string) string {
		filled := strings.NewReplacer("${preview}", "x", other, "x").Replace(s)
		switch {
		case strings.Count(s, "${preview}") != 1:
			return "must have ${preview} once, which makes previews different"
		case strings.Count(s, other) > 1:
			return "may have " + other + " only once"
		case strings.Contains(filled, "$"):
			return "has a placeholder that is not known: expected ${preview} and " + other
		case of == "host" && !Subdomain(filled, 1):
			return "is no host name: expected one such as pr-${preview}.${host}"
		case of != "host" && document.BadLabel(filled) != "":
			return "is no name of a namespace: it " + document.BadLabel(filled)
		}
		return ""
	}}
}

// inProject returns the rule for a path in the folder of a project.
func inProject() rule {
	return rule{Words: "a path relative to the project's folder, with / between folders", Holds: func(s string) bool {
		return s != "" && !strings.HasPrefix(s, "/") && !strings.Contains(s, `\`)
	}}
}

// secretName returns the rule for the name of a Secret.
func secretName() rule {
	return rule{Words: "the name of a Secret", Holds: func(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 }}
}

// ociReference returns the rule for the address of an artifact.
func ociReference() rule {
	return rule{Words: "the reference of an OCI artifact", Holds: func(s string) bool { return strings.HasPrefix(s, "oci://") }}
}

// notReference reports whether the author of a secret by name may have written its value.
func notReference(v object.Value) bool {
	for _, m := range v.Members {
		if m.Value.Kind == object.KindMap {
			return true
		}
	}
	return !object.IsReference(v)
}

// moduleOf returns what to write in place of a text that stands where the reference of a module
// belongs.
func moduleOf(v object.Value) string {
	switch {
	case v.Kind != object.KindString:
		return ""
	case strings.Contains(v.Text, "://"):
		return fmt.Sprintf("write {type: …, ref: %s} with the type git or oci", strconv.Quote(v.Text))
	case document.BadLabel(v.Text) == "":
		return fmt.Sprintf("write {type: %s, ref: %s} for a module of Ropewalk, {type: %s, ref: ./FOLDER} for one of your own", reftype.Embedded, v.Text, reftype.Path)
	}
	return fmt.Sprintf("write {type: %s, ref: %s}", reftype.Path, strconv.Quote(v.Text))
}

// variable returns the rule for the name of a variable of a shell.
func variable() rule {
	return rule{Words: "the name of a variable: expected letters, digits and _, and no digit first", Pattern: "^[_a-zA-Z][_a-zA-Z0-9]*$"}
}
