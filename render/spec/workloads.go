// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

// Document is a document that is compiled, unchanged: environments and options are
// merged over it before its decoder, such as render/workload/score, reads it.
type Document struct {
	// Kind is the kind of the document; KindWorkload for a Score file, too.
	Kind string
	// Name is "" if the document has no name, or a name that is not text.
	Name    string
	Pos     object.Pos
	NamePos object.Pos
	// Score is set if it is a Score file.
	Score bool
	// Value is the complete document.
	Value object.Value
	// Blocks maps the position of each block scalar to the position of its text.
	Blocks map[object.Pos]Block
	// Last is the last line on which a part of the document begins, so that a
	// part that another document of the same file merged over it is recognized.
	Last int
	// Unsure is set if a mistake in the document may hide part of it.
	Unsure bool
	// Written maps errors on the document to the text of the author; nil if the author wrote
	// the document itself.
	Written func(object.Errors) object.Errors
}

// compiled returns a document of a kind that a front end compiles.
func (p *parsing) compiled(doc parsed, kind string, score bool) Document {
	meta, _ := doc.value.Get("metadata")
	name, ok := meta.Get("name")
	out := Document{
		Kind: kind, Name: meta.TextOf("name"), Pos: doc.value.Pos, NamePos: doc.value.Pos, Score: score,
		Value: doc.value, Blocks: doc.blocks, Last: lastLine(doc.value), Unsure: len(doc.errs) > 0,
	}
	if ok {
		out.NamePos = name.Pos
	}
	p.out.Incomplete = p.out.Incomplete || document.BadLabel(out.Name) != ""
	return out
}

// lastLine returns the last line on which a part of v begins.
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

// InputPath returns the path to the part that environments and options overlay: the complete document
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
	// Module makes the objects of a workload; the default is the embedded module
	// workload.
	Module CueRef
	// Provisioners are modules that are searched in this order, before the embedded
	// module.
	Provisioners []NamedModule
	Secrets      Secrets
	// Policies are the kinds of network policy that are made: cilium, kubernetes,
	// istio.
	Policies []string
	// Network has the settings for those policies.
	Network Network
	// CanaryProvider is the provider with which Flagger shifts traffic: gatewayapi:v1,
	// istio, kubernetes, linkerd or nginx. If it is "", the routes of each workload
	// decide: gatewayapi:v1 for an HTTPRoute, nginx for an Ingress of that class,
	// else istio.
	CanaryProvider string
	// Config is a map of free form that provisioners see.
	Config object.Value
	Images Images
	// ExternalServices are the hosts outside of the cluster that resources name by their id.
	ExternalServices map[string]ExternalService
	// EnvFiles hold variables of workloads; a later file wins.
	EnvFiles []EnvFile
	// Variables are the names of all variables that workloads may refer to, sorted. The
	// caller adds them after reading the files.
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

// Secrets configures the way of secrets to the pods.
type Secrets struct {
	// Backend is one of the Backend constants.
	Backend string
	// StoreName and StoreKind name the ClusterSecretStore or SecretStore.
	StoreName, StoreKind string
	// StorePos is the position of the store, not valid if it is the default.
	StorePos object.Pos
	// KubernetesStore names a SecretStore of the provider kubernetes, for texts
	// that mix a Secret of the cluster with others, or is "".
	KubernetesStore string
	// RefreshInterval is a duration of Go, such as 1h.
	RefreshInterval string
	// Providers are the stores of secrets with a provider, by its short name: aws, azure,
	// gcp, vault. DefaultProvider is the provider of secrets that name no provider; "" is
	// the store above.
	Providers       map[string]SecretProvider
	DefaultProvider string
	// Bindings are the secrets of ${secrets.name.key}, by name.
	Bindings map[string]SecretSource
	// Provider is the provider part of the spec of the store, in the shape of
	// External Secrets, or KindNone if the store exists already and is not
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

// Workloads returns the configuration of workloads in an environment; "" is the project without an
// environment. Mistakes in it were found when the document was read. The error has only mistakes that
// appear when an environment is merged over the project.
func (p Project) Workloads(environment string) (Workloads, error) {
	d := decoder{}
	merged := p.WorkloadDefaults.Merge(p.Environments[environment].Workloads)
	out := d.check(workloadsTable(), merged, object.Fields("spec", "workloads")).workloads()
	out.EnvFiles = allEnvFiles(p.WorkloadDefaults, p.Environments[environment].Workloads)
	return out, d.Errs.Sorted().Err()
}

// workloads returns the configuration of workloads.
func (p part) workloads() Workloads {
	out := Workloads{
		Pos:    p.Pos,
		Module: CueRef{Type: RefEmbedded, Ref: DefaultWorkloadModule, Pos: p.Pos, RefPos: p.Pos, TypePos: p.Pos},
		Config: p.Field("config"), EnvFiles: p.envFiles(), Images: p.child("images").images(), CanaryProvider: p.child("canary", "provider").Text,
		Secrets: p.child("secrets").secrets(),
	}
	if module := p.child("module"); module.Given() {
		out.Module = module.cueRef()
	}
	p.eachNamed("provisioners", "module", func(m NamedModule, _ part) { out.Provisioners = append(out.Provisioners, m) })
	p.child("network").decodeNetwork(&out)
	out.ExternalServices = p.child("externalServices").externalServices()
	return out
}

// eachNamed calls each for every item of a list of modules with unique names. The argument rest has
// the other fields of the item.
func (p part) eachNamed(name, kind string, each func(m NamedModule, rest part)) {
	names := map[string]bool{}
	for _, item := range p.children(name) {
		module := NamedModule{Name: item.child("name").Text, Pos: item.Pos, CueRef: item.child("cueRef").cueRef()}
		each(module, item)
		if module.Name != "" && names[module.Name] {
			p.Decoder.Fail(item.Pos, item.Path.Append(object.Field("name")), "", "a second %s has the name %q", kind, module.Name)
		}
		names[module.Name] = true
	}
}

// secrets returns the configuration of secrets.
func (p part) secrets() Secrets {
	store := p.child("store")
	out := Secrets{
		Backend: cmp.Or(p.child("backend").Text, BackendExternalSecrets), KubernetesStore: p.child("kubernetesStore").Text,
		StoreName: cmp.Or(store.child("name").Text, defaultStoreName), StoreKind: cmp.Or(store.child("kind").Text, clusterStoreKind),
		RefreshInterval: cmp.Or(p.child("refreshInterval").Text, defaultRefreshInterval),
	}
	if store.Given() {
		out.StorePos = store.Pos
		out.Provider = store.child("provider").provider()
	}
	p.decodeProviders(&out)
	return out
}

// providerNames returns the providers of a store, each with its name in External Secrets.
func providerNames() [][2]string {
	return [][2]string{
		{"aws", "aws"}, {"azure", "azurekv"}, {"gcp", "gcpsm"}, {"kubernetes", "kubernetes"}, {"vault", "vault"},
	}
}

// provider returns the provider of a store, by the name of External Secrets.
func (p part) provider() object.Value {
	var names []string
	for _, known := range providerNames() {
		names = append(names, known[0])
		if v := p.child(known[0]); v.Given() {
			return object.Value{Kind: object.KindMap, Pos: v.Pos, Members: []object.Member{{Name: known[1], Pos: v.Pos, Value: v.Value}}}
		}
	}
	if p.Given() {
		p.Fail("", "expected one of %v", names)
	}
	return object.Value{}
}

// Network has the settings that network policies need. The zero value fits most clusters.
type Network struct {
	// DNS are the servers that resolve names for pods: kube-dns of kube-system, port 53,
	// by default.
	DNS DNS
	// RoutesFrom is the namespace of the pods that send requests of routes. If it is "",
	// it is the namespace of the gateway that a route names, and any namespace if that is
	// not known.
	RoutesFrom string
	// Ambient is set if the mesh of Istio has no proxies in the pods.
	Ambient bool
	// TrustDomain is the trust domain of the mesh of Istio, which differs from the DNS domain
	// of the cluster; "" is cluster.local, which Istio accepts as its own under any name.
	TrustDomain string
}

// DNS describes the servers that resolve names for pods.
type DNS struct {
	// Namespace and Labels find the pods of the servers.
	Namespace string
	Labels    map[string]string
	// Port is the port that the pods of the servers listen on; 0 means 53.
	Port int
	// CIDR is the address of a cache on the node (NodeLocal DNSCache), such as
	// 169.254.20.10/32, or "".
	CIDR string
}

// decodeNetwork decodes the network policies and their settings.
func (p part) decodeNetwork(out *Workloads) {
	out.Policies = slices.Sorted(slices.Values(p.Words("policies")))
	dns := p.child("dns")
	port, _ := strconv.Atoi(dns.child("port").Text) // 0 if it is not given
	out.Network = Network{
		RoutesFrom: p.child("routesFrom").Text, Ambient: p.child("mesh").Text == "ambient", TrustDomain: p.child("trustDomain").Text,
		DNS: DNS{Namespace: dns.child("namespace").Text, Labels: dns.Texts("labels"), Port: port, CIDR: dns.child("cidr").Text},
	}
}
