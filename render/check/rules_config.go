// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxConfigSize is how much data a ConfigMap or a Secret may hold, in bytes
// (core/v1 MaxSecretSize).
const maxConfigSize = 1 << 20

// configRules holds the rules of ConfigMaps, Secrets and the small kinds of
// the core group.
func configRules(component string) func(*at) {
	switch component {
	case "core.v1.ConfigMap":
		return configMap
	case "core.v1.Secret":
		return secretObject
	case "core.v1.LimitRangeSpec":
		return limitRange
	case "core.v1.LimitRangeItem":
		return limitRangeItem
	case "core.v1.ResourceQuotaSpec":
		return func(a *at) {
			for _, n := range a.field("hard").names() {
				quota(a.in("hard", n), n)
			}
		}
	case "core.v1.Taint":
		return func(a *at) {
			optionalKey(a.field("key"))
			labelValue(a.field("value"))
		}
	}
	return nil
}

// configKey wants the name of a key of a ConfigMap or Secret.
func configKey(a *at, key string) {
	if len(validation.IsConfigMapKey(key)) == 0 {
		return
	}
	if a.w.secret {
		// The key may be a value that was written in the wrong place.
		a.parent.fail(RuleName, "has a key that is not made of letters, digits, \"-\", \"_\" and \".\" (at most 253)")
	} else {
		a.fail(RuleName, "expected letters, digits, \"-\", \"_\" and \".\" (at most 253) as the key, found %s", quote(key))
	}
}

func configMap(a *at) {
	data, binary := a.field("data"), a.field("binaryData")
	size := 0
	for _, k := range data.names() {
		configKey(data.field(k), k)
		size += len(data.field(k).text())
		if binary.field(k).has() {
			data.field(k).fail(RuleUnique, "is a key of binaryData as well").Hint = "keep one"
		}
	}
	for _, k := range binary.names() {
		configKey(binary.field(k), k)
		size += base64.StdEncoding.DecodedLen(len(binary.field(k).text()))
	}
	if size > maxConfigSize {
		a.fail(RuleSize, "holds %d bytes, at most %d are allowed", size, maxConfigSize)
	}
}

// secretObject checks the form of a Secret. Its messages name keys and types,
// never a value.
func secretObject(a *at) {
	size := 0
	for _, list := range [...]string{"data", "stringData"} {
		for _, k := range a.field(list).names() {
			configKey(a.in(list, k), k)
			size += len(a.in(list, k).text())
		}
	}
	if size > maxConfigSize*4/3 {
		a.fail(RuleSize, "holds more than %d bytes", maxConfigSize)
	}
	need := func(keys ...string) {
		for _, k := range keys {
			if !a.in("data", k).has() && !a.in("stringData", k).has() {
				a.in("data", k).fail(RuleRequired, "is required in a Secret of type %q", a.field("type").text())
			}
		}
	}
	switch a.field("type").text() {
	case "kubernetes.io/tls":
		need("tls.crt", "tls.key")
	case "kubernetes.io/dockerconfigjson":
		need(".dockerconfigjson")
		dockerConfig(a, ".dockerconfigjson")
	case "kubernetes.io/dockercfg":
		need(".dockercfg")
		dockerConfig(a, ".dockercfg")
	case "kubernetes.io/ssh-auth":
		need("ssh-privatekey")
	case "kubernetes.io/basic-auth":
		user := a.in("data", "username").has() || a.in("stringData", "username").has()
		pass := a.in("data", "password").has() || a.in("stringData", "password").has()
		if !user && !pass {
			a.field("data").fail(RuleRequired, "needs username or password in a Secret of type \"kubernetes.io/basic-auth\"")
		}
	case "kubernetes.io/service-account-token":
		if a.in("metadata", "annotations", "kubernetes.io/service-account.name").text() == "" {
			a.in("metadata", "annotations", "kubernetes.io/service-account.name").fail(RuleRequired,
				"is required in a Secret of type \"kubernetes.io/service-account-token\"")
		}
	}
}

// dockerConfig wants JSON and says nothing of what it holds.
func dockerConfig(a *at, key string) {
	text := a.in("stringData", key).text()
	place := a.in("stringData", key)
	if text == "" {
		place = a.in("data", key)
		decoded, err := base64.StdEncoding.DecodeString(place.text())
		if err != nil || !place.has() {
			return
		}
		text = string(decoded)
	}
	if !json.Valid([]byte(text)) {
		place.fail(RuleFormat, "is not JSON")
	}
}

// quota checks one limit of a ResourceQuota.
func quota(a *at, name string) {
	q, ok := amountOf(a)
	switch {
	case !ok:
	case q.Sign() < 0:
		a.fail(RuleRange, "must not be negative, found %s", a.show())
	case counted(name) && q.MilliValue()%1000 != 0:
		a.fail(RuleFormat, "expected a whole number, found %s", a.show())
	}
}

// counted reports whether a quota counts objects.
func counted(name string) bool {
	switch name {
	case "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
		"persistentvolumeclaims", "services.nodeports", "services.loadbalancers":
		return true
	}
	return strings.HasPrefix(name, "count/")
}

// limitRange checks that no type of limit comes twice.
func limitRange(a *at) {
	seen := map[string]bool{}
	for _, l := range a.field("limits").items() {
		kind := l.field("type")
		if seen[kind.text()] {
			kind.fail(RuleUnique, "is the type of another item: %s", kind.show())
		}
		seen[kind.text()] = true
	}
}

// limitRangeItem checks that every bound is within the next:
// min, defaultRequest, default, max.
func limitRangeItem(a *at) {
	if a.field("type").text() == "Pod" {
		forbid(a, "where the type is \"Pod\"", "default", "defaultRequest")
	}
	switch t := a.field("type"); t.text() {
	case "", "Pod", "Container", "PersistentVolumeClaim":
	default:
		if !strings.Contains(t.text(), "/") || len(content.IsLabelKey(t.text())) > 0 {
			t.fail(RuleEnum, "expected \"Pod\", \"Container\" or \"PersistentVolumeClaim\", found %s", t.show())
		}
	}
	bounds := [...]string{"min", "defaultRequest", "default", "max"}
	for i, lower := range bounds {
		for _, n := range a.field(lower).names() {
			low := a.in(lower, n)
			l, ok := amountOf(low)
			for _, upper := range bounds[i+1:] {
				high := a.in(upper, n)
				if h, bounded := amountOf(high); ok && bounded && l.Cmp(h) > 0 {
					low.fail(RuleRange, "expected at most %s, the %s, found %s", high.show(), upper, low.show())
					break
				}
			}
		}
	}
}
