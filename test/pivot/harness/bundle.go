// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/ropewalk/ropewalk/test/e2e/programs"
)

// provider is a part of Cluster API: a program with its definitions and webhooks.
type provider struct {
	program, folder string
	crds, webhooks  []*unstructured.Unstructured
}

// bundle is what is installed into a plane. The cloud is last.
type bundle struct {
	providers []provider
	// inventory has the definitions that clusterctl installs.
	inventory []*unstructured.Unstructured
}

// readBundle reads the manifests of the modules as they were downloaded.
func readBundle(ctx context.Context, modules programs.Modules) (*bundle, error) {
	core, err := modules.Source(ctx, "clusterapi")
	if err != nil {
		return nil, err
	}
	tests, err := modules.Dependency(ctx, "clusterapi", "sigs.k8s.io/cluster-api/test")
	if err != nil {
		return nil, err
	}
	out := &bundle{providers: []provider{
		{program: "capi-core", folder: filepath.Join(core.Dir, "core")},
		{program: "capi-bootstrap", folder: filepath.Join(core.Dir, "bootstrap", "kubeadm")},
		{program: "capi-control-plane", folder: filepath.Join(core.Dir, "controlplane", "kubeadm")},
		{program: "capi-cloud", folder: filepath.Join(tests.Dir, "infrastructure", "docker")},
	}}
	for i := range out.providers {
		p := &out.providers[i]
		if p.crds, err = definitions(filepath.Join(p.folder, "config", "crd", "bases")); err != nil {
			return nil, err
		}
		if p.webhooks, err = decodeFile(filepath.Join(p.folder, "config", "webhook", "manifests.yaml")); err != nil {
			return nil, err
		}
	}
	out.inventory, err = definitions(filepath.Join(core.Dir, "cmd", "clusterctl", "config", "crd", "bases"))
	return out, err
}

// definitions are those of a folder, as clusterctl and the kustomizations of the project
// leave them: with the labels that say which contract they keep, and that clusterctl
// installed them. Only the version that is stored is served, for nothing converts.
func definitions(folder string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, errors.New("no definitions in "+folder))
	}
	var out []*unstructured.Unstructured
	for _, file := range files {
		// The cloud has neither containers nor pools of machines.
		if name := filepath.Base(file); strings.Contains(name, "_docker") || strings.Contains(name, "_devmachinepool") {
			continue
		}
		objects, err := decodeFile(file)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			labels := o.GetLabels()
			if labels == nil {
				labels = map[string]string{}
			}
			labels["clusterctl.cluster.x-k8s.io"], labels["cluster.x-k8s.io/v1beta2"] = "", "v1beta2"
			o.SetLabels(labels)
			versions, _, err := unstructured.NestedSlice(o.Object, "spec", "versions")
			if err != nil {
				return nil, err
			}
			for _, v := range versions {
				version := v.(map[string]any) //nolint:forcetypeassert // a file of the module
				version["served"] = version["storage"]
			}
			if err := unstructured.SetNestedSlice(o.Object, versions, "spec", "versions"); err != nil {
				return nil, err
			}
			out = append(out, o)
		}
	}
	return out, nil
}

// pointed are the webhooks of a provider that its definitions are there for, served on a
// port of the loopback instead of a Service.
func (p provider) pointed(port string, authority []byte) []*unstructured.Unstructured {
	known := map[string]bool{}
	for _, crd := range p.crds {
		plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
		known[plural] = true
	}
	var out []*unstructured.Unstructured
	for _, template := range p.webhooks {
		o := template.DeepCopy()
		o.SetName(p.program + "-" + o.GetName())
		all, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		var kept []any
		for _, one := range all {
			hook := one.(map[string]any) //nolint:forcetypeassert // a file of the module
			rules, _, _ := unstructured.NestedSlice(hook, "rules")
			resources, _, _ := unstructured.NestedStringSlice(rules[0].(map[string]any), "resources") //nolint:forcetypeassert // as above
			if !known[strings.Split(resources[0], "/")[0]] {
				continue
			}
			path, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "path")
			hook["clientConfig"] = map[string]any{"url": "https://127.0.0.1:" + port + path, "caBundle": encode(authority)}
			kept = append(kept, hook)
		}
		if len(kept) > 0 {
			o.Object["webhooks"] = kept
			out = append(out, o)
		}
	}
	return out
}

func decodeFile(file string) ([]*unstructured.Unstructured, error) {
	data, err := os.ReadFile(file) //nolint:gosec // a file of a module
	if err != nil {
		return nil, err
	}
	return decode(data)
}

// decode reads YAML documents; those that hold nothing are left out.
func decode(data []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for from := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		object := &unstructured.Unstructured{}
		err := from.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			out = append(out, object)
		}
	}
}
