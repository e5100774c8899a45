// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package planetest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/testing"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// Plane returns a plane of the server whose client does not wait between its attempts, and gives
// up after a minute of such pauses.
func (s *Server) Plane() *plane.Plane {
	return plane.New(s.Client(), s.Options(plane.Options{
		Name: s.prefix, Server: "https://" + s.prefix, Patience: time.Minute,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}))
}

// Options returns the options of a Plane that discovers what the server serves.
func (s *Server) Options(o plane.Options) plane.Options {
	o.Discover = s.discovery
	o.Metadata = s.metadata()
	return o
}

// discovery returns what the server serves at a path: the groups at /apis, and the kinds of a
// version at all others.
func (s *Server) discovery(_ context.Context, path string) ([]byte, error) {
	if err := s.Undiscovered[path]; err != nil {
		return nil, err
	}
	gvr, _, _ := parse(path)
	var groups metav1.APIGroupList
	kinds := metav1.APIResourceList{GroupVersion: gvr.GroupVersion().String()}
	for _, k := range s.kinds {
		var versions []metav1.GroupVersionForDiscovery
		for _, v := range k.Served {
			gv := schema.GroupVersion{Group: k.Group, Version: v}
			versions = append(versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v})
			if gv == gvr.GroupVersion() {
				kinds.APIResources = append(kinds.APIResources,
					metav1.APIResource{Name: k.Resource, Kind: k.Kind, Namespaced: k.Namespaced, Verbs: []string{"get", "list"}},
					metav1.APIResource{Name: k.Resource + "/status", Kind: k.Kind, Namespaced: k.Namespaced, Verbs: []string{"get"}})
			}
		}
		if k.Group != "" && !slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == k.Group }) {
			groups.Groups = append(groups.Groups, metav1.APIGroup{Name: k.Group, Versions: versions, PreferredVersion: versions[0]})
		}
	}
	if path == "/apis" {
		return json.Marshal(groups)
	}
	return json.Marshal(kinds)
}

// metadata returns a client that lists metadata.
func (s *Server) metadata() metadata.Interface {
	client := fake.NewSimpleMetadataClient(fake.NewTestScheme())
	client.PrependReactor("list", "*", func(action testing.Action) (bool, runtime.Object, error) {
		_, out, err := s.react(action)
		found, _ := out.(*unstructured.UnstructuredList)
		if err != nil || found == nil {
			return true, nil, err
		}
		list := &metav1.List{}
		list.Continue = found.GetContinue()
		for i := range found.Items {
			o := &metav1.PartialObjectMetadata{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Items[i].Object, o); err != nil {
				return true, nil, err
			}
			list.Items = append(list.Items, runtime.RawExtension{Object: o})
		}
		return true, list, nil
	})
	return client
}

// parse reads a path such as /apis/cluster.x-k8s.io/v1beta2/namespaces/apps/machines/blue-0.
func parse(path string) (gvr schema.GroupVersionResource, namespace, name string) {
	part := strings.Split(strings.Trim(path, "/"), "/")
	next := func() (out string) {
		if len(part) > 0 {
			out, part = part[0], part[1:]
		}
		return out
	}
	if next() == "apis" {
		gvr.Group = next()
	}
	gvr.Version = next()
	if len(part) > 2 && part[0] == "namespaces" {
		_, namespace = next(), next()
	}
	gvr.Resource, name = next(), next()
	return gvr, namespace, name
}
