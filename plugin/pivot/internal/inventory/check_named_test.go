// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// naming adds members whose specs name Secrets and ConfigMaps in all shapes.
func (w *world) naming(cluster string) {
	name := func(n string) map[string]any { return map[string]any{"name": n} }
	w.add(bootstrapGroup, "KubeadmConfigTemplate", cluster+"-files", of(cluster), set(map[string]any{
		"files": []any{
			map[string]any{"path": "/etc/a", "content": "secretName: not-a-reference"},
			map[string]any{"path": "/etc/b", "contentFrom": map[string]any{"secret": map[string]any{"name": "join", "key": "token"}}},
		},
	}, "spec", "template", "spec"))
	w.add(infraGroup, "BoxMachineTemplate", cluster+"-named", of(cluster), set(map[string]any{
		"credentialsSecretRef": name("keys"), "configMapRef": name("settings"), "identityRef": map[string]any{"kind": "Secret", "name": "identity"},
		"certificate": map[string]any{"secretName": "tls"}, "tokenSecretKeyRef": map[string]any{"name": "token", "key": "t"}, "config": map[string]any{"configMap": name("extra")},
	}, "spec", "template", "spec"))
}

func TestSecretsThatMembersNameAreFindings(t *testing.T) {
	w := newWorld("v1beta2")
	w.ordinary("blue", 0)
	w.naming("blue")
	got, err := w.read(t, "blue")
	require.NoError(t, err, "what is not there is not missed")

	for _, s := range []string{"join", "keys", "identity", "tls", "token", "not-a-reference", "unrelated"} {
		w.add("", "Secret", s, set(map[string]any{"token": "aHVzaC1odXNo"}, "data"))
	}
	for _, c := range []string{"settings", "extra", "keys"} {
		w.add("", "ConfigMap", c)
	}
	_, err = w.read(t, "blue")
	template := "is named by BoxMachineTemplate.infrastructure.cluster.x-k8s.io apps/blue-named at spec.template.spec."
	advice := ", and is not moved: label it clusterctl.cluster.x-k8s.io/move, or give it the label cluster.x-k8s.io/cluster-name, or copy it with --copy"
	require.Equal(t, []string{
		"ConfigMap apps/extra: " + template + "config.configMap" + advice,
		"ConfigMap apps/settings: " + template + "configMapRef" + advice,
		"Secret apps/identity: " + template + "identityRef" + advice,
		"Secret apps/join: is named by KubeadmConfigTemplate.bootstrap.cluster.x-k8s.io apps/blue-files at spec.template.spec.files[1].contentFrom.secret" + advice,
		"Secret apps/keys: " + template + "credentialsSecretRef" + advice,
		"Secret apps/tls: " + template + "certificate.secretName" + advice,
		"Secret apps/token: " + template + "tokenSecretKeyRef" + advice,
	}, findings(t, err))

	// All of the advice helps.
	var copied []plane.Ref
	for _, o := range w.objects {
		r := plane.RefOf(o)
		switch r.Kind + " " + r.Name {
		case "Secret identity", "Secret join", "Secret tls":
			labelled(moveLabel, "")(o)
		case "ConfigMap extra", "ConfigMap settings":
			of("blue")(o)
		case "Secret keys", "Secret token":
			copied = append(copied, r)
		}
	}
	before := len(got.Items)
	got, err = w.read(t, "blue", copied...)
	require.NoError(t, err)
	require.Len(t, got.Items, before+7)
	require.True(t, item(t, got, "Secret", "keys").Stays)
	require.False(t, item(t, got, "Secret", "join").Stays)
}

func TestTokensOfServiceAccountsAreFindings(t *testing.T) {
	w := newWorld("v1beta2")
	blue := w.ordinary("blue", 0)
	token := set(tokenType, "type")
	w.add("", "Secret", "ours", token, of("blue"))
	w.add("", "Secret", "owned", token, owned(blue))
	w.add("", "Secret", "elsewhere", token)
	_, err := w.read(t, "blue")
	says := ": is of type kubernetes.io/service-account-token, and would be deleted by the controller of the target plane, which does not have its ServiceAccount: " +
		"keep it out of the set: remove its label cluster.x-k8s.io/cluster-name, its owner references and what names it, and have the target plane make a token of its own"
	require.Equal(t, []string{"Secret apps/ours" + says, "Secret apps/owned" + says}, findings(t, err))
	_, err = w.read(t, "blue", plane.Ref{Kind: "Secret", Namespace: "apps", Name: "elsewhere"})
	require.Len(t, findings(t, err), 3, "nor can it be copied")
}

func TestSecretsThatSeveralMembersName(t *testing.T) {
	w := newWorld("v1beta2")
	w.ordinary("blue", 0)
	w.ordinary("green", 0)
	w.naming("blue")
	w.naming("green")
	w.add(infraGroup, "BoxMachineTemplate", "blue-other", of("blue"), set("tls", "spec", "secretName"))
	tls := w.add("", "Secret", "tls")
	w.add("", "Secret", "far", in("shop"))
	w.add(infraGroup, "BoxMachineTemplate", "blue-far", of("blue"), set(map[string]any{"name": "far", "namespace": "shop"}, "spec", "secretRef"))
	_, err := w.read(t, "blue")
	require.Equal(t, []string{"Secret apps/tls: is named by BoxMachineTemplate.infrastructure.cluster.x-k8s.io apps/blue-named at spec.template.spec.certificate.secretName, and by 1 more, and is not moved: " +
		"label it clusterctl.cluster.x-k8s.io/move, or give it the label cluster.x-k8s.io/cluster-name, or copy it with --copy"}, findings(t, err))
	labelled(moveLabel, "")(tls)
	_, err = w.read(t, "blue")
	require.Equal(t, []string{"Secret apps/tls: is used by Cluster.cluster.x-k8s.io apps/green as well: have it copied: it stays on the source as well; or give each Cluster one of its own"},
		findings(t, err), "two Clusters name it")
	_, err = w.read(t, "blue", plane.RefOf(tls))
	require.NoError(t, err)
}
