// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
)

// Document is a document that is compiled, as it stands: environments and options are
// merged over it before its decoder, such as render/workload/score, reads it.
type Document struct {
	// Kind is that of the document; KindWorkload for a Score file, too.
	Kind string
	// Name is "" where the document has none that is text.
	Name    string
	Pos     object.Pos
	NamePos object.Pos
	// Score is set if it is a Score file.
	Score bool
	// Value is the complete document.
	Value object.Value
	// Blocks maps the position of each block scalar to that of its text.
	Blocks map[object.Pos]Block
	// Last is the last line on which a part of the document begins, so that a
	// part that another document of the same file merged over it is recognized.
	Last int
	// Unsure is set if a mistake in the document may hide part of it.
	Unsure bool
	// Written leads errors on the document to what its author wrote; nil where that is the
	// document itself.
	Written func(object.Errors) object.Errors
}

// compiled is a document of a kind that is compiled.
func (p *parsing) compiled(doc document, kind string, score bool) Document {
	meta, _ := doc.value.Get("metadata")
	name, ok := meta.Get("name")
	out := Document{
		Kind: kind, Name: meta.TextOf("name"), Pos: doc.value.Pos, NamePos: doc.value.Pos, Score: score,
		Value: doc.value, Blocks: doc.blocks, Last: lastLine(doc.value), Unsure: len(doc.errs) > 0,
	}
	if ok {
		out.NamePos = name.Pos
	}
	p.out.Incomplete = p.out.Incomplete || badLabel(out.Name) != ""
	return out
}

// lastLine is the last line on which a part of v begins.
func lastLine(v object.Value) int {
	last := v.Pos.Line
	for _, m := range v.Members {
		last = max(last, m.Pos.Line, lastLine(m.Value))
	}
	for _, i := range v.Items {
		last = max(last, lastLine(i))
	}
	return last
}

// InputPath leads to what environments and options overlay: the complete document
// of a Score file, the spec of all others.
func (d Document) InputPath() object.Path {
	if d.Score {
		return nil
	}
	return object.Fields("spec")
}

// Workloads is the configuration of workloads in a project, with the environment merged
// over it and every default filled in.
type Workloads struct {
	Pos object.Pos
	// Module makes the objects of a workload; the embedded module workload where
	// the project names none.
	Module CueRef
	// Provisioners are modules that are searched in this order, before the embedded
	// one.
	Provisioners []NamedModule
	Secrets      Secrets
	// Policies are the kinds of network policy that are made: cilium, kubernetes,
	// istio.
	Policies []string
	// Network is what those policies have to know.
	Network Network
	// CanaryProvider is what Flagger shifts traffic with: gatewayapi:v1, istio,
	// kubernetes, linkerd or nginx. Where it is "", the routes of each workload
	// decide: gatewayapi:v1 for an HTTPRoute, nginx for an Ingress of that class,
	// else istio.
	CanaryProvider string
	// Config is a map of free form that provisioners see.
	Config object.Value
	Images Images
	// EnvFiles hold variables of workloads; a later file wins.
	EnvFiles []EnvFile
	// Variables are the names of all variables that workloads may refer to, sorted. The
	// caller adds them when it has read the files.
	Variables []string
	// VariablesIncomplete is set if a source of them cannot be read, which is reported.
	VariablesIncomplete bool
}

// NamedModule is a module with a name for messages.
type NamedModule struct {
	Name   string
	CueRef CueRef
	Pos    object.Pos
}

// Backends that bring secrets to pods.
const (
	BackendExternalSecrets = "external-secrets"
	BackendKubernetes      = "kubernetes"
)

// Secrets configures how secrets reach pods.
type Secrets struct {
	// Backend is one of the Backend constants.
	Backend string
	// StoreName and StoreKind name the ClusterSecretStore or SecretStore.
	StoreName, StoreKind string
	// StorePos is the position of the store, not valid where it is the default.
	StorePos object.Pos
	// KubernetesStore names a SecretStore of the provider kubernetes, for texts
	// that mix a Secret of the cluster with others; "" is none.
	KubernetesStore string
	// RefreshInterval is a duration of Go, such as 1h.
	RefreshInterval string
	// Providers are the stores of secrets that name a provider, by its short name: aws,
	// azure, gcp, vault. DefaultProvider is that of secrets that name none; "" is the store
	// above.
	Providers       map[string]SecretProvider
	DefaultProvider string
	// Bindings are the secrets of ${secrets.name.key}, by name.
	Bindings map[string]SecretSource
	// Provider is the provider part of the spec of the store, in the shape of
	// External Secrets; KindNone where the store is there already and is not
	// made.
	Provider object.Value
}

// Defaults of Workloads.
const (
	DefaultWorkloadModule  = "workload"
	DefaultProvisioners    = "provisioners"
	defaultStoreName       = "default"
	clusterStoreKind       = "ClusterSecretStore"
	defaultRefreshInterval = "1h"
)

// Workloads is the configuration of workloads in an environment; "" is
// the project without an environment. Mistakes in it were found when the document was read; what
// comes in here only by laying one over the other is in the error.
func (p Project) Workloads(environment string) (Workloads, error) {
	v := p.WorkloadDefaults.Merge(p.Environments[environment].Workloads)
	d := decoder{}
	out := d.workloadsOf(v, object.Fields("spec", "workloads"))
	out.EnvFiles = allEnvFiles(p.WorkloadDefaults, p.Environments[environment].Workloads)
	return out, d.errs.Sorted().Err()
}

// workloads is what stands below workloads, as it was written; its mistakes are
// reported.
func (f *fields) workloads(name string) object.Value {
	v, path, ok := f.get(name)
	if !ok {
		return object.Value{}
	}
	f.workloadsOf(v, path)
	return v
}

// workloadsOf decodes the configuration of workloads.
func (d *decoder) workloadsOf(v object.Value, path object.Path) Workloads {
	out := Workloads{
		Pos:    v.Pos,
		Module: CueRef{Type: RefEmbedded, Ref: DefaultWorkloadModule, Pos: v.Pos, RefPos: v.Pos, TypePos: v.Pos},
		Secrets: Secrets{
			Backend: BackendExternalSecrets, StoreName: defaultStoreName, StoreKind: clusterStoreKind,
			RefreshInterval: defaultRefreshInterval,
		},
	}
	if v.Kind == object.KindNone || v.Kind == object.KindNull {
		return out
	}
	f := d.fields(v, path)
	if module, modulePath, ok := f.get("module"); ok {
		out.Module = f.cueRef(module, modulePath)
	}
	out.Provisioners = f.modules("provisioners")
	f.secret = true
	if s, ok := f.child("secrets"); ok {
		s.secrets(&out.Secrets)
	}
	f.secret = false
	if n, ok := f.child("network"); ok {
		n.network(&out)
	}
	if c, ok := f.child("canary"); ok {
		out.CanaryProvider = c.enum("provider", canaryProviders()...)
		c.done()
	}
	out.Config = f.input("config")
	out.EnvFiles = f.envFiles("envFiles")
	if i, ok := f.child("images"); ok {
		out.Images = i.images()
	}
	if defaults, at, ok := f.get("defaults"); ok {
		f.kind(defaults, at, object.KindMap) // What is in it is read by render/workload/score.
	}
	f.done()
	return out
}

// modules decodes a list of modules with unique names.
func (f *fields) modules(name string) []NamedModule {
	var out []NamedModule
	f.named(name, "module", func(m NamedModule, _ *fields) { out = append(out, m) })
	return out
}

// named decodes a list of what has a unique name and a module, and gives each with the
// fields that it has beside those.
func (f *fields) named(name, what string, each func(m NamedModule, rest *fields)) {
	items, path := f.list(name)
	known := map[string]bool{}
	for i, v := range items {
		at := path.Append(object.Index(i))
		item := f.fields(v, at)
		module := NamedModule{Name: item.label("name"), Pos: v.Pos}
		if ref, refPath, ok := item.need("cueRef"); ok {
			module.CueRef = f.cueRef(ref, refPath)
		}
		each(module, item)
		if _, ok := v.Get("name"); !ok && v.Kind == object.KindMap {
			item.missed = append(item.missed, "name")
		}
		if module.Name != "" && known[module.Name] {
			f.fail(v.Pos, at.Append(object.Field("name")), "", "a second %s has the name %q", what, module.Name)
		}
		known[module.Name] = true
		item.done()
	}
}

// enums is an optional list of strings out of a set, each written once.
func (f *fields) enums(name string, values ...string) []string {
	items, path := f.list(name)
	var out []string
	for i, v := range items {
		at := path.Append(object.Index(i))
		switch {
		case !f.kind(v, at, object.KindString):
		case !slices.Contains(values, v.Text):
			f.fail(v.Pos, at, object.Suggest(v.Text, values), "%q is not known", v.Text)
		case slices.Contains(out, v.Text):
			f.fail(v.Pos, at, "", "%q is written twice", v.Text)
		default:
			out = append(out, v.Text)
		}
	}
	slices.Sort(out)
	return out
}

// secrets decodes how secrets reach pods, over the defaults.
func (f *fields) secrets(out *Secrets) {
	if backend := f.enum("backend", BackendExternalSecrets, BackendKubernetes); backend != "" {
		out.Backend = backend
	}
	if s, ok := f.child("store"); ok {
		name := s.needText("name")
		out.StoreName, out.StorePos = name.Text, s.value.Pos
		if kind := s.enum("kind", clusterStoreKind, "SecretStore"); kind != "" {
			out.StoreKind = kind
		}
		s.provider(out)
		s.done()
	}
	out.KubernetesStore = f.label("kubernetesStore")
	out.RefreshInterval = cmp.Or(f.duration("refreshInterval"), out.RefreshInterval)
	f.providers(out)
	before := len(f.errs)
	f.done()
	f.hide(before) // A secret by its name, with its value.
}

// providerNames are the providers of a store and what External Secrets calls
// them, where it has another name.
func providerNames() [][2]string {
	return [][2]string{
		{"aws", "aws"}, {"azure", "azurekv"}, {"gcp", "gcpsm"}, {"kubernetes", "kubernetes"}, {"vault", "vault"},
	}
}

// provider decodes the provider of a store: exactly one, by its short name.
func (f *fields) provider(out *Secrets) {
	p, ok := f.child("provider")
	if !ok {
		return
	}
	var names []string
	for _, known := range providerNames() {
		names = append(names, known[0])
		v, path, given := p.get(known[0])
		if !given || !f.kind(v, path, object.KindMap) {
			continue
		}
		if out.Provider.Kind != object.KindNone {
			f.fail(v.Pos, path, "remove one of them", "a store has one provider, got a second")
			continue
		}
		out.Provider = object.Value{Kind: object.KindMap, Pos: v.Pos, Members: []object.Member{
			{Name: known[1], Pos: v.Pos, Value: v},
		}}
	}
	if p.value.Kind == object.KindMap && out.Provider.Kind == object.KindNone && len(p.value.Members) == 0 {
		f.fail(p.value.Pos, p.path, "", "expected one of %v", names)
	}
	p.done()
}

// Network is what network policies cannot know by themselves. The zero value is
// what most clusters have.
type Network struct {
	// DNS is where pods resolve names: kube-dns of kube-system, port 53, where
	// nothing is given.
	DNS DNS
	// RoutesFrom is the namespace of the pods that requests of routes come from.
	// Where it is "", it is that of the gateway that a route names, and anywhere
	// where that is not known.
	RoutesFrom string
	// Ambient is set if the mesh of Istio has no proxies in the pods.
	Ambient bool
	// TrustDomain is that of the mesh of Istio, which is not the DNS domain of the cluster;
	// "" is cluster.local, which Istio takes for its own whatever that is called.
	TrustDomain string
}

// DNS is where pods resolve names.
type DNS struct {
	// Namespace and Labels find the pods of the servers.
	Namespace string
	Labels    map[string]string
	// Port that the pods of the servers listen on; 0 means 53.
	Port int
	// CIDR is the address of a cache on the node (NodeLocal DNSCache), such as
	// 169.254.20.10/32; "" is none.
	CIDR string
}

// canaryProviders are what Ropewalk can have Flagger shift traffic with.
func canaryProviders() []string {
	return []string{"gatewayapi:v1", "istio", "kubernetes", "linkerd", "nginx"}
}

// trustDomain is what SPIFFE allows (section 2.1 of the SPIFFE ID), but for its length.
const trustDomain = `^[a-z0-9._-]{1,255}$`

// network decodes the network policies and their settings.
func (f *fields) network(out *Workloads) {
	out.Policies = f.enums("policies", "cilium", "kubernetes", "istio")
	out.Network.RoutesFrom = f.label("routesFrom")
	out.Network.Ambient = f.enum("mesh", "sidecar", "ambient") == "ambient"
	if text, pos := f.text("trustDomain"); pos.IsValid() {
		if out.Network.TrustDomain = text; !regexp.MustCompile(trustDomain).MatchString(text) {
			f.fail(pos, f.path.Append(object.Field("trustDomain")), "write meshConfig.trustDomain of Istio, such as cluster.local", "%q is not a trust domain", text)
		}
	}
	if d, ok := f.child("dns"); ok {
		d.dns(&out.Network.DNS)
	}
	f.done()
}

func (f *fields) dns(out *DNS) {
	out.Namespace = f.label("namespace")
	out.Labels = f.texts("labels", false)
	if v, path, ok := f.get("port"); ok && f.kind(v, path, object.KindNumber) {
		n, err := strconv.Atoi(v.Text)
		if err != nil || n < 1 || n > 65535 {
			f.fail(v.Pos, path, "", "%s is not a port: expected 1 to 65535", v.Text)
		}
		out.Port = n
	}
	if text, pos := f.text("cidr"); text != "" {
		if _, err := netip.ParsePrefix(text); err != nil {
			f.fail(pos, f.path.Append(object.Field("cidr")), "", "%q is not a range of addresses: expected one such as 169.254.20.10/32", text)
		}
		out.CIDR = text
	}
	f.done()
}
