// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/test/servers"
)

// licences is a module of provisioners as a platform team writes one: a type of
// its own, and its own answer to a type that Ropewalk has too.
func licences(tier string) map[string]string {
	return map[string]string{
		"provisioners/cue.mod/module.cue": "module: \"example.com/provisioners@v0\"\nlanguage: version: \"v0.17.0\"\n",
		"provisioners/licences.cue": `package provisioners

import "ropewalk.dev/schema"

ropewalk: {apiVersion: "v1alpha1", kind: "Provisioners"}

#License: schema.#Provisioner & {
	type:        "license"
	description: "a licence of the platform"
	resource:    _
	params: tier: *"` + tier + `" | "gold"
	outputs: {
		tier: params.tier
		url:  "https://\(resource.id).licences.example.com"
	}
	sensitive: {
		token: {key: "licences/\(resource.id)", property: "token"}
		header: parts: [{text: "Bearer "}, {ref: "token"}]
	}
	graph: nodes: claim: object: {
		apiVersion: "v1"
		kind:       "ConfigMap"
		metadata: {name: "\(resource.id)-license", namespace: resource.namespace}
		data: tier: params.tier
	}
}

#Queue: schema.#Provisioner & {
	type:        "amqp"
	description: "a queue of the platform"
	resource:    _
	params: {}
	outputs: host: "queue.platform.svc"
	sensitive: password: {store: "kubernetes", key: "queue", property: "password"}
}

#Provisioners: [#License, #Queue]
`,
	}
}

// licensed is a project whose workload uses both.
func licensed(ref string) map[string]string {
	return map[string]string{
		"ropewalk.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Project
metadata: {name: shop}
spec:
  context: {namespace: shop}
  workloads:
    provisioners:
      - name: platform
        cueRef: {type: git, ref: "` + ref + `", path: provisioners}
`,
		"api.yaml": `apiVersion: score.dev/v1b1
metadata: {name: api}
containers:
  api:
    image: docker.io/library/nginx:1.29
    variables:
      LICENSE_TIER: ${resources.license.tier}
      LICENSE_HEADER: ${resources.license.header}
      QUEUE: amqp://${resources.queue.host}
      QUEUE_PASSWORD: ${resources.queue.password}
      DATABASE: ${resources.db.host}
resources:
  license: {type: license, params: {tier: gold}}
  queue: {type: amqp}
  db: {type: postgres}
`,
	}
}

// manifestList is what these tests read of a List.
type manifestList struct {
	Items []struct {
		Kind     string
		Metadata struct{ Name string }
		Data     map[string]string
		Spec     struct {
			Target struct {
				Template struct{ Data map[string]string }
			}
			Data     []struct{ RemoteRef map[string]string }
			Template struct {
				Spec struct {
					Containers []struct {
						Env []struct {
							Name      string
							ValueFrom struct{ SecretKeyRef map[string]string }
						}
					}
				}
			}
		}
	}
}

// licensedObjects wants what the licence and the queue become.
func licensedObjects(t *testing.T, text string) {
	t.Helper()
	var list manifestList
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	seen := map[string]bool{}
	for _, o := range list.Items {
		seen[o.Kind+" "+o.Metadata.Name] = true
		switch o.Kind + " " + o.Metadata.Name {
		case "ConfigMap api-env":
			require.Equal(t, map[string]string{
				"LICENSE_TIER": "gold", "QUEUE": "amqp://queue.platform.svc", "DATABASE": "api-db-postgres.shop.svc.cluster.local",
			}, o.Data)
		case "ConfigMap api-license-license":
			require.Equal(t, map[string]string{"tier": "gold"}, o.Data)
		case "ExternalSecret api-secrets":
			require.Equal(t, map[string]string{"LICENSE_HEADER": "Bearer {{ .license__token }}"}, o.Spec.Target.Template.Data)
			require.Equal(t, map[string]string{"key": "licences/api-license", "property": "token"}, o.Spec.Data[0].RemoteRef)
		case "Deployment api":
			env := o.Spec.Template.Spec.Containers[0].Env
			require.Len(t, env, 1)
			require.Equal(t, "QUEUE_PASSWORD", env[0].Name)
			require.Equal(t, map[string]string{"name": "queue", "key": "password"}, env[0].ValueFrom.SecretKeyRef)
		}
	}
	require.True(t, seen["ConfigMap api-license-license"] && seen["ExternalSecret api-secrets"] && seen["ConfigMap api-env"], seen)
}

// TestAPlatformTeamsProvisionersComeFromGit is a workload that uses a type that
// only the platform team has, with a secret of it, from a Git server.
func TestAPlatformTeamsProvisionersComeFromGit(t *testing.T) {
	alone(t)
	root := t.TempDir()
	repo := servers.NewGit(t, filepath.Join(root, "platform.git"))
	repo.Commit(licences("basic"), "provisioners")
	url := servers.GitHTTP(t, root)
	project := writeIn(t, t.TempDir(), licensed(url+"/platform.git?branch=main"))
	server := []string{"--plain-http", hostOfURL(url)}
	run := func(name string, args ...string) string {
		return good(t, append(append([]string{name, project}, server...), args...)...)
	}

	// Nothing is locked yet, and a branch may go anywhere.
	code, _, diagnostics := call(t, append([]string{"render", project, "--locked"}, server...)...)
	require.Equal(t, command.Usage, code)
	require.Contains(t, diagnostics, "there is no ropewalk.lock")
	run("lock")
	text := run("render", "--locked", "--format", "json")

	licensedObjects(t, text)

	// Its objects and their values lead to the module and to the workload.
	explained := good(t, append([]string{"explain", "ConfigMap/api-license-license", project, "--path", "data.tier"}, server...)...)
	require.Contains(t, explained, "comes from "+project+"/api.yaml:13:43\n")
	require.Contains(t, explained, "("+url+"/platform.git//provisioners, sha256:")

	// The team's types come before those that Ropewalk has.
	types := good(t, append([]string{"provisioners", "list", project}, server...)...)
	require.Regexp(t, `(?m)^license +\* +\* +platform +header\*,tier,token\*,url +a licence of the platform\n^amqp +\* +\* +platform `, types)
	tried := good(t, append([]string{"provisioners", "test", "license", project, "--param", "tier=gold"}, server...)...)
	require.Contains(t, tried, "property: token")
	require.Contains(t, tried, "name: api-license-license")

	// What is built names the module and its commit.
	layout := filepath.Join(t.TempDir(), "layout")
	run("build", "--to", "oci-layout:"+layout)
	require.Contains(t, good(t, "artifact", "inspect", "oci-layout:"+layout, "--show", "provenance"), repo.Hash("main"))

	// A branch that moved is refused until somebody means it; the cache has what
	// was locked.
	repo.Commit(licences("silver"), "another default")
	code, _, diagnostics = call(t, append([]string{"render", project, "--locked"}, server...)...)
	require.Equal(t, command.Findings, code)
	require.Contains(t, diagnostics, "ropewalk.yaml:9:34: spec.workloads.provisioners[0].cueRef.ref: ")
	require.Contains(t, diagnostics, "since it was locked")
	require.Equal(t, text, run("render", "--offline", "--format", "json"))
	run("lock")
	require.Equal(t, text, run("render", "--locked", "--format", "json"), "the workload gives the param itself")
}

// TestMistakesOfAPlatformTeamsProvisionersHoldNoSecret has a secret where its
// reference belongs, and asks for what is not there.
func TestMistakesOfAPlatformTeamsProvisionersHoldNoSecret(t *testing.T) {
	alone(t)
	files := licensed("")
	delete(files, "api.yaml")
	files["ropewalk.yaml"] = strings.Replace(files["ropewalk.yaml"], `{type: git, ref: "", path: provisioners}`, `{type: path, ref: ./provisioners}`, 1)
	files["api.yaml"] = licensed("")["api.yaml"]
	for name, file := range licences("basic") {
		files[name] = file
	}
	module := files["provisioners/licences.cue"]
	for name, c := range map[string]struct{ from, to, says string }{
		"a value where a reference belongs": {`token: {key: "licences/\(resource.id)", property: "token"}`, `token: "` + keyword + `"`, "licences.cue"},
		"a value beside the reference":      {`property: "token"}`, `property: "token", value: "` + keyword + `"}`, "licences.cue"},
		"a secret that is an output too":    {`tier: params.tier` + "\n\t\turl", `tier: params.tier, token: "` + keyword + `"` + "\n\t\turl", "token"},
		"a param that nobody takes":         {`params: tier: *"basic" | "gold"`, `params: {tier: *"basic" | "gold", level!: int}`, "is missing, expected an integer"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(module, c.from, c.to, 1)
			require.NotEqual(t, module, changed)
			files["provisioners/licences.cue"] = changed
			project := writeIn(t, t.TempDir(), files)
			for _, format := range []string{"text", "json"} {
				code, out, diagnostics := call(t, "vet", project, "--format", format)
				require.Equal(t, command.Findings, code)
				require.Contains(t, out+diagnostics, c.says)
				// The excerpt of the module's own line is what its author wrote there.
				var told []string
				for _, line := range strings.Split(out+diagnostics, "\n") {
					if !strings.HasPrefix(strings.TrimSpace(line), "|") {
						told = append(told, line)
					}
				}
				require.NotContains(t, strings.Join(told, "\n"), keyword)
			}
		})
	}
}
