// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// AnnotationNamespace of an artifact is AtDeploy if its objects name no namespace.
const (
	AnnotationNamespace = "dev.ropewalk.namespace"
	AtDeploy            = "at-deploy"
)

// Delivery is what Flux has to know of a render beside its files. It is part of the graph
// that is attached to an artifact.
type Delivery struct {
	Layers []Layer `json:"layers"`
}

// Layer is what a Kustomization waits for.
type Layer struct {
	HealthChecks     []map[string]any `json:"healthChecks,omitempty"`
	HealthCheckExprs []map[string]any `json:"healthCheckExprs,omitempty"`
}

// DeliveryOf returns the delivery of a plan in the dialect flux, and nil in others. It is made
// before the namespace is left open, which is that of the objects then.
func DeliveryOf(plan *order.Plan, opts emit.Options) (*Delivery, error) {
	if plan.Dialect.Name != dialect.Flux {
		return nil, nil //nolint:nilnil // others need none
	}
	opts.Repository = "oci://ropewalk.dev/delivery"
	opts.Reference = ""
	written, err := emit.Write(plan, opts)
	if err != nil {
		return nil, err
	}
	out := &Delivery{Layers: []Layer{}}
	for _, f := range written.Files {
		var k struct {
			Spec struct {
				HealthChecks     []map[string]any `yaml:"healthChecks"`
				HealthCheckExprs []map[string]any `yaml:"healthCheckExprs"`
			} `yaml:"spec"`
		}
		if !strings.HasPrefix(f.Path, emit.DeliveryDir+"/kustomization-") {
			continue
		}
		if err := yaml.Unmarshal(f.Data, &k); err != nil {
			return nil, err
		}
		out.Layers = append(out.Layers, Layer(k.Spec))
	}
	return out, nil
}

// WithDelivery adds a delivery to the document of a plan; nil adds nothing.
func WithDelivery(graph []byte, d *Delivery) ([]byte, error) {
	var document map[string]json.RawMessage
	if d == nil {
		return graph, nil
	}
	data, err := json.Marshal(d)
	if err == nil {
		err = json.Unmarshal(graph, &document)
	}
	if err != nil {
		return nil, err
	}
	document["delivery"] = data
	return json.Marshal(document)
}

// Graph is what deploy reads of the graph of an artifact.
type Graph struct {
	Engine   dialect.Name `json:"engine"`
	Waves    int          `json:"waves"`
	Delivery Delivery     `json:"delivery"`
}

// ordered reports whether there is more to know than the objects have in themselves.
func (g Graph) ordered() bool {
	return g.Waves > 1 || slices.ContainsFunc(g.Delivery.Layers, func(l Layer) bool { return len(l.HealthCheckExprs) > 0 })
}

// Artifact is what is deployed.
type Artifact struct {
	Digest      string
	Annotations map[string]string
	Layers      []artifact.LayerRef
	// Graph is nil if none is attached.
	Graph *Graph
}

// Suits returns why an artifact cannot be applied so, or nil if it can.
func (t Target) Suits(a Artifact) error {
	open := a.Annotations[AnnotationNamespace] == AtDeploy
	switch {
	case t.Engine == "transform" && a.Graph != nil && a.Graph.ordered():
		return fmt.Errorf("it was built with an order or with readyWhen, and a Transform orders objects anew, by what they say themselves: deploy it with --engine %s", cmp.Or(a.Graph.Engine, dialect.Flux))
	case t.Engine == "transform" && t.Namespace != "" && !open:
		return fmt.Errorf("it was built for namespaces of its own: leave the namespace out, or build it with --namespace-at-deploy")
	case t.Engine == "flux" && t.Namespace != "" && !open:
		return fmt.Errorf("it was built for namespaces of its own, and Flux would move all of its objects into %q: leave the namespace out, or build it with --namespace-at-deploy", t.Namespace)
	case t.Namespace == "" && open:
		return fmt.Errorf("it was built with --namespace-at-deploy: name the namespace")
	case a.Graph != nil && a.Graph.Waves > 1 && string(a.Graph.Engine) != t.Engine:
		return fmt.Errorf("it has %d waves in the dialect %s, and %s would apply them in no order: build it with --dialect %s", a.Graph.Waves, a.Graph.Engine, t.Engine, t.Engine)
	}
	return nil
}

// Documents returns the documents by which the engine applies an artifact, as one YAML stream. The
// repository is that of the artifact, with oci://.
func (t Target) Documents(name, repository string, a Artifact) []byte {
	switch t.Engine {
	case "argocd":
		return emit.YAML(t.application(name, repository, a.Digest))
	case "transform":
		return slices.Concat(emit.YAML(t.source(artifact.LayerRef{Name: name, Digest: a.Digest}, repository)), []byte("---\n"), emit.YAML(t.transform(name)))
	}

	// A layer has a Kustomization, which waits for the one before it.
	layers := a.Layers
	if len(layers) == 0 {
		layers = []artifact.LayerRef{{Name: name, Digest: a.Digest}}
	}
	var out [][]byte
	for i, l := range layers {
		l.Name = name
		if len(layers) > 1 {
			l.Name = fmt.Sprintf("%s-%02d", name, i)
		}
		k := map[string]any{
			"interval": "1h", "retryInterval": "2m", "timeout": "10m", "path": "./", "prune": true, "wait": false,
			"sourceRef": map[string]any{"kind": "OCIRepository", "name": l.Name},
		}
		if t.Namespace != "" {
			k["targetNamespace"] = t.Namespace
		}
		if t.Cluster != nil {
			k["kubeConfig"] = t.Cluster.KubeConfig.fields()
		}
		if i > 0 {
			k["dependsOn"] = []any{map[string]any{"name": fmt.Sprintf("%s-%02d", name, i-1)}}
		}
		t.addWaits(k, i, a.Graph)
		out = append(out, emit.YAML(t.source(l, repository)), emit.YAML(t.flux("kustomize.toolkit.fluxcd.io/v1", "Kustomization", l.Name, k)))
	}
	return bytes.Join(out, []byte("---\n"))
}

// addWaits adds what layer i of a graph waits for.
func (t Target) addWaits(k map[string]any, i int, graph *Graph) {
	if graph == nil || i >= len(graph.Delivery.Layers) {
		return
	}
	layer := graph.Delivery.Layers[i]
	for field, list := range map[string][]map[string]any{"healthChecks": layer.HealthChecks, "healthCheckExprs": layer.HealthCheckExprs} {
		var all []any
		for _, one := range list {
			if t.Namespace != "" && one["namespace"] != nil {
				one["namespace"] = t.Namespace
			}
			all = append(all, one)
		}
		if len(all) > 0 {
			k[field] = all
		}
	}
}

// source returns the OCIRepository of a layer.
func (t Target) source(l artifact.LayerRef, repository string) object.Object {
	spec := map[string]any{"interval": "1h", "url": repository, "ref": map[string]any{"digest": l.Digest}}
	if t.Insecure {
		spec["insecure"] = true
	}
	if t.Secrets.Pull != "" {
		spec["secretRef"] = map[string]any{"name": t.Secrets.Pull}
	}
	if t.Secrets.Verify != "" {
		spec["verify"] = map[string]any{"provider": "cosign", "secretRef": map[string]any{"name": t.Secrets.Verify}}
	}
	return t.flux("source.toolkit.fluxcd.io/v1", "OCIRepository", l.Name, spec)
}

// flux returns an object of Flux.
func (t Target) flux(apiVersion, kind, name string, spec map[string]any) object.Object {
	return object.Object{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": cmp.Or(t.EngineNamespace, "flux-system")}, "spec": spec,
	}
}

// transform returns a Transform of all manifests in the source of that name.
func (t Target) transform(name string) object.Object {
	spec := map[string]any{
		"sourceRef": map[string]any{"kind": "OCIRepository", "name": name},
		"component": map[string]any{"manifests": map[string]any{"paths": []any{"."}}},
	}
	if t.Namespace != "" {
		spec["context"] = map[string]any{"namespace": t.Namespace}
	}
	if t.Cluster != nil {
		spec["delivery"] = map[string]any{"flux": map[string]any{"kubeConfig": t.Cluster.KubeConfig.fields()}}
	}
	return t.flux(Version, "Transform", name, spec)
}

// application returns the Application of an artifact.
func (t Target) application(name, repository, digest string) object.Object {
	destination := t.Cluster.destination()
	options := []any{}
	if t.Namespace != "" {
		destination["namespace"] = t.Namespace
		options = append(options, "CreateNamespace=true")
	}
	return object.Object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": name, "namespace": cmp.Or(t.EngineNamespace, "argocd")},
		"spec": map[string]any{
			"project": "default", "destination": destination,
			"source": map[string]any{"repoURL": repository, "path": ".", "targetRevision": digest},
			"syncPolicy": map[string]any{
				"automated": map[string]any{"prune": true, "selfHeal": false}, "syncOptions": options,
				"retry": map[string]any{"limit": int64(3), "backoff": map[string]any{"duration": "5s", "factor": int64(2), "maxDuration": "1m"}},
			},
		},
	}
}
