// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// chosen is a value that the author puts into plain variables: it is in the manifests, by
// their choice, and in nothing else that the program writes.
const chosen = "Rb2HyP8sLc5VgJ3wEu7T"

// features is a project with every way by which a workload gets a setting or a secret.
// CANARY stands in files and variables that nothing asks for, CHOSEN in those that do.
func features() map[string]string {
	return map[string]string{
		"ropewalk.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Project
metadata: {name: shop}
spec:
  context: {namespace: shop}
  workloads:
    envFiles: [settings/base.env]
    secrets:
      defaultProvider: gcp
      providers: {gcp: {}, aws: {store: aws-eu}, vault: {store: team, kind: SecretStore}, azure: {}}
      store: {name: main, provider: {vault: {server: "https://vault.internal", path: kv, version: v2, auth: {kubernetes: {mountPath: kubernetes, role: shop}}}}}
      bindings:
        ledger: {secret: ledger, version: "7", keys: [username, password]}
        smtp: {provider: vault, secret: shop/smtp}
    images:
      mirrors: {docker.io: registry.internal/hub}
      pullSecrets: [there]
      pullSecretsFrom: {registry: {provider: aws, key: dockerconfigjson}}
  environments:
    prod: {workloads: {envFiles: [settings/prod.env]}}
    local: {workloads: {secrets: {backend: kubernetes, bindings: {ledger: {version: null}, smtp: {secret: smtp}}}}, inputs: {web: {containers: {web: {variables: {LEDGER: null, DB: null, U: {secret: u}, V: {secret: v, version: null}, W: {secret: w, version: null}}}}}}}
`,
		"settings/base.env": "# CANARY\nFROM_FILE=CHOSEN\nUNUSED=CANARY\nDB_PASSWORD=CANARY\n",
		"settings/prod.env": "UNUSED='CANARY'\nTOKEN=\"CANARY\"\n",
		".env":              "FROM_FILE=CANARY\nCOMPOSED=CHOSEN\nFROM_OPTION=CANARY\nREST=CANARY\n",
		"web.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Workload
metadata: {name: web}
spec:
  replicas: {max: 5, queue: {name: jobs, resource: cache}}
  containers:
    web:
      image: acme/web:1
      variables:
        A: ${FROM_FILE}
        B: before ${FROM_OPTION} behind
        C: ${FROM_ENVIRONMENT}
        D: ${FROM_ANOTHER_FILE}
        E: ${HOME_DIR:-none}
        F: ${PASSWORD:-none}
        S: {secret: s}
        T: {secret: t, provider: aws, key: k, version: AWSCURRENT}
        U: {secret: shop/u, provider: vault, key: k}
        V: {secret: v, provider: azure}
        W: {secret: w, version: "3"}
        L: {local: l, key: k}
        LEDGER: postgres://${secrets.ledger.username}:${secrets.ledger.password}@ledger:5432
        SMTP: ${secrets.smtp.password}
        DB: ${resources.db.connection_string}
      files: {/etc/web: {content: "a=${FROM_FILE}"}}
  service: {ports: {http: {port: 80, targetPort: 8080}}}
  resources: {db: {type: postgres}, cache: {type: redis, class: operator}}
---
apiVersion: ropewalk.dev/v1alpha1
kind: Function
metadata: {name: resize}
spec:
  container: {image: acme/resize:1, variables: {A: "${FROM_FILE}", S: {secret: s}, L: {local: l, key: k}}}
---
apiVersion: ropewalk.dev/v1alpha1
kind: Compose
metadata: {name: app}
spec: {files: [compose/compose.yaml], envFile: .env}
---
apiVersion: ropewalk.dev/v1alpha1
kind: Gateway
metadata: {name: gate}
spec:
  target: envoy-gateway
  hosts: [shop.example]
  tls: {issuer: {name: ca}}
  routes:
    - {path: /a, to: {workload: web}, auth: {type: basic, secret: users}}
    - {path: /b, to: {workload: web}, auth: {type: api-key, secret: keys, header: X-Key}}
    - {path: /c, to: {workload: web}, auth: {type: oauth2, secret: client, clientID: shop, issuer: "https://id.example", redirectURL: "https://shop.example/c/oauth2/callback"}}
    - {path: /d, to: {workload: web}, auth: {type: jwt, issuer: "https://id.example", jwks: "https://id.example/keys"}}
`,
		"compose/compose.yaml": `services:
  api:
    image: acme/api:1
    ports: ["8081:8081"]
    env_file: api.env
    environment: {A: "${COMPOSED}", FROM_FILE: , PASSWORD: "${PASSWORD:-none}"}
    secrets: [key, file, variable]
    configs: [conf]
secrets: {key: {external: true}, file: {file: ./key}, variable: {environment: DB_PASSWORD}}
configs: {conf: {content: "a: ${COMPOSED}"}}
`,
		"compose/api.env":  "IN_FILE=CHOSEN\n",
		"compose/.env":     "COMPOSED=CANARY\n",
		"compose/key":      "CANARY",
		"more.txt":         "FROM_ANOTHER_FILE=CHOSEN\nOTHER=CANARY\n",
		"users.htpasswd":   "alice:CANARY\n",
		".docker/config":   `{"auths": {"registry.internal": {"auth": "CANARY"}}}`,
		"func/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: users}\nstringData: {.htpasswd: CANARY}\n",
	}
}

// environment is that of the process: a variable that an option names, and many that a
// workload, a compose file or an env file mentions, or could.
func environment(home string) []string {
	out := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "FROM_ENVIRONMENT=" + chosen}
	for _, name := range []string{
		"FROM_FILE", "FROM_OPTION", "FROM_ANOTHER_FILE", "COMPOSED", "HOME_DIR", "PASSWORD", "UNUSED", "DB_PASSWORD", "TOKEN", "IN_FILE", "A", "S",
		"AWS_SECRET_ACCESS_KEY", "VAULT_TOKEN", "AZURE_CLIENT_SECRET", "GOOGLE_CREDENTIALS", "COMPOSE_FILE", "DOCKER_AUTH_CONFIG",
	} {
		out = append(out, name+"="+password)
	}
	return out
}

// TestNothingButManifestsHoldsWhatAVariableIs runs every command over a project with all
// features: no canary is anywhere, and what an author chose to have in plain text is in the
// manifests alone.
func TestNothingButManifestsHoldsWhatAVariableIs(t *testing.T) {
	t.Parallel()
	binary, dir, home, cache := install(t), t.TempDir(), t.TempDir(), t.TempDir()
	never, only := newLeaks(), newLeaks(chosen)
	for name, text := range features() {
		write(t, dir, map[string]string{name: strings.NewReplacer("CANARY", password, "CHOSEN", chosen).Replace(text)})
	}
	run := func(manifests bool, stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, args...) //nolint:gosec // it is ours
		cmd.Dir, cmd.Env, cmd.Stdin = dir, append(environment(home), "ROPEWALK_CACHE="+cache), strings.NewReader(stdin)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		require.NoError(t, cmd.Run(), "%q: %s%s", args, stdout.String(), stderr.String())
		only.Require(t, "standard error of "+args[0], stderr.Bytes())
		if never.Require(t, "standard output of "+args[0], stdout.Bytes()); !manifests {
			only.Require(t, "standard output of "+args[0], stdout.Bytes())
		}
		return stdout.String()
	}
	given := []string{"--var", "FROM_OPTION=" + chosen, "--var-from-env", "FROM_ENVIRONMENT", "--env-file", "more.txt"}
	with := func(args ...string) []string { return append(args, given...) }
	out, layout, key := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "layout"), filepath.Join(home, "key")

	for _, environment := range []string{"prod", "local"} {
		for _, dialect := range []string{"plain", "argocd", "flux"} {
			run(true, "", with("render", "--env", environment, "--dialect", dialect, "--table", "-o", filepath.Join(out, environment, dialect))...)
		}
		text := run(true, "", with("render", "--env", environment)...)
		require.Equal(t, 10, strings.Count(text, chosen), "%s: each variable is where its author wants it", environment)
		require.Contains(t, text, "name: registry")
		require.Equal(t, environment == "prod", strings.Contains(text, "kubernetes.io/dockerconfigjson"))
	}
	run(true, "", with("render", "--format", "json")...)
	run(false, "", with("vet")...)
	run(false, "", with("vet", "--format", "json")...)
	for _, format := range []string{"text", "json", "mermaid", "dot", "svg"} {
		run(false, "", with("graph", "--format", format)...)
	}
	for _, object := range []string{"deployment/web", "configmap/web-env", "externalsecret/registry", "triggerauthentication/web"} {
		for _, format := range []string{"text", "json"} {
			run(false, "", with("explain", object, "--format", format)...)
		}
	}
	for _, format := range []string{"text", "markdown", "json"} {
		run(false, "", with("diff", filepath.Join(out, "prod", "plain"), ".", "--env", "prod", "--format", format)...)
	}
	run(false, "", "artifact", "keygen", key)
	run(false, "", with("build", "--to", "oci-layout:"+layout, "--sign-key", key+".key", "--format", "json")...)
	run(false, "", "artifact", "inspect", "oci-layout:"+layout, "--format", "json")
	run(false, "", with("lock")...)
	run(false, "", "cache", "ls", "--format", "json")
	run(false, "", "schema", "workload")
	run(false, "", "provisioners", "list")
	web, _, _ := strings.Cut(features()["web.yaml"], "\n---\n")
	web = strings.NewReplacer("${FROM_FILE}", "x", "${FROM_OPTION}", "x", "${FROM_ENVIRONMENT}", "x", "${FROM_ANOTHER_FILE}", "x").Replace(web)
	project := strings.NewReplacer("envFiles: [settings/base.env]", "config: {}", "envFiles: [settings/prod.env]", "config: {}").Replace(features()["ropewalk.yaml"])
	run(false, "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- "+indented(web)+"functionConfig:\n  "+indented(project), "plugin", "krm")

	checkTree(t, never, out)
	checkTree(t, never, layout)
	requireOnlyPacked(t, only, layout)
	data, err := os.ReadFile(filepath.Join(dir, "ropewalk.lock"))
	require.NoError(t, err)
	only.Require(t, "the lock", data)
}

// indented is a document as an item of a list.
func indented(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

// requireOnlyPacked wants the chosen value of a layout in the layer of the manifests, which
// is packed, and in none of its other blobs.
func requireOnlyPacked(t *testing.T, only leaks, dir string) {
	t.Helper()
	kinds := map[bool]int{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		packed := bytes.HasPrefix(data, []byte{0x1f, 0x8b})
		if kinds[packed]++; !packed {
			only.Require(t, name, data)
		}
		return err
	}))
	require.Equal(t, map[bool]int{true: 1, false: kinds[false]}, kinds)
}
