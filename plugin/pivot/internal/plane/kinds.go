// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// Kind is a kind of objects that an API server serves.
type Kind struct {
	Group, Kind string
	// Resource is its plural name.
	Resource   string
	Namespaced bool
	// Version is the version that requests use.
	Version string
	// Served are all versions that are served: the stored version first, then the most mature.
	Served []string
	// Labels are the labels of the CustomResourceDefinition.
	Labels map[string]string
}

// GroupKind returns the kind without a version.
func (k Kind) GroupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }

// APIVersion returns the group and version as they stand in objects.
func (k Kind) APIVersion() string {
	return schema.GroupVersion{Group: k.Group, Version: k.Version}.String()
}

// Kinds of Kubernetes itself.
var (
	NamespaceKind = Kind{Kind: "Namespace", Resource: "namespaces", Version: "v1", Served: []string{"v1"}}                       //nolint:gochecknoglobals // a constant
	SecretKind    = Kind{Kind: "Secret", Resource: "secrets", Version: "v1", Served: []string{"v1"}, Namespaced: true}           //nolint:gochecknoglobals // a constant
	ConfigMapKind = Kind{Kind: "ConfigMap", Resource: "configmaps", Version: "v1", Served: []string{"v1"}, Namespaced: true}     //nolint:gochecknoglobals // a constant
	EventKind     = Kind{Kind: "Event", Resource: "events", Version: "v1", Served: []string{"v1"}, Namespaced: true}             //nolint:gochecknoglobals // a constant
	crdKind       = Kind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Resource: "customresourcedefinitions", //nolint:gochecknoglobals // a constant
		Version: "v1", Served: []string{"v1"}}
)

// Kinds are the kinds of a plane: the kinds of its CustomResourceDefinitions, and Secret, ConfigMap
// and Namespace.
type Kinds map[schema.GroupKind]Kind

// kindOf returns the kind of a CustomResourceDefinition, and reports whether a version is served.
func kindOf(crd *unstructured.Unstructured) (k Kind, ok bool, err error) {
	// Read only the fields that are needed: schemas are large.
	var spec struct {
		Group string
		Scope string
		Names struct{ Plural, Kind string }
		// Versions may have other fields.
		Versions []struct {
			Name            string
			Served, Storage bool
		}
	}
	if err := decode(crd.Object["spec"], &spec); err != nil {
		return Kind{}, false, err
	}
	k = Kind{
		Group:      spec.Group,
		Kind:       spec.Names.Kind,
		Resource:   spec.Names.Plural,
		Namespaced: spec.Scope == "Namespaced",
		Labels:     crd.GetLabels(),
	}

	// The version that is stored comes first, then the most mature one.
	stored := ""
	for _, v := range spec.Versions {
		if v.Storage {
			stored = v.Name
		}
		if v.Served {
			k.Served = append(k.Served, v.Name)
		}
	}
	slices.SortFunc(k.Served, func(a, b string) int {
		if (a == stored) != (b == stored) {
			if a == stored {
				return -1
			}
			return 1
		}
		return apiversion.CompareKubeAwareVersionStrings(b, a)
	})
	if len(k.Served) == 0 {
		return Kind{}, false, nil
	}
	k.Version = k.Served[0]
	return k, true, nil
}

// Common returns k at a version that the other plane serves as well: the version that k stores, or
// the most mature that both serve. It reports whether there is such a version.
func (k Kind) Common(other Kind) (Kind, bool) {
	for _, v := range k.Served {
		if slices.Contains(other.Served, v) {
			k.Version = v
			return k, true
		}
	}
	return k, false
}

// Compare orders by group and kind.
func (k Kind) Compare(o Kind) int {
	return cmp.Or(cmp.Compare(k.Group, o.Group), cmp.Compare(k.Kind, o.Kind))
}

// At returns the kind of an object at the version that the object has.
func (s Kinds) At(r Ref, apiVersion string) (Kind, error) {
	k, ok := s[r.GroupKind()]
	if !ok {
		return k, fmt.Errorf("%s: the server does not serve kind %s: install its CustomResourceDefinition", r, r.GroupKind())
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || !slices.Contains(k.Served, gv.Version) {
		const format = "%s: the server does not serve kind %s in version %q: it serves %s: upgrade the provider"
		return k, fmt.Errorf(format, r, r.GroupKind(), gv.Version, strings.Join(k.Served, ", "))
	}
	k.Version = gv.Version
	return k, nil
}

// decode reads an unstructured value into a Go value. Fields that the Go value does not have are
// ignored.
func decode(value, target any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, target)
}
