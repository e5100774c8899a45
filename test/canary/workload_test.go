// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// project is a project as its author means it.
type project struct {
	seed                     uint64
	backend, kubernetesStore string
	dialect                  string
	policies                 []string
	provider                 bool
	workloads                []*workload
	// module is that of the platform team where it is not the usual one.
	module string
}

// note is an annotation that texts take: what looks like more in it is text.
const note = "a ${note} of $(A_URL) {{ .x }}"

const (
	storeName = "vault"
	namespace = "shop"
)

// workload is a workload as its author means it.
type workload struct {
	project    *project
	name, kind string
	// namespace is "" where it is that of the project.
	namespace string
	// score says that it is written as a Score file.
	score, canary bool
	resources     []resource
	containers    []*container
	annotation    string
	// queue is the resource that the workload is scaled by, "" where it is none.
	queue string
	// mistake, where set, is written into the document last.
	mistake func(document map[string]any)
}

type resource struct {
	name, kind, class, id string
	params                map[string]any
}

// uid is schema.#Resource.uid.
func (r resource) uid(workload string) string {
	if r.id != "" {
		return r.kind + "." + r.class + "#" + r.id
	}
	return r.kind + "." + r.class + "#" + workload + "." + r.name
}

func (w *workload) resource(name string) resource {
	return w.resources[slices.IndexFunc(w.resources, func(r resource) bool { return r.name == name })]
}

type container struct {
	name      string
	variables []variable
	files     []file
	args      []string
	probe     string
	volumes   map[string]string
	before    string
}

type variable struct {
	name string
	text text
}

type file struct {
	target, mode string
	content      text
	// source is the name of the file that has the content, noExpand that nothing
	// in it is expanded.
	source   string
	noExpand bool
	binary   []byte
}

// yaml is the documents of the project, by file.
func (p *project) yaml() (map[string]string, error) {
	secrets := map[string]any{"backend": p.backend, "store": map[string]any{"name": storeName}}
	if p.provider {
		secrets["store"] = map[string]any{"name": storeName, "provider": map[string]any{"gcp": map[string]any{"projectID": "shop"}}}
	}
	if p.kubernetesStore != "" {
		secrets["kubernetesStore"] = p.kubernetesStore
	}
	workloads := map[string]any{
		"secrets": secrets, "config": map[string]any{"domain": "example.test", "secretPrefix": "team/"},
		"provisioners": []any{map[string]any{"name": "platform", "cueRef": map[string]any{"type": "path", "ref": "./modules/platform"}}},
	}
	if len(p.policies) > 0 {
		workloads["network"] = map[string]any{"policies": p.policies}
	}
	documents := map[string]any{"ropewalk.yaml": map[string]any{
		"apiVersion": "ropewalk.dev/v1alpha1", "kind": "Project", "metadata": map[string]any{"name": "shop"},
		"spec": map[string]any{"context": map[string]any{"namespace": namespace}, "workloads": workloads},
	}}
	out := platform()
	if p.module != "" {
		out["modules/platform/platform.cue"] = p.module
	}
	for _, w := range p.workloads {
		documents[w.name+".yaml"] = w.document()
		for _, c := range w.containers {
			for _, f := range c.files {
				if f.source != "" {
					out[f.source] = f.content.raw()
				}
			}
		}
	}
	for name, d := range documents {
		data, err := yaml.Marshal(d)
		if err != nil {
			return nil, err
		}
		out[name] = string(data)
	}
	return out, nil
}

// document is the Score file or the Workload.
func (w *workload) document() map[string]any {
	extras := map[string]any{"podAnnotations": map[string]any{"example.com/literal": w.annotation}}
	containers, more := map[string]any{}, map[string]any{}
	for _, c := range w.containers {
		body, extra := c.document()
		containers[c.name] = body
		if w.score {
			more[c.name] = extra
		} else {
			for k, v := range extra {
				body[k] = v
			}
		}
	}
	switch w.kind {
	case "Deployment":
	case "CronJob":
		extras["schedule"] = "0 3 * * *"
		fallthrough
	default:
		extras["kind"] = w.kind
	}
	if w.namespace != "" {
		extras["namespace"] = w.namespace
	}
	if w.queue != "" {
		extras["replicas"] = map[string]any{"min": 1, "max": 3, "queue": map[string]any{"name": literalText(w.queue), "resource": w.queue}}
	}
	if w.canary {
		extras["deploy"] = map[string]any{"strategy": "canary"}
	}
	resources := map[string]any{}
	for _, r := range w.resources {
		one := map[string]any{"type": r.kind, "params": r.params}
		if r.class != "default" {
			one["class"] = r.class
		}
		if r.id != "" {
			one["id"] = r.id
		}
		resources[r.name] = one
	}
	metadata := map[string]any{"name": w.name, "annotations": map[string]any{"example.com/literal": w.annotation, "example.com/note": note}}
	body := map[string]any{"containers": containers, "resources": resources}
	if w.kind != "Job" && w.kind != "CronJob" {
		body["service"] = map[string]any{"ports": map[string]any{"http": map[string]any{"port": 80, "targetPort": 8080}}}
	}
	out := map[string]any{"apiVersion": "ropewalk.dev/v1alpha1", "kind": "Workload", "metadata": metadata, "spec": body}
	into := body
	if w.score {
		body["apiVersion"], body["metadata"] = "score.dev/v1b1", metadata
		extras["containers"] = more
		into, out = metadata, body
	}
	for k, v := range extras {
		into[k] = v
	}
	if w.mistake != nil {
		w.mistake(out)
	}
	return out
}

// document is a container as Score has it, and what Score does not have.
func (c *container) document() (body, extra map[string]any) {
	variables, files, volumes := map[string]any{}, map[string]any{}, map[string]any{}
	for _, v := range c.variables {
		variables[v.name] = v.text.raw()
	}
	for _, f := range c.files {
		one := map[string]any{}
		switch {
		case f.binary != nil:
			one["binaryContent"] = base64.StdEncoding.EncodeToString(f.binary)
		case f.source != "":
			one["source"] = f.source
		default:
			one["content"] = f.content.raw()
		}
		if f.noExpand {
			one["noExpand"] = true
		}
		if f.mode != "" {
			one["mode"] = f.mode
		}
		files[f.target] = one
	}
	for target, r := range c.volumes {
		volumes[target] = map[string]any{"source": "${resources." + r + "}"}
	}
	body = map[string]any{"image": "registry.example.com/a:1", "args": c.args, "variables": variables, "files": files, "volumes": volumes}
	if c.before != "" {
		body["before"] = map[string]any{c.before: map[string]any{"ready": "complete"}}
	} else {
		body["readinessProbe"] = map[string]any{"exec": map[string]any{"command": []string{"test", c.probe}}}
	}
	return body, map[string]any{"workingDir": "/" + strings.ReplaceAll(c.probe, "/", "")}
}

// literalText is for places where Score expands nothing: it comes out as it is.
func literalText(resource string) string {
	return fmt.Sprintf("${resources.%s.password} $${x} {{ .%s__password }}", resource, resource)
}
