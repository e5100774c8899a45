// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Each golden has all that a target can do.
func TestGatewaysMakeTheObjectsOfTheGoldens(t *testing.T) {
	e, checker := evaluator(), check.New(check.Options{KubeVersion: "1.36"})
	for path, a := range cases(t, "gateway/*.txtar") {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			docs, err := spec.Parse([]spec.File{{Name: "gateway.yaml", Data: file(t, a, "gateway.yaml")}})
			require.NoError(t, err)
			res, err := e.Evaluate(t.Context(), ofGateway(t, docs.Transforms[0]))
			require.NoError(t, err)
			golden(t, path, a, "objects.yaml", stream(t, res.Nodes))
			findings, err := checker.Check(t.Context(), res.Nodes)
			require.NoError(t, err)
			require.Empty(t, findings)
		})
	}
}

// ofGateway asks the module for a Gateway in a project with three workloads.
func ofGateway(t *testing.T, one spec.Transform) evaluate.Request {
	require.Equal(t, "gateway", one.CueRef.Ref)
	req := request(t, embedded(t, "gateway"), "gateway.yaml", []byte("{}"))
	g, errs := gateway.Decode(one.Name, one.Pos, req.Context, one.Input)
	require.Empty(t, errs.Failures())
	workloads := []gateway.Workload{
		{Name: "storefront", Namespace: "shop", Ports: []score.Port{{Name: "http", Port: 80}}},
		{Name: "api", Namespace: "shop", Ports: []score.Port{{Name: "http", Port: 80, Target: 8080}, {Name: "admin", Port: 9000, Target: 9000}}},
		{Name: "search", Namespace: "tools", Ports: []score.Port{{Name: "web", Port: 80, Target: 8080}}},
	}
	for _, l := range gateway.Logins([]*gateway.Gateway{g}) {
		workloads = append(workloads, gateway.Workload{Name: l.Name, Namespace: l.Namespace, Ports: []score.Port{{Name: "http", Port: 4180}}})
	}
	joined, errs := gateway.Join([]*gateway.Gateway{g}, workloads)
	require.Empty(t, errs)
	req.Input, req.InputPath = joined.Inputs[one.Name], object.Fields("spec")
	return req
}

func TestTheGatewayOfTheReadmeRenders(t *testing.T) {
	docs, err := spec.Parse([]spec.File{{Name: "README.md", Data: block(t, "gateway", "yaml")}})
	require.NoError(t, err)
	_, err = evaluator().Evaluate(t.Context(), ofGateway(t, docs.Transforms[0]))
	require.NoError(t, err)
}

func TestTheLoginOfTheReadmeRenders(t *testing.T) {
	data, err := os.ReadFile("modules/gateway/README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(data), "<!-- logins -->\n```yaml\n")
	require.True(t, ok)
	text, _, _ := strings.Cut(rest, "```")
	docs, err := spec.Parse([]spec.File{{Name: "README.md", Data: []byte(text)}})
	require.NoError(t, err)
	res, err := evaluator().Evaluate(t.Context(), ofGateway(t, docs.Transforms[0]))
	require.NoError(t, err)
	var ids []string
	for _, n := range res.Nodes {
		ids = append(ids, n.ID.Node())
	}
	require.Subset(t, ids, []string{"route-oauth2", "mw-root-auth"})
	require.NotContains(t, ids, "mw-healthz-auth")
}

// What protects a route comes before it: the graph finds Services, Secrets and what Traefik has
// by itself, and the module names the others.
func TestRoutesComeAfterWhatTheyNeed(t *testing.T) {
	e := evaluator()
	for golden, want := range map[string]map[object.ID][]object.ID{
		"envoy-gateway": {"web/route-api": {"web/grant-api", "web/security-api", "web/traffic-api"}, "web/route-hooks": {"web/security-hooks"}},
		"traefik":       {"web/route-api": nil},
	} {
		docs, err := spec.Parse([]spec.File{{Name: "g.yaml", Data: file(t, cases(t, "gateway/"+golden+".txtar")["testdata/gateway/"+golden+".txtar"], "gateway.yaml")}})
		require.NoError(t, err)
		res, err := e.Evaluate(t.Context(), ofGateway(t, docs.Transforms[0]))
		require.NoError(t, err)
		for _, n := range res.Nodes {
			if needs, ok := want[n.ID]; ok {
				var got []object.ID
				for _, d := range n.DependsOn {
					got = append(got, d.ID)
				}
				require.ElementsMatch(t, needs, got, n.ID)
			}
		}
	}
}

// The tables of the README are those that the decoder checks by.
func TestTheReadmeSaysWhatATargetCanDo(t *testing.T) {
	const path = "modules/gateway/README.md"
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	head := "| | " + strings.Join(gateway.Targets(), " | ") + " | |\n|" + strings.Repeat("---|", len(gateway.Targets())+2) + "\n"
	want := replaced(t, string(data), "fields", head+strings.Join(rows(gateway.Fields(), "", 0), ""))
	secrets := "| Secret | " + strings.Join(gateway.Targets(), " | ") + " |\n|" + strings.Repeat("---|", len(gateway.Targets())+1) + "\n"
	for _, s := range []gateway.Secret{gateway.SecretBasic, gateway.SecretAPIKey, gateway.SecretOAuth2, gateway.SecretTLS} {
		secrets += "| `" + string(s) + "` |"
		for _, target := range gateway.Targets() {
			secrets += " " + s.Shape(target) + " |"
		}
		secrets += "\n"
	}
	want = replaced(t, want, "secrets", secrets)
	if update() {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, string(data), "ROPEWALK_UPDATE=1 rewrites it")
}

// replaced is text with a table between its marks.
func replaced(t *testing.T, text, mark, table string) string {
	before, rest, ok := strings.Cut(text, "<!-- "+mark+" -->\n")
	require.True(t, ok, mark)
	_, after, ok := strings.Cut(rest, "<!-- end -->")
	require.True(t, ok, mark)
	return before + "<!-- " + mark + " -->\n" + table + "<!-- end -->" + after
}

// rows are the fields with the targets that can do each, below those of the map they are in.
func rows(fields []gateway.Field, above string, by gateway.Set) []string {
	var out []string
	row := func(name string, by gateway.Set, doc string) {
		cells := ""
		for _, target := range gateway.Targets() {
			mark := ""
			if by == 0 || gateway.Has(by, target) {
				mark = "x"
			}
			cells += " " + mark + " |"
		}
		out = append(out, strings.TrimRight("| `"+name+"` |"+cells+" "+doc, " ")+" |\n")
	}
	for _, f := range fields {
		name, own := above+f.Name, and(by, f.By)
		row(name, own, f.Doc)
		for _, c := range f.Values {
			if c.By != 0 {
				row(name+": "+c.Name, and(own, c.By), "")
			}
		}
		if name != "routes" {
			out = append(out, rows(f.Fields, name+".", own)...)
			continue
		}
		// The settings of a route are those of the Gateway, which come below.
		for _, below := range f.Fields {
			if !slices.ContainsFunc(fields, func(o gateway.Field) bool { return o.Name == below.Name && o.Name != "hosts" }) {
				out = append(out, rows([]gateway.Field{below}, "routes[].", own)...)
			}
		}
	}
	return out
}

func and(a, b gateway.Set) gateway.Set {
	if a == 0 || b == 0 {
		return a | b
	}
	return a & b
}

// The annotations of the goldens are those of the documentation: of annotations.md of
// haproxytech/kubernetes-ingress 3.2, with cors-respond-to-options that only its tests have,
// and of keys.md of jcmoraisjr/haproxy-ingress 0.16.
func TestAnnotationsAreThoseThatTheControllersDocument(t *testing.T) {
	for golden, documented := range map[string]string{
		"haproxytech": "haproxy.org/ allow-list auth-realm auth-secret auth-type cors-allow-credentials cors-allow-headers cors-allow-methods cors-allow-origin " +
			"cors-enable cors-max-age cors-respond-to-options path-rewrite rate-limit-period rate-limit-requests rate-limit-status-code request-redirect request-redirect-code " +
			"request-set-header response-set-header ssl-redirect ssl-redirect-code ssl-redirect-port standalone-backend timeout-server",
		"jcmoraisjr": "haproxy-ingress.github.io/ allowlist-source-range auth-headers-succeed auth-realm auth-secret auth-signin auth-url cors-allow-credentials cors-allow-headers " +
			"cors-allow-methods cors-allow-origin cors-allow-origin-regex cors-enable cors-expose-headers cors-max-age headers limit-rps proxy-body-size " +
			"redirect-to rewrite-target ssl-redirect timeout-connect timeout-server",
	} {
		known := strings.Fields(documented)
		path := "testdata/gateway/" + golden + ".txtar"
		docs, err := spec.Parse([]spec.File{{Name: "g.yaml", Data: file(t, cases(t, "gateway/"+golden+".txtar")[path], "gateway.yaml")}})
		require.NoError(t, err)
		res, err := evaluator().Evaluate(t.Context(), ofGateway(t, docs.Transforms[0]))
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, n := range res.Nodes {
			for key := range n.Object.Annotations() {
				bare, ok := strings.CutPrefix(key, known[0])
				require.True(t, ok, key)
				require.Contains(t, known[1:], bare)
				seen[bare] = true
			}
		}
		require.Greater(t, len(seen), len(known)-3, "the golden has all that the target can do")
	}
}
