// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"bytes"
	"fmt"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// annotationDecrypt is disabled on objects that kustomize-controller is to apply as they are.
const annotationDecrypt = "kustomize.toolkit.fluxcd.io/decrypt"

// encrypted reports whether a manifest has the mark that SOPS leaves at its root
// (github.com/getsops/sops, stores/stores.go), and no annotation that it is to stay as it is. Only
// kinds of the core group count: a kind with a definition may have such a field of its own, and an
// operator that reads it.
func encrypted(r ObjectRef, data []byte) bool {
	if r.Group != "" || !bytes.Contains(data, []byte("\nsops:")) {
		return false
	}
	o, _, err := parse(data)
	return err == nil && o.Text("sops", "mac") != "" && o.Text("metadata", "annotations", annotationDecrypt) != "disabled"
}

// refuseEncrypted refuses layers with encrypted objects if Flux is not configured to decrypt.
func (d *delivery) refuseEncrypted(layers []Layer) Progress {
	if d.template().Decryption != nil {
		return Progress{}
	}
	var nodes []v1alpha1.NodeStatus
	for _, u := range layers {
		for _, r := range u.Objects {
			if r.Encrypted {
				nodes = append(nodes, v1alpha1.NodeStatus{
					ID: r.Node, Object: r.String(), Layer: objectName(d.t, u.Name), State: StateFailed, Message: "encrypted with SOPS",
				})
			}
		}
	}
	if len(nodes) == 0 {
		return Progress{}
	}
	message := nodes[0].Object
	if len(nodes) > 1 {
		message = fmt.Sprintf("%s and %d more", message, len(nodes)-1)
	}
	message += ": encrypted with SOPS, and Flux would apply it encrypted: set spec.delivery.flux.decryption"
	return Progress{Stalled: true, Nodes: nodes, Reason: v1alpha1.InvalidReason, Message: message}
}
