// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ropewalk/ropewalk/plugin/cluster/kubeconfig"
	"github.com/ropewalk/ropewalk/render/object"
)

// Cluster is an API server that has Transforms.
type Cluster struct {
	// Namespace is the namespace of the context, "default" if it names no namespace.
	Namespace string
	// Context is the name of the context, "" without a kubeconfig file, as in a pod.
	Context string

	client   dynamic.Interface
	metadata metadata.Interface
	// discover reads a discovery document of the server, in the aggregated form.
	discover func(ctx context.Context, path string) ([]byte, error)
}

// Open returns the cluster of a kubeconfig file, at the named context or at the current context. If
// path is "", it reads the file that kubectl reads. It makes no request.
func Open(path, kubeContext string) (*Cluster, error) {
	config, at, err := kubeconfig.Load(path, kubeContext)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %q: %w", path, err)
	}
	config = kubeconfig.Tuned(config, "ropewalk")
	c := &Cluster{Namespace: at.Namespace, Context: at.Name}
	c.client, err = dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %q: %w", path, err)
	}
	c.metadata, err = metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %q: %w", path, err)
	}

	// Discovery reads JSON; the serializer is for its errors.
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	raw, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %q: %w", path, err)
	}
	c.discover = func(ctx context.Context, path string) ([]byte, error) {
		return raw.Get().AbsPath(path).SetHeader("Accept", aggregated).Do(ctx).Raw()
	}
	return c, nil
}

// Error is a state of the cluster in which a command cannot succeed, with advice for the user.
type Error struct {
	Err    error
	Advice string
	// Absent means that the named object is not there, or its kind is not served.
	Absent bool
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// failed returns an error for a state that the user has to change.
func failed(advice, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Advice: advice}
}

// absent returns an error for something that is not there.
func absent(advice, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Advice: advice, Absent: true}
}

// resourceOf returns the resource of a kind that is known by name; false for any other kind.
func resourceOf(kind string) (schema.GroupVersionResource, bool) {
	var gv schema.GroupVersion
	switch kind {
	case "Transform":
		gv = schema.GroupVersion{Group: "ropewalk.dev", Version: "v1alpha1"}
	case "Kustomization":
		gv = schema.GroupVersion{Group: "kustomize.toolkit.fluxcd.io", Version: "v1"}
	case "GitRepository", "OCIRepository", "Bucket", "ExternalArtifact":
		gv = schema.GroupVersion{Group: "source.toolkit.fluxcd.io", Version: "v1"}
	default:
		return schema.GroupVersionResource{}, false
	}
	plural, _ := apimeta.UnsafeGuessKindToResource(gv.WithKind(kind)) // The kinds above have regular plurals.
	return plural, true
}

// resource returns the API of a kind that is known by name, in a namespace; "" is all namespaces.
func (c *Cluster) resource(kind, namespace string) dynamic.ResourceInterface {
	gvr, _ := resourceOf(kind) // Callers name the kinds above, or have asked.
	return c.client.Resource(gvr).Namespace(namespace)
}

// get reads an object of a kind that is known by name.
func (c *Cluster) get(ctx context.Context, r Ref) (*item, error) {
	if _, ok := resourceOf(r.Kind); !ok {
		return nil, absent("", "%s: the kind is not known", r)
	}
	o, err := c.resource(r.Kind, r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	if err != nil {
		return nil, c.refused(ctx, r, err)
	}
	return itemOf(o)
}

// refused returns the error of a server with the object that it is about, or an error that the
// object does not exist.
func (c *Cluster) refused(ctx context.Context, r Ref, err error) error {
	switch {
	case apierrors.IsNotFound(err) && r.Kind == "Transform":
		return c.missing(ctx, r)
	case apierrors.IsNotFound(err):
		return absent("", "%s does not exist", r)
	}
	return fmt.Errorf("%s: %w", r, err)
}

// Get reads a Transform. If it does not exist, the error is an [Error] that names other
// Transforms, or that the cluster has no controller.
func (c *Cluster) Get(ctx context.Context, namespace, name string) (*Transform, error) {
	o, err := c.get(ctx, transformRef(namespace, name))
	if err != nil {
		return nil, err
	}
	return o.transform(), nil
}

// List reads the Transforms of a namespace, in the order of their names; "" is all namespaces.
func (c *Cluster) List(ctx context.Context, namespace string) ([]*Transform, error) {
	items, err := c.list(ctx, "Transform", namespace, "")
	if err != nil {
		return nil, c.uninstalled(err)
	}
	out := []*Transform{}
	for _, o := range items {
		out = append(out, o.transform())
	}
	return out, nil
}

// list reads the objects of a kind that is known by name, in the order of their names.
func (c *Cluster) list(ctx context.Context, kind, namespace, labels string) ([]*item, error) {
	const page = 250
	options := metav1.ListOptions{LabelSelector: labels, Limit: page}
	var out []*item
	for {
		list, err := c.resource(kind, namespace).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("%ss of %s: %w", kind, place(namespace), err)
		}
		for i := range list.Items {
			o, err := itemOf(&list.Items[i])
			if err != nil {
				return nil, err
			}
			out = append(out, o)
		}
		options.Continue = list.GetContinue()
		if options.Continue == "" {
			break
		}
	}
	slices.SortFunc(out, func(a, b *item) int { return a.ref().compare(b.ref()) })
	return out, nil
}

// place returns a namespace for a message.
func place(namespace string) string {
	if namespace == "" {
		return "all namespaces"
	}
	return fmt.Sprintf("namespace %q", namespace)
}

// uninstalled returns err, or an error that explains that the controller is not installed.
func (c *Cluster) uninstalled(err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	return absent("install it: ropewalk install flux --export | kubectl apply --server-side -f -",
		"this cluster has no Transforms: ropewalk-controller is not installed")
}

// missing returns the error for a Transform that does not exist. The error names Transforms that
// the user may have meant.
func (c *Cluster) missing(ctx context.Context, r Ref) error {
	// Not every user may list all namespaces.
	transforms, err := c.list(ctx, "Transform", "", "")
	if apierrors.IsForbidden(err) {
		transforms, err = c.list(ctx, "Transform", r.Namespace, "")
	}
	if apierrors.IsNotFound(err) {
		return c.uninstalled(err)
	}

	// Collect the names of this namespace, and the namespaces with this name.
	var names, namespaces []string
	for _, o := range transforms {
		switch {
		case o.Metadata.Namespace == r.Namespace:
			names = append(names, o.Metadata.Name)
		case o.Metadata.Name == r.Name:
			namespaces = append(namespaces, o.Metadata.Namespace)
		}
	}

	// Give the most likely advice.
	var advice string
	switch near := object.DidYouMean(r.Name, names); {
	case len(namespaces) > 0:
		advice = "there is one of that name in namespace " + strings.Join(namespaces, ", ") + ": give -n"
	case near != "":
		advice = near
	case len(names) > 0:
		const limit = 10
		advice = fmt.Sprintf("namespace %q has %s", r.Namespace, strings.Join(names[:min(limit, len(names))], ", "))
	case err == nil:
		advice = fmt.Sprintf("namespace %q has no Transforms: give -n, or list all with ropewalk get transforms -A", r.Namespace)
	}
	return absent(advice, "%s does not exist", r)
}

// itemOf reads an object of a kind that is known by name.
func itemOf(o *unstructured.Unstructured) (*item, error) {
	out := &item{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out); err != nil {
		return nil, fmt.Errorf("%s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	return out, nil
}
