// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// service renders five objects for the name and the replicas of one service.
const service = `{
	account: object: {apiVersion: "v1", kind: "ServiceAccount", metadata: _meta, automountServiceAccountToken: false}
	config: object: {apiVersion: "v1", kind: "ConfigMap", metadata: _meta, data: {LEVEL: "info", REGION: "eu", NAME: _name}}
	service: object: {
		apiVersion: "v1", kind: "Service", metadata: _meta
		spec: {selector: _labels, ports: [{name: "http", port: 80, targetPort: 8080}]}
	}
	deployment: object: {
		apiVersion: "apps/v1", kind: "Deployment", metadata: _meta
		spec: {
			replicas: _replicas
			selector: matchLabels: _labels
			template: {
				metadata: labels: _labels
				spec: {
					serviceAccountName: _name
					containers: [{
						name:  "main"
						image: "registry.example/\(_name):1.0"
						ports: [{name: "http", containerPort: 8080}]
						envFrom: [{configMapRef: name: _name}]
						resources: {requests: {cpu: "100m", memory: "128Mi"}, limits: memory: "128Mi"}
						readinessProbe: httpGet: {path: "/ready", port: "http"}
						securityContext: {allowPrivilegeEscalation: false, capabilities: drop: ["ALL"]}
					}]
				}
			}
		}
	}
	budget: object: {
		apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: _meta
		spec: {minAvailable: 1, selector: matchLabels: _labels}
	}
}`

// smallModule is a native module with five objects.
func smallModule() string {
	return `package small

ropewalk: apiVersion: "v1alpha1"
#Input: {name: =~"^[a-z0-9-]+$" | *"web", replicas: int & >=1 & <=50 | *2}
input: #Input
_name:     input.name
_replicas: input.replicas
_labels: "app.kubernetes.io/name": _name
_meta: {name: _name, labels: _labels}
graph: nodes: ` + service + "\n"
}

// largeModule is a native module with 500 objects: a hundred services.
func largeModule() string {
	return `package large

import "list"

ropewalk: apiVersion: "v1alpha1"
#Input: {name: =~"^[a-z0-9-]+$" | *"web", replicas: int & >=1 & <=50 | *2}
input: #Input
#Service: {
	_i: int
	_name:     "\(input.name)-\(_i)"
	_replicas: input.replicas
	_labels: "app.kubernetes.io/name": _name
	_meta: {name: _name, labels: _labels}
	nodes: ` + strings.ReplaceAll(service, "\n", "\n\t") + `
}
graph: nodes: {
	for i in list.Range(0, 100, 1)
	for k, v in (#Service & {_i: i}).nodes {"\(k)-\(i)": v}
}
`
}

// project writes a project with one module and so many specs of it.
func project(b *testing.B, module string, specs int) string {
	b.Helper()
	dir := b.TempDir()
	var text strings.Builder
	for i := range specs {
		fmt.Fprintf(&text, `---
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: web-%d}
spec:
  cueRef: {type: path, ref: ./module}
  input: {name: web-%d, replicas: %d}
`, i, i, 1+i%50)
	}
	for name, content := range map[string]string{
		"specs.yaml":                text.String(),
		"module/module.cue":         module,
		"module/cue.mod/module.cue": "module: \"bench.example/module@v0\"\nlanguage: version: \"v0.17.0\"\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}
