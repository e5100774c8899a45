// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/test/servers"
)

// openApp is a project whose objects are in one namespace and name it nowhere else. The
// first is waited for, by a rule.
const openApp = `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: app}
spec:
  cueRef:
    type: inline
    ref: |
      package module
      ropewalk: apiVersion: "v1alpha1"
      #Input: {host: string | *"db"}
      input: #Input
      graph: nodes: {
        web: {object: {apiVersion: "apps/v1", kind: "Deployment", metadata: {name: "web", namespace: "shop"}, spec: {
          selector: matchLabels: app: "web"
          template: {metadata: labels: app: "web", spec: containers: [{name: "web", image: "nginx:1.29", env: [{name: "HOST", value: input.host}]}]}
        }}, readyWhen: [{type: "CEL", expr: "object.status.availableReplicas > 0"}]}
        after: {object: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "after", namespace: "shop"}, data: a: "b"}, dependsOn: ["web"]}
      }
`

// releases is a build registry, one of an installation, and a project in a folder.
type releases struct {
	t         *testing.T
	dir       string
	from, to  *servers.OCI
	plainHTTP []string
}

func newReleases(t *testing.T) releases {
	t.Helper()
	alone(t)
	r := releases{t: t, dir: t.TempDir(), from: servers.InProcess(t), to: servers.Registry(t)}
	r.plainHTTP = []string{"--plain-http", r.from.Host, "--plain-http", r.to.Host}
	r.write("app/app.yaml", openApp)
	good(t, "artifact", "keygen", r.path("release"))
	return r
}

func (r releases) path(name string) string { return filepath.Join(r.dir, name) }

func (r releases) write(name, text string) string {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(filepath.Dir(r.path(name)), 0o750))
	require.NoError(r.t, os.WriteFile(r.path(name), []byte(text), 0o600))
	return r.path(name)
}

func (r releases) read(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(r.path(name))
	require.NoError(r.t, err)
	return string(data)
}

func (r releases) with(args ...string) []string { return append(args, r.plainHTTP...) }

// build pushes the project in a dialect, and returns its digest.
func (r releases) build(dialect, name string, args ...string) string {
	r.t.Helper()
	var out struct{ Digest string }
	text := good(r.t, r.with(append([]string{"build", r.path("app"), "--dialect", dialect, "--to", "oci://" + r.from.Host + "/build/" + name + ":v1", "--format", "json"}, args...)...)...)
	require.NoError(r.t, json.Unmarshal([]byte(text), &out))
	return out.Digest
}

// installation is a document with components that are built by their names.
func (r releases) installation(name, engine string, components ...string) string {
	text := fmt.Sprintf("apiVersion: ropewalk.dev/v1alpha1\nkind: Installation\nmetadata: {name: %s}\nspec:\n  registry: oci://%s/%s\n  namespace: shop-%s\n  engine: %s\n  insecure: true\n  secrets: {pull: regcred, verify: keys}\n  verify: {keys: [release.pub]}\n  components:\n", name, r.to.Host, name, name, engine)
	for _, c := range components {
		text += fmt.Sprintf("    - {name: %s, from: \"oci://%s/build/%s\", version: v1}\n", c, r.from.Host, c)
	}
	return r.write(name+".yaml", text)
}

func TestAPlanIsBuiltElsewhere(t *testing.T) {
	r := newReleases(t)
	const canary = "canary-b7f1"
	plan := r.path("plan.yaml")
	good(t, r.with("build", r.path("app"), "--to", "oci://"+r.from.Host+"/build/app:v1", "--tag", "stable", "--set", "host="+canary,
		"--label", "component=app", "--namespace-at-deploy", "--plan", plan)...)
	require.NotContains(t, r.read("plan.yaml"), canary)
	require.Contains(t, r.read("plan.yaml"), "--set host")
	require.Empty(t, r.from.Requests(), "nothing is pushed, and nothing looked up")
	require.Equal(t, r.read("plan.yaml"), good(t, r.with("build", r.path("app"), "--to", "oci://"+r.from.Host+"/build/app:v1", "--tag", "stable", "--set", "host="+canary,
		"--label", "component=app", "--namespace-at-deploy", "--plan", "-")...))

	code, _, diagnostics := call(t, r.with("build", plan)...)
	require.Equal(t, command.Findings, code, diagnostics)
	require.Contains(t, diagnostics, "give the same values (it was made with --set host)")
	out := good(t, r.with("build", plan, "--set", "host="+canary)...)
	require.Contains(t, out, "build/app:v1\n")
	require.Contains(t, out, "v1, stable")
	require.Contains(t, good(t, r.with("artifact", "inspect", "oci://"+r.from.Host+"/build/app:v1", "--show", "manifest")...), `"component":"app"`)

	for name, tt := range map[string]struct {
		old, new, want string
		code           int
	}{
		"altered":        {"- stable", "- other", "the plan was altered", command.Findings},
		"a newer kind":   {"dev/v1alpha1", "dev/v1beta1", "use a newer ropewalk", command.Findings},
		"a wrong field":  {"dialect:", "dialekt:", `spec.dialekt: unknown field "dialekt"`, command.Findings},
		"another option": {"--namespace", "", "", command.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			changed := r.write("changed.yaml", strings.Replace(r.read("plan.yaml"), tt.old, tt.new, 1))
			args := []string{"build", changed, "--set", "host=" + canary}
			if tt.want == "" {
				args = append(args, "--namespace", "x")
			}
			code, _, diagnostics := call(t, r.with(args...)...)
			require.Equal(t, tt.code, code, diagnostics)
			require.Contains(t, diagnostics, tt.want)
			require.NotContains(t, diagnostics, canary)
		})
	}
}

func TestAPlanPinsWhatItFetches(t *testing.T) {
	r := newReleases(t)
	g := servers.NewGit(t, filepath.Join(r.dir, "git", "web.git"))
	module := "package module\nropewalk: apiVersion: \"v1alpha1\"\ngraph: nodes: a: object: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"a\", data: v: \"%d\"}\n"
	one := g.Commit(map[string]string{"m/module.cue": fmt.Sprintf(module, 1)}, "one")
	root := servers.GitHTTP(t, filepath.Join(r.dir, "git"))
	url, host := root+"/web.git", strings.TrimPrefix(root, "http://")
	r.write("app/app.yaml", fmt.Sprintf("apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: app}\nspec:\n  cueRef: {type: git, ref: \"%s?branch=main\", path: m}\n", url))
	plain := append(r.plainHTTP, "--plain-http", host)
	plan := r.path("plan.yaml")
	good(t, append([]string{"build", r.path("app"), "--to", "oci://" + r.from.Host + "/build/app:v1", "--plan", plan}, plain...)...)
	require.Contains(t, r.read("plan.yaml"), one)
	g.Commit(map[string]string{"m/module.cue": fmt.Sprintf(module, 2)}, "two")
	t.Setenv("ROPEWALK_CACHE", t.TempDir())
	good(t, append([]string{"build", plan}, plain...)...)

	// The commit that is gone is named, with where it was.
	require.NoError(t, os.RemoveAll(filepath.Join(r.dir, "git")))
	t.Setenv("ROPEWALK_CACHE", t.TempDir())
	code, _, diagnostics := call(t, append([]string{"build", plan}, plain...)...)
	require.Equal(t, command.Environment, code, diagnostics)
	require.Contains(t, diagnostics, one)
	require.Contains(t, diagnostics, url)
}

func TestWhatNamesTheNamespaceIsAnErrorWhereItIsLeftOpen(t *testing.T) {
	r := newReleases(t)
	r.write("app/app.yaml", strings.Replace(openApp, `data: a: "b"`, `data: {a: "http://db.shop.svc.cluster.local:80", b: "db.shop.svcs shop"}`, 1))
	r.write("app/rb.yaml", `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: rb}
spec:
  cueRef:
    type: inline
    ref: |
      package module
      ropewalk: apiVersion: "v1alpha1"
      graph: nodes: rb: object: {
        apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata: {name: "rb", namespace: "shop"}
        roleRef: {apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view"}
        subjects: [{kind: "ServiceAccount", name: "a", namespace: "shop"}]
      }
      graph: nodes: other: object: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "o", namespace: "elsewhere"}}
      graph: nodes: ns: object: {apiVersion: "v1", kind: "Namespace", metadata: name: "shop"}
`)
	code, _, diagnostics := call(t, r.with("build", r.path("app"), "--to", "oci://"+r.from.Host+"/build/app:v1", "--namespace-at-deploy")...)
	require.Equal(t, command.Findings, code, diagnostics)
	for _, want := range []string{
		"app/after: data.a: ConfigMap shop/after names the namespace, which", "rb/rb: subjects[0].namespace: RoleBinding", "rb/ns: metadata.name: Namespace shop makes",
		`metadata.namespace: ConfigMap elsewhere/o is in namespace "elsewhere"`, "4 errors",
	} {
		require.Contains(t, diagnostics, want)
	}
}

func TestInstallationsAreSyncedAndDeployed(t *testing.T) {
	r := newReleases(t)
	flux := r.build("flux", "app", "--namespace-at-deploy", "--sign-key", r.path("release.key"))
	argo := r.build("argocd", "shop", "--namespace-at-deploy", "--sign-key", r.path("release.key"))
	berlin, paris := r.installation("berlin", "flux", "app"), r.installation("paris", "argocd", "shop")
	type report struct{ Copied, Unchanged, Failed int }
	sync := func(args ...string) (out report, requests int) {
		r.from.Reset()
		r.to.Reset()
		require.NoError(t, json.Unmarshal([]byte(good(t, r.with(append([]string{"artifact", "sync", berlin, paris, "--format", "json"}, args...)...)...)), &out))
		return out, len(r.from.Requests()) + len(r.to.Requests())
	}
	first, _ := sync()
	require.Equal(t, report{Copied: 2}, first)
	again, requests := sync()
	require.Equal(t, report{Unchanged: 2}, again)
	require.Equal(t, 4, requests, "two for each artifact that is there")
	checked, _ := sync("--check")
	require.Equal(t, report{Unchanged: 2}, checked)
	good(t, r.with("artifact", "verify", "oci://"+r.to.Host+"/berlin/app:v1", "--key", r.path("release.pub"))...)

	good(t, r.with("deploy", berlin, paris, "-o", r.path("out"))...)
	text := r.read("out/berlin/app.yaml")
	require.Equal(t, 4, strings.Count(text, "apiVersion: source.toolkit.fluxcd.io")+strings.Count(text, "apiVersion: kustomize.toolkit.fluxcd.io"), text)
	for _, want := range []string{"targetNamespace: shop-berlin", "dependsOn:\n  - name: app-00", "name: regcred", "provider: cosign", "insecure: true", "    namespace: shop-berlin\n", "current: "} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "namespace: shop\n")
	require.NotContains(t, text, flux, "the layers are applied")
	require.Contains(t, r.read("out/paris/shop.yaml"), "targetRevision: "+argo)
	require.Contains(t, r.read("out/paris/shop.yaml"), "namespace: shop-paris")

	// A plan gives the same bytes, elsewhere.
	ref, plan := "oci://"+r.to.Host+"/berlin/app@"+flux, r.path("deploy.yaml")
	direct := good(t, r.with("deploy", ref, "-n", "x", "--verify-secret", "keys", "--key", r.path("release.pub"))...)
	good(t, r.with("deploy", ref, "-n", "x", "--verify-secret", "keys", "--plan", plan)...)
	require.Equal(t, direct, good(t, r.with("deploy", plan)...))
	r.write("deploy.yaml", strings.Replace(r.read("deploy.yaml"), "namespace: x", "namespace: y", 1))
	code, _, diagnostics := call(t, r.with("deploy", plan)...)
	require.Equal(t, command.Findings, code, diagnostics)
	require.Contains(t, diagnostics, "the plan was altered")

	own := r.build("flux", "own")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no namespace":     {[]string{ref}, "name the namespace"},
		"another dialect":  {[]string{ref, "-n", "x", "--engine", "argocd"}, "it has 2 waves in the dialect flux"},
		"own namespaces":   {[]string{"oci://" + r.from.Host + "/build/own@" + own, "-n", "x"}, "build it with --namespace-at-deploy"},
		"moved transform":  {[]string{"oci://" + r.from.Host + "/build/own@" + own, "-n", "x", "--engine", "transform"}, "deploy it with --engine"},
		"ordered anew":     {[]string{ref, "-n", "x", "--engine", "transform"}, "deploy it with --engine flux"},
		"a tag":            {[]string{"oci://" + r.from.Host + "/build/own:v1"}, "by its digest"},
		"a flag of a plan": {[]string{berlin, "-n", "x"}, "--namespace is what the document"},
		"a bad name":       {[]string{ref, "-n", "X_"}, `"X_"`},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, diagnostics := call(t, r.with(append([]string{"deploy"}, tt.args...)...)...)
			require.Equal(t, command.Usage, code, diagnostics)
			require.Contains(t, diagnostics, tt.want)
		})
	}
}

func TestInstallationsAreDeployedToTheirClusters(t *testing.T) {
	r := newReleases(t)
	r.build("flux", "app", "--namespace-at-deploy", "--sign-key", r.path("release.key"))
	r.build("argocd", "shop", "--namespace-at-deploy", "--sign-key", r.path("release.key"))
	r.write("app/app.yaml", strings.NewReplacer(`, readyWhen: [{type: "CEL", expr: "object.status.availableReplicas > 0"}]`, "", `, dependsOn: ["web"]`, "").Replace(openApp))
	r.build("plain", "bare", "--namespace-at-deploy", "--sign-key", r.path("release.key"))
	for _, tt := range []struct {
		engine, component, cluster string
		want                       []string
	}{
		{"flux", "app", "{kubeConfig: {secretRef: {name: berlin-kubeconfig, key: value}}}", []string{
			"kind: Kustomization", "  kubeConfig:\n    secretRef:\n      key: value\n      name: berlin-kubeconfig\n", "targetNamespace: web-there\n",
		}},
		{"transform", "bare", "{kubeConfig: {secretRef: {name: berlin-kubeconfig}}}", []string{
			"kind: Transform", "  delivery:\n    flux:\n      kubeConfig:\n        secretRef:\n          name: berlin-kubeconfig\n", "namespace: web-there\n",
		}},
		{"argocd", "shop", "{server: \"https://berlin.example:6443\"}", []string{"  destination:\n    namespace: web-there\n    server: https://berlin.example:6443\n"}},
		{"argocd", "shop", "{name: berlin}", []string{"  destination:\n    name: berlin\n    namespace: web-there\n"}},
	} {
		file := r.installation("there", tt.engine, tt.component)
		text := strings.NewReplacer("namespace: shop-there", "namespace: \"{labels.team}-{name}\"", "name: there}", "name: there, labels: {team: web}}",
			"  engine:", "  cluster: "+tt.cluster+"\n  engine:").Replace(r.read("there.yaml"))
		r.write("there.yaml", text)
		good(t, r.with("artifact", "sync", file)...)
		out := good(t, r.with("deploy", file)...)
		for _, want := range tt.want {
			require.Contains(t, out, want)
		}
	}
}

func TestASyncThatFailsGoesOnAndIsResumed(t *testing.T) {
	r := newReleases(t)
	var names []string
	for i := range 4 {
		names = append(names, fmt.Sprintf("app%d", i))
		args := []string{"--set", fmt.Sprintf("host=h%d", i)}
		if i > 0 {
			args = append(args, "--sign-key", r.path("release.key"))
		}
		r.build("argocd", names[i], args...)
	}
	file := r.installation("berlin", "argocd", names...)
	code, out, diagnostics := call(t, r.with("artifact", "sync", file)...)
	require.Equal(t, command.Findings, code, diagnostics)
	require.Contains(t, diagnostics, "3 copied, 0 unchanged, 1 failed")
	require.Contains(t, diagnostics, "app0")
	require.Regexp(t, `(?m)^failed +oci://\S+/berlin/app0:v1`, out)
	require.Empty(t, r.manifests("berlin/app0"), "what is not signed is not copied")

	// A registry that dies in the middle, and is there again.
	file = r.installation("paris", "argocd", names[1:]...)
	puts := 0
	r.to.Fault(func(req *http.Request) (http.Handler, bool) {
		if req.Method == http.MethodPut {
			puts++
		}
		return servers.Reset(), puts > 8
	})
	code, _, diagnostics = call(t, r.with("artifact", "sync", file, "--parallel", "3")...)
	require.Equal(t, command.Environment, code, diagnostics)
	require.Contains(t, diagnostics, "failed\n")
	r.to.Fault(nil)
	require.Contains(t, good(t, r.with("artifact", "sync", file, "--format", "json")...), `"failed": 0`)
	require.Contains(t, good(t, r.with("artifact", "sync", file, "--format", "json")...), `"unchanged": 3`)
	for _, name := range names[1:] {
		good(t, r.with("artifact", "verify", "oci://"+r.to.Host+"/paris/"+name+":v1", "--key", r.path("release.pub"))...)
	}
}

// manifests are the lines of requests that wrote manifests of a repository.
func (r releases) manifests(repository string) (out []string) {
	for _, line := range r.to.Lines() {
		if strings.HasPrefix(line, "PUT /v2/"+repository+"/manifests/") {
			out = append(out, line)
		}
	}
	return out
}
