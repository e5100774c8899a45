// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/base64"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/render/object"
)

// Hide returns a message of a server, webhook or policy without the values of an object: any value
// may be secret, and such a message may show it. Names of objects and addresses stay, because a
// message without them is of no use.
func Hide(o *unstructured.Unstructured, message string) string {
	var secrets object.Secrets
	core := o.GroupVersionKind().Group == "" // Keys of Secrets and ConfigMaps say nothing of their values.
	for k, v := range o.Object {
		if k != "apiVersion" && k != "kind" && k != "metadata" {
			addValues(&secrets, v, core)
		}
	}
	for k, v := range o.GetAnnotations() {
		if !strings.Contains(k, "cluster.x-k8s.io/") || !strings.HasSuffix(k, "-name") {
			addValues(&secrets, v, true)
		}
	}
	return secrets.Hide(message)
}

// shown reports whether a field of Cluster API holds the name of an object, or an address.
func shown(field string) bool {
	return slices.Contains([]string{
		"apiGroup", "apiVersion", "kind", "name", "namespace", "clusterName", "dataSecretName", "host", "address", "providerID",
	}, field)
}

// addValues adds all texts below v, as they are and decoded, that are longer than a word of a
// message. Unless all is set, it leaves out the fields that are shown.
func addValues(secrets *object.Secrets, v any, all bool) {
	const word = 5
	switch v := v.(type) {
	case map[string]any:
		for k, below := range v {
			if _, text := below.(string); all || !text || !shown(k) {
				addValues(secrets, below, all)
			}
		}
	case []any:
		for _, below := range v {
			addValues(secrets, below, all)
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
