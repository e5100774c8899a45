// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/artifacts"
	"github.com/ropewalk/ropewalk/test/servers"
)

// rig is a Transform with a repository in a registry.
type rig struct {
	t         *testing.T
	registry  *servers.OCI
	transform *v1alpha1.Transform
	client    client.Client
	oci       OCI
}

func newRig(t *testing.T, registry *servers.OCI, objects ...client.Object) *rig {
	t.Helper()
	s := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(s))
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	registries := &remote.Registries{PlainHTTP: func(string) bool { return true }, CA: map[string][]byte{"": registry.CA}}
	if registry.CA != nil {
		registries.PlainHTTP = nil
	}
	return &rig{
		t: t, registry: registry, client: fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build(),
		transform: &v1alpha1.Transform{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec: v1alpha1.TransformSpec{Output: &v1alpha1.Output{OCI: &v1alpha1.OCIOutput{
				Repository: "oci://" + registry.Host + "/shop/web", Tags: []v1alpha1.OCITag{"latest"},
			}}},
		},
		oci: OCI{
			Registries: func(bool) (*remote.Registries, error) { return registries, nil },
			Now:        func() time.Time { at = at.Add(time.Second); return at },
		},
	}
}

func (r *rig) open() *repository {
	r.t.Helper()
	s, err := r.oci.Open(r.t.Context(), r.transform, r.client)
	require.NoError(r.t, err)
	return s.(*repository)
}

func (r *rig) release(in Render) Published {
	r.t.Helper()
	out, err := r.open().Release(r.t.Context(), in)
	require.NoError(r.t, err)
	return out
}

// twoLayers is a render of two layers with an object each.
func twoLayers(revision, first, second string) Render {
	file := func(name, text string) emit.File {
		return emit.File{Path: name + ".yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {a: " + text + "}\n"), Node: "web/a"}
	}
	a, b := file("a", first), file("b", second)
	return Render{
		Files: []emit.File{a, b}, Source: "https://git.example/shop.git", Revision: revision,
		Layers: []delivery.Layer{
			{Name: "layer-00", Barrier: "layer-00", Waves: []int32{0}, Files: []emit.File{a}},
			{Name: "layer-01", Barrier: "layer-01", Waves: []int32{1}, After: []string{"layer-00"}, Files: []emit.File{b}},
		},
		Graph: []byte(`{"engine":"flux"}`), Build: statement.Build{Project: "web", Version: "test"},
		Images: func() []string { return []string{"nginx:1"} },
	}
}

func kinds(t *testing.T, opts ...servers.Option) map[string]*servers.OCI {
	t.Helper()
	return map[string]*servers.OCI{
		"with an interface for referrers": servers.InProcess(t, opts...),
		"without one":                     servers.InProcess(t, append(opts, servers.NoReferrers())...),
		"docker-registry":                 servers.Registry(t, opts...),
	}
}

func TestAnUnchangedUnitKeepsItsDigestAndAnUnchangedRenderIsNoPush(t *testing.T) {
	for name, registry := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, registry)
			first := r.release(twoLayers("main@sha1:1", "1", "1"))
			require.True(t, first.Changed)
			require.Equal(t, r.transform.Spec.Output.OCI.Repository, first.Location)
			require.Len(t, first.Desired.Layers, 2)
			require.Nil(t, first.Desired.Layers[0].Files)

			second := r.release(twoLayers("main@sha1:2", "1", "2"))
			require.True(t, second.Changed)
			require.NotEqual(t, first.Desired.Digest, second.Desired.Digest)
			require.Equal(t, first.Desired.Layers[0].Digest, second.Desired.Layers[0].Digest)
			require.NotEqual(t, first.Desired.Layers[1].Digest, second.Desired.Layers[1].Digest)

			before := len(registry.Requests())
			third := r.release(twoLayers("main@sha1:3", "1", "2"))
			require.False(t, third.Changed)
			require.Equal(t, second.Desired.Digest, third.Desired.Digest)
			for _, asked := range registry.Requests()[before:] {
				require.Contains(t, []string{http.MethodGet, http.MethodHead}, asked.Method, asked.Path)
			}

			for _, p := range []Published{first, second} {
				stored, err := r.open().Desired(t.Context(), p.Desired.Digest)
				require.NoError(t, err)
				require.Equal(t, p.Desired.Layers, stored.Layers)
				require.Equal(t, p.Desired.Digest, stored.Digest)
			}
			files, err := r.open().Files(t.Context(), "layer-01", second.Desired.Layers[1].Digest)
			require.NoError(t, err)
			require.Equal(t, "b.yaml", files[0].Path)
			require.Equal(t, twoLayers("", "1", "2").Files[1].Data, files[0].Data)
		})
	}
}

func TestHealthChecksThatChangeWithoutAFileAreStored(t *testing.T) {
	r := newRig(t, servers.InProcess(t))
	in := twoLayers("main@sha1:1", "1", "1")
	first := r.release(in)
	in.Layers[1].HealthChecks = []meta.NamespacedObjectKindReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "b"}}
	second := r.release(in)
	require.False(t, second.Changed)
	require.Equal(t, first.Desired.Digest, second.Desired.Digest)
	stored, err := r.open().Desired(t.Context(), second.Desired.Digest)
	require.NoError(t, err)
	require.Equal(t, in.Layers[1].HealthChecks, stored.Layers[1].HealthChecks)

	// And back again: the newest counts, not the first that was written.
	in.Layers[1].HealthChecks = nil
	r.release(in)
	stored, err = r.open().Desired(t.Context(), second.Desired.Digest)
	require.NoError(t, err)
	require.Empty(t, stored.Layers[1].HealthChecks)
}

func TestAUnitThatIsAloneIsTheWhole(t *testing.T) {
	r := newRig(t, servers.InProcess(t))
	in := twoLayers("", "1", "1")
	in.Layers, in.Files = in.Layers[:1], in.Files[:1]
	out := r.release(in)
	require.Equal(t, out.Desired.Digest, out.Desired.Layers[0].Digest)
	packed, err := r.open().Pack(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, out.Desired, packed.Desired)
	require.Equal(t, out.Tree, packed.Tree)
}

func TestAHandOverHasArtifactsOfItsOwn(t *testing.T) {
	for name, registry := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, registry)
			files := twoLayers("", "1", "1").Files
			digest, err := r.open().Publish(t.Context(), "layer-00", files)
			require.NoError(t, err)
			before := len(registry.Requests())
			again, err := r.open().Publish(t.Context(), "layer-00", files)
			require.NoError(t, err)
			require.Equal(t, digest, again)
			require.LessOrEqual(t, len(registry.Requests())-before, 3)
			got, err := r.open().Files(t.Context(), "layer-00", digest)
			require.NoError(t, err)
			require.Len(t, got, 2)
		})
	}
}

func TestWhatIsGoneIsSaidToBe(t *testing.T) {
	r := newRig(t, servers.InProcess(t))
	digest := "sha256:" + fmt.Sprintf("%064d", 7)
	_, err := r.open().Files(t.Context(), "layer-00", digest)
	require.ErrorIs(t, err, delivery.ErrGone)
	_, err = r.open().Desired(t.Context(), digest)
	require.ErrorIs(t, err, delivery.ErrGone)
	require.ErrorContains(t, err, r.transform.Spec.Output.OCI.Repository+"@"+digest)

	// A whole that somebody else pushed has no plan.
	pushed, err := artifact.Pack(mustFolder(t, twoLayers("", "1", "1").Files), artifact.Options{})
	require.NoError(t, err)
	to, err := r.open().connect(t.Context())
	require.NoError(t, err)
	done, err := artifact.Push(t.Context(), to, artifact.Set{Complete: pushed}, []string{"x"}, artifact.PushOptions{})
	require.NoError(t, err)
	_, err = r.open().Desired(t.Context(), done.Digest)
	require.ErrorIs(t, err, delivery.ErrGone)
}

func TestOldArtifactsAreDeletedAndNothingOfOthers(t *testing.T) {
	registry := servers.InProcess(t)
	r := newRig(t, registry)
	var history []v1alpha1.Artifact
	for i := range 4 {
		p := r.release(twoLayers("", "1", fmt.Sprint(i)))
		history = append([]v1alpha1.Artifact{recorded(p)}, history...)
	}
	interim, err := r.open().Publish(t.Context(), "layer-00", twoLayers("", "1", "interim").Files)
	require.NoError(t, err)
	to, err := r.open().connect(t.Context())
	require.NoError(t, err)
	// Somebody promoted the oldest.
	_, err = artifact.Tag(t.Context(), to, history[3].Digest, "prod")
	require.NoError(t, err)

	left, err := r.open().Prune(t.Context(), history[:1], history[1:])
	require.NoError(t, err)
	require.Empty(t, left)
	exists := func(digest string) bool {
		_, err := to.Resolve(t.Context(), digest)
		return err == nil
	}
	require.True(t, exists(history[0].Digest))
	require.True(t, exists(history[0].Layers[0].Digest), "all have it")
	require.False(t, exists(history[1].Digest))
	require.False(t, exists(history[1].Layers[1].Digest))
	require.False(t, exists(history[2].Digest))
	require.True(t, exists(history[3].Digest), "a tag of others leads there")
	require.True(t, exists(history[3].Layers[1].Digest))
	require.False(t, exists(interim))
}

func TestWhatIsPublishedIsSignedAndAttested(t *testing.T) {
	private, public, err := signature.GenerateKey()
	require.NoError(t, err)
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "key"}, Data: map[string][]byte{"cosign.key": private, "cosign.pub": public}}
	r := newRig(t, servers.InProcess(t), key)
	r.transform.Spec.Output.OCI.SigningKeyRef = &v1alpha1.LocalObjectReference{Name: "key"}
	out := r.release(twoLayers("", "1", "1"))
	store := r.open()
	to, err := store.connect(t.Context())
	require.NoError(t, err)
	keys, err := signature.ParsePublicKeys(public)
	require.NoError(t, err)
	signed, err := artifact.VerifySet(t.Context(), to, out.Desired.Digest, keys)
	require.NoError(t, err)
	require.Len(t, signed, 3)
	whole, err := to.Resolve(t.Context(), out.Desired.Digest)
	require.NoError(t, err)
	for _, predicate := range []string{statement.PredicateGraph, statement.PredicateProvenance, statement.PredicateSBOM} {
		require.Len(t, artifacts.Attestations(t, to, manifest.Bare(whole), predicate, keys), 1, predicate)
	}
	interim, err := store.Publish(t.Context(), "layer-00", twoLayers("", "2", "1").Files)
	require.NoError(t, err)
	_, err = artifact.VerifySet(t.Context(), to, interim, keys)
	require.NoError(t, err)

	source, revision, err := store.Source(r.transform, "layer-00", interim)
	require.NoError(t, err)
	require.Equal(t, interim, revision)
	oci := source.(*sourcev1.OCIRepository)
	require.Equal(t, "web-layer-00", oci.Name)
	require.Equal(t, interim, oci.Spec.Reference.Digest)
	require.Equal(t, &sourcev1.OCIRepositoryVerification{Provider: "cosign", SecretRef: &meta.LocalObjectReference{Name: "key"}}, oci.Spec.Verify)
	require.Empty(t, oci.Labels)
}

func TestCredentialsComeFromSecrets(t *testing.T) {
	registry := servers.InProcess(t, servers.WithBasicAuth("ann", "canary-7c1d"), servers.WithTLS())
	secret := func(name string, data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Data: data}
	}
	config := func(host string) []byte {
		return fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, host, base64.StdEncoding.EncodeToString([]byte("ann:canary-7c1d")))
	}
	objects := []client.Object{
		secret("basic", map[string][]byte{"username": []byte("ann"), "password": []byte("canary-7c1d")}),
		secret("wrong", map[string][]byte{"username": []byte("ann"), "password": []byte("canary-0000")}),
		secret("docker", map[string][]byte{corev1.DockerConfigJsonKey: config(registry.Host)}),
		secret("elsewhere", map[string][]byte{corev1.DockerConfigJsonKey: config("registry.example")}),
		secret("ca", map[string][]byte{"ca.crt": registry.CA}),
		secret("empty", nil),
		&corev1.ServiceAccount{
			ObjectMeta:       metav1.ObjectMeta{Namespace: "shop", Name: "deployer"},
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "none"}, {Name: "elsewhere"}, {Name: "docker"}},
		},
	}
	for name, c := range map[string]struct {
		secret, account, ca string
		want                string
		is                  error
	}{
		"name and password":              {secret: "basic", ca: "ca"},
		"docker config":                  {secret: "docker", ca: "ca"},
		"the account's":                  {account: "deployer", ca: "ca"},
		"none":                           {ca: "ca", is: source.ErrUnauthorized},
		"a wrong password":               {secret: "wrong", ca: "ca", is: source.ErrUnauthorized},
		"no authority":                   {secret: "basic", is: source.ErrHostKey},
		"a Secret that is not there":     {secret: "missing", want: `spec.output.oci.pushSecretRef: Secret "missing": it does not exist in namespace "shop": create it`},
		"an authority that is not there": {secret: "basic", ca: "empty", want: `spec.output.oci.certSecretRef: Secret "empty": it has no entry ca.crt`},
		"a Secret with nothing in it":    {secret: "empty", ca: "ca", is: source.ErrUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, registry, objects...)
			registries := &remote.Registries{}
			r.oci.Registries = func(bool) (*remote.Registries, error) { return registries, nil }
			out := r.transform.Spec.Output.OCI
			if c.secret != "" {
				out.PushSecretRef = &v1alpha1.LocalObjectReference{Name: c.secret}
			}
			if c.ca != "" {
				out.CertSecretRef = &v1alpha1.LocalObjectReference{Name: c.ca}
			}
			r.transform.Spec.ServiceAccountName = c.account
			_, err := r.open().Release(t.Context(), twoLayers("", "1", name))
			switch {
			case c.want != "":
				require.EqualError(t, err, c.want)
			case c.is != nil:
				require.ErrorIs(t, err, c.is)
			default:
				require.NoError(t, err)
			}
			if err != nil {
				require.NotContains(t, err.Error(), "canary")
			}
		})
	}
}

func TestARegistryThatIsDownIsUnavailable(t *testing.T) {
	registry := servers.InProcess(t)
	r := newRig(t, registry)
	registry.Fault(servers.Always(servers.Answer(http.StatusServiceUnavailable, "UNAVAILABLE", "later")))
	_, err := r.open().Release(t.Context(), twoLayers("", "1", "1"))
	require.ErrorIs(t, err, source.ErrUnavailable)
}

func TestTagsOfLongNamesAreTags(t *testing.T) {
	long := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: string(bytes.Repeat([]byte("n"), 63)), Name: string(bytes.Repeat([]byte("a"), 253))}}
	other := long.DeepCopy()
	other.Name = long.Name[:252] + "b"
	require.NotEqual(t, Tag(long), Tag(other))
	r := &repository{tag: Tag(long)}
	require.NoError(t, artifact.CheckTags([]string{Tag(long), r.interim("sha256:" + fmt.Sprintf("%064d", 7)), Tag(&v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "rw-a", Name: "b"}})}))
}

func TestFilesOfTheEngineAreNoPartOfAnArtifact(t *testing.T) {
	out := Flat([]emit.File{{Path: "layer-00/a.yaml", Node: "web/a"}, {Path: emit.DeliveryDir + "/kustomization-web-00.yaml"}, {Path: "b.yaml", Node: "web/b"}})
	require.Equal(t, []emit.File{{Path: "a.yaml", Node: "web/a"}, {Path: "b.yaml", Node: "web/b"}}, out)
}

func mustFolder(t *testing.T, files []emit.File) fs.FS {
	t.Helper()
	out, err := folder(files)
	require.NoError(t, err)
	return out
}

func TestARepositoryIsOpenedWithTheLoginOfPushes(t *testing.T) {
	registry := servers.InProcess(t, servers.WithBasicAuth("ann", "canary-7c1d"))
	r := newRig(t, registry, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "push"},
		Data:       map[string][]byte{"username": []byte("ann"), "password": []byte("canary-7c1d")},
	})
	open := func() error {
		store, err := r.oci.Repository(t.Context(), r.transform, r.client)
		if err != nil {
			return err
		}
		_, err = store.Resolve(t.Context(), "none")
		return err
	}
	require.NotErrorIs(t, open(), artifact.ErrNotFound, "without a login nothing is known")
	r.transform.Spec.Output.OCI.PushSecretRef = &v1alpha1.LocalObjectReference{Name: "push"}
	require.ErrorIs(t, open(), artifact.ErrNotFound)
	r.transform.Spec.Output.OCI.PushSecretRef.Name = "other"
	require.ErrorContains(t, open(), `Secret "other": it does not exist`)
}
