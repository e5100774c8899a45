// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/render/object"
)

// aggregated is the media type in which a server lists all its kinds in two answers. Kubernetes has
// it from 1.30, which the controller needs too. The discovery client of client-go links all types of
// the API.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// groups is an answer in that media type: k8s.io/api/apidiscovery/v2, APIGroupDiscoveryList.
type groups struct {
	Items []struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		// Versions begin with the preferred version.
		Versions []struct {
			Version   string     `json:"version"`
			Resources []resource `json:"resources"`
		} `json:"versions"`
	} `json:"items"`
}

// resource is a kind in such an answer.
type resource struct {
	Resource     string `json:"resource"`
	ResponseKind struct {
		Kind string `json:"kind"`
	} `json:"responseKind"`
	Scope            string   `json:"scope"`
	SingularResource string   `json:"singularResource"`
	ShortNames       []string `json:"shortNames"`
}

// names returns all words for a kind, in small letters.
func (r resource) names() []string {
	return append([]string{strings.ToLower(r.ResponseKind.Kind), r.Resource, r.SingularResource}, r.ShortNames...)
}

// kind is a kind that the cluster serves.
type kind struct {
	schema.GroupVersionResource
	name       string
	namespaced bool
}

// kind returns the kind in a group and version.
func (r resource) kind(group, version string) kind {
	return kind{
		GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version, Resource: r.Resource},
		name:                 r.ResponseKind.Kind,
		namespaced:           r.Scope == "Namespaced",
	}
}

// readServed reads the kinds that the cluster serves.
func (c *Cluster) readServed(ctx context.Context) (groups, error) {
	var out groups
	for _, path := range []string{"/api", "/apis"} {
		data, err := c.discover(ctx, path)
		if err != nil {
			return out, fmt.Errorf("what the cluster serves: %w", err)
		}
		var part groups
		if err := json.Unmarshal(data, &part); err != nil {
			return out, fmt.Errorf("what the cluster serves: %s: %w", path, err)
		}
		out.Items = append(out.Items, part.Items...)
	}
	return out, nil
}

// kindOf returns the kind for a word that kubectl accepts for it, such as deploy, Deployment,
// deployments or deployment.apps. If several groups have it, the first group of the server is
// used, as kubectl does.
func (c *Cluster) kindOf(ctx context.Context, word string) (kind, error) {
	all, err := c.readServed(ctx)
	if err != nil {
		return kind{}, err
	}
	return all.kind(word)
}

// kind returns the kind for a word, as [Cluster.kindOf] does.
func (all groups) kind(word string) (kind, error) {
	name, wanted, qualified := strings.Cut(strings.ToLower(word), ".")
	var known []string
	for _, g := range all.Items {
		if qualified && g.Metadata.Name != wanted {
			continue
		}
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				if slices.Contains(r.names(), name) {
					return r.kind(g.Metadata.Name, v.Version), nil
				}
				known = append(known, r.names()[0])
			}
		}
	}
	return kind{}, absent(object.DidYouMean(name, known), "the cluster has no kind %q", word)
}
