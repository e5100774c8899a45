// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"maps"
	"regexp"
	"strings"

	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

// place is a text of an object.
type place struct {
	path object.Path
	text string
}

// serving returns the paths of the hosts that objects of a kind serve. In a path, * is every item
// of a list.
func serving(groupKind string) []string {
	switch groupKind {
	case "Ingress.networking.k8s.io":
		return []string{"spec.rules.*.host", "spec.tls.*.hosts.*"}
	case "Gateway.gateway.networking.k8s.io":
		return []string{"spec.listeners.*.hostname"}
	case "HTTPRoute.gateway.networking.k8s.io", "GRPCRoute.gateway.networking.k8s.io", "TLSRoute.gateway.networking.k8s.io":
		return []string{"spec.hostnames.*"}
	case "VirtualService.networking.istio.io":
		return []string{"spec.hosts.*"}
	case "Gateway.networking.istio.io":
		return []string{"spec.servers.*.hosts.*"}
	case "Certificate.cert-manager.io":
		return []string{"spec.commonName", "spec.dnsNames.*"}
	case "IngressRoute.traefik.io", "IngressRouteTCP.traefik.io", "IngressRoute.traefik.containo.us", "IngressRouteTCP.traefik.containo.us":
		return []string{"spec.routes.*.match", "spec.tls.domains.*.main", "spec.tls.domains.*.sans.*"}
	case "HTTPScaledObject.http.keda.sh":
		return []string{"spec.hosts.*"}
	case "InterceptorRoute.http.keda.sh":
		return []string{"spec.rules.*.hosts.*"}
	case "Canary.flagger.app":
		return []string{"spec.service.hosts.*"}
	case "HTTPProxy.projectcontour.io":
		return []string{"spec.virtualhost.fqdn"}
	case "Route.route.openshift.io":
		return []string{"spec.host"}
	}
	return nil
}

// matcher is a function of a rule of Traefik with its texts.
var matcher = regexp.MustCompile(`Host(?:SNI)?(Regexp)?\(([^)]*)\)`)

// hostsOf returns the hosts that an object serves, with * for every host. A name that is no host,
// such as the common name of an authority, is left out.
func hostsOf(o object.Object, outside func(object.Object) bool) (out []place) {
	kind := o.Ref().GroupKind()
	for _, pattern := range serving(kind) {
		for _, p := range find(map[string]any(o), nil, strings.Split(pattern, ".")) {
			out = append(out, split(kind, p)...)
		}
	}
	for _, name := range []string{"hostname", "internal-hostname"} {
		key := "external-dns.alpha.kubernetes.io/" + name
		for text := range strings.SplitSeq(o.Annotations()[key], ",") {
			out = append(out, place{object.Fields("metadata", "annotations", key), strings.TrimSpace(text)})
		}
	}
	return append(out, open(o, kind, len(o.List("spec", "hostnames")) == 0 && outside(o))...)
}

// split returns the hosts in a text. A rule of Traefik has several, and Istio puts a namespace
// before them.
func split(kind string, p place) []place {
	if p.path[len(p.path)-1].Name == "match" {
		var out []place
		for _, m := range matcher.FindAllStringSubmatch(p.text, -1) {
			for text := range strings.SplitSeq(m[2], ",") {
				out = append(out, place{p.path, strings.Trim(text, " `\"")})
			}
			if m[1] != "" {
				return []place{{p.path, "*"}}
			}
		}
		if out == nil {
			out = []place{{p.path, "*"}}
		}
		return out
	}
	if _, host, ok := strings.Cut(p.text, "/"); ok {
		p.text = host
	}
	if kind == "VirtualService.networking.istio.io" && p.text == "*" {
		return nil // Its gateways say which.
	}
	return []place{p}
}

// open returns the parts of an object that serve every host. The argument shared means that a
// gateway outside of the render leads to it.
func open(o object.Object, kind string, shared bool) (out []place) {
	switch kind {
	case "Ingress.networking.k8s.io":
		for i, rule := range o.List("spec", "rules") {
			if m, ok := rule.(map[string]any); ok && (m["host"] == nil || m["host"] == "") {
				out = append(out, place{object.Fields("spec", "rules").Append(object.Index(i)), "*"})
			}
		}
		if o.Get("spec", "defaultBackend") != nil {
			out = append(out, place{object.Fields("spec", "defaultBackend"), "*"})
		}
	case "HTTPRoute.gateway.networking.k8s.io", "GRPCRoute.gateway.networking.k8s.io":
		if shared {
			out = append(out, place{object.Fields("spec"), "*"})
		}
	case "VirtualService.networking.istio.io":
		for i, host := range o.List("spec", "hosts") {
			if host == "*" && shared {
				out = append(out, place{object.Fields("spec", "hosts").Append(object.Index(i)), "*"})
			}
		}
	}
	return out
}

// gateways reports whether an object is led to by a gateway that the nodes do not have.
func gateways(nodes []*object.Node) func(object.Object) bool {
	seen := map[string]bool{"": true, "mesh": true}
	for _, n := range nodes {
		if n.Object.Kind() == "Gateway" {
			seen[n.Object.Name()] = true
		}
	}
	return func(o object.Object) bool {
		for _, ref := range o.List("spec", "parentRefs") {
			m, _ := ref.(map[string]any)
			name, _ := m["name"].(string)
			if (m["kind"] == nil || m["kind"] == "Gateway") && !seen[name] {
				return true
			}
		}
		for _, ref := range o.List("spec", "gateways") {
			name, _ := ref.(string)
			if !seen[name[strings.LastIndex(name, "/")+1:]] {
				return true
			}
		}
		return false
	}
}

// findHosts finds the hosts that the nodes serve, and the host of the preview for each of them.
func (w *rewriter) findHosts(nodes []*object.Node) (errs object.Errors) {
	// Each host gets its name in the preview once.
	hosts := map[string]string{}
	outside := gateways(nodes)
	for _, n := range nodes {
		for _, p := range hostsOf(n.Object, outside) {
			host := strings.TrimSuffix(strings.ToLower(p.text), ".")
			_, known := hosts[host]
			switch {
			case p.text == "*":
				errs = append(errs, fail(n.ID, p.path, "name its host, or "+ofAnother, "every host is served here: previews would fight over them"))
			case known || w.inCluster(n.Object, host):
			case w.rules.Host.Text == "":
				hosts[host] = ""
				errs = append(errs, fail(n.ID, p.path, "add host: pr-${preview}.${host}, or another rule, to spec.previews of the project",
					"the host %q is served, and spec.previews has no rule for hosts", p.text))
			default:
				to, err := w.rules.host(host)
				hosts[host] = to
				if err != nil {
					errs = append(errs, one(err))
				}
			}
		}
	}

	// Two hosts must stay two in every preview.
	if len(errs) > 0 || w.rules.Host.Text == "" {
		return errs
	}
	names := object.SortedKeys(hosts)
	if len(names) > 1 && !strings.Contains(w.rules.Host.Text, hostPlace) {
		errs = append(errs, w.rules.fail("host", w.rules.Host, "add ${host} to it",
			"the rule is for one host, and %d are served: %s", len(names), strings.Join(names, ", ")))
	}
	errs = append(errs, w.rules.ambiguous("host", w.rules.Host, hostPlace, names)...)
	maps.Copy(w.names, hosts)
	return errs
}

// inCluster reports whether a host of an object is none but the name of a service, or of
// something else.
func (w *rewriter) inCluster(o object.Object, host string) bool {
	if !strings.Contains(host, ".") || !kinds.Subdomain(strings.TrimPrefix(host, "*."), 1) {
		return true
	}
	if strings.HasSuffix(host, ".svc") || strings.Contains(host, ".svc.") {
		return true
	}
	return o.Kind() != "Ingress" && w.names[host] != ""
}

// find returns the texts at a path below v.
func find(v any, path object.Path, steps []string) (out []place) {
	if len(steps) == 0 {
		if text, ok := v.(string); ok && text != "" {
			return []place{{path, text}}
		}
		return nil
	}
	if list, ok := v.([]any); ok && steps[0] == "*" {
		for i, item := range list {
			out = append(out, find(item, path.Append(object.Index(i)), steps[1:])...)
		}
		return out
	}
	if m, ok := v.(map[string]any); ok {
		return find(m[steps[0]], path.Append(object.Field(steps[0])), steps[1:])
	}
	return nil
}
