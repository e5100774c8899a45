// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// argocd is a PivotCluster whose child has Argo CD.
func argocd(change func(g *v1alpha1.GitOps, output *v1alpha1.OCIOutput)) *v1alpha1.PivotCluster {
	c := pivotCluster()
	c.Spec.Provider.Credentials = nil
	c.Spec.GitOps = v1alpha1.GitOps{Engine: v1alpha1.EngineArgoCD, Artifact: &v1alpha1.GitOpsArtifact{Repository: "oci://registry.test/base", Digest: digest}}
	c.Spec.Output.OCI = &v1alpha1.OCIOutput{Repository: "oci://registry.test/clusters"}
	change(&c.Spec.GitOps, c.Spec.Output.OCI)
	return c
}

func ref(name string) *v1alpha1.LocalObjectReference {
	return &v1alpha1.LocalObjectReference{Name: name}
}

// parentSecrets are Secrets of a parent in the namespace of the cluster.
func parentSecrets(t *testing.T) client.Client {
	t.Helper()
	c := server(t, interceptor.Funcs{})
	login := func(host, user, password string) string {
		return `{"auths":{"` + host + `":{"auth":"` + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + `"}}}`
	}
	for name, data := range map[string]map[string]string{
		"docker":    {corev1.DockerConfigJsonKey: login("registry.test", "robot", canary)},
		"elsewhere": {corev1.DockerConfigJsonKey: login("other.test", "robot", canary)},
		"broken":    {corev1.DockerConfigJsonKey: canary},
		"basic":     {"username": "robot", "password": canary},
		"half":      {"username": canary},
		"token":     {"bearerToken": canary},
		"other":     {"key": canary},
	} {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "rw-blue", Name: name}, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{}}
		for key, value := range data {
			s.Data[key] = []byte(value)
		}
		require.NoError(t, c.Create(t.Context(), s))
	}
	return c
}

func TestArgoCDGetsRepositories(t *testing.T) {
	repository := func(name, url string, more ...string) Secret {
		s := Secret{Namespace: "argocd", Name: name, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"type": []byte("oci"), "url": []byte(url)}}
		for i := 0; i < len(more); i += 2 {
			s.Data[more[i]] = []byte(more[i+1])
		}
		return s
	}
	const base, clusters = "oci://registry.test/base", "oci://registry.test/clusters"
	for name, c := range map[string]struct {
		change func(g *v1alpha1.GitOps, output *v1alpha1.OCIOutput)
		want   []Secret
	}{
		"none where all can be read without": {func(*v1alpha1.GitOps, *v1alpha1.OCIOutput) {}, nil},
		"one of a docker configuration": {
			func(g *v1alpha1.GitOps, _ *v1alpha1.OCIOutput) { g.PullSecretRef = ref("docker") },
			[]Secret{repository("ropewalk-bootstrap", base, "username", "robot", "password", canary)},
		},
		"one of a name and a password": {
			func(g *v1alpha1.GitOps, _ *v1alpha1.OCIOutput) { g.PullSecretRef = ref("basic") },
			[]Secret{repository("ropewalk-bootstrap", base, "username", "robot", "password", canary)},
		},
		"by plain http": {
			func(g *v1alpha1.GitOps, output *v1alpha1.OCIOutput) {
				g.Artifact.Insecure, output.Insecure = true, true
			},
			[]Secret{
				repository("ropewalk-bootstrap", base, "insecureOCIForceHttp", "true"),
				repository("ropewalk-output", clusters, "insecureOCIForceHttp", "true"),
			},
		},
		"both in one repository": {
			func(g *v1alpha1.GitOps, output *v1alpha1.OCIOutput) {
				g.Artifact.Insecure, output.Insecure, output.Repository = true, true, "oci://Registry.test/base"
			},
			[]Secret{repository("ropewalk-bootstrap", base, "insecureOCIForceHttp", "true")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Collect(t.Context(), parentSecrets(t), argocd(c.change), identity, system)
			require.NoError(t, err)
			require.Equal(t, c.want, got.Secrets)
		})
	}
}

// TestTheChildPublishesAsItsParentDoes: the Secrets of the output are sent, each once, but those
// that the pivot moves.
func TestTheChildPublishesAsItsParentDoes(t *testing.T) {
	for _, engine := range []v1alpha1.Engine{v1alpha1.EngineFlux, v1alpha1.EngineArgoCD} {
		from := parentSecrets(t)
		moved := secret("rw-blue", "moved", canary)
		moved.Labels = map[string]string{"clusterctl.cluster.x-k8s.io/move": ""}
		require.NoError(t, from.Create(t.Context(), moved))
		got, err := Collect(t.Context(), from, argocd(func(g *v1alpha1.GitOps, output *v1alpha1.OCIOutput) {
			g.Engine = engine
			output.PushSecretRef, output.PullSecretRef, output.CertSecretRef, output.SigningKeyRef = ref("docker"), ref("docker"), ref("other"), ref("moved")
		}), identity, system)
		require.NoError(t, err)
		var names []string
		for _, s := range got.Secrets {
			names = append(names, s.Namespace+"/"+s.Name)
		}
		want := []string{"rw-blue/docker", "rw-blue/other"}
		if engine == v1alpha1.EngineArgoCD {
			want = append([]string{"argocd/ropewalk-output"}, want...)
		}
		require.Equal(t, want, names)
	}
}

func TestASecretThatArgoCDCannotLogInWithIsRefused(t *testing.T) {
	for name, says := range map[string]string{
		"missing":   "secret rw-blue/missing does not exist on the parent, and the PivotCluster names it",
		"token":     "secret rw-blue/token has no name and password for registry.test/base, with which Argo CD logs in: a token alone is not enough",
		"elsewhere": "secret rw-blue/elsewhere has no name and password for registry.test/base, with which Argo CD logs in: a token alone is not enough",
		"broken":    "secret rw-blue/broken: the pull secret is not JSON in the form of docker: create it with kubectl create secret docker-registry",
		"half":      `secret rw-blue/half: the secret for "registry.test/base" has only one of username and password: it needs both`,
		"other":     `secret rw-blue/other: the secret for "registry.test/base" has no credentials: it needs .dockerconfigjson, or username and password, or bearerToken`,
	} {
		_, err := Collect(t.Context(), parentSecrets(t), argocd(func(g *v1alpha1.GitOps, _ *v1alpha1.OCIOutput) { g.PullSecretRef = ref(name) }), identity, system)
		require.EqualError(t, err, says)
		showsNo(t, err.Error())
	}
	// What is missing is named once.
	_, err := Collect(t.Context(), parentSecrets(t), argocd(func(_ *v1alpha1.GitOps, output *v1alpha1.OCIOutput) {
		output.PushSecretRef, output.PullSecretRef = ref("missing"), ref("missing")
	}), identity, system)
	require.EqualError(t, err, "secret rw-blue/missing does not exist on the parent, and the PivotCluster names it")
}

// TestTheChildLabelsWhatArgoCDReads: the parent sends no labels, so that no Secret of it can be
// a cluster for Argo CD.
func TestTheChildLabelsWhatArgoCDReads(t *testing.T) {
	c := server(t, interceptor.Funcs{}, v1alpha1.EngineArgoCD)
	a, b := &Applier{Client: c, Namespace: "ropewalk-system"}, sent(v1alpha1.EngineArgoCD)
	b.Secrets = nil
	for _, name := range []string{"ropewalk-bootstrap", "ropewalk-output", "other"} {
		b.Secrets = append(b.Secrets, Secret{Namespace: "argocd", Name: name, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"url": []byte("oci://registry.test/base")}})
	}
	check := func() {
		t.Helper()
		for _, want := range b.Secrets {
			var s corev1.Secret
			require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: want.Namespace, Name: want.Name}, &s))
			labels := map[string]string{"pivot.ropewalk.dev/bootstrap": "true"}
			if want.Name != "other" {
				labels["argocd.argoproj.io/secret-type"] = "repository"
			}
			require.Equal(t, labels, s.Labels)
		}
	}
	require.NoError(t, a.Apply(t.Context(), b))
	check()

	// One that has lost its label gets it again.
	var s corev1.Secret
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "argocd", Name: "ropewalk-output"}, &s))
	delete(s.Labels, "argocd.argoproj.io/secret-type")
	require.NoError(t, c.Update(t.Context(), &s))
	require.NoError(t, a.Apply(t.Context(), b))
	check()
}
