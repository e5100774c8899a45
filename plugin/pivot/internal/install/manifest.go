// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

const (
	// Annotation of a PivotCluster on a bootstrap cluster: it is installed. Its value is when the
	// command was run last.
	Annotation = "pivot.ropewalk.dev/install"
	// Name is that of the ClusterResourceSet, and what those of its Secrets begin with.
	Name = "ropewalk-install"
	// AdminSecret keeps the kubeconfig of the cluster, in its namespace on the bootstrap cluster. It
	// does not move.
	AdminSecret = Name + "-admin" //nolint:gosec // the name of a Secret
	// AdminKey is the key of the kubeconfig.
	AdminKey = "value"
	// AddonsGroup is that of ClusterResourceSets.
	AddonsGroup = "addons.cluster.x-k8s.io"

	group        = "ropewalk.dev"
	clusterLabel = "pivot.ropewalk.dev/cluster"
	// resourceSet is the type of Secrets that a ClusterResourceSet takes.
	resourceSet = AddonsGroup + "/resource-set"
	definition  = "CustomResourceDefinition "
	// most bounds the manifests in one Secret: the API server takes 1 MiB.
	most = 1000 << 10
)

// Manifest is what is installed on the new cluster.
type Manifest struct {
	parts [][]byte
	// has are the kinds that are in it, and kinds with names.
	has map[string]bool
	// Objects counts them, and Bytes is their size.
	Objects, Bytes int
}

// Parse reads the YAML documents of a manifest. They must have what the controller of a
// PivotCluster needs.
func Parse(data []byte) (*Manifest, error) {
	// Sort the documents into parts of the size of a Secret.
	m := &Manifest{has: map[string]bool{}}
	for from := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		o := &unstructured.Unstructured{}
		err := from.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("document %d cannot be read: %w", m.Objects+1, err)
		}
		if len(o.Object) == 0 {
			continue
		}
		if o.GetAPIVersion() == "" || o.GetKind() == "" || o.GetName() == "" {
			return nil, fmt.Errorf("document %d: expected apiVersion, kind and metadata.name", m.Objects+1)
		}
		m.has[o.GetKind()] = true
		m.has[o.GetKind()+" "+o.GetName()] = true
		if err := m.add(o); err != nil {
			return nil, err
		}
	}

	// The new cluster needs the controller and its definitions.
	for _, needed := range []string{
		definition + "pivotclusters." + group, definition + "transforms." + group, "Deployment",
	} {
		if !m.has[needed] {
			return nil, fmt.Errorf("it has no %s: expected the controller as deploy/pivot has it, and the engine of the cluster", needed)
		}
	}
	return m, nil
}

// add puts an object into the last part that has room.
func (m *Manifest) add(o *unstructured.Unstructured) error {
	text, err := sigsyaml.Marshal(o.Object)
	if err != nil {
		return err
	}
	text = append([]byte("---\n"), text...)
	if len(text) > most {
		return fmt.Errorf("%s %q has %d bytes, and a Secret takes %d: let the GitOps of the cluster bring it", o.GetKind(), o.GetName(), len(text), most)
	}
	if last := len(m.parts) - 1; last < 0 || len(m.parts[last])+len(text) > most {
		m.parts = append(m.parts, nil)
	}
	m.parts[len(m.parts)-1] = append(m.parts[len(m.parts)-1], text...)
	m.Objects++
	m.Bytes += len(text)
	return nil
}
