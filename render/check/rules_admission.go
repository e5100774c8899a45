// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// admissionRules holds the rules of webhooks. The source is k8s.io/kubernetes,
// pkg/apis/admissionregistration/validation.
func admissionRules(component string) func(*at) {
	switch component {
	case "admissionregistration.v1.ValidatingWebhook", "admissionregistration.v1.MutatingWebhook":
		return webhook
	case "admissionregistration.v1.WebhookClientConfig":
		return func(a *at) {
			if oneOf(a, "address", "url", "service") == "url" && !strings.HasPrefix(a.field("url").text(), "https://") {
				a.field("url").fail(RuleFormat, "expected a URL that begins with \"https://\", found %s", a.field("url").show())
			}
		}
	case "admissionregistration.v1.ServiceReference":
		return func(a *at) {
			port(a.field("port"))
			if p := a.field("path"); p.text() != "" && !strings.HasPrefix(p.text(), "/") {
				p.fail(RuleFormat, "expected a path that begins with \"/\", found %s", p.show())
			}
		}
	case "admissionregistration.v1.RuleWithOperations":
		return func(a *at) {
			for _, n := range [...]string{"operations", "apiGroups", "apiVersions", "resources"} {
				if a.field(n).size() == 0 {
					a.missing(n)
				}
				if n != "operations" && n != "apiGroups" {
					texts(a.field(n), func(*at) {})
				}
			}
		}
	}
	return nil
}

func webhook(a *at) {
	name := a.field("name")
	if t := name.text(); t != "" && (len(validation.IsDNS1123Subdomain(t)) > 0 || strings.Count(t, ".") < 2) {
		name.fail(RuleName, "expected a domain name of at least three parts such as \"check.example.com\", found %s", name.show())
	}
	between(a.field("timeoutSeconds"), 1, 30)
	effects := a.field("sideEffects")
	if t := effects.text(); t == "Some" || t == "Unknown" {
		effects.fail(RuleEnum, "expected \"None\" or \"NoneOnDryRun\", found %s", effects.show())
	}
	versions := a.field("admissionReviewVersions")
	unique(versions.items(), RuleUnique, "stands in the list already, as item %d")
	ok := slices.ContainsFunc(versions.items(), func(v *at) bool { return v.text() == "v1" || v.text() == "v1beta1" })
	if versions.size() > 0 && !ok {
		versions.fail(RuleEnum, "needs \"v1\" or \"v1beta1\"")
	}
}
