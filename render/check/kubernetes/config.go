// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

// maxConfigSize limits the data of a ConfigMap or a Secret, in bytes
// (core/v1 MaxSecretSize).
const maxConfigSize = 1 << 20

// configRules returns the rule of a component among the rules of ConfigMaps, Secrets and the
// small kinds of the core group, or nil if it has no rule.
func configRules(component string) func(*finding.Value) {
	switch component {
	case "core.v1.ConfigMap":
		return checkConfigMap
	case "core.v1.Secret":
		return checkSecretObject
	case "core.v1.LimitRangeSpec":
		return func(a *finding.Value) { checkDistinct(a.Field("limits"), "type") }
	case "core.v1.LimitRangeItem":
		return checkLimitRangeItem
	case "core.v1.ResourceQuotaSpec":
		return func(a *finding.Value) {
			for _, n := range a.Field("hard").Names() {
				checkQuota(a.In("hard", n), n)
			}
		}
	}
	return nil
}

// filePath is the path of a file in folders, which no password looks like.
var filePath = regexp.MustCompile(`^[a-z][\w.-]*(/[a-z][\w.-]*)+\.[a-z]{2,5}$`)

// checkConfigKey requires the name of a key of a ConfigMap or Secret.
func checkConfigKey(a *finding.Value, key string) {
	if len(validation.IsConfigMapKey(key)) == 0 {
		return
	}
	switch {
	case a.Secret() && filePath.MatchString(key):
		f := a.Parent.Fail(finding.RuleName, "the key %q is not made of letters, digits, \"-\", \"_\" and \".\" (at most 253)", key)
		f.Hint = "a key has no folders: mount it at such a path by items of the volume"
	case a.Secret():
		// The key may be a value that was written in the wrong field.
		a.Parent.Fail(finding.RuleName, "has a key that is not made of letters, digits, \"-\", \"_\" and \".\" (at most 253)")
	default:
		a.Fail(finding.RuleName, "expected letters, digits, \"-\", \"_\" and \".\" (at most 253) as the key, found %s", finding.Quote(key))
	}
}

func checkConfigMap(a *finding.Value) {
	data, binary := a.Field("data"), a.Field("binaryData")
	size := 0
	for _, k := range data.Names() {
		checkConfigKey(data.Field(k), k)
		size += len(data.Field(k).Text())
		if binary.Field(k).Has() {
			data.Field(k).Fail(finding.RuleUnique, "is a key of binaryData as well").Hint = "keep one"
		}
	}
	for _, k := range binary.Names() {
		checkConfigKey(binary.Field(k), k)
		size += base64.StdEncoding.DecodedLen(len(binary.Field(k).Text()))
	}
	if size > maxConfigSize {
		a.Fail(finding.RuleSize, "holds %d bytes, at most %d are allowed", size, maxConfigSize)
	}
}

// checkSecretObject checks the form of a Secret. Its messages name keys and types,
// never a value.
func checkSecretObject(a *finding.Value) {
	// Bound the size of what the Secret holds.
	size := 0
	for _, list := range [...]string{"data", "stringData"} {
		for _, k := range a.Field(list).Names() {
			checkConfigKey(a.In(list, k), k)
			size += len(a.In(list, k).Text())
		}
	}
	if size > maxConfigSize*4/3 {
		a.Fail(finding.RuleSize, "holds more than %d bytes", maxConfigSize)
	}

	// Each type of Secret has keys of its own.
	need := func(keys ...string) {
		for _, k := range keys {
			if !a.In("data", k).Has() && !a.In("stringData", k).Has() {
				a.In("data", k).Fail(finding.RuleRequired, "is required in a Secret of type %q", a.Field("type").Text())
			}
		}
	}
	switch a.Field("type").Text() {
	case "kubernetes.io/tls":
		need("tls.crt", "tls.key")
	case "kubernetes.io/dockerconfigjson":
		need(".dockerconfigjson")
		checkDockerConfig(a, ".dockerconfigjson")
	case "kubernetes.io/dockercfg":
		need(".dockercfg")
		checkDockerConfig(a, ".dockercfg")
	case "kubernetes.io/ssh-auth":
		need("ssh-privatekey")
	case "kubernetes.io/basic-auth":
		user := a.In("data", "username").Has() || a.In("stringData", "username").Has()
		pass := a.In("data", "password").Has() || a.In("stringData", "password").Has()
		if !user && !pass {
			a.Field("data").Fail(finding.RuleRequired, "needs username or password in a Secret of type \"kubernetes.io/basic-auth\"")
		}
	case "kubernetes.io/service-account-token":
		if a.In("metadata", "annotations", "kubernetes.io/service-account.name").Text() == "" {
			a.In("metadata", "annotations", "kubernetes.io/service-account.name").Fail(finding.RuleRequired,
				"is required in a Secret of type \"kubernetes.io/service-account-token\"")
		}
	}
}

// checkDockerConfig requires JSON and shows nothing of the content.
func checkDockerConfig(a *finding.Value, key string) {
	text := a.In("stringData", key).Text()
	content := a.In("stringData", key)
	if text == "" {
		content = a.In("data", key)
		decoded, err := base64.StdEncoding.DecodeString(content.Text())
		if err != nil || !content.Has() {
			return
		}
		text = string(decoded)
	}
	if !json.Valid([]byte(text)) {
		content.Fail(finding.RuleFormat, "is not JSON")
	}
}

// checkQuota checks one limit of a ResourceQuota.
func checkQuota(a *finding.Value, name string) {
	checkNotNegative(a)
	if q, ok := amountOf(a); ok && counted(name) && q.MilliValue()%1000 != 0 {
		a.Fail(finding.RuleFormat, "expected a whole number, found %s", a.Show())
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

// checkLimitRangeItem checks that every bound is within the next:
// min, defaultRequest, default, max.
func checkLimitRangeItem(a *finding.Value) {
	if a.Field("type").Text() == "Pod" {
		forbid(a, "where the type is \"Pod\"", "default", "defaultRequest")
	}
	switch t := a.Field("type"); t.Text() {
	case "", "Pod", "Container", "PersistentVolumeClaim":
	default:
		if !strings.Contains(t.Text(), "/") || len(content.IsLabelKey(t.Text())) > 0 {
			t.Fail(finding.RuleEnum, "expected \"Pod\", \"Container\" or \"PersistentVolumeClaim\", found %s", t.Show())
		}
	}
	bounds := [...]string{"min", "defaultRequest", "default", "max"}
	for i, lower := range bounds {
		for _, n := range a.Field(lower).Names() {
			low := a.In(lower, n)
			l, ok := amountOf(low)
			for _, upper := range bounds[i+1:] {
				high := a.In(upper, n)
				if h, bounded := amountOf(high); ok && bounded && l.Cmp(h) > 0 {
					low.Fail(finding.RuleRange, "expected at most %s, the %s, found %s", high.Show(), upper, low.Show())
					break
				}
			}
		}
	}
}
