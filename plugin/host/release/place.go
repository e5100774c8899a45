// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"regexp"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

// Cluster is the cluster of an Installation, where it is not the one that the engine runs in. One
// of the fields is set.
type Cluster struct {
	// KubeConfig is for Flux, alone or behind a Transform.
	KubeConfig *KubeConfig `yaml:"kubeConfig,omitempty"`
	// Server and Name are for Argo CD: the URL of the API server, or the name of the cluster there.
	Server string `yaml:"server,omitempty"`
	Name   string `yaml:"name,omitempty"`
}

// KubeConfig is a kubeconfig in a Secret.
type KubeConfig struct {
	SecretRef KeyRef `yaml:"secretRef"`
}

// KeyRef names a Secret of the engine's namespace, and a key in it.
type KeyRef struct {
	Name string `yaml:"name"`
	// Key is value or value.yaml where it is "".
	Key string `yaml:"key,omitempty"`
}

// fields returns the kubeconfig as an object of Flux has it.
func (k *KubeConfig) fields() map[string]any {
	ref := map[string]any{"name": k.SecretRef.Name}
	if k.SecretRef.Key != "" {
		ref["key"] = k.SecretRef.Key
	}
	return map[string]any{"secretRef": ref}
}

// destination returns where an Application is for.
func (c *Cluster) destination() map[string]any {
	switch {
	case c == nil:
		return map[string]any{"server": "https://kubernetes.default.svc"}
	case c.Name != "":
		return map[string]any{"name": c.Name}
	}
	return map[string]any{"server": c.Server}
}

// clusterField returns the field of the cluster of an Installation.
func clusterField() field {
	server := document.Rule{
		Words: "the URL of an API server, such as https://10.0.0.1:6443, without credentials", Pattern: `^https?://[^\s/@?#]+(/[^\s@?#]*)?$`,
		Secret: func(s string) bool { return strings.Contains(s, "@") },
	}
	return field{Name: "cluster", Kind: fields, Doc: "The cluster that the engine applies to; its own where it is absent.", OneOf: []string{"kubeConfig", "server", "name"}, Fields: []field{
		{Name: "kubeConfig", Kind: fields, Hint: "write kubeConfig: {secretRef: {name: …}} for Flux, and server or name for Argo CD", Doc: "For flux and transform.", Fields: []field{
			{Name: "secretRef", Kind: fields, Need: true, Doc: "A Secret in the namespace of the engine.", Fields: []field{
				{Name: "name", Kind: text, Need: true, Rule: document.Rule{Words: "the name of a Secret", Pattern: `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`}},
				{Name: "key", Kind: text, Rule: document.Rule{Words: "a key of a Secret", Pattern: `^[-._a-zA-Z0-9]+$`}, Doc: "The key that holds the kubeconfig; value or value.yaml where it is absent."},
			}},
		}},
		{Name: "server", Kind: text, Rule: server, Doc: "For argocd: the URL of the API server."},
		{Name: "name", Kind: text, Full: true, Doc: "For argocd: the name of the cluster there."},
	}}
}

// checkEngine reports a cluster that the engine of an Installation cannot apply to.
func (i *Installation) checkEngine(v object.Value) (errs object.Errors) {
	c := i.Spec.Cluster
	if c == nil {
		return nil
	}
	at := object.Fields("spec", "cluster")
	given, hint := "kubeConfig", ""
	switch {
	case i.Spec.Engine == "argocd" && c.KubeConfig != nil:
		hint = "write server or name: Argo CD has the credentials of its clusters"
	case i.Spec.Engine != "argocd" && c.KubeConfig == nil:
		hint = "write kubeConfig: {secretRef: {name: …}}"
		given = "server"
		if c.Name != "" {
			given = "name"
		}
	default:
		return nil
	}
	in, _ := v.Lookup(at.Append(object.Field(given)))
	return object.Errors{document.Mistake(in.Pos, at.Append(object.Field(given)), hint, "the engine %s knows no clusters by it", i.Spec.Engine)}
}

// placeholder matches a field of the Installation in a namespace, such as {name}.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// namespaces returns the rule of a namespace with fields of the Installation in it.
func namespaces() document.Rule {
	return document.Rule{
		Pattern: `^([-a-z0-9]|\{[^{}]*\})+$`,
		Why:     func(text string) string { return document.BadLabel(placeholder.ReplaceAllString(text, "x")) },
	}
}

// resolveNamespaces writes the fields of the Installation into its namespaces: shop-{name} is
// shop-berlin. A field that is not known, or absent, is a mistake, and so is a result that is the
// name of no namespace.
func (i *Installation) resolveNamespaces(v object.Value) (errs object.Errors) {
	// The fields that an Installation has of itself.
	values := map[string]string{"name": i.Metadata.Name, "environment": i.Spec.Environment}
	for name, value := range i.Metadata.Labels {
		values["labels."+name] = value
	}

	// Each namespace is resolved in place.
	resolve := func(text *string, at object.Path) {
		in, _ := v.Lookup(at)
		fail := func(hint, format string, args ...any) {
			errs = append(errs, document.Mistake(in.Pos, at, hint, format, args...))
		}
		before := len(errs)
		out := placeholder.ReplaceAllStringFunc(*text, func(found string) string {
			name := found[1 : len(found)-1]
			value, known := values[name]
			switch {
			case name == "environment" && value == "":
				fail("write spec.environment", "%s is absent", found)
			case !known:
				fail(object.Suggest(name, object.SortedKeys(values)), "%s is no field of the Installation", document.Shown(found))
			}
			return value
		})
		if why := document.BadLabel(out); why != "" && len(errs) == before {
			fail("", "%s becomes %s, which %s", document.Shown(*text), document.Shown(out), why)
		}
		*text = out
	}
	if i.Spec.Namespace != "" {
		resolve(&i.Spec.Namespace, object.Fields("spec", "namespace"))
	}
	for n := range i.Spec.Components {
		if c := &i.Spec.Components[n]; c.Namespace != "" {
			resolve(&c.Namespace, object.Fields("spec", "components").Append(object.Index(n), object.Field("namespace")))
		}
	}
	return errs
}
