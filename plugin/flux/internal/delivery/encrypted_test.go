// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/emit"
)

func TestWhatSOPSEncryptedIsKnown(t *testing.T) {
	mark := map[string]any{"mac": "ENC[x]", "lastmodified": "2026-01-01T00:00:00Z"}
	object := func(version, kind string, annotations, sops any) []byte {
		o := map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": "a", "annotations": annotations}}
		if sops != nil {
			o["sops"] = sops
		}
		return emit.YAML(o)
	}
	for name, is := range map[string]struct {
		data []byte
		want bool
	}{
		"a Secret":                          {object("v1", "Secret", nil, mark), true},
		"a ConfigMap":                       {object("v1", "ConfigMap", nil, mark), true},
		"a Secret that is as it is":         {object("v1", "Secret", nil, nil), false},
		"a mark without a sum is none":      {object("v1", "Secret", nil, map[string]any{}), false},
		"what somebody wants to be applied": {object("v1", "Secret", map[string]any{annotationDecrypt: "disabled"}, mark), false},
		"an object that an operator reads":  {object("isindir.github.com/v1alpha3", "SopsSecret", nil, mark), false},
		"a text that has such a line": {emit.YAML(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"a": "x:\nsops:\n  mac: y\n"},
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			members, err := membersOf([]emit.File{{Path: "a.yaml", Data: is.data}})
			require.NoError(t, err)
			require.Equal(t, is.want, members[0].ref.Encrypted)
		})
	}
}

func TestWhatIsEncryptedNeedsADecryption(t *testing.T) {
	layers := []Layer{{Name: "layer-00", Objects: []ObjectRef{
		{Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "a"},
		{Node: "web/db", Version: "v1", Kind: "Secret", Namespace: "ns", Name: "db", Encrypted: true},
		{Version: "v1", Kind: "Secret", Namespace: "ns", Name: "mail", Encrypted: true},
	}}}
	transform := &v1alpha1.Transform{}
	transform.Name = "web"
	got := (&Flux{}).begin(transform).refuseEncrypted(layers)
	require.True(t, got.Stalled)
	require.Equal(t, v1alpha1.InvalidReason, got.Reason)
	require.Contains(t, got.Message, "Secret ns/db and 1 more: encrypted with SOPS")
	require.Equal(t, "web/db", got.Nodes[0].ID)
	require.Equal(t, "web-layer-00", got.Nodes[0].Layer)

	transform.Spec.Delivery = &v1alpha1.Delivery{Flux: &v1alpha1.FluxDelivery{Decryption: &v1alpha1.Decryption{Provider: "sops"}}}
	require.False(t, (&Flux{}).begin(transform).refuseEncrypted(layers).Stalled)
}
