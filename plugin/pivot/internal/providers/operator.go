// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"bytes"

	"sigs.k8s.io/yaml"
)

// YAML returns the objects by which the Cluster API Operator installs the providers of a plan, in
// their order, with the namespaces that are not there yet. The user adds credentials and variables of
// a provider by spec.configSecret.
func (p Plan) YAML() ([]byte, error) {
	var out bytes.Buffer
	add := func(apiVersion, kind string, metadata, spec map[string]any) error {
		o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
		if spec != nil {
			o["spec"] = spec
		}
		text, err := yaml.Marshal(o)
		if err != nil {
			return err
		}
		if out.Len() > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
		return nil
	}

	// A namespace comes before its provider.
	for _, s := range p.Steps {
		if rank(s.Kind) == len(order()) {
			continue // A note names it.
		}
		if s.Action == Install {
			if err := add("v1", "Namespace", map[string]any{"name": s.Namespace}, nil); err != nil {
				return nil, err
			}
		}
		metadata := map[string]any{"name": s.Name, "namespace": s.Namespace}
		if err := add(operatorGroup+"/v1alpha2", s.Kind, metadata, map[string]any{"version": s.Version}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
