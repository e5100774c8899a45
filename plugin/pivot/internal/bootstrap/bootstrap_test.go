// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
)

func pivotCluster() *v1alpha1.PivotCluster {
	return &v1alpha1.PivotCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "blue", UID: "pc-1", Labels: map[string]string{"team": "sea"}},
		Spec: v1alpha1.PivotClusterSpec{
			Provider: v1alpha1.Provider{Credentials: []v1alpha1.ObjectKey{{Namespace: "capa-system", Name: "cloud"}, {Namespace: "capa-system", Name: "role"}}},
			GitOps:   v1alpha1.GitOps{Engine: v1alpha1.EngineFlux, PullSecretRef: &v1alpha1.LocalObjectReference{Name: "pull"}},
		},
	}
}

func TestCollectNamesAllSecretsThatAreMissing(t *testing.T) {
	c := server(t, interceptor.Funcs{})
	require.NoError(t, c.Create(t.Context(), secret("capa-system", "role", canary)))
	_, err := Collect(t.Context(), c, pivotCluster(), identity, system)
	require.EqualError(t, err, "secret capa-system/cloud does not exist on the parent, and the PivotCluster names it\n"+
		"secret rw-blue/pull does not exist on the parent, and the PivotCluster names it")
}

// system is the namespace of the controller of the parent.
const system = "own-system"

// A user who may edit PivotClusters must not read by them what is not for children, such as the
// authority of the parent.
func TestCollectSendsNoSecretsOfTheSystem(t *testing.T) {
	c := server(t, interceptor.Funcs{})
	of := pivotCluster()
	of.Spec.GitOps.PullSecretRef, of.Spec.Provider.Credentials = nil, nil
	for _, namespace := range []string{"kube-system", "default", "own-system", "ropewalk-system", "rw-green", "rw-blue", "capa-system", "tokens"} {
		s := secret(namespace, "ropewalk-pivot-authority", canary)
		if namespace == "tokens" {
			s.Type = corev1.SecretTypeServiceAccountToken
		}
		require.NoError(t, c.Create(t.Context(), s))
		of.Spec.Provider.Credentials = append(of.Spec.Provider.Credentials, v1alpha1.ObjectKey{Namespace: namespace, Name: s.Name})
	}
	_, err := Collect(t.Context(), c, of, identity, system)
	require.EqualError(t, err, `secret kube-system/ropewalk-pivot-authority: credentials may not be in namespace "kube-system": use one of their own
secret default/ropewalk-pivot-authority: credentials may not be in namespace "default": use one of their own
secret own-system/ropewalk-pivot-authority: credentials may not be in namespace "own-system": use one of their own
secret ropewalk-system/ropewalk-pivot-authority: credentials may not be in namespace "ropewalk-system": use one of their own
secret rw-green/ropewalk-pivot-authority: namespace "rw-green" is that of another cluster
secret tokens/ropewalk-pivot-authority is of type "kubernetes.io/service-account-token": no child gets one of that`)
	require.ErrorAs(t, err, &Wrong{})
}

func TestCollectSendsThePullSecretToTheNamespaceOfFlux(t *testing.T) {
	c := server(t, interceptor.Funcs{})
	for _, s := range []*corev1.Secret{secret("capa-system", "role", "a"), secret("capa-system", "cloud", "b"), secret("rw-blue", "pull", "c")} {
		require.NoError(t, c.Create(t.Context(), s))
	}
	of := pivotCluster()
	got, err := Collect(t.Context(), c, of, identity, system)
	require.NoError(t, err)
	require.Equal(t, []Secret{
		{Namespace: "capa-system", Name: "cloud", Type: "Opaque", Data: map[string][]byte{"key": []byte("b")}},
		{Namespace: "capa-system", Name: "role", Type: "Opaque", Data: map[string][]byte{"key": []byte("a")}},
		{Namespace: "flux-system", Name: "pull", Type: "Opaque", Data: map[string][]byte{"key": []byte("c")}},
	}, got.Secrets)
	require.Equal(t, identity, got.Identity)
	require.Equal(t, "blue", got.Name)
	require.Equal(t, of.Labels, got.Labels)
	require.True(t, equality.Semantic.DeepEqual(of.Spec, got.Spec))
}

func TestCollectFailsWhereTheServerDoes(t *testing.T) {
	c := server(t, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.New("etcd is away")
	}})
	_, err := Collect(t.Context(), c, pivotCluster(), identity, system)
	require.EqualError(t, err, "etcd is away")
	require.NotErrorAs(t, err, &Wrong{})
}

func TestTheIDChangesWithEachPart(t *testing.T) {
	seen := map[string]string{sent(v1alpha1.EngineFlux).ID(): "the first"}
	require.Equal(t, sent(v1alpha1.EngineFlux).ID(), sent(v1alpha1.EngineFlux).ID())
	for part, change := range map[string]func(*Bootstrap){
		"identity":         func(b *Bootstrap) { b.Identity = "parent-uid/pc-2" },
		"name":             func(b *Bootstrap) { b.Name = "green" },
		"label":            func(b *Bootstrap) { b.Labels["team"] = "land" },
		"spec":             func(b *Bootstrap) { b.Spec.KubernetesVersion = "v1.37.0" },
		"digest":           func(b *Bootstrap) { b.Spec.GitOps.Artifact.Digest = digest[:len(digest)-1] + "2" },
		"secret namespace": func(b *Bootstrap) { b.Secrets[0].Namespace = "capz-system" },
		"secret name":      func(b *Bootstrap) { b.Secrets[0].Name = "other" },
		"secret type":      func(b *Bootstrap) { b.Secrets[0].Type = corev1.SecretTypeTLS },
		"secret key":       func(b *Bootstrap) { b.Secrets[0].Data = map[string][]byte{"other": []byte(canary)} },
		"secret value":     func(b *Bootstrap) { b.Secrets[0].Data["key"] = []byte("other") },
		"no secret":        func(b *Bootstrap) { b.Secrets = nil },
		"two secrets":      func(b *Bootstrap) { b.Secrets = append(b.Secrets, b.Secrets[0]) },
	} {
		b := sent(v1alpha1.EngineFlux)
		change(b)
		require.Empty(t, seen[b.ID()], "%s", part)
		seen[b.ID()] = part
	}
}

func TestNoValueOfASecretIsPrintedOrLogged(t *testing.T) {
	b := sent(v1alpha1.EngineFlux)
	var logged bytes.Buffer
	plain := funcr.New(func(prefix, args string) { logged.WriteString(prefix + args) }, funcr.Options{})
	asJSON := funcr.NewJSON(func(o string) { logged.WriteString(o) }, funcr.Options{})
	text, err := json.Marshal(map[string]any{"bootstrap": b, "secret": b.Secrets[0], "secrets": b.Secrets})
	require.NoError(t, err)
	for _, v := range []any{b, *b, b.Secrets, b.Secrets[0], &b.Secrets[0]} {
		plain.Info("applied", "value", v)
		asJSON.Info("applied", "value", v)
		zap.New(zap.WriteTo(&logged)).Info("applied", "value", v)
		showsNo(t, fmt.Sprintf("%v %+v %#v %s %q %x %d", v, v, v, v, v, v, v))
	}
	showsNo(t, string(text))
	showsNo(t, logged.String())
	require.Contains(t, logged.String(), "cloud")
	require.Equal(t, "Secret capa-system/cloud", fmt.Sprintf("%+v", b.Secrets[0]))
}

func TestDecodeReadsWhatEncodeWroteAndNothingElse(t *testing.T) {
	b := sent(v1alpha1.EngineFlux)
	data, err := b.Encode()
	require.NoError(t, err)
	got, err := Decode(data)
	require.NoError(t, err)
	b.Secrets = nil
	require.True(t, equality.Semantic.DeepEqual(b, got))
	require.Equal(t, b.ID(), got.ID())

	for name, text := range map[string]string{
		"a field of a later version": `{"identity":"` + identity + `","name":"blue","spec":{"` + canary + `":{}}}`,
		"no JSON":                    canary, "another type": `{"name":["` + canary + `"]}`, "nothing": "",
	} {
		_, err := Decode([]byte(text))
		require.EqualError(t, err, "the bootstrap that the parent sent cannot be read: both must have the same version", name)
	}
}

func TestAnAgentReadsItsSecret(t *testing.T) {
	authority, err := enrol.NewAuthority(time.Now())
	require.NoError(t, err)
	data := AgentData("token", "https://parent.test:8443", "parent.test:8444", authority.Trust())
	got, err := enrol.DecodeTrust(data)
	require.NoError(t, err)
	require.Equal(t, authority.Trust().PEM(), got.PEM())
	require.Equal(t, authority.Trust().Pins, got.Pins)
	require.False(t, enrol.HasKey(data), "the agent makes it")
	require.Equal(t, "token https://parent.test:8443 parent.test:8444", string(data[TokenKey])+" "+string(data[EndpointKey])+" "+string(data[LinkKey]))
}
