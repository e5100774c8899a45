// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"io/fs"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/internal/lru"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/plugin/host/transform"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/cache/flight"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// Modules says where modules come from. The zero value gets them over https, without
// credentials and cache.
type Modules struct {
	// Embedded finds the modules that are part of the program by their EmbeddedNames; nil finds
	// no modules.
	Embedded      func(name string) (fs.FS, bool)
	EmbeddedNames []string
	// Registries connects to OCI registries; plain says that it is by http for all
	// hosts, as output.oci.insecure asks. It is called once for each. Nil is the zero
	// value of remote.Registries.
	Registries func(plain bool) (*remote.Registries, error)
	// Git fetches from Git repositories; nil is the zero value.
	Git func() git.Fetcher
	// Dependencies gets the dependencies of CUE modules; nil leaves them out.
	Dependencies func() *modules.Registry
	// Store is the cache on disk; nil works without a cache.
	Store func() (*cache.Store, error)
	// Trees keeps sources in memory; nil keeps no source.
	Trees *lru.Cache[string, source.Tree]
	// Policy is the policy of pulls, asked for each render; nil allows all.
	Policy func() *pullpolicy.Policy
	// Signed remembers which modules are signed as the policy wants it; nil verifies
	// them each time.
	Signed *fetch.Signed
	// Client downloads the artifacts of sources; nil is one without a proxy.
	Client *http.Client
	// SourceHost is asked for the artifacts of sources instead of the host in their
	// URL, where it is set: SOURCE_CONTROLLER_LOCALHOST of Flux.
	SourceHost string
	// Limits bound sources and modules.
	Limits source.Limits
	// Report gets the errors of caches, which do not fail a render; nil drops them.
	Report func(error)
}

// Loader makes requests. It is safe for concurrent use; its fields are not changed after the first
// request. The zero value works, without modules of the program.
type Loader struct {
	Modules
	// Evaluation bounds the evaluation of a spec.
	Evaluation evaluate.Limits
	// KubeVersion returns the version of the cluster.
	KubeVersion func(ctx context.Context) (string, error)
	// NoCrossNamespaceRefs refuses sources of other namespaces.
	NoCrossNamespaceRefs bool

	downloads flight.Group[source.Tree]
}

// Identity is the account, with its dialect, that a request is made for.
type Identity struct {
	// Client reads for the service account of the Transform.
	Client client.Client
	// Scope is the credential scope: the namespace and the service account.
	Scope string
	// Dialect is the dialect of the render.
	Dialect dialect.Name
	// TTL is the time for which the digest of a tag or a branch is believed; negative asks each
	// time.
	TTL time.Duration
	// Evaluator reads bundles of Timoni; nil refuses them.
	Evaluator evaluate.Evaluator
	// Charge, if set, counts the bytes that are read: see host.Options.
	Charge func(ctx context.Context, bytes int64) error
}

// Loaded is a request that is ready to be rendered.
type Loaded struct {
	transform.Loaded
	Resolved
}

// repository stands for the repository that Flux will pull from. The render writes it into its
// Kustomizations, of which only the health checks are taken.
const repository = "oci://ropewalk.invalid/delivery"

// Load makes the request of a Transform. An error is an object.Errors with every mistake, at the
// positions of the user's input. Or it has a [transform.WaitError] for an object that does not exist
// yet, or a [DeniedError], or it comes from the API server.
func (l *Loader) Load(ctx context.Context, id Identity, t *v1alpha1.Transform) (Loaded, error) {
	resolved, err := l.Resolve(ctx, id.Client, t)
	out := Loaded{Resolved: resolved}
	if err != nil {
		return out, err
	}
	o := transform.Options{
		Host: host.Options{
			Limits:    l.Evaluation,
			Evaluator: id.Evaluator,
			Charge:    id.Charge,
			Emit:      emit.Options{Dialect: id.Dialect},
		},
		ConfigMaps:  configMaps(id.Client, t.Namespace),
		HasSecret:   hasSecret(id.Client, t.Namespace),
		KubeVersion: l.KubeVersion,
		Connect:     func(opts host.Options) (host.Host, error) { return l.connect(id, t, opts) },
	}
	if id.Dialect == dialect.Flux {
		// The delivery refuses objects that nothing decrypts, and waits for objects that are needed.
		o.Host.Emit.Repository = repository
		o.Host.Emit.DecryptionConfigured = true
		o.Host.Emit.Awaited = t.Spec.Delivery == nil || t.Spec.Delivery.Type != v1alpha1.EngineNone
	}
	if out.Source != nil {
		tree, err := l.fetch(ctx, *out.Source)
		if err != nil {
			return out, err
		}
		o.Files = tree.FS
	}
	out.Loaded, err = transform.Load(ctx, o, t)
	return out, err
}
