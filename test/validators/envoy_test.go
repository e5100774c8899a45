// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package validators

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// newEgctl is the path of the program that translates objects as Envoy Gateway does.
func newEgctl(t *testing.T) string {
	t.Helper()
	if ready := os.Getenv("ROPEWALK_EGCTL"); ready != "" {
		return ready
	}
	out := filepath.Join(t.TempDir(), "egctl")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", out, "github.com/envoyproxy/gateway/cmd/egctl")
	build.Dir, build.Stderr = "envoygateway", os.Stderr
	require.NoError(t, build.Run())
	return out
}

// translate returns what is not in order with objects, by kind, name and condition, and the
// configuration of Envoy as text.
func translate(t *testing.T, egctl string, r Rendered) (problems []string, envoy string) {
	t.Helper()
	var stream bytes.Buffer
	write := func(o any) {
		text, err := yaml.Marshal(o)
		require.NoError(t, err)
		stream.WriteString("---\n" + string(text))
	}
	namespaces := map[string]bool{}
	for _, o := range r.Objects {
		group := o.GroupVersionKind().Group
		if o.GetKind() == "Gateway" {
			class, _, err := unstructured.NestedString(o.Object, "spec", "gatewayClassName")
			require.NoError(t, err)
			write(map[string]any{
				"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": map[string]any{"name": class},
				"spec": map[string]any{"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"},
			})
		}
		if group == "gateway.networking.k8s.io" || group == "gateway.envoyproxy.io" || group == "" && o.GetKind() == "Service" {
			namespaces[o.GetNamespace()] = true
			o = o.DeepCopy()
			if o.GetKind() == "Service" { // As the cluster gives it one.
				require.NoError(t, unstructured.SetNestedField(o.Object, "10.0.0.10", "spec", "clusterIP"))
			}
			if issuer, ok, _ := unstructured.NestedString(o.Object, "spec", "oidc", "provider", "issuer"); ok { // Else it is asked for them.
				for _, endpoint := range []string{"authorization", "token"} {
					require.NoError(t, unstructured.SetNestedField(o.Object, issuer+"/"+endpoint, "spec", "oidc", "provider", endpoint+"Endpoint"))
				}
			}
			write(o.Object)
		}
	}
	for namespace := range namespaces {
		write(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}})
	}
	for _, s := range Secrets(t, r) {
		write(s)
	}
	run := func(to string, must bool) []byte {
		var diagnostics bytes.Buffer
		c := exec.CommandContext(t.Context(), egctl, "x", "translate", "--to", to, "-o", "json", "-f", "-") //nolint:gosec // built above
		c.Stdin, c.Stderr = bytes.NewReader(stream.Bytes()), &diagnostics
		out, err := c.Output()
		if must {
			require.NoError(t, err, "%s: %s", r.Name, diagnostics.String())
		}
		return out
	}
	var all map[string][]struct {
		Metadata struct{ Name string }
		Status   json.RawMessage
	}
	out := run("gateway-api", true)
	require.NoError(t, json.Unmarshal(withoutClass(t, out), &all))
	for kind, objects := range all {
		for _, o := range objects {
			for _, problem := range conditions(t, o.Status) {
				problems = append(problems, kind+" "+o.Metadata.Name+": "+problem)
			}
		}
	}
	slices.Sort(problems)
	return problems, string(run("xds", len(problems) == 0))
}

// withoutClass keeps the lists of objects.
func withoutClass(t *testing.T, out []byte) []byte {
	t.Helper()
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(out, &all))
	for name, raw := range all {
		if !slices.Contains([]string{"gateways", "httpRoutes", "securityPolicies", "backendTrafficPolicies"}, name) {
			delete(all, name)
		} else {
			require.NotEqual(t, "null", string(raw))
		}
	}
	kept, err := json.Marshal(all)
	require.NoError(t, err)
	return kept
}

// conditions are those in a status, however deep, that are not True. The installation of Envoy
// Gateway makes a Secret that OpenID Connect needs, which egctl looks for last and in no namespace.
func conditions(t *testing.T, status json.RawMessage) []string {
	t.Helper()
	var out []string
	var walk func(any)
	walk = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			text := fmt.Sprintf("%s %s: %s", v["type"], v["reason"], v["message"])
			if v["type"] != nil && v["status"] != nil && v["status"] != "True" && !strings.Contains(text, "envoy-oidc-hmac not found") {
				out = append(out, text)
			}
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	var value any
	require.NoError(t, json.Unmarshal(status, &value))
	require.NotEmpty(t, value)
	walk(value)
	return out
}

func TestEnvoyGatewayTakesRoutesAndPolicies(t *testing.T) {
	egctl := newEgctl(t)
	found := 0
	for _, r := range Examples(t) {
		if len(r.Of("gateway.networking.k8s.io", "Gateway")) == 0 {
			continue
		}
		problems, envoy := translate(t, egctl, r)
		require.Empty(t, problems, r.Name)
		require.NotEmpty(t, envoy)
		found++
	}
	require.Greater(t, found, 2)
}

// What Envoy Gateway does not take, so that the test above can fail.
func TestEnvoyGatewayRefusesWhatIsWrong(t *testing.T) {
	egctl := newEgctl(t)
	item := func(field, value string) []any { return []any{map[string]any{field: value}} }
	for _, c := range []struct {
		name, kind, object string
		value              any
		field              []string
		want               string
	}{
		{"a Service that is not there", "Service", "search", "other", []string{"metadata", "name"}, "BackendNotFound"},
		{"a Secret that is not there", "Gateway", "shop", []any{map[string]any{
			"name": "https", "port": int64(443), "protocol": "HTTPS", "tls": map[string]any{"mode": "Terminate", "certificateRefs": item("name", "gone")},
		}}, []string{"spec", "listeners"}, "InvalidCertificateRef"},
		{"an address that is none", "SecurityPolicy", "shop-health-exact", []any{map[string]any{
			"action": "Allow", "principal": map[string]any{"clientCIDRs": []any{"10.0.0.0/33"}},
		}}, []string{"spec", "authorization", "rules"}, "Invalid"},
		{"a Secret of users in another shape", "SecurityPolicy", "shop-v1", "shop-oidc", []string{"spec", "basicAuth", "users", "name"}, "Invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream, _, err := Render(t, root(t)+"/test/validators/testdata/everything", "--env", "envoy-gateway")
			require.NoError(t, err)
			r := Rendered{c.name, Objects(t, stream)}
			for _, o := range r.Objects {
				if o.GetKind() == c.kind && o.GetName() == c.object {
					require.NoError(t, unstructured.SetNestedField(o.Object, c.value, c.field...))
				}
			}
			problems, _ := translate(t, egctl, r)
			require.Contains(t, strings.Join(problems, "\n"), c.want)
		})
	}
}
