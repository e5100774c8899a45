// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/document"
)

// Project returns the table of a Project.
func Project() Document {
	spec := []Field{
		{Name: "specs", Kind: list, Rule: inProject(), Most: 1000, Doc: "Files, folders or patterns; all that is found below the folder where there are none."},
		context().Named("context"),
		{Name: "policies", Kind: list, Doc: "Modules that check every spec.", Each: each(projectPolicy())},
		Workloads().Named("workloads"),
		{Name: "environments", Kind: fields, Doc: "Overlays by the name of the environment.", Names: label(), Each: &Field{Kind: fields, Null: true, Fields: []Field{
			context().Named("context"),
			{Name: "inputs", Kind: fields, Doc: "What is laid over the input of a spec, by its name.", Each: &Field{Kind: fields, Free: true, Null: true}},
			Workloads().Named("workloads"),
			isolation(),
			{Name: "clusters", Kind: list, Rule: installations(), Most: 10000, Doc: "The clusters that it is for, as the names of their Installations: berlin, or eu-* for all that begin like that. build --installation chooses the environment by them."},
		}}},
		{Name: "previews", Kind: fields, Doc: "Namespaces and hosts of previews (--preview ID), so that no two share an object.", Fields: []Field{
			{Name: "namespace", Kind: text, Need: true, Rule: previewRule("namespace"), Doc: "Namespace in a preview, such as ${namespace}-pr-${preview}; ${namespace} is the one that an object has otherwise."},
			{Name: "host", Kind: text, Rule: previewRule("host"), Doc: "Host in a preview, such as pr-${preview}.${host}; ${host} is the one that is served otherwise."},
		}},
	}
	return Whole("Project", "Which specs are rendered as one, and where for: ropewalk.yaml.",
		Metadata(), Field{Name: "spec", Kind: fields, Doc: "What is rendered, and how.", Fields: spec}, Status())
}

// isolation returns the field of what keeps the namespace of an environment apart.
func isolation() Field {
	return Field{Name: "isolation", Kind: fields, Least: 1, Doc: "What keeps the namespace of the context apart from others; each part by choice.", Fields: []Field{
		{Name: "namespace", Kind: truth, Doc: "Make the Namespace."},
		{Name: "podSecurity", Kind: text, Values: choices("privileged", "baseline", "restricted"), Doc: "Pod Security Standard of the Namespace: enforced, audited and warned of."},
		{Name: "quota", Kind: fields, Least: 1, Doc: "Make a ResourceQuota, and a LimitRange with requests for containers that name none, without which a quota refuses them: 100m and 128Mi.", Fields: []Field{
			{Name: "cpu", Kind: text, Text: true, Rule: amount(), Doc: "What all pods may request together, such as 10 or 500m."},
			{Name: "memory", Kind: text, Text: true, Rule: amount(), Doc: "What all pods may request together, such as 20Gi."},
			{Name: "pods", Kind: number, Range: &document.Range{Least: 1}, Doc: "How many pods there may be."},
		}},
		{Name: "defaultDeny", Kind: truth, Doc: "Make a NetworkPolicy that denies all traffic of pods, in and out, that no other one allows: name resolution too."},
	}}
}

func context() Field {
	return Field{Kind: fields, Doc: "Where the objects are for.", Fields: []Field{
		{Name: "namespace", Kind: text, Rule: label(), Doc: "Namespace of objects whose spec names none."},
		{Name: "clusterDomain", Kind: text, Rule: domain(), Doc: "Such as cluster.local."},
		{Name: "kubeVersion", Kind: text, Rule: kubeVersion(), Doc: "Such as 1.36 or v1.36.2."},
		{Name: "engine", Kind: text, Values: choices(dialect.Names()...), Doc: "Dialect of the output."},
	}}
}

// Workloads returns the table of the configuration of workloads.
func Workloads() Field {
	return Field{Kind: fields, Doc: "Configuration of workloads.", Fields: []Field{
		cueRef().Named("module").Means("Module that makes the objects of a workload, in place of the embedded one."),
		{Name: "provisioners", Kind: list, Doc: "Modules that make resources, in the order in which they are searched, before the embedded one.", Fields: []Field{
			{Name: "name", Kind: text, Rule: label(), Need: true},
			moduleRef().Needed(),
		}},
		{Name: "envFiles", Kind: list, Sensitive: true, Doc: "Files of variables for ${NAME} in workloads, relative to this file; those of an environment come after those of the project."},
		{Name: "secrets", Kind: fields, Sensitive: true, Doc: "How secrets reach pods.", Fields: []Field{
			{Name: "backend", Kind: text, Values: choices("external-secrets", "kubernetes"), Doc: "How secrets reach pods."},
			{Name: "store", Kind: fields, Doc: "The store of secrets; one called default where it is absent.", Fields: []Field{
				{Name: "name", Kind: text, Full: true, Need: true},
				{Name: "kind", Kind: text, Values: choices("ClusterSecretStore", "SecretStore"), Doc: "ClusterSecretStore where it is absent."},
				{Name: "provider", Kind: fields, Most: 1, Doc: "Provider of the store, where it is made.", Fields: []Field{
					shapeOf("aws"), shapeOf("azure"), shapeOf("gcp"), shapeOf("kubernetes"), shapeOf("vault"),
				}},
			}},
			{Name: "kubernetesStore", Kind: text, Rule: label(), Doc: "SecretStore of the provider kubernetes, for texts that mix a Secret of the cluster with others."},
			{Name: "refreshInterval", Kind: text, Rule: duration(), Doc: "A duration, such as 1h."},
			{Name: "providers", Kind: fields, Doc: "Stores of the providers that secrets name.", Fields: []Field{
				storeOf("aws"), storeOf("azure"), storeOf("gcp"), storeOf("vault"),
			}},
			{Name: "defaultProvider", Kind: text, Values: choices("aws", "azure", "gcp", "vault"), Doc: "Provider of secrets that name none, where there are several."},
			{Name: "bindings", Kind: fields, Doc: "Secrets of ${secrets.name.key}, by name.", Names: label(), Each: &Field{Kind: fields, Null: true, Hidden: notReference, Fields: []Field{
				{Name: "provider", Kind: text, Values: choices("aws", "azure", "gcp", "vault", "local"), Doc: "Where the secret is; the default provider where it is absent, and local for a Secret of the namespace."},
				{Name: "secret", Kind: text, Doc: "Name of the secret at its provider."},
				{Name: "version", Kind: text, Doc: "The newest where it is absent."},
				{Name: "keys", Kind: list, Each: full(), Doc: "Keys that the secret has; any may be named where it is absent."},
			}}},
		}},
		{Name: "network", Kind: fields, Doc: "What network policies know.", Fields: []Field{
			{Name: "policies", Kind: list, Unique: true, Doc: "Kinds of network policy that are made.", Values: choices("cilium", "kubernetes", "istio")},
			{Name: "mesh", Kind: text, Values: choices("sidecar", "ambient"), Doc: "Mode of Istio."},
			{Name: "routesFrom", Kind: text, Rule: label(), Doc: "Namespace of the pods that requests of routes come from."},
			{Name: "trustDomain", Kind: text, Rule: trustDomain(), Hint: "write meshConfig.trustDomain of Istio, such as cluster.local", Doc: "Trust domain of Istio, which is not the DNS domain of the cluster; cluster.local where it is absent."},
			{Name: "dns", Kind: fields, Doc: "Where pods resolve names.", Fields: []Field{
				{Name: "namespace", Kind: text, Rule: label(), Doc: "Namespace of the servers; kube-system where it is absent."},
				{Name: "labels", Kind: fields, Doc: "Labels of the servers."},
				{Name: "port", Kind: number, Range: between(1, 65535), Doc: "Port of the servers; 53 where it is absent."},
				{Name: "cidr", Kind: text, Rule: cidr(), Doc: "Address of a cache on the node, such as 169.254.20.10/32."},
			}},
		}},
		{Name: "externalServices", Kind: fields, Doc: "Hosts outside of the cluster, by the id that resources of type external-service name.", Names: label(), Each: &Field{Kind: fields, Null: true, Fields: []Field{
			{Name: "url", Kind: text, Full: true, Sensitive: true, Doc: "Such as https://api.example.com/v1, without a password; the port is the one of the scheme where it has none."},
			{Name: "host", Kind: text, Rule: outside(), Doc: "A DNS name or an address, in place of url."},
			{Name: "ports", Kind: list, Least: 1, Unique: true, Each: &Field{Kind: number, Range: between(1, 65535)}, Doc: "Of host, the first for the outputs; the one of http and https where they are absent."},
			{Name: "protocol", Kind: text, Values: choices("grpc", "http", "https", "tcp", "tls", "udp"), Doc: "Of host; where it is absent, http with port 80, https with 443, and else tcp."},
		}}},
		{Name: "canary", Kind: fields, Doc: "How canaries are released.", Fields: []Field{
			{Name: "provider", Kind: text, Values: choices("gatewayapi:v1", "istio", "kubernetes", "linkerd", "nginx"), Doc: "What Flagger shifts traffic with."},
		}},
		{Name: "config", Kind: fields, Free: true, Doc: "Free form, for provisioners."},
		{Name: "images", Kind: fields, Doc: "Where images of workloads are pulled from.", Fields: []Field{
			{Name: "mirrors", Kind: fields, Doc: "What replaces the beginning of the name of an image, such as docker.io or ghcr.io/acme; the longest one wins."},
			{Name: "pullSecrets", Kind: list, Sensitive: true, Each: &Field{Kind: text, Sensitive: true, Rule: secretName(), Hint: "write the name of a Secret of the namespace, of a-z, 0-9, - and ."}, Doc: "Secrets of the namespace, of type kubernetes.io/dockerconfigjson."},
			{Name: "pullSecretsFrom", Kind: fields, Doc: "Secrets of that type, by name, that are made in each namespace with workloads from a secret of a store.", Sensitive: true, Names: label(), Each: &Field{Kind: fields, Null: true, Hidden: notReference, Fields: []Field{
				{Name: "provider", Kind: text, Values: choices("aws", "azure", "gcp", "vault"), Doc: "Where the secret is; the default provider where it is absent."},
				{Name: "secret", Kind: text, Doc: "Name of the secret at its provider: JSON as in .docker/config.json."},
				{Name: "version", Kind: text, Doc: "The newest where it is absent."},
				{Name: "key", Kind: text, Doc: "Key of the secret that holds the JSON; all of it where it is absent."},
			}}},
		}},
		Defaults(),
	}}
}

// shapeOf returns the field of a provider of a store that is made.
func shapeOf(provider string) Field {
	return Field{Name: provider, Kind: fields, Free: true, Doc: "In the shape of External Secrets."}
}

// storeOf returns the field of the store of a provider.
func storeOf(provider string) Field {
	return Field{Name: provider, Kind: fields, Fields: []Field{
		{Name: "store", Kind: text, Rule: label(), Doc: "Name of the store; that of the provider where it is absent."},
		{Name: "kind", Kind: text, Values: choices("ClusterSecretStore", "SecretStore"), Doc: "ClusterSecretStore where it is absent."},
		{Name: "refreshInterval", Kind: text, Rule: duration(), Doc: "A duration, such as 1h."},
	}}
}
