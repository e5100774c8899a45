// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/render/object"
)

// Bounds of a read: requests at a time, objects, and time.
const (
	readsAtOnce = 8
	maxRead     = 10_000
	maxReading  = 5 * time.Minute
)

// Live is the state of an object in a cluster.
type Live struct {
	// Object is nil if the object is not there. Of a Secret it has only the metadata.
	Object object.Object
	// Unserved means that the cluster does not serve the kind in this version.
	Unserved bool
	// Applied is the result of an apply in a dry run, with defaults and the changes of admission. It
	// is nil without a dry run, for a Secret, and if the result is not known.
	Applied object.Object
	// Refused is the reason why the server does not accept the apply.
	Refused error
}

// Rights are the rights that the user of the kubeconfig lacks, such as "get deployments.apps in
// namespace shop", sorted.
type Rights struct{ Missing []string }

func (r *Rights) Error() string {
	const limit = 20
	missing := r.Missing
	more := ""
	if len(missing) > limit {
		more = fmt.Sprintf(", and %d more", len(missing)-limit)
		missing = missing[:limit]
	}
	return "the user of the kubeconfig may not " + strings.Join(missing, ", ") + more
}

// Reader reads objects of a cluster. It is safe for concurrent use.
type Reader struct {
	cluster *Cluster
	served  groups
}

// Reader returns a reader for the kinds that the cluster serves.
func (c *Cluster) Reader(ctx context.Context) (*Reader, error) {
	served, err := c.readServed(ctx)
	if err != nil {
		return nil, err
	}
	return &Reader{cluster: c, served: served}, nil
}

// Read looks objects up, several at once, and returns the state of each. An object without a
// namespace is looked up in the namespace of the context. If manager is not "", it also applies each
// object in a dry run, as the field manager of that name. If rights are missing, the error is
// [Rights] with all of them.
func (r *Reader) Read(ctx context.Context, objects []object.Object, manager string) ([]Live, error) {
	// Everything is bounded.
	if len(objects) > maxRead {
		const format = "%d objects are too many to look up in a cluster: the limit is %d (name an environment or a project)"
		return nil, fmt.Errorf(format, len(objects), maxRead)
	}
	bounded, cancel := context.WithTimeout(ctx, maxReading)
	defer cancel()

	// Read them, and collect the rights that are missing.
	out := make([]Live, len(objects))
	var mu sync.Mutex
	var rights Rights
	g, bounded := errgroup.WithContext(bounded)
	g.SetLimit(readsAtOnce)
	for i, o := range objects {
		g.Go(func() error {
			live, err := r.readOne(bounded, o, manager)
			out[i] = live
			var lacking *Rights
			if !errors.As(err, &lacking) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			rights.Missing = append(rights.Missing, lacking.Missing...)
			return nil
		})
	}

	// A result that lacks objects would be misleading.
	if err := g.Wait(); err != nil {
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return nil, fmt.Errorf("reading %d objects took longer than %s", len(objects), maxReading)
		}
		return nil, err
	}
	if len(rights.Missing) > 0 {
		return nil, rights.sorted()
	}
	return out, nil
}

// sorted returns the rights, each once.
func (r *Rights) sorted() *Rights {
	slices.Sort(r.Missing)
	return &Rights{Missing: slices.Compact(r.Missing)}
}

// readOne looks an object up, and applies it in a dry run if there is a manager.
func (r *Reader) readOne(ctx context.Context, o object.Object, manager string) (Live, error) {
	// Its kind has to be served in the version of the object.
	k, ok := r.served.version(o)
	if !ok {
		return Live{Unserved: true}, nil
	}
	ref := Ref{Group: k.Group, Kind: k.name, Namespace: r.namespaceOf(o, k), Name: o.Name()}

	// The data of a Secret is never read.
	if k.Group == "" && k.name == "Secret" {
		secrets := r.cluster.metadata.Resource(k.GroupVersionResource).Namespace(ref.Namespace)
		meta, err := secrets.Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return Live{}, refusedRead(k, ref, err)
		}
		live, err := runtime.DefaultUnstructuredConverter.ToUnstructured(meta)
		if err != nil {
			return Live{}, err
		}
		live["apiVersion"] = o.APIVersion()
		live["kind"] = o.Kind()
		return Live{Object: live}, nil
	}

	// Read any other object.
	client := r.cluster.client.Resource(k.GroupVersionResource).Namespace(ref.Namespace)
	live, err := client.Get(ctx, ref.Name, metav1.GetOptions{})
	out := Live{}
	if err == nil {
		out.Object = live.Object
	} else if err := refusedRead(k, ref, err); err != nil {
		return out, err
	}
	if manager == "" {
		return out, nil
	}

	// Apply it in a dry run. A refusal of the server is a result.
	desired := &unstructured.Unstructured{Object: withNamespace(o, ref.Namespace)}
	options := metav1.ApplyOptions{FieldManager: manager, Force: true, DryRun: []string{metav1.DryRunAll}}
	applied, err := client.Apply(ctx, ref.Name, desired, options)
	isInvalid := apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
	switch {
	case err == nil:
		out.Applied = applied.Object
	case isMissingRight(err):
		return out, lacks(k, ref, "patch")
	case apierrors.IsNotFound(err): // Its namespace is not there yet.
	case isInvalid, apierrors.IsForbidden(err), apierrors.IsConflict(err):
		out.Refused = err
	default:
		return out, fmt.Errorf("%s: %w", ref, err)
	}
	return out, nil
}

// withNamespace returns an object with a namespace, which an apply needs.
func withNamespace(o object.Object, namespace string) object.Object {
	out := o.Clone()
	if meta := out.Map("metadata"); namespace != "" && meta != nil {
		meta["namespace"] = namespace
	}
	return out
}

// namespaceOf returns the namespace to look an object up in.
func (r *Reader) namespaceOf(o object.Object, k kind) string {
	switch {
	case !k.namespaced:
		return ""
	case o.Namespace() != "":
		return o.Namespace()
	}
	return r.cluster.Namespace
}

// refusedRead returns the error of a server that was asked for an object; nil if there is no such
// object.
func refusedRead(k kind, r Ref, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		return lacks(k, r, "get")
	}
	return fmt.Errorf("%s: %w", r, err)
}

// lacks returns the error for a right that is missing.
func lacks(k kind, r Ref, verb string) error {
	text := verb + " " + k.GroupResource().String()
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return &Rights{Missing: []string{text}}
}

// isMissingRight reports whether the authorizer refused a request, and not admission, whose answers
// are forbidden too. Source: k8s.io/apiserver, endpoints/handlers/responsewriters/errors.go:
// `User "ann" cannot patch resource "pods"`.
func isMissingRight(err error) bool {
	if !apierrors.IsForbidden(err) {
		return false
	}
	text := err.Error()
	return strings.Contains(text, " cannot patch resource ") || strings.Contains(text, " cannot create resource ")
}

// version returns the kind of an object, and reports whether it is served in that version.
func (all groups) version(o object.Object) (kind, bool) {
	for _, g := range all.Items {
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				sameVersion := g.Metadata.Name == o.Group() && v.Version == o.Version()
				if sameVersion && r.ResponseKind.Kind == o.Kind() {
					return r.kind(o.Group(), v.Version), true
				}
			}
		}
	}
	return kind{}, false
}

// Inventory returns the objects that an engine has applied for a Kustomization of Flux or an
// Application of Argo CD, as objects that [Reader.Read] looks up. It reports whether they are known:
// they are not if the engine's object is not in the cluster, or has applied nothing.
func (r *Reader) Inventory(ctx context.Context, engineRef Ref) ([]object.Object, bool, error) {
	// Read the object of the engine.
	group := map[string]string{"Kustomization": "kustomize.toolkit.fluxcd.io", "Application": "argoproj.io"}[engineRef.Kind]
	k, err := r.served.kind(engineRef.Kind + "." + group)
	if group == "" || err != nil {
		return nil, false, nil //nolint:nilerr // a cluster without the engine has no inventory
	}
	o, err := r.cluster.client.Resource(k.GroupVersionResource).Namespace(engineRef.Namespace).Get(ctx, engineRef.Name, metav1.GetOptions{})
	if err != nil {
		return nil, false, refusedRead(k, engineRef, err)
	}

	// Flux has its objects in status.inventory, and Argo CD in status.resources.
	var refs []Ref
	status := object.Object(o.Object)
	for _, e := range status.List("status", "inventory", "entries") {
		entry, _ := e.(map[string]any)
		if ref, ok := refOf(object.Object(entry).Text("id")); ok {
			refs = append(refs, ref)
		}
	}
	for _, e := range status.List("status", "resources") {
		entry, _ := e.(map[string]any)
		text := object.Object(entry).Text
		refs = append(refs, Ref{Group: text("group"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name")})
	}

	// Name each in the version that the server prefers.
	var out []object.Object
	for _, ref := range refs {
		served, err := r.served.kind(ref.Kind + "." + ref.Group)
		if err != nil {
			continue // Its kind is gone, and the object with it.
		}
		meta := map[string]any{"name": ref.Name}
		if ref.Namespace != "" {
			meta["namespace"] = ref.Namespace
		}
		version := schema.GroupVersion{Group: served.Group, Version: served.Version}
		out = append(out, object.Object{"apiVersion": version.String(), "kind": served.name, "metadata": meta})
	}
	return out, len(refs) > 0, nil
}

// Key returns the name of an object in this cluster: its group, kind, namespace and name. An object
// without a namespace gets the namespace of the context, unless its kind has no namespaces.
func (r *Reader) Key(o object.Object) object.Ref {
	out := o.Ref()
	if k, ok := r.served.version(o); ok {
		out.Namespace = r.namespaceOf(o, k)
	}
	return out
}
