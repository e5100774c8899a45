// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/render/object"
)

// Hide is a message of a server, or of a webhook or policy that it asks, without the values
// of an object: any may be secret, and such a message may show them.
func Hide(o *unstructured.Unstructured, message string) string {
	var secrets object.Secrets
	for k, v := range o.Object {
		if k != "apiVersion" && k != "kind" && k != "metadata" {
			values(&secrets, v)
		}
	}
	for _, v := range o.GetAnnotations() {
		values(&secrets, v)
	}
	return secrets.Hide(message)
}

// values adds all texts below v, as they are and decoded, that are longer than a word of a
// message.
func values(secrets *object.Secrets, v any) {
	const word = 5
	switch v := v.(type) {
	case map[string]any:
		for _, below := range v {
			values(secrets, below)
		}
	case []any:
		for _, below := range v {
			values(secrets, below)
		}
	case string:
		if len(v) > word {
			secrets.Add(v)
		}
		if plain, err := base64.StdEncoding.DecodeString(v); err == nil && len(plain) > word {
			secrets.Add(string(plain))
		}
	}
}
