// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/object"
)

// wherever is a Transform that has a name in every field that takes one.
func wherever(name string) *v1alpha1.Transform {
	ref := &v1alpha1.LocalObjectReference{Name: name}
	t := &v1alpha1.Transform{}
	t.Spec.ServiceAccountName = name
	t.Spec.SourceRef = &v1alpha1.SourceReference{Kind: "GitRepository", Name: name, Namespace: name}
	t.Spec.CueRef = &v1alpha1.CueReference{Type: "configmap", Ref: name, PullSecretRef: ref, Verify: &v1alpha1.Verify{SecretRef: ref}}
	t.Spec.Policies = []v1alpha1.Policy{
		{CueRef: v1alpha1.CueReference{Type: "source", Ref: "Bucket/" + name}},
		{CueRef: v1alpha1.CueReference{Type: "source", Ref: "Bucket/" + name + "/" + name + "@sha256:0"}},
	}
	t.Spec.DependsOn = []v1alpha1.TransformName{v1alpha1.TransformName(name)}
	t.Spec.InputsFrom = []v1alpha1.InputReference{{Kind: "Secret", Name: name, Key: name, TargetPath: "a", Optional: true}}
	t.Spec.Output = &v1alpha1.Output{OCI: &v1alpha1.OCIOutput{PushSecretRef: ref, PullSecretRef: ref, CertSecretRef: ref, SigningKeyRef: ref}}
	t.Spec.Delivery = &v1alpha1.Delivery{
		Flux: &v1alpha1.FluxDelivery{
			KubeConfig: &meta.KubeConfigReference{SecretRef: &meta.SecretKeyReference{Name: name}},
			Decryption: &v1alpha1.Decryption{SecretRef: ref, ServiceAccountName: name},
		},
		ArgoCD: &v1alpha1.ArgoCDDelivery{Namespace: name, Project: name},
	}
	return t
}

func TestEveryNameIsChecked(t *testing.T) {
	require.NoError(t, CheckNames(wherever("web-1")))
	require.NoError(t, CheckNames(&v1alpha1.Transform{}))
	var at []string
	// A slash makes no source of what has too many parts, which its fetcher refuses.
	var mistakes object.Errors
	require.ErrorAs(t, CheckNames(wherever("..")), &mistakes)
	for _, m := range mistakes {
		at = append(at, m.Pos.File)
	}
	require.Equal(t, []string{
		"spec.serviceAccountName", "spec.sourceRef.name", "spec.sourceRef.namespace",
		"spec.cueRef.pullSecretRef.name", "spec.cueRef.verify.secretRef.name", "spec.cueRef.ref",
		"spec.policies[0].cueRef.ref", "spec.policies[1].cueRef.ref", "spec.policies[1].cueRef.ref",
		"spec.dependsOn[0]", "spec.inputsFrom[0].name", "spec.inputsFrom[0].key",
		"spec.output.oci.pushSecretRef.name", "spec.output.oci.pullSecretRef.name", "spec.output.oci.certSecretRef.name", "spec.output.oci.signingKeyRef.name",
		"spec.delivery.flux.kubeConfig.secretRef.name", "spec.delivery.flux.decryption.secretRef.name", "spec.delivery.flux.decryption.serviceAccountName",
		"spec.delivery.argocd.namespace", "spec.delivery.argocd.project",
	}, at)
	for _, name := range []string{"../../other/secrets/name", "..%2f..", "a/b", "A", "a?b", "a\nb", "system:node", ".", ".."} {
		require.ErrorAs(t, CheckNames(wherever(name)), &mistakes, "%q", name)
		require.GreaterOrEqual(t, len(mistakes), 18, "%q", name)
	}
	require.ErrorContains(t, CheckNames(wherever("../../other/secrets/name")),
		`spec.inputsFrom[0].name: spec: "../../other/secrets/name" is not the name of an object: expected at most 253 lower-case letters`)
}
