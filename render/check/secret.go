// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/check/kubernetes"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
)

// isSecret reports whether o holds secrets by its kind.
func isSecret(o object.Object) bool { return o.Kind() == "Secret" && o.Group() == "" }

// isEncrypted reports whether o carries the mark that SOPS leaves on what it
// encrypted (github.com/getsops/sops, stores/stores.go).
func isEncrypted(o object.Object) bool {
	return o.Text("sops", "mac") != "" && o.Text("sops", "lastmodified") != ""
}

// checkSecrets refuses Secrets that hold data. The findings name no value and no key: what is
// written in the wrong field must not end up in a log.
func (c *Checker) checkSecrets(a *finding.Value) {
	// An item of a List is judged only as a Secret.
	o := a.Root()
	if o.Group() == "" && strings.HasSuffix(o.Kind(), "List") {
		for _, item := range a.Field("items").Items() {
			if m, ok := item.Raw.(map[string]any); ok && isSecret(m) && heldValues(item, false) > 0 {
				f := item.Fail(finding.RuleSecret, "is a Secret that holds data, which a render must not contain")
				f.Hint = "write each item of the List as a separate object"
			}
		}
		return
	}

	// An encrypted Secret may hold values, but no value in the clear.
	c.checkLastApplied(a)
	encrypted := isEncrypted(o)
	if encrypted {
		c.checkEncrypted(a)
	}
	allows := func(pattern string) bool { return Allows(pattern, o) }
	if !isSecret(o) || slices.ContainsFunc(c.options.AllowSecrets[a.Node().Spec()], allows) {
		return
	}
	n := heldValues(a, encrypted)
	if n == 0 {
		return
	}
	if encrypted {
		f := a.Fail(finding.RuleSecret, "is marked as encrypted but holds %s in the clear", printable.Count(n, "value"))
		f.Hint = "encrypt the file again with SOPS"
		return
	}
	a.Fail(finding.RuleSecret, "holds %s, which a render must not contain", printable.Count(n, "secret value")).Hint =
		"use an ExternalSecret or a reference to a Secret of the cluster, encrypt it with SOPS for Flux, or allow this Secret in allowSecrets"
}

// checkLastApplied refuses the annotation in which kubectl keeps a Secret with its data.
func (c *Checker) checkLastApplied(a *finding.Value) {
	const name = "kubectl.kubernetes.io/last-applied-configuration"
	applied := object.Object{}
	if json.Unmarshal([]byte(a.Root().Text("metadata", "annotations", name)), &applied) != nil {
		return
	}
	if !isSecret(applied) && !isSecret(a.Root()) {
		return
	}
	if applied["data"] != nil || applied["stringData"] != nil {
		a.Field("metadata").Field("annotations").Field(name).
			Fail(finding.RuleSecret, "holds a Secret with its data").Hint = "remove it, as all that an export from a cluster adds"
	}
}

// Allows reports whether o is a Secret whose name a pattern of allowSecrets matches.
func Allows(pattern string, o object.Object) bool {
	matched, err := path.Match(pattern, o.Name())
	return err == nil && matched && o.Name() != "" && isSecret(o)
}

// heldValues returns how many values data and stringData hold. With encrypted, it counts only the
// values in the clear.
func heldValues(a *finding.Value, encrypted bool) (n int) {
	for _, list := range [...]string{"data", "stringData"} {
		m := a.Field(list)
		if _, ok := m.Raw.(map[string]any); !ok {
			if !m.Empty() {
				n++
			}
			continue
		}
		for _, key := range m.Names() {
			v := m.Field(key)
			if !v.Empty() && (!encrypted || !ciphertext(v.Text())) {
				n++
			}
		}
	}
	return n
}

// ciphertext reports whether SOPS made the text.
func ciphertext(text string) bool {
	return strings.HasPrefix(text, "ENC[") && strings.HasSuffix(text, "]")
}

// checkEncrypted judges an object that SOPS encrypted by what the engine can do. Kinds that
// Kubernetes does not have belong to an operator that decrypts them itself.
func (c *Checker) checkEncrypted(a *finding.Value) {
	if _, ok := kubernetes.LookupKind(a.Root().APIVersion(), a.Root().Kind()); !ok {
		return
	}
	d, err := dialect.Find(dialect.Name(c.options.Engine))
	switch {
	case err != nil || d.Encrypted == dialect.DecryptedBefore:
		a.Field("sops").Warn(finding.RuleEncrypted, "is encrypted with SOPS: decrypt it before it is applied")
	case d.Encrypted == dialect.Refused:
		a.Field("sops").Fail(finding.RuleEncrypted, "is encrypted with SOPS, which %s cannot decrypt", d.Title).Hint =
			"use an ExternalSecret"
	}
}
