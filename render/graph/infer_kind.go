// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Groups that are named more than once.
const (
	rbacGroup    = "rbac.authorization.k8s.io"
	gatewayGroup = "gateway.networking.k8s.io"
)

// findKind finds what objects of single kinds need.
func (f *finder) findKind() {
	// What is not a kind of Kubernetes may be one of a well-known operator.
	o := root(f.item.node.Object)
	spec := o.get("spec")
	switch f.item.ref.GroupKind() {
	case "Secret":
		f.addNear("ServiceAccount", o.get("metadata", "annotations", "kubernetes.io/service-account.name"), RuleServiceAccount)
	case "ServiceAccount":
		for _, list := range [...]string{"secrets", "imagePullSecrets"} {
			for _, s := range o.get(list).items() {
				f.addSecret(s.get("name"))
			}
		}
	case "PersistentVolumeClaim":
		f.addStorageClass(spec.get("storageClassName"))
		f.addRef(object.Ref{Kind: "PersistentVolume", Name: spec.get("volumeName").text()}, RuleVolume, spec.get("volumeName").at)
	case "PersistentVolume":
		f.addStorageClass(spec.get("storageClassName"))
	case "StatefulSet.apps":
		f.addNear("Service", spec.get("serviceName"), RuleService)
		for _, t := range spec.get("volumeClaimTemplates").items() {
			f.addStorageClass(t.get("spec", "storageClassName"))
		}
	case "RoleBinding." + rbacGroup, "ClusterRoleBinding." + rbacGroup:
		f.findBinding(o)
	case "HorizontalPodAutoscaler.autoscaling":
		f.addTarget(spec.get("scaleTargetRef"), RuleScaleTarget, "", "")
	case "VerticalPodAutoscaler.autoscaling.k8s.io":
		f.addTarget(spec.get("targetRef"), RuleScaleTarget, "", "")
	case "PodDisruptionBudget.policy":
		f.findSelected(spec.get("selector", "matchLabels"))
	case "Ingress.networking.k8s.io", "Ingress.extensions":
		f.findIngress(o)
	case "ValidatingWebhookConfiguration.admissionregistration.k8s.io",
		"MutatingWebhookConfiguration.admissionregistration.k8s.io":
		for _, w := range o.get("webhooks").items() {
			f.findBackend(w.get("clientConfig", "service"))
			f.addWebhookResources(w)
		}
	case "APIService.apiregistration.k8s.io":
		f.findBackend(spec.get("service"))
	default:
		f.findCustomKind(spec)
	}
}

// findCustomKind finds what single kinds of well-known operators need.
func (f *finder) findCustomKind(spec cursor) {
	switch f.item.ref.GroupKind() {
	case "ScaledObject.keda.sh", "ScaledJob.keda.sh":
		f.addTarget(spec.get("scaleTargetRef"), RuleScaleTarget, "apps/v1", "Deployment")
		for _, t := range spec.get("triggers").items() {
			f.addTarget(t.get("authenticationRef"), RuleReference, "keda.sh/v1alpha1", "TriggerAuthentication")
		}
	case "TriggerAuthentication.keda.sh":
		for _, s := range spec.get("secretTargetRef").items() {
			f.addSecret(s.get("name"))
		}
	case "Canary.flagger.app":
		f.addTarget(spec.get("targetRef"), RuleScaleTarget, "apps/v1", "Deployment")
		f.addTarget(spec.get("autoscalerRef"), RuleReference, "autoscaling/v2", "HorizontalPodAutoscaler")
	case "Certificate.cert-manager.io":
		f.addTarget(spec.get("issuerRef"), RuleReference, "cert-manager.io/v1", "Issuer")
	case "Issuer.cert-manager.io":
		f.addSecret(spec.get("ca", "secretName"))
	case "HelmRelease.helm.toolkit.fluxcd.io":
		f.findFluxSource(spec.get("chart", "spec", "sourceRef"))
		f.findFluxSource(spec.get("chartRef"))
		for _, v := range spec.get("valuesFrom").items() {
			f.findUnlessOptional(v, func(r cursor) {
				if r.get("kind").text() == "Secret" {
					f.addSecret(r.get("name"))
				} else {
					f.addNear("ConfigMap", r.get("name"), RuleConfigMap)
				}
			})
		}
	case "Kustomization.kustomize.toolkit.fluxcd.io", "HelmChart.source.toolkit.fluxcd.io":
		f.findFluxSource(spec.get("sourceRef"))
	case "ExternalSecret.external-secrets.io", "PushSecret.external-secrets.io":
		f.addTarget(spec.get("secretStoreRef"), RuleReference, "external-secrets.io/v1", "SecretStore")
	case "Database.postgresql.cnpg.io", "Pooler.postgresql.cnpg.io", "ScheduledBackup.postgresql.cnpg.io":
		f.addTarget(spec.get("cluster"), RuleReference, "postgresql.cnpg.io/v1", "Cluster")
	case "Cluster.postgresql.cnpg.io":
		f.addSecret(spec.get("bootstrap", "initdb", "secret", "name"))
		f.addSecret(spec.get("superuserSecret", "name"))
	case "IngressRoute.traefik.io":
		f.findTraefik(spec)
	case "Gateway." + gatewayGroup:
		class := spec.get("gatewayClassName")
		f.addRef(object.Ref{Group: gatewayGroup, Kind: "GatewayClass", Name: class.text()}, RuleClass, class.at)
		f.findOptional(f.issued(root(f.item.node.Object)), func() { f.findGateway(spec) })
	default:
		if f.item.ref.Group == gatewayGroup && strings.HasSuffix(f.item.ref.Kind, "Route") {
			f.findRoute(spec)
		}
	}
}

func (f *finder) findBinding(o cursor) {
	role := object.Ref{Group: rbacGroup, Kind: o.get("roleRef", "kind").text(), Name: o.get("roleRef", "name").text()}
	if role.Kind == "Role" {
		role.Namespace = f.item.ref.Namespace
	}
	f.addRef(role, RuleRole, o.get("roleRef", "name").at)
	for _, s := range o.get("subjects").items() {
		if account, ok := subject(s, f.item.ref.Namespace); ok {
			// A binding may come before its accounts.
			f.findOptional(true, func() { f.addRef(account, RuleRole, s.get("name").at) })
		}
	}
}

func (f *finder) findSelected(labels cursor) {
	for _, to := range f.selected(f.item.ref.Namespace, labels.labels()) {
		f.add(to, RuleSelector, labels.at)
	}
}

func (f *finder) findIngress(o cursor) {
	class, annotated := o.get("spec", "ingressClassName"), false
	if class.text() == "" {
		class, annotated = o.get("metadata", "annotations", "kubernetes.io/ingress.class"), true
	}
	// Controllers compare the annotation with a name of their own.
	f.findOptional(annotated, func() {
		f.addRef(object.Ref{Group: "networking.k8s.io", Kind: "IngressClass", Name: class.text()}, RuleClass, class.at)
	})
	f.findOptional(f.issued(o), func() {
		for _, t := range o.get("spec", "tls").items() {
			f.addSecret(t.get("secretName"))
		}
	})
	f.addNear("Service", o.get("spec", "defaultBackend", "service", "name"), RuleService)
	for _, r := range o.get("spec", "rules").items() {
		for _, p := range r.get("http", "paths").items() {
			f.addNear("Service", p.get("backend", "service", "name"), RuleService)
		}
	}
}

// findFluxSource finds the source that an object of Flux names: its controller waits for it, so that
// it is a need and no edge.
func (f *finder) findFluxSource(c cursor) {
	f.noteNeed(object.Ref{
		Group: "source.toolkit.fluxcd.io", Kind: c.get("kind").text(),
		Namespace: cmp.Or(c.get("namespace").text(), f.item.ref.Namespace), Name: c.get("name").text(),
	}, c.get("name").at)
}

// issuers returns the annotations by which cert-manager makes the certificates that an Ingress or
// a Gateway names, each with the kind of the issuer.
func issuers() map[string]string {
	return map[string]string{"cert-manager.io/issuer": "Issuer", "cert-manager.io/cluster-issuer": "ClusterIssuer"}
}

// isIssued reports whether o has one of the annotations of [issuers].
func isIssued(o object.Object) bool {
	switch o.Ref().GroupKind() {
	case "Ingress.networking.k8s.io", "Gateway.gateway.networking.k8s.io":
		for annotation := range issuers() {
			if o.Annotations()[annotation] != "" {
				return true
			}
		}
	}
	return false
}

// issued reports whether cert-manager makes the certificates that o names, by an annotation,
// and finds the issuer.
func (f *finder) issued(o cursor) bool {
	exists := false
	for annotation, kind := range issuers() {
		name := o.get("metadata", "annotations", annotation)
		if name.text() == "" {
			continue
		}
		exists = true
		if o.get("metadata", "annotations", "cert-manager.io/issuer-group").text() == "" {
			f.noteNeed(object.Ref{Group: "cert-manager.io", Kind: kind, Namespace: f.item.ref.Namespace, Name: name.text()}, name.at)
		}
	}
	return exists
}

// findBackend finds the Service that the API server calls, and the workload that
// answers for it: until that is ready, calls fail.
func (f *finder) findBackend(service cursor) {
	r := object.Ref{
		Kind: "Service", Namespace: service.get("namespace").text(), Name: service.get("name").text(),
	}
	target, ok := f.refs[r]
	if !ok {
		return
	}
	at := service.get("name").at
	f.add(target, RuleService, at)
	labels := f.items[target].node.Object.Map("spec", "selector")
	for _, workload := range f.selected(r.Namespace, labels) {
		f.add(workload, RuleWebhook, at)
	}
}

// addWebhookResources makes edges from the custom resources that a webhook validates onto its
// configuration, so that they follow the workload behind it. Webhooks that
// ignore failures hold nothing up, and those without a Service in the render are
// not ours to wait for. The plural of a kind is known from its CRD.
func (f *finder) addWebhookResources(webhook cursor) {
	service := webhook.get("clientConfig", "service")
	r := object.Ref{Kind: "Service", Namespace: service.get("namespace").text(), Name: service.get("name").text()}
	if _, ok := f.refs[r]; !ok || webhook.get("failurePolicy").text() == "Ignore" {
		return
	}
	for _, rule := range webhook.get("rules").items() {
		resources := texts(rule.get("resources"))
		for _, group := range texts(rule.get("apiGroups")) {
			for _, custom := range f.customs[group] {
				it := f.items[custom]
				crd := f.items[f.crds[crdKey{it.ref.Group, it.ref.Kind}]].node.Object
				if slices.Contains(resources, crd.Text("spec", "names", "plural")) || slices.Contains(resources, "*") {
					at := root(it.node.Object).get("kind").at
					f.candidates = append(f.candidates, candidate{custom, f.from, RuleWebhook, uncertain, at})
				}
			}
		}
	}
}

func texts(c cursor) []string {
	var out []string
	for _, i := range c.items() {
		out = append(out, i.text())
	}
	return out
}

func (f *finder) findGateway(spec cursor) {
	for _, l := range spec.get("listeners").items() {
		for _, s := range l.get("tls", "certificateRefs").items() {
			f.addSecretIn(cmp.Or(s.get("namespace").text(), f.item.ref.Namespace), s.get("name"))
		}
	}
}

func (f *finder) findRoute(spec cursor) {
	for _, p := range spec.get("parentRefs").items() {
		f.addReference(p, gatewayGroup, "Gateway", RuleReference)
	}
	for _, r := range spec.get("rules").items() {
		for _, b := range r.get("backendRefs").items() {
			f.addReference(b, "", "Service", RuleService)
		}
	}
}

// addReference makes an edge onto what a {group, kind, namespace, name} names.
func (f *finder) addReference(c cursor, group, kind string, rule Rule) {
	if g := c.get("group"); g.value != nil {
		group = g.text()
	}
	f.addRef(object.Ref{
		Group: group, Kind: cmp.Or(c.get("kind").text(), kind),
		Namespace: cmp.Or(c.get("namespace").text(), f.item.ref.Namespace), Name: c.get("name").text(),
	}, rule, c.get("name").at)
}

func (f *finder) findTraefik(spec cursor) {
	f.addSecret(spec.get("tls", "secretName"))
	for _, r := range spec.get("routes").items() {
		for _, s := range r.get("services").items() {
			f.addReference(s, "", "Service", RuleService)
			transport := s.get("serversTransport")
			ref := object.Ref{Group: "traefik.io", Kind: "ServersTransport", Namespace: f.item.ref.Namespace, Name: transport.text()}
			f.addRef(ref, RuleReference, transport.at)
		}
		for _, m := range r.get("middlewares").items() {
			f.addReference(m, "traefik.io", "Middleware", RuleReference)
		}
	}
}
