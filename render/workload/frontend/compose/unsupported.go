// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/builder"
)

// meaningless returns the fields that do not change the meaning of a service.
func meaningless() []string {
	return []string{
		"attach", "blkio_config", "cgroup_parent", "container_name", "cpu_count", "cpu_percent", "cpu_period", "cpu_quota", "cpu_rt_period",
		"cpu_rt_runtime", "cpu_shares", "cpuset", "develop", "domainname", "init", "isolation", "label_file", "log_driver", "log_opt", "logging",
		"mac_address", "mem_swappiness", "memswap_limit", "oom_kill_disable", "oom_score_adj", "pids_limit", "platform",
		"pull_refresh_after", "storage_opt", "stop_signal", "ulimits", "umask", "volume_driver",
	}
}

// unsupported maps the fields that change the meaning of a service and have no counterpart to hints.
func unsupported() map[string]string {
	const extend = "write x-ropewalk with the fields of a Workload"
	return map[string]string{
		"cgroup": extend, "credential_spec": extend, "device_cgroup_rules": extend,
		"devices": extend, "gpus": extend, "runtime": extend, "models": extend,
		"external_links": "name the host itself", "ipc": extend, "pid": extend, "uts": extend,
		"userns_mode": extend, "use_api_socket": extend,
		"net": "write networks", "network_mode": "write networks, or x-ropewalk: {pod: {hostNetwork: true}}",
		"pre_start": extend, "post_start": extend + ": containers.NAME.lifecycle", "pre_stop": extend + ": containers.NAME.lifecycle",
		"provider": "declare a resource in x-ropewalk", "volumes_from": "mount the named volumes", "dockerfile": "write build",
	}
}

// reportUnsupported reports the fields that are not carried over.
func (s *service) reportUnsupported() {
	refusals := unsupported()
	for _, m := range s.Entries() {
		field := m.Part
		field.Pos = m.NamePos
		hint, isUnsupported := refusals[m.Name]
		switch value, _ := m.Get("count"); {
		case isUnsupported && value.Text == "0":
		case m.Name == "container_name" && m.Text != s.label:
			field.Warn("use "+s.label+" where other services name it", "the name of a container has no meaning in Kubernetes")
		case m.Name == "network_mode" && (m.Text == "bridge" || m.Text == "default"):
		case m.Name == "ipc" && (m.Text == "private" || m.Text == "shareable"):
		case slices.Contains(meaningless(), m.Name):
			field.Warn("remove it", "%s has no meaning in Kubernetes", m.Name)
		case isUnsupported:
			s.app.failBeside(field, hint, "%s has no counterpart in a Workload", m.Name)
		}
	}
	d := s.At("deploy")
	warnUnused(d, "update_config", "rollback_config", "endpoint_mode", "labels")
	warnUnused(d.At("restart_policy"), "delay", "window")
	if p := d.At("placement"); p.Given() {
		s.app.failBeside(p, "write x-ropewalk: {pod: {nodeSelector: …}} or affinity", "the labels of nodes differ from those of Swarm")
	}
}

// setLabels sets annotations, and applies the labels of kompose.
func (s *service) setLabels() {
	for _, name := range []string{"annotations", "labels"} {
		for _, l := range s.At(name).Entries() {
			key := l.Part
			key.Pos = l.NamePos
			switch _, kompose := strings.CutPrefix(l.Name, "kompose."); {
			case kompose:
			case strings.HasPrefix(l.Name, "traefik."):
				key.Warn("write x-ropewalk: {route: {host: …}}", "labels of Traefik have no effect in Kubernetes")
			case !isKey(l.Name):
				key.Warn("remove it", "the label %q cannot be an annotation of Kubernetes, and is left out", l.Name)
			default:
				s.annotations = append(slices.DeleteFunc(s.annotations, func(m object.Member) bool { return m.Name == l.Name }),
					object.Member{Name: l.Name, Pos: l.NamePos, Value: object.TextAt(l.Written(), l.Pos)})
			}
		}
	}
	for _, name := range object.SortedKeys(s.kompose) {
		s.applyLabel(name, s.kompose[name])
	}
}

// isKey reports whether a label can be the key of an annotation.
func isKey(name string) bool {
	const (
		longest = 63
		letters = "-_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	)
	prefix, key, found := strings.Cut(name, "/")
	if !found {
		prefix, key = "", name
	}
	alphanumeric := func(c rune) bool {
		return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
	}
	inner := strings.TrimFunc(key, alphanumeric)
	if key == "" || len(key) > longest || strings.Trim(inner, letters) != "" {
		return false
	}
	if !alphanumeric(rune(key[0])) || !alphanumeric(rune(key[len(key)-1])) {
		return false
	}

	// A prefix is a DNS name.
	prefix = strings.ReplaceAll(prefix, ".", "-")
	return !found || builder.Label(prefix) == prefix
}

// applyLabel applies a label of kompose. It skips the labels that are read elsewhere.
func (s *service) applyLabel(name string, p document.Part) {
	value := object.TextAt(p.Written(), p.Pos)
	switch name {
	case "service.type":
		switch kind := strings.ToLower(value.Text); kind {
		case "clusterip", "headless", "":
		default:
			p.Fail("write x-ropewalk: {route: {host: …}}", "a Workload has no Service of type %q", value.Text)
		}
	case "service.expose":
		if value.Text == "" || value.Text == "false" {
			return
		}
		host := value
		if host.Text == "true" {
			s.resources.Put("dns", builder.Pairs(p.Pos, "type", object.TextAt("dns", p.Pos)))
			host.Text = "${resources.dns.host}"
		}
		hosts := strings.Split(host.Text, ",")
		for i, h := range hosts {
			domain, route, _ := strings.Cut(strings.TrimSpace(h), "/")
			params := builder.Fields{{Name: "host", Pos: p.Pos, Value: object.TextAt(domain, p.Pos)}}
			if route != "" {
				params.Put("path", object.TextAt("/"+route, p.Pos))
			}
			s.setRoutePort(&params)
			resource := []string{"route", "route-" + builder.Label(domain)}[min(i, 1)]
			s.resources.Put(resource, builder.Pairs(p.Pos, "type", object.TextAt("route", p.Pos), "params", params.Value(p.Pos)))
		}
	case "controller.type":
		switch kind := strings.ToLower(value.Text); kind {
		case "deployment":
			s.spec.Put("kind", object.TextAt("Deployment", p.Pos))
		case "statefulset":
			s.spec.Put("kind", object.TextAt("StatefulSet", p.Pos))
		default:
			p.Fail("expected deployment or statefulset", "a Workload is no %q", value.Text)
		}
	case "serviceaccount-name":
		s.spec.Put("serviceAccount", builder.Pairs(p.Pos, "name", value, "existing", object.BoolAt(true, p.Pos)))
	case "image-pull-secret":
		s.pod.Put("imagePullSecrets", object.ListAt(p.Pos, builder.Pairs(p.Pos, "name", value)))
	case "image-pull-policy":
		s.container = slices.DeleteFunc(s.container, func(m object.Member) bool { return m.Name == "imagePullPolicy" })
		i := slices.IndexFunc(pullPolicies[:], func(isProbe string) bool { return strings.EqualFold(isProbe, value.Text) })
		if i < 0 {
			p.Fail("expected Always, IfNotPresent or Never", "%q is not known", value.Text)
			return
		}
		s.container.Put("imagePullPolicy", object.TextAt(pullPolicies[i], p.Pos))
	case "security-context.fsgroup":
		s.podSecurity.Put("fsGroup", numberOf(p))
	case "cronjob.schedule":
		s.spec = slices.DeleteFunc(s.spec, func(m object.Member) bool { return m.Name == "kind" || m.Name == "replicas" })
		s.spec.Put("kind", object.TextAt("CronJob", p.Pos))
		s.spec.Put("schedule", value)
	case "cronjob.concurrency_policy":
		s.jobFields.Put("concurrencyPolicy", value)
	case "cronjob.backoff_limit":
		s.jobFields = slices.DeleteFunc(s.jobFields, func(m object.Member) bool { return m.Name == "backoffLimit" })
		s.jobFields.Put("backoffLimit", numberOf(p))
	case "hpa.replicas.min", "hpa.replicas.max", "hpa.cpu", "hpa.memory", "volume.size", "volume.storage-class-name":
	default:
		probe, isProbe := strings.CutPrefix(name, "service.healthcheck.")
		_, probe, _ = strings.Cut(probe, ".")
		if !isProbe || !slices.Contains([]string{"http_get_path", "http_get_port", "tcp_port"}, probe) {
			p.Fail("write x-ropewalk with the fields of a Workload", "the label kompose.%s is not carried over", name)
		}
	}
}

var pullPolicies = [...]string{"Always", "IfNotPresent", "Never"} //nolint:gochecknoglobals // a constant

// setRoutePort sets the port of a route to the first entry of ports, if there is an entry.
func (s *service) setRoutePort(params *builder.Fields) {
	if ports := s.List("ports"); len(ports) > 0 {
		target := ports[0].At("target")
		params.Put("port", target.Value)
	}
}
