// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// lowerContainers returns the containers of the pod, and the objects that they read. Those of init
// come before others; Kubernetes starts them one by one, each when the one before it is complete
// or, for a sidecar, started and past its startup probe.
func lowerContainers(errs *mistakes, r *Resolved, mounts [][]object.Value) (init, main []object.Value, made objects) {
	lower := func(i int, ready string, serves bool) object.Value {
		c, read := lowerContainer(errs, r, i, ready, serves, mounts[i])
		made = made.join(read)
		return c
	}
	before, others := arrange(r.Containers)
	for _, i := range before {
		c := &r.Containers[i].Spec
		ready := strongest(c)
		if ready != score.ReadyComplete {
			checkSidecar(errs, c, r.Context.KubeVersion)
		}
		init = append(init, lower(i, ready, false))
	}
	for n, i := range others {
		serves := len(others) == 1 || r.Workload.Kind.Value == score.KindKnativeService && n == 0
		main = append(main, lower(i, "", serves))
	}
	return init, main, made
}

// lowerContainer returns a container in the shape of the Kubernetes API, and the objects that it
// reads. The argument ready is what others wait for: complete makes an init container, started and
// healthy make a sidecar, and "" one of the main containers of the pod. One that serves listens at
// every port of the service.
func lowerContainer(errs *mistakes, r *Resolved, i int, ready string, serves bool, mounts []object.Value) (object.Value, objects) {
	c := &r.Containers[i]
	s := &c.Spec
	checkImage(errs, r, s)
	env, from, made := assignVariables(errs, r, c).finish()

	// The fields that Score knows.
	m := make(members, 0, 12)
	m.put("name", object.TextAt(s.Name, s.Pos))
	image, _ := Mirrored(s.Image.Value, r.Config.Images.Mirrors)
	m.put("image", object.TextAt(image, s.Image.Pos))
	m.put("command", lowerTexts(s.Command))
	m.put("args", lowerTexts(s.Args))
	m.put("env", env)
	m.put("envFrom", from)
	m.put("ports", containerPorts(&r.Workload, s, ready, serves))
	m.put("resources", resources(s))
	m.put("volumeMounts", lowerList(mounts, s.Pos))
	m = append(m, lowerProbes(errs, s, ready)...)
	m.put("securityContext", s.SecurityContext)
	if ready == score.ReadyStarted || ready == score.ReadyHealthy {
		m.put("restartPolicy", object.TextAt("Always", s.Before[0].Pos))
	}

	// Fields of Kubernetes are passed on. An init container has no hooks.
	for _, f := range s.Further.Members {
		if f.Name == "lifecycle" && ready == score.ReadyComplete {
			errs.warn(f.Value.Pos, errs.extra("containers", s.Name, f.Name), "",
				"left out: others wait until the container is complete, and Kubernetes runs no hooks for such a container")
			continue
		}
		m = append(m, f)
	}
	return m.value(s.Pos), made
}

// checkImage reports an image that Score leaves to the deployment.
func checkImage(errs *mistakes, r *Resolved, s *score.Container) {
	if s.Image.Value != "." {
		return
	}
	name := r.Workload.Name.Value
	if len(r.Containers) > 1 {
		name += "/" + s.Name
	}
	errs.fail(s.Image.Pos, errs.at("containers", s.Name, "image"), "give --image "+name+"=IMAGE",
		"the image is left to the deployment, and none was given")
}

// containerPorts returns the ports of the service that a container listens at: all of them if it
// serves, and otherwise those of its probes, as nothing else is known. A port of a container is a
// note for the reader, and a name for probes: Services and policies use the number.
func containerPorts(w *score.Workload, s *score.Container, ready string, all bool) object.Value {
	knative := w.Kind.Value == score.KindKnativeService
	if ready == score.ReadyComplete || knative && !all {
		return object.Value{}
	}
	var probed []string
	if !all {
		probed = probedPorts(s)
	}

	// Services may have two ports for one of the container, which is listed once.
	type number struct {
		port     int
		protocol string
	}
	var items []object.Value
	taken := map[number]bool{}
	for _, p := range w.Ports {
		n := number{p.Target, p.Protocol}
		if taken[n] || !all && !slices.Contains(probed, p.Name) && !slices.Contains(probed, strconv.Itoa(p.Target)) {
			continue
		}
		taken[n] = true
		name := ""
		if isPortName(p.Name) && (!knative || isKnativePortName(p.Name)) {
			name = p.Name
		}
		items = append(items, MapOf(p.Pos, with("name", lowerGiven(name, p.Pos)),
			IntMember("containerPort", p.Target, p.Pos), StringMember("protocol", p.Protocol, p.Pos)))
	}
	return lowerList(items, s.Pos)
}

// probedPorts returns the numbers and names of ports that the probes of a container use.
func probedPorts(s *score.Container) []string {
	var out []string
	for _, probe := range []object.Value{s.LivenessProbe, s.ReadinessProbe, s.StartupProbe} {
		for _, action := range probe.Members {
			if port, ok := action.Value.Get("port"); ok {
				out = append(out, port.Text)
			}
		}
	}
	return out
}

// isPortName reports whether a port of a container can have the name (RFC 6335):
// at most 15 letters, one of them no digit, no two hyphens in a row. Ports of a
// service may have longer ones.
func isPortName(name string) bool {
	const most = 15
	return len(name) <= most && !strings.Contains(name, "--") && strings.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' })
}

func resources(s *score.Container) object.Value {
	requests, limits := lowerPairs(s.Requests), lowerPairs(s.Limits)
	if requests.Kind == object.KindNone && limits.Kind == object.KindNone {
		return object.Value{}
	}
	return MapOf(s.Pos, with("requests", requests), with("limits", limits))
}

// Mirrored returns the image at the mirror with the longest prefix that fits, with its tag and
// its digest. It returns false if no mirror has the image. The name nginx means
// docker.io/library/nginx.
func Mirrored(image string, mirrors []spec.Mirror) (out string, ok bool) {
	if len(mirrors) == 0 {
		return image, false
	}
	whole, name := normalImage(image)
	if _, repository, _ := strings.Cut(name, "/"); image == "." || repository != strings.ToLower(repository) {
		return image, false // It is none.
	}
	var best spec.Mirror
	for _, m := range mirrors {
		if rest, found := strings.CutPrefix(name, m.Prefix); found && (rest == "" || rest[0] == '/') && len(m.Prefix) > len(best.Prefix) {
			best = m
		}
	}
	if best.Prefix == "" {
		return image, false
	}
	return best.To + strings.TrimPrefix(whole, best.Prefix), true
}

// normalImage returns an image with its registry, and the same without tag and digest. An image
// that names no registry is of Docker Hub (github.com/distribution/reference has the rule, and
// takes a millisecond of every start).
func normalImage(image string) (whole, name string) {
	host, _, deep := strings.Cut(image, "/")
	switch {
	case !deep:
		whole = "docker.io/library/" + image
	case !strings.ContainsAny(host, ".:") && host != "localhost" && host == strings.ToLower(host):
		whole = "docker.io/" + image
	default:
		whole = image
		if rest, old := strings.CutPrefix(image, "index.docker.io/"); old {
			whole = "docker.io/" + rest
		}
	}
	name, _, _ = strings.Cut(whole, "@")
	if tag := strings.LastIndexByte(name, ':'); tag > strings.LastIndexByte(name, '/') {
		name = name[:tag]
	}
	return whole, name
}

// lowerPod returns what the author wrote of the pods, with the Secrets for the registries of the
// project behind those of the author.
func lowerPod(pod object.Value, images spec.Images) object.Value {
	names := slices.Concat(images.PullSecrets, object.SortedKeys(images.PullSecretsFrom))
	if len(names) == 0 {
		return pod
	}
	list, _ := pod.Get("imagePullSecrets")
	items := slices.Clone(list.Items)
	for _, name := range names {
		if !slices.ContainsFunc(items, func(v object.Value) bool { n, _ := v.Get("name"); return n.Text == name }) {
			items = append(items, MapOf(object.Pos{}, StringMember("name", name, object.Pos{})))
		}
	}
	return pod.Merge(MapOf(pod.Pos, with("imagePullSecrets", lowerList(items, pod.Pos))))
}
