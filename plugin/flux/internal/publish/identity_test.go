// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

// provider is a cloud as a test has it.
type provider struct {
	name, registry, identity, audience string
	// impersonated is the account of Google that stands in between.
	impersonated string
	annotations  map[string]string
	// exchanges are what is asked for one login.
	exchanges []string
	// docker has docker-registry in the place of one in process.
	docker bool
}

const (
	role = "arn:aws:iam::123456789012:role/shop"
	pool = "//iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/shop/providers/prod"
)

func providers() []provider {
	return []provider{
		{
			name: "aws", registry: servers.AmazonRegistry, identity: role, audience: "sts.amazonaws.com",
			annotations: map[string]string{"eks.amazonaws.com/role-arn": role},
			exchanges:   []string{"sts.eu-west-1.amazonaws.com/", "api.ecr.eu-west-1.amazonaws.com/"},
		},
		{
			name: "azure", registry: servers.AzureRegistry, identity: "tenant/client", audience: "api://AzureADTokenExchange",
			annotations: map[string]string{"azure.workload.identity/tenant-id": "tenant", "azure.workload.identity/client-id": "client"},
			exchanges:   []string{"login.microsoftonline.com/tenant/oauth2/v2.0/token", "shop.azurecr.io/oauth2/exchange"},
		},
		{
			name: "gcp", registry: servers.GoogleRegistry, identity: pool, audience: pool,
			annotations: map[string]string{"gcp.auth.fluxcd.io/workload-identity-provider": strings.TrimPrefix(pool, "//iam.googleapis.com/")},
			exchanges:   []string{"sts.googleapis.com/v1/token"},
		},
		{
			name: "gcp", registry: servers.GoogleRegistry, identity: pool, audience: pool, impersonated: "pusher@shop.iam.gserviceaccount.com",
			annotations: map[string]string{
				"gcp.auth.fluxcd.io/workload-identity-provider": strings.TrimPrefix(pool, "//iam.googleapis.com/"),
				"iam.gke.io/gcp-service-account":                "pusher@shop.iam.gserviceaccount.com",
			},
			exchanges: []string{"sts.googleapis.com/v1/token", "iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/pusher@shop.iam.gserviceaccount.com:generateAccessToken"},
		},
	}
}

// onGKE is a cluster that its metadata server names.
func onGKE() provider {
	return provider{
		name: "gcp", registry: servers.GoogleRegistry, audience: servers.GooglePool,
		identity: "identitynamespace:" + servers.GooglePool + ":" + servers.GoogleProvider,
	}
}

// issued is the token of an account for an audience, of the form that an API server
// gives it.
func issued(namespace, name string, audiences ...string) string {
	return "eyJhbGciOiJSUzI1NiJ9." + strings.Join([]string{namespace, name, strings.NewReplacer("/", "_", ":", "_", ".", "_").Replace(strings.Join(audiences, "_"))}, "-") + ".canary-Of-The-Token-1234567890"
}

// clouded is a rig whose registry is one of a cloud.
type clouded struct {
	*rig
	cloud *servers.Cloud
	of    provider
	// issues is how many tokens the API server gave, and denies has it give none.
	issues int
	denies error
}

func newClouded(t *testing.T, of provider, accounts bool, objects ...client.Object) *clouded {
	t.Helper()
	c := &clouded{of: of}
	c.cloud = servers.NewCloud(t, func(identity, audience, token string) error {
		if identity != of.identity || audience != of.audience || token != issued("shop", "deployer", of.audience) {
			return fmt.Errorf("%s is not trusted with %s", token, identity)
		}
		return nil
	})
	c.cloud.Impersonated = of.impersonated
	through(t, c.cloud)
	start := servers.InProcess
	if of.docker {
		start = servers.Registry
	}
	registry := start(t, servers.WithBasicAuth(c.cloud.User(of.name), c.cloud.Password))
	c.cloud.Serve(of.registry, registry)
	c.rig = newRig(t, registry, objects...)
	out := c.transform.Spec.Output.OCI
	out.Repository, out.Provider = "oci://"+of.registry+"/shop/web", of.name
	registries := &remote.Registries{CA: map[string][]byte{"": c.cloud.CA}, Proxy: c.cloud.Through}
	c.oci.Registries = func(bool) (*remote.Registries, error) { return registries, nil }
	c.oci.Identity = NewIdentity(interceptor.NewClient(c.client.(client.WithWatch), interceptor.Funcs{
		SubResourceCreate: func(_ context.Context, _ client.Client, _ string, obj, sub client.Object, _ ...client.SubResourceCreateOption) error {
			if c.denies != nil {
				return c.denies
			}
			c.issues++
			request := sub.(*authenticationv1.TokenRequest)
			request.Status.Token = issued(obj.GetNamespace(), obj.GetName(), request.Spec.Audiences...)
			return nil
		},
	}), accounts)
	return c
}

// through has the SDKs of the clouds go to this one: they take the transport of net/http.
func through(t *testing.T, c *servers.Cloud) {
	t.Helper()
	was := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = was })
	changed := was.(*http.Transport).Clone()
	changed.Proxy = c.Through
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(c.CA))
	changed.TLSClientConfig.RootCAs = pool
	http.DefaultTransport = changed
}

func (c *clouded) as(account string) { c.transform.Spec.ServiceAccountName = account }

func account(name string, annotations map[string]string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: annotations}}
}

// refused releases, and returns why that is not to be.
func (c *clouded) refused() *IdentityError {
	c.t.Helper()
	_, err := c.open().Release(c.t.Context(), twoLayers("main@sha1:1", "1", "1"))
	var why *IdentityError
	require.ErrorAs(c.t, err, &why)
	for _, secret := range []string{"canary", "eyJ", c.cloud.Password} {
		require.NotContains(c.t, err.Error(), secret)
	}
	require.NotContains(c.t, err.Error(), "\n")
	require.NotContains(c.t, err.Error(), "failed to")
	return why
}

func TestAnAccountPushesAndPrunesWithTheCredentialsOfItsCloud(t *testing.T) {
	for _, of := range providers() {
		t.Run(of.name+" "+of.impersonated, func(t *testing.T) {
			of.docker = true
			c := newClouded(t, of, true, account("deployer", of.annotations))
			c.as("deployer")
			first := c.release(twoLayers("main@sha1:1", "1", "1"))
			second := c.release(twoLayers("main@sha1:2", "1", "2"))
			files, err := c.open().Files(t.Context(), "layer-01", second.Desired.Layers[1].Digest)
			require.NoError(t, err)
			require.Equal(t, "b.yaml", files[0].Path)
			_, err = c.open().Prune(t.Context(), []v1alpha1.Artifact{{Digest: second.Desired.Digest}}, []v1alpha1.Artifact{{Digest: first.Desired.Digest}})
			require.NoError(t, err)

			require.Equal(t, 1, c.issues, "the cache has the token")
			var exchanges []string
			for _, asked := range c.cloud.Asked() {
				if !strings.Contains(asked, "discovery") && !strings.Contains(asked, "openid-configuration") {
					exchanges = append(exchanges, asked)
				}
			}
			require.Equal(t, of.exchanges, exchanges)
			for _, r := range c.registry.Requests() {
				if user, password, ok := (&http.Request{Header: r.Header}).BasicAuth(); ok {
					require.Equal(t, c.cloud.User(of.name), user)
					require.Equal(t, c.cloud.Password, password)
				}
			}
		})
	}
}

func TestAnAccountThatItsCloudDoesNotTrustIsToldSo(t *testing.T) {
	for _, of := range providers() {
		t.Run(of.name+" "+of.impersonated, func(t *testing.T) {
			c := newClouded(t, of, true, account("deployer", of.annotations), account("other", of.annotations))
			c.as("deployer")
			c.release(twoLayers("main@sha1:1", "1", "1"))
			c.as("other")
			why := c.refused()
			require.Equal(t, Refused, why.Fault)
			require.Contains(t, why.Error(), fmt.Sprintf(`spec.output.oci.provider: %s gives ServiceAccount "other" no credentials for %q: `, of.name, of.registry))
			require.Contains(t, why.Error(), "*** is not trusted with ")
			require.Contains(t, why.Error(), ": see that its annotations are right, and that the cloud trusts it")
		})
	}
}

func TestWhatIsWrongWithAnIdentityIsSaid(t *testing.T) {
	aws := providers()[0]
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts/token"}, "deployer", errors.New("no"))
	for name, c := range map[string]struct {
		change func(*clouded)
		fault  Fault
		says   string
	}{
		"no such account":            {func(c *clouded) { c.as("nobody") }, Refused, `ServiceAccount "nobody" does not exist in namespace "shop": create it`},
		"no annotation":              {func(c *clouded) { c.as("plain") }, Refused, `no credentials for "` + aws.registry + `": invalid eks.amazonaws.com/role-arn annotation: ''`},
		"no right to ask for tokens": {func(c *clouded) { c.denies = forbidden }, Denied, `the controller may not read ServiceAccount "deployer" or create its tokens: grant it`},
		"a registry of nobody":       {func(c *clouded) { c.transform.Spec.Output.OCI.Repository = "oci://ghcr.io/shop/web" }, Misplaced, `"ghcr.io" is not a registry of aws: set the provider`},
		"a cloud that repeats what it is sent": {func(c *clouded) {
			c.cloud.Fault(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/xml")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = fmt.Fprintf(w, "<ErrorResponse><Error><Code>Bad</Code><Message>%s\n%s AND secret %s</Message></Error></ErrorResponse>",
					issued("shop", "deployer", "x"), c.cloud.Password, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYcanaryKEY1")
			}))
		}, Refused, "Bad: *** *** AND secret ***: see that"},
	} {
		t.Run(name, func(t *testing.T) {
			rig := newClouded(t, aws, true, account("deployer", aws.annotations), account("plain", nil))
			rig.as("deployer")
			c.change(rig)
			why := rig.refused()
			require.Equal(t, c.fault, why.Fault, why.Error())
			require.Contains(t, why.Error(), c.says)
		})
	}
}

func TestACloudThatIsAwayIsNotSaidToRefuse(t *testing.T) {
	answers := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After-Ms", "1") // The library of Azure tries for 20 s without it.
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "canary-Of-The-Token-1234567890-canary-Of-The-Token-1234567890")
		})
	}
	severed := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	unavailable := apierrors.NewServiceUnavailable("the server is starting")
	for _, of := range providers() {
		for name, change := range map[string]func(*clouded){
			"it answers 503":               func(c *clouded) { c.cloud.Fault(answers(http.StatusServiceUnavailable)) },
			"it closes the connection":     func(c *clouded) { c.cloud.Fault(severed) },
			"the API server is not there":  func(c *clouded) { c.denies = unavailable },
			"the API server has no answer": func(c *clouded) { c.denies = context.DeadlineExceeded },
		} {
			if of.name == "azure" && name == "it closes the connection" {
				continue // The library tries for 20 s, as it does for the answer.
			}
			t.Run(of.name+" "+of.impersonated+" "+name, func(t *testing.T) {
				c := newClouded(t, of, true, account("deployer", of.annotations))
				c.as("deployer")
				change(c)
				why := c.refused()
				require.Equal(t, Away, why.Fault, why.Error())
				require.ErrorIs(t, why, source.ErrUnavailable)
				require.Contains(t, why.Error(), "gives ServiceAccount \"deployer\" no credentials for")
				require.NotContains(t, why.Error(), "annotations")
				require.NotContains(t, why.Error(), "canary")
			})
		}
	}
}

func TestTheTextOfABrokenConnectionIsKnown(t *testing.T) {
	for text, away := range map[string]bool{
		`ClientAssertionCredential: unable to resolve an endpoint: server response error: Get "https://login.microsoftonline.com/tenant": EOF`: true,
		`Post "https://sts.googleapis.com/v1/token": dial tcp: lookup sts.googleapis.com: no such host`:                                        true,
		`oauth2/google: status code 503: it is late`: true,
		`oauth2/google: status code 429: too often`:  true,
		`oauth2/google: status code 403: no`:         false,
		`oauth2/google: status code : no`:            false,
		`the account is not trusted`:                 false,
	} {
		require.Equal(t, away, isAway(errors.New(text)), text)
	}
}

func TestWithoutTheFeatureGateNobodyLogsInForAnAccount(t *testing.T) {
	of := providers()[0]
	c := newClouded(t, of, false, account("deployer", of.annotations))
	c.oci.DefaultServiceAccount = "deployer"
	why := c.refused()
	require.Equal(t, Disabled, why.Fault)
	require.Equal(t, `spec.output.oci.provider: login at aws as ServiceAccount "deployer" needs a feature gate: `+
		`start the controller with --feature-gates=ObjectLevelWorkloadIdentity=true, or set spec.output.oci.pushSecretRef`, why.Error())
	require.Zero(t, c.issues)
	require.Empty(t, c.cloud.Asked())
}

// TestTheControllerLogsInAsItsPod has what the webhook of EKS gives a pod.
func TestTheControllerLogsInAsItsPod(t *testing.T) {
	t.Setenv("AWS_CA_BUNDLE", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	of := providers()[0]
	c := newClouded(t, of, false)
	why := c.refused()
	require.Equal(t, Refused, why.Fault)
	require.Contains(t, why.Error(), `aws gives the controller itself no credentials`)
	require.Contains(t, why.Error(), "see that its pod has an identity there")

	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(issued("shop", "deployer", of.audience)), 0o600))
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", file)
	t.Setenv("AWS_ROLE_ARN", role)
	require.True(t, c.release(twoLayers("main@sha1:1", "1", "1")).Changed)
	require.Zero(t, c.issues)
}

// TestGoogleIsNotAskedForWhatIsNotAnnotatedOutsideOfGKE has a process of its own: the
// library keeps what a metadata server said as long as the process lives.
func TestGoogleIsNotAskedForWhatIsNotAnnotatedOutsideOfGKE(t *testing.T) {
	const alone = "ROPEWALK_TEST_ALONE"
	if os.Getenv(alone) == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), alone+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: "+t.Name())
		return
	}
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	t.Setenv("GCE_METADATA_HOST", other.Listener.Addr().String())
	c := newClouded(t, onGKE(), true, account("deployer", nil))
	c.as("deployer")
	why := c.refused()
	require.Equal(t, Refused, why.Fault)
	require.Contains(t, why.Error(), `gcp gives ServiceAccount "deployer" no credentials for "`+servers.GoogleRegistry+`": it has no annotation `+
		`gcp.auth.fluxcd.io/workload-identity-provider, and no metadata server of GKE says which cluster this is: metadata: GCE metadata "project/project-id" not defined: see that`)
	require.Zero(t, c.issues)
	require.Empty(t, c.cloud.Asked())
}

func TestAMetadataServerThatDoesNotAnswerHoldsUpNobodyForLong(t *testing.T) {
	i := NewIdentity(nil, true)
	i.google <- struct{}{} // another one asks
	within, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := i.providerOf("gcp").GetAudiences(within, *account("deployer", nil))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "no metadata server of GKE says which cluster this is")

	audiences, err := i.providerOf("gcp").GetAudiences(t.Context(), *account("deployer", providers()[2].annotations))
	require.NoError(t, err, "who need not ask does not wait")
	require.Equal(t, []string{pool}, audiences)
}

func TestAnAccountOfGKEPushesByItsOwnName(t *testing.T) {
	c := newClouded(t, onGKE(), true, account("deployer", nil))
	t.Setenv("GCE_METADATA_HOST", c.cloud.Metadata(t))
	c.as("deployer")
	require.True(t, c.release(twoLayers("main@sha1:1", "1", "1")).Changed)
	require.Equal(t, 1, c.issues)
	require.Equal(t, []string{"sts.googleapis.com/v1/token"}, c.cloud.Asked())
}

func TestTheControllerLogsInAtGoogleAsItsPod(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("HOME", t.TempDir())
	c := newClouded(t, onGKE(), false)
	t.Setenv("GCE_METADATA_HOST", c.cloud.Metadata(t))
	require.True(t, c.release(twoLayers("main@sha1:1", "1", "1")).Changed)
	require.Zero(t, c.issues)
	require.Empty(t, c.cloud.Asked(), "the metadata server gives the pod its tokens")
}

func TestAMemberThatMayNotStandForItsAccountIsToldSo(t *testing.T) {
	of := providers()[3]
	c := newClouded(t, of, true, account("deployer", of.annotations))
	c.cloud.Impersonated = "other@shop.iam.gserviceaccount.com"
	c.as("deployer")
	require.Contains(t, c.refused().Error(), "Permission 'iam.serviceAccounts.getAccessToken' denied")
}

func TestSecretsComeBeforeTheCloud(t *testing.T) {
	of := providers()[0]
	c := newClouded(t, of, true)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "push"}, Data: map[string][]byte{
		"username": []byte(c.cloud.User(of.name)), "password": []byte(c.cloud.Password),
	}}
	require.NoError(t, c.client.Create(t.Context(), secret))
	c.transform.Spec.Output.OCI.PushSecretRef = &v1alpha1.LocalObjectReference{Name: "push"}
	c.release(twoLayers("main@sha1:1", "1", "1"))
	require.Empty(t, c.cloud.Asked())
}

func TestFluxPullsAsTheAccountThatPushes(t *testing.T) {
	of := providers()[0]
	pulls := &v1alpha1.LocalObjectReference{Name: "a"}
	for name, c := range map[string]struct {
		accounts bool
		change   func(*v1alpha1.Transform)
		wants    string
	}{
		"with the feature gate":   {true, func(*v1alpha1.Transform) {}, "deployer"},
		"without it":              {false, func(*v1alpha1.Transform) {}, ""},
		"with a secret for pulls": {true, func(t *v1alpha1.Transform) { t.Spec.Output.OCI.PullSecretRef = pulls }, ""},
		"at another cloud":        {true, func(t *v1alpha1.Transform) { t.Spec.Output.OCI.Provider = "gcp" }, "deployer"},
		"at no cloud":             {true, func(t *v1alpha1.Transform) { t.Spec.Output.OCI.Provider = "generic" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rig := newClouded(t, of, c.accounts)
			rig.as("deployer")
			c.change(rig.transform)
			source, _, err := rig.open().Source(rig.transform, "layer-00", "sha256:1")
			require.NoError(t, err)
			require.Equal(t, c.wants, source.(*sourcev1.OCIRepository).Spec.ServiceAccountName)
		})
	}
}

func TestOnlyWhatLooksLikeATokenIsHidden(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"User: arn:aws:sts::123456789012:assumed-role/shop-pusher-of-the-large-team/deployer.shop is not authorized": "User: arn:aws:sts::123456789012:assumed-role/shop-pusher-of-the-large-team/deployer.shop is not authorized",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08":                                    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"token ya29.a0AfH6SMBx-Q1w2E3r4T5y6U7i8O9p0AsDfGhJkLzXcVbNm!":                                                "token ya29.***!",
		"é " + strings.Repeat("aB3/", 10) + " é":                                                                     "é *** é",
	} {
		require.Equal(t, want, opaque(text))
	}
}
