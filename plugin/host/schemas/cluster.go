// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/deploy"
	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/spec"
)

// pivotClusterSchema returns the schema of a PivotCluster: that of its CustomResourceDefinition.
// Fields that are not in it are refused, other than by an API server.
func pivotClusterSchema() ([]byte, error) {
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(deploy.PivotClusters()), &definition); err != nil {
		return nil, fmt.Errorf("the definition of %s: %w", spec.KindPivotCluster, err)
	}
	out := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	fields, _ := out["properties"].(map[string]any)
	text := map[string]any{"type": "string"}
	texts := map[string]any{"type": "object", "additionalProperties": text}
	fields["apiVersion"] = map[string]any{"const": spec.APIVersion}
	fields["kind"] = map[string]any{"const": spec.KindPivotCluster}
	fields["metadata"] = map[string]any{
		"type": "object", "required": []string{"name"},
		"properties": map[string]any{"name": text, "labels": texts, "annotations": texts},
	}
	fields["status"] = map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	out["required"] = []string{"apiVersion", "kind", "metadata", "spec"}
	closeSchema(out)
	return document.Print(spec.KindPivotCluster, "", out)
}

// closeSchema makes a schema refuse fields that it does not have, and leaves out what only an API
// server knows.
func closeSchema(schema map[string]any) {
	_, free := schema["additionalProperties"]
	free = free || schema["x-kubernetes-preserve-unknown-fields"] == true
	for name, value := range schema {
		if strings.HasPrefix(name, "x-kubernetes-") {
			delete(schema, name)
			continue
		}
		if below, ok := value.(map[string]any); ok && name != "properties" {
			closeSchema(below)
		}
	}
	fields, ok := schema["properties"].(map[string]any)
	if ok && !free {
		schema["additionalProperties"] = false
	}
	for _, field := range fields {
		if below, ok := field.(map[string]any); ok {
			closeSchema(below)
		}
	}
}
