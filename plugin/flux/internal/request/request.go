// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/internal/lru"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
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
	// Embedded finds the modules that are part of the program, and EmbeddedNames are
	// theirs; nil has none.
	Embedded      func(name string) (fs.FS, bool)
	EmbeddedNames []string
	// Registries connects to OCI registries; plain says that it is by http for all
	// hosts, as output.oci.insecure asks. It is called once for each. Nil is the zero
	// value of remote.Registries.
	Registries func(plain bool) (*remote.Registries, error)
	// Git is how Git repositories are reached; nil is the zero value.
	Git func() git.Fetcher
	// Dependencies gets the dependencies of CUE modules; nil adds none.
	Dependencies func() *modules.Registry
	// Store is the cache on disk; nil has none.
	Store func() (*cache.Store, error)
	// Trees keeps sources in memory; nil keeps none.
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

// Loader makes requests. It is safe for concurrent use; its fields are not changed
// after the first one. The zero value works, without modules of the program.
type Loader struct {
	Modules
	// Evaluation bounds the evaluation of a spec.
	Evaluation evaluate.Limits
	// KubeVersion is that of the cluster.
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
	// Dialect is what is rendered.
	Dialect dialect.Name
	// TTL is how long it is believed where a tag or a branch leads; negative asks
	// each time.
	TTL time.Duration
	// Evaluator reads bundles of Timoni; nil refuses them.
	Evaluator evaluate.Evaluator
	// Charge, if set, counts what is read: see host.Options.
	Charge func(ctx context.Context, bytes int64) error
}

// Loaded is a request that is ready to be rendered.
type Loaded struct {
	host.Loaded
	Resolved
	// positions tell where the user wrote what the request says.
	positions positions
}

// repository stands for the one that Flux will pull from. The render writes it into
// its Kustomizations, of which only the health checks are taken.
const repository = "oci://ropewalk.invalid/delivery"

// Load makes the request of a Transform. An error is an object.Errors with every
// mistake, at the positions where the user made them; or it has a [WaitError] for what is
// not there yet, or a [DeniedError]; or it is that of the API server.
func (l *Loader) Load(ctx context.Context, id Identity, t *v1alpha1.Transform) (Loaded, error) {
	resolved, err := l.Resolve(ctx, id.Client, t)
	out := Loaded{Resolved: resolved}
	if err != nil {
		return out, err
	}
	files, err := l.files(ctx, id, t, &out)
	if err != nil {
		return out, err
	}
	opts := options(id, t, l.Evaluation)
	opts.FS, opts.Values = files.fsys, files.values
	opts.Runtime = append(opts.Runtime, files.runtime...)
	project := spec.Context{}
	if t.Spec.One() {
		opts.Documents = []spec.File{out.positions.doc.File}
	} else {
		opts.Args = []string{folderOf(t)}
		project = contextOf(files.fsys, t, opts.Environment)
	}
	if err := l.surround(ctx, &opts.Context, project, t); err != nil {
		return out, err
	}
	h, err := l.connect(id, t, opts)
	if err != nil {
		return out, err
	}
	opts.Evaluator, opts.Charge = id.Evaluator, id.Charge
	if out.Loaded, err = h.Load(ctx, opts); err != nil {
		return out, out.Explain(err)
	}
	if t.Spec.One() {
		return out, nil
	}
	return out, l.complete(ctx, l.inCluster(h, id.Client, t), opts, t, &out)
}

// loading is what a request is loaded from.
type loading struct {
	fsys            fs.FS
	values, runtime []string
}

// files are those of the source, with the inputs of the Transform beside them.
func (l *Loader) files(ctx context.Context, id Identity, t *v1alpha1.Transform, out *Loaded) (loading, error) {
	beside := map[string][]byte{}
	values, runtime, err := inputs(ctx, id, t, beside)
	if err != nil {
		return loading{}, err
	}
	var under fs.FS
	dir := folderOf(t)
	if out.Source != nil {
		tree, err := l.fetch(ctx, *out.Source)
		if err != nil {
			return loading{}, err
		}
		under = tree.FS
		folder, err := isThere(under, t)
		if err != nil {
			return loading{}, err
		}
		if !folder {
			dir = path.Dir(dir)
		}
	}
	doc, err := newDocument(t, dir)
	if err != nil {
		return loading{}, err
	}
	out.positions = positions{doc: doc, transform: t}
	fsys, err := newOverlay(under, beside)
	return loading{fsys: fsys, values: values, runtime: runtime}, err
}

// complete lays what the Transform says over the specs of its project.
func (l *Loader) complete(ctx context.Context, h host.Host, opts host.Options, t *v1alpha1.Transform, out *Loaded) error {
	req := &out.Request
	for i := range req.Specs {
		if req.Specs[i].Adopt == "" {
			req.Specs[i].Adopt = t.Spec.Adopt
		}
	}
	for _, s := range req.Specs {
		name := s.Evaluate.Spec
		req.AllowSecrets[name] = append(req.AllowSecrets[name], t.Spec.AllowSecrets...)
	}
	if len(t.Spec.Policies) == 0 {
		return nil
	}
	opts.Args, opts.Documents, opts.Values, opts.Runtime, opts.Environment = nil, []spec.File{out.positions.doc.File}, nil, nil, ""
	own, err := h.Load(ctx, opts)
	if err == nil {
		err = own.Request.Mistakes.Err()
	}
	if err != nil {
		return out.Explain(err)
	}
	from := own.Request.Specs[0]
	for i := range req.Specs {
		if err := judge(&req.Specs[i], from, t); err != nil {
			return err
		}
	}
	return nil
}

// judge has the policies of another spec judge this one too.
func judge(s *render.Spec, from render.Spec, t *v1alpha1.Transform) error {
	for _, p := range from.Evaluate.Policies {
		if slices.ContainsFunc(s.Evaluate.Policies, func(o evaluate.Policy) bool { return o.Name == p.Name }) {
			return object.Errors{twice(t, p.Name)}
		}
	}
	// The project's own are shared by all specs.
	s.Evaluate.Policies = slices.Concat(s.Evaluate.Policies, from.Evaluate.Policies)
	for _, p := range from.Policies {
		p.Spec = s.Evaluate.Spec
		s.Policies = append(s.Policies, p)
	}
	return nil
}
