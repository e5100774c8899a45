// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

// projectFiles is a project with a module of its own and two specs.
func projectFiles() map[string]string {
	module := strings.TrimPrefix(inline, "cueRef:\n  type: inline\n  ref: |\n")
	return map[string]string{
		"shop/ropewalk.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Project
metadata: {name: shop}
spec:
  specs: [apps]
  environments:
    prod: {inputs: {cart: {num: 3}}}
`,
		"shop/apps/cart.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: cart}
spec:
  cueRef: {type: path, ref: ../modules/m}
  input:
    text: cart
    num: 1
`,
		"shop/modules/m/cue.mod/module.cue": "module: \"example.com/m\"\nlanguage: version: \"v0.9.0\"\n",
		"shop/modules/m/m.cue":              strings.ReplaceAll(module, "\n    ", "\n")[4:],
	}
}

const ofProject = "sourceRef: {kind: GitRepository, name: shop, path: shop%s}\n"

func TestAProjectOfASourceIsRendered(t *testing.T) {
	src := gitRepository(t, "shop", projectFiles())
	require.Equal(t, map[string]any{"text": "cart", "num": "1", "namespace": "shop", "version": "1.36"},
		data(t, transformOf(t, fmt.Sprintf(ofProject, "")), src))
	values := configMap("settings", map[string]string{"values.yaml": "text: map"})
	require.Equal(t, map[string]any{"text": "map", "num": "3", "namespace": "other", "version": "1.36"},
		data(t, transformOf(t, fmt.Sprintf(ofProject, ", environment: prod")+"context: {namespace: other}\ninputsFrom: [{kind: ConfigMap, name: settings, spec: cart}]"), src, values))

	loaded, err := load(t, transformOf(t, fmt.Sprintf(ofProject, "")), src)
	require.NoError(t, err)
	require.Equal(t, "https://git.example/shop.git", loaded.Source.Origin)
	require.Equal(t, "main@sha1:abc", loaded.Source.Revision)
}

// bundleFiles is a bundle of Timoni for two clusters, with a module.
func bundleFiles() map[string]string {
	return map[string]string{
		"shop/bundle.cue": `bundle: {
	apiVersion: "v1alpha1"
	name:       "shop"
	_cluster:   string @timoni(runtime:string:TIMONI_CLUSTER_NAME)
	instances: cart: {
		module: url: "file://../modules/cart"
		namespace: "carts"
		values: {
			text:    "of \(_cluster)"
			version: string @timoni(runtime:string:VERSION)
		}
	}
}
`,
		"shop/runtime.cue": `runtime: {
	apiVersion: "v1alpha1"
	name:       "fleet"
	clusters: {a: {group: "test", kubeContext: "a"}, b: {group: "test", kubeContext: "b"}}
}
`,
		"modules/cart/cue.mod/module.cue": "module: \"timoni.example/cart\"\nlanguage: version: \"v0.9.0\"\n",
		"modules/cart/values.cue":         "package main\n\nvalues: {}\n",
		"modules/cart/timoni.cue": `package main

values: {text: string, version: string}
timoni: {
	apiVersion: "v1alpha1"
	instance: {name: string @tag(name), namespace: string @tag(namespace)}
	apply: all: [{apiVersion: "v1", kind: "ConfigMap", metadata: instance, data: values}]
}
`,
	}
}

func TestLinksOfASourceAreFollowedOrRefused(t *testing.T) {
	files := projectFiles()
	files["lib/m"], files["lib/cart.yaml"] = "-> ../shop/modules/m", files["shop/apps/cart.yaml"]
	files["shop/apps/cart.yaml"] = "-> ../../lib/cart.yaml"
	files["shop/modules/m/more.cue"], files["shop/modules/m/m.cue"] = files["shop/modules/m/m.cue"], "-> more.cue"
	files["unused"] = "-> /etc"
	require.Equal(t, "cart", data(t, transformOf(t, fmt.Sprintf(ofProject, "")), gitRepository(t, "shop", files))["text"])
	files["shop/apps/cart.yaml"] = "-> ../../../cart.yaml"
	_, err := load(t, transformOf(t, fmt.Sprintf(ofProject, "")), gitRepository(t, "shop", files))
	require.ErrorContains(t, err, "shop/apps/cart.yaml: ")
	require.ErrorContains(t, err, "leaves the root of the project by a link")
}

func TestABundleOfASourceIsRendered(t *testing.T) {
	src := gitRepository(t, "shop", bundleFiles())
	for _, path := range []string{"", "/bundle.cue"} {
		got := data(t, transformOf(t, fmt.Sprintf(ofProject, path+", environment: b")+"tags: {VERSION: \"1.2\"}\n"), src)
		require.Equal(t, map[string]any{"text": "of b", "version": "1.2"}, got)
	}
	for name, c := range map[string]struct{ spec, want string }{
		"no cluster":       {"}\ntags: {VERSION: x}\nx: {", "shop/runtime.cue:4:13: spec: the bundle is for 2 clusters"},
		"no runtime value": {", environment: a", `shop/bundle.cue:10:20: evaluate: runtime value "VERSION" is not set`},
		"an unknown name":  {", environment: a}\ntags: {VERSION: x, VERSIN: x}\nx: {", "spec.tags.VERSIN: spec: no bundle and no module has an attribute"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rendered(t, transformOf(t, strings.Replace(fmt.Sprintf(ofProject, c.spec), "x: {}", "", 1)), src)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, fmt.Sprintf("%+v", err), "--runtime")
		})
	}
}

func TestRuntimeValuesComeFromConfigMaps(t *testing.T) {
	files := bundleFiles()
	files["modules/cart/values.cue"] = "package main\n\nvalues: {text: \"own\", version: string @timoni(runtime:string:VERSION)}\n"
	src := gitRepository(t, "shop", files)
	settings := configMap("cluster", map[string]string{"version": "1=2\n"})
	bundle := fmt.Sprintf(ofProject, ", environment: b")
	module := "cueRef: {type: source, ref: GitRepository/shop, path: modules/cart}\n"
	from := "inputsFrom: [{kind: ConfigMap, name: cluster, key: version, runtime: VERSION}]\n"
	text := map[string]string{bundle: "of b", module: "own"}
	for _, spec := range []string{bundle, module} {
		require.Equal(t, map[string]any{"text": text[spec], "version": "1=2\n"}, data(t, transformOf(t, spec+from), src, settings))
		require.Equal(t, map[string]any{"text": text[spec], "version": "1=2\n"}, data(t, transformOf(t, spec+from+"tags: {VERSION: \"3\"}\n"), src, settings))
		require.Equal(t, map[string]any{"text": text[spec], "version": "3"},
			data(t, transformOf(t, spec+strings.Replace(from, "VERSION", "VERSION, optional: true", 1)+"tags: {VERSION: \"3\"}\n"), src))

		// The provenance has its digest.
		digests := map[string]bool{}
		for _, version := range []string{"1", "2"} {
			loaded, err := load(t, transformOf(t, spec+from), src, configMap("cluster", map[string]string{"version": version}))
			require.NoError(t, err)
			digests[publishing.BuildOf(loaded.Loaded.Loaded, nil, "").Inputs] = true
		}
		require.Len(t, digests, 2)

		for change, want := range map[string]string{
			"runtime: VERSIN":                `spec.inputsFrom[0].runtime: spec: no bundle and no module has an attribute @timoni(runtime:TYPE:VERSIN)`,
			"key: none, runtime: VERSION":    `ConfigMap cluster/none does not exist in namespace "shop"`,
			"kind: Secret, runtime: VERSION": `spec.inputsFrom[0].runtime: spec: no value of a Secret may enter a render`,
		} {
			changed := transformOf(t, spec+"inputsFrom: [{kind: ConfigMap, name: cluster, key: version}]\ntags: {VERSION: \"3\"}\n")
			require.NoError(t, yaml.Unmarshal([]byte("{"+change+"}"), &changed.Spec.InputsFrom[0]))
			_, err := rendered(t, changed, src, settings)
			require.ErrorContains(t, err, want)
		}
	}

	// Policies of the Transform ask for none of them.
	policies := "policies: [{name: p, cueRef: {type: embedded, ref: policies}}]\n"
	require.Equal(t, "1=2\n", data(t, transformOf(t, bundle+from+policies), src, settings)["version"])
	require.Equal(t, "1", data(t, transformOf(t, bundle+"tags: {VERSION: \"1\"}\n"+policies), src, settings)["version"])
}

func TestAModuleOfASourceIsRendered(t *testing.T) {
	src := gitRepository(t, "shop", projectFiles())
	text := "sourceRef: {kind: GitRepository, name: shop, path: shop/modules}\ncueRef: {type: path, ref: m}\ninput: {text: own}\n"
	require.Equal(t, "own", data(t, transformOf(t, text), src)["text"])
	text = "cueRef: {type: source, ref: GitRepository/shop, path: shop/modules/m}\ninput: {text: own}\n"
	require.Equal(t, "own", data(t, transformOf(t, text), src)["text"])
}

func TestTheNamespaceIsThatOfTheProjectAndTheVersionThatOfTheCluster(t *testing.T) {
	files := projectFiles()
	files["shop/ropewalk.yaml"] = strings.Replace(files["shop/ropewalk.yaml"], "inputs:", "context: {kubeVersion: \"1.34\"}, inputs:", 1) +
		"  context: {namespace: own, kubeVersion: \"1.35\"}\n"
	for name, c := range map[string]struct{ environment, more, namespace, version string }{
		"the project":   {"", "", "own", "1.36"},
		"its context":   {", environment: prod", "", "own", "1.36"},
		"the Transform": {", environment: prod", "context: {namespace: other, kubeVersion: \"1.33\"}\n", "other", "1.33"},
	} {
		t.Run(name, func(t *testing.T) {
			got := data(t, transformOf(t, fmt.Sprintf(ofProject, c.environment)+c.more), gitRepository(t, "shop", files))
			require.Equal(t, c.namespace, got["namespace"])
			require.Equal(t, c.version, got["version"])
		})
	}
}

func TestMistakesOfASourceAreInItsFiles(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]string
		spec   string
		want   string
	}{
		"an input":              {map[string]string{"shop/apps/cart.yaml": strings.Replace(projectFiles()["shop/apps/cart.yaml"], "num: 1", "num: no", 1)}, "", "shop/apps/cart.yaml:8:10: "},
		"a module":              {map[string]string{"shop/modules/m/m.cue": "package m\n\nx: y\n"}, "", "shop/modules/m/m.cue:3:4: "},
		"no such environment":   {nil, ", environment: test", "spec.sourceRef.environment: "},
		"no such folder":        {nil, "s", "spec.sourceRef.path: "},
		"a spec that is none":   {nil, "}\ninputsFrom: [{kind: ConfigMap, name: settings, spec: none}]\nx: {", "spec.inputsFrom[0].spec: "},
		"a policy of that name": {map[string]string{"shop/ropewalk.yaml": projectFiles()["shop/ropewalk.yaml"] + "  policies: [{name: a, cueRef: {type: embedded, ref: policies}}]\n"}, "}\npolicies: [{name: a, cueRef: {type: embedded, ref: policies}}]\nx: {", "spec.policies[0].name: "},
	} {
		t.Run(name, func(t *testing.T) {
			files := projectFiles()
			maps.Copy(files, c.change)
			text := strings.Replace(fmt.Sprintf(ofProject, c.spec), "x: {}", "", 1)
			_, err := rendered(t, transformOf(t, text), gitRepository(t, "shop", files), configMap("settings", map[string]string{"values.yaml": "a: 1"}))
			var mistakes object.Errors
			require.ErrorAs(t, err, &mistakes)
			require.True(t, strings.HasPrefix(mistakes.Failures().Sorted()[0].Error(), c.want), "%s", err)
		})
	}
}

func TestPoliciesOfTheTransformJudgeAProject(t *testing.T) {
	policy := `policies:
- name: small
  cueRef:
    type: inline
    ref: |
      package p

      ropewalk: apiVersion: "v1alpha1"
      #Input: {}
      input: #Input
      context: {...}
      nodes: [string]: {...}
      violations: [{message: "no"}]
`
	tf := transformOf(t, fmt.Sprintf(ofProject, "")+policy+"adopt: Never\nallowSecrets: [a]\n")
	loaded, err := load(t, tf, gitRepository(t, "shop", projectFiles()))
	require.NoError(t, err)
	s := loaded.Request.Specs[0]
	require.Len(t, s.Evaluate.Policies, 1)
	require.Equal(t, "small", s.Evaluate.Policies[0].Name)
	require.Equal(t, "Never", s.Adopt)
	require.Equal(t, []string{"a"}, loaded.Request.AllowSecrets["cart"])
	require.Equal(t, "cart", s.Policies[0].Spec)
	require.Equal(t, "small", s.Policies[0].Policy)
}

func TestATransformLoosensPoliciesOfItsProject(t *testing.T) {
	files := projectFiles()
	const name = "shop/ropewalk.yaml"
	require.Contains(t, files, name)
	files[name] += `  policies:
    - {name: owners, overridable: true, cueRef: {type: embedded, ref: policies}}
    - {name: strict, cueRef: {type: embedded, ref: policies}}
`
	own := func(policy string) string {
		return "policyOverrides: [{policy: " + policy + ", action: ignore, reason: moved in May}]\n"
	}
	for _, wrong := range []string{"owners, action: never", "owners, action: ignore, reason: a}, {policy: owners"} { // As without the API server.
		_, err := load(t, transformOf(t, fmt.Sprintf(ofProject, "")+strings.Replace(own(wrong), "never, action: ignore", "never", 1)), gitRepository(t, "shop", files))
		require.ErrorContains(t, err, "spec.policyOverrides[", wrong)
	}
	loaded, err := load(t, transformOf(t, fmt.Sprintf(ofProject, "")+own("owners")), gitRepository(t, "shop", files))
	require.NoError(t, err)
	for _, s := range loaded.Request.Specs {
		require.Len(t, s.Loosened, 1)
		require.Equal(t, "moved in May", s.Loosened[0].Reason)
		require.Equal(t, "spec.policyOverrides[0].policy", s.Loosened[0].Pos.String())
	}
	_, err = load(t, transformOf(t, fmt.Sprintf(ofProject, "")+own("strict")), gitRepository(t, "shop", files))
	require.ErrorContains(t, err, `the policy "strict" is not overridable`)
	_, err = load(t, transformOf(t, fmt.Sprintf(ofProject, "")+own("ownrs")), gitRepository(t, "shop", files))
	require.ErrorContains(t, err, `there is no policy "ownrs" (did you mean "owners"?)`)
}

func TestAnArtifactIsWhatItsDigestSays(t *testing.T) {
	good := archive(t, map[string]string{"a.yaml": "a", ".hidden": "h", "b/c.yaml": "c"})
	answer, status := good, http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status == http.StatusFound {
			http.Redirect(w, r, "/elsewhere", status)
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	}))
	defer server.Close()
	s := Source{Kind: "Bucket", Namespace: "shop", Name: "a"}
	s.URL, s.Digest = server.URL+"/x", fmt.Sprintf("sha256:%x", sha256.Sum256(good))
	fetch := func(s Source) (source.Tree, error) { return (&Loader{}).fetch(t.Context(), s) }

	tree, err := fetch(s)
	require.NoError(t, err)
	want, err := source.NewTree(map[string][]byte{"a.yaml": []byte("a"), "b/c.yaml": []byte("c")}, "", "")
	require.NoError(t, err)
	require.Equal(t, want.Digest, tree.Digest)

	moved := s
	moved.URL = "http://source-controller.invalid/x"
	_, err = fetch(moved)
	require.ErrorIs(t, err, source.ErrUnavailable)
	l := &Loader{Modules: Modules{SourceHost: strings.TrimPrefix(server.URL, "http://")}}
	_, err = l.fetch(t.Context(), moved)
	require.NoError(t, err)

	for name, c := range map[string]struct {
		answer []byte
		status int
		is     error
		want   string
	}{
		"another one":   {archive(t, map[string]string{"a.yaml": "b"}), 200, source.ErrDigest, "did not send the artifact with the digest " + s.Digest},
		"a part":        {good[:len(good)-9], 200, source.ErrDigest, "did not send the artifact"},
		"no archive":    {[]byte("hello"), 200, source.ErrDigest, "did not send the artifact"},
		"gone":          {nil, 404, source.ErrUnavailable, "returned status 404 not found: the source has moved on, try again"},
		"a redirection": {nil, 302, source.ErrUnavailable, "redirects more than 10 times"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, status = c.answer, c.status
			_, err := fetch(s)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, "Bucket/shop/a: ")
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "http://")
		})
	}
	answer, status = good, http.StatusOK
	small := &Loader{Modules: Modules{Limits: source.Limits{Files: 1}}}
	_, err = small.fetch(t.Context(), s)
	require.ErrorIs(t, err, source.ErrLimit)
	s.URL = "http://ann:pass" + "word@127.0.0.1/x"
	_, err = fetch(s)
	require.ErrorIs(t, err, source.ErrReference)
	require.NotContains(t, err.Error(), "pass")
}

func TestASourceIsRememberedByTheSizeOfItsFiles(t *testing.T) {
	large := archive(t, map[string]string{"a.yaml": strings.Repeat("a", 100_000)})
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write(large)
	}))
	defer server.Close()
	s := Source{Kind: "Bucket", Namespace: "shop", Name: "a"}
	s.URL, s.Digest = server.URL+"/x", fmt.Sprintf("sha256:%x", sha256.Sum256(large))
	for room, want := range map[int64]int{50_000: 2, 200_000: 1} {
		asked = 0
		l := &Loader{Modules: Modules{Trees: lru.New[string, source.Tree](room)}}
		for range 2 {
			_, err := l.fetch(t.Context(), s)
			require.NoError(t, err)
		}
		require.Equal(t, want, asked, "a memory of %d bytes", room)
	}
}
