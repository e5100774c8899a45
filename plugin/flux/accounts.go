// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/internal/lru"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/rights"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/storage"
	"github.com/ropewalk/ropewalk/plugin/host/tracing"
)

// maxAccounts limits the clients that are kept.
const maxAccounts = 2048

// accounts makes clients that stand for service accounts, without a cache.
//
// The impersonator of Flux was not taken: it reads the configuration of the process
// and asks the API server for all of its kinds, for each client that it makes.
type accounts struct {
	// usual is the account of Transforms that name no account. Where it is "" too, they have
	// own, the client of the controller itself.
	usual  string
	own    client.Client
	config *rest.Config
	mapper apimeta.RESTMapper
	scheme *runtime.Scheme

	clients *lru.Cache[string, client.Client]
}

// account returns the service account that a Transform acts as, or "" if it acts as the controller
// itself.
func (a *accounts) account(t *v1alpha1.Transform) string {
	return cmp.Or(t.Spec.ServiceAccountName, a.usual)
}

// scope returns the credential scope of a Transform.
func (a *accounts) scope(t *v1alpha1.Transform) string {
	return t.Namespace + "/" + a.account(t)
}

// client returns a client that reads and writes as the account of a Transform.
func (a *accounts) client(t *v1alpha1.Transform) (client.Client, error) {
	name := a.account(t)
	if name == "" {
		return a.own, nil
	}
	user := fmt.Sprintf("system:serviceaccount:%s:%s", t.Namespace, name)
	if c, ok := a.clients.Get(user); ok {
		return c, nil
	}
	config := rest.CopyConfig(a.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	// Clients with the same TLS configuration share connections.
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	c, err := newClient(config, web, a.mapper, a.scheme)
	if err != nil {
		return nil, err
	}
	a.clients.Put(user, c, 1)
	return c, nil
}

// access has the client and the store of a Transform: a reconciliation reads, writes and publishes
// by them as the account of the Transform. Before it is opened, both are nil.
type access struct {
	as    client.Client
	store publish.Store
}

// opener opens the access of Transforms.
type opener struct {
	accounts *accounts
	oci      publish.OCI
	// storage is nil where the controller serves no artifacts.
	storage *storage.Storage
}

// openOnce makes the client of the account and the store, unless opened has them from an earlier
// try. If the store cannot be opened, the access has the client alone.
func (o opener) openOnce(ctx context.Context, t *v1alpha1.Transform, opened access) (access, error) {
	if opened.as != nil {
		return opened, nil
	}
	as, err := o.accounts.client(t)
	if err != nil {
		return access{}, err
	}
	store, err := o.openStore(ctx, t, as)
	return access{as: as, store: store}, atPublish.at(err)
}

// openStore returns the store that a Transform publishes to.
func (o opener) openStore(ctx context.Context, t *v1alpha1.Transform, as client.Client) (publish.Store, error) {
	out := t.Spec.Output
	switch {
	case out != nil && out.OCI != nil:
		return o.oci.Open(ctx, t, as)
	case o.storage == nil:
		return nil, block(stalled, v1alpha1.FeatureDisabledReason,
			"the controller has no storage for ExternalArtifacts: set spec.output.oci, or start the controller with --storage-path")
	}
	return o.storage.For(as, t), nil
}

// checkRights returns an error that lists the rights that the account of a Transform lacks to apply
// a render. It checks the objects that Flux applies to this cluster as that account, and the objects
// that this controller writes for Flux. Without an account Flux applies as itself, and another
// cluster has its own rights.
func (o opener) checkRights(ctx context.Context, t *v1alpha1.Transform, with access, layers []delivery.Layer) error {
	account := o.accounts.account(t)
	if account == "" || engineOf(t) != v1alpha1.EngineFlux {
		return nil
	}
	if d := t.Spec.Delivery; d != nil && d.Flux != nil && d.Flux.KubeConfig != nil {
		return nil
	}
	checking, end := tracing.Start(ctx, "rights")
	objects := append(fluxObjects(t, layers), rights.Known(layers, t.Namespace, account)...)
	lacks, err := rights.Missing(checking, with.as, objects)
	end(err)
	if err != nil || len(lacks) == 0 {
		return atPublish.at(err)
	}

	// All missing rights are named at once; no event follows when they are granted.
	var b strings.Builder
	for _, l := range lacks {
		b.WriteString("\n" + l.String())
	}
	err = fmt.Errorf("system:serviceaccount:%s:%s cannot apply what is rendered, so that nothing is published: grant it to%s",
		t.Namespace, account, b.String())
	return atPublish.at(&blocked{problem{
		kind:      stalled,
		reason:    v1alpha1.AccessDeniedReason,
		unwatched: true,
		validated: "True",
		rendered:  "False",
		err:       err,
	}})
}

// fluxObjects returns the objects of Flux that a delivery of layers writes by the account.
func fluxObjects(t *v1alpha1.Transform, layers []delivery.Layer) []delivery.ObjectRef {
	var out []delivery.ObjectRef
	for _, l := range layers {
		name := t.Name + "-" + l.Name
		out = append(out, delivery.ObjectRef{
			Group:     kustomizev1.GroupVersion.Group,
			Version:   kustomizev1.GroupVersion.Version,
			Kind:      kustomizev1.KustomizationKind,
			Namespace: t.Namespace,
			Name:      name,
		})
		if o := t.Spec.Output; o != nil && o.OCI != nil {
			out = append(out, delivery.ObjectRef{
				Group:     sourcev1.GroupVersion.Group,
				Version:   sourcev1.GroupVersion.Version,
				Kind:      sourcev1.OCIRepositoryKind,
				Namespace: t.Namespace,
				Name:      name,
			})
		}
	}
	return out
}

// newClient returns a client without a cache that refuses names that would change the path of a
// request.
func newClient(config *rest.Config, web *http.Client, mapper apimeta.RESTMapper, scheme *runtime.Scheme) (client.Client, error) {
	c, err := client.New(config, client.Options{HTTPClient: web, Mapper: mapper, Scheme: scheme})
	return guarded{c}, err
}

// guarded refuses names that would change the path of a request. Client-go checks the names of
// complete objects, but not of objects of which only the metadata is read.
type guarded struct{ client.Client }

// Get reads an object.
func (g guarded) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	for _, part := range []string{key.Namespace, key.Name} {
		if faults := rest.IsValidPathSegmentName(part); len(faults) > 0 {
			return block(stalled, v1alpha1.InvalidReason, "%.80q is not the name of an object: it %s", part, faults[0])
		}
	}
	return g.Client.Get(ctx, key, object, opts...)
}
