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

// lowerContainers returns the containers of the pod, and the objects that they read. Containers in
// init come before others; Kubernetes starts them one by one, each when the previous container is
// complete or, for a sidecar, started and past its startup probe.
func lowerContainers(errs *mistakes, r *Resolved, mounts [][]object.Value) (init, main []object.Value, read objects) {
	lower := func(i int, ready string, serves bool) object.Value {
		container, objects := lowerContainer(errs, r, i, ready, serves, mounts[i])
		read = read.join(objects)
		return container
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
		firstOfKnative := r.Workload.Kind.Value == score.KindKnativeService && n == 0
		serves := len(others) == 1 || firstOfKnative
		main = append(main, lower(i, "", serves))
	}
	return init, main, read
}

// lowerContainer returns a container in the shape of the Kubernetes API, and the objects that it
// reads. The argument ready is the state that others wait for: complete makes an init container,
// started and healthy make a sidecar, and "" makes a main container of the pod. A container that
// serves listens at every port of the service.
func lowerContainer(errs *mistakes, r *Resolved, i int, ready string, serves bool, mounts []object.Value) (object.Value, objects) {
	c := &r.Containers[i]
	s := &c.Spec
	checkImage(errs, r, s)
	env, envFrom, read := assignVariables(errs, r, c).finish()

	// The fields that Score knows.
	m := make(members, 0, 12)
	m.put("name", object.TextAt(s.Name, s.Pos))
	image, _ := Mirrored(s.Image.Value, r.Config.Images.Mirrors)
	m.put("image", object.TextAt(image, s.Image.Pos))
	m.put("command", lowerTexts(s.Command))
	m.put("args", lowerTexts(s.Args))
	m.put("env", env)
	m.put("envFrom", envFrom)
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
	return m.value(s.Pos), read
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
	errs.fail(s.Image.Pos, errs.path("containers", s.Name, "image"), "give --image "+name+"=IMAGE",
		"the image is left to the deployment, and none was given")
}

// containerPorts returns the ports of the service that a container listens at: every port if it
// serves, and otherwise the ports of its probes, as no others are known. A port of a container is a
// note for the reader, and a name for probes: Services and policies use the number.
func containerPorts(w *score.Workload, s *score.Container, ready string, everyPort bool) object.Value {
	knative := w.Kind.Value == score.KindKnativeService
	if ready == score.ReadyComplete || (knative && !everyPort) {
		return object.Value{}
	}
	var probed []string
	if !everyPort {
		probed = probedPorts(s)
	}

	// Two ports of a Service may lead to one port of the container, which is listed once.
	type number struct {
		port     int
		protocol string
	}
	var items []object.Value
	listed := map[number]bool{}
	for _, p := range w.Ports {
		n := number{p.Target, p.Protocol}
		used := everyPort || slices.Contains(probed, p.Name) || slices.Contains(probed, strconv.Itoa(p.Target))
		if listed[n] || !used {
			continue
		}
		listed[n] = true
		name := ""
		if isPortName(p.Name) && (!knative || isKnativePortName(p.Name)) {
			name = p.Name
		}
		items = append(items, MapOf(p.Pos, member("name", lowerGiven(name, p.Pos)),
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
// at most 15 characters with a letter among them, and no two hyphens in a row. Ports of a
// service may have longer names.
func isPortName(name string) bool {
	const longest = 15
	hasLetter := strings.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' })
	return len(name) <= longest && hasLetter && !strings.Contains(name, "--")
}

func resources(s *score.Container) object.Value {
	requests, limits := lowerPairs(s.Requests), lowerPairs(s.Limits)
	if requests.Kind == object.KindNone && limits.Kind == object.KindNone {
		return object.Value{}
	}
	return MapOf(s.Pos, member("requests", requests), member("limits", limits))
}

// Mirrored returns the image at the mirror with the longest prefix that fits, with its tag and
// its digest. It returns false if no mirror has the image. The name nginx means
// docker.io/library/nginx.
func Mirrored(image string, mirrors []spec.Mirror) (mirrored string, ok bool) {
	if len(mirrors) == 0 {
		return image, false
	}
	full, name := normalImage(image)
	if _, repository, _ := strings.Cut(name, "/"); image == "." || repository != strings.ToLower(repository) {
		return image, false // It is not the name of an image.
	}
	var best spec.Mirror
	for _, m := range mirrors {
		after, found := strings.CutPrefix(name, m.Prefix)
		fits := found && (after == "" || after[0] == '/')
		if fits && len(m.Prefix) > len(best.Prefix) {
			best = m
		}
	}
	if best.Prefix == "" {
		return image, false
	}
	return best.To + strings.TrimPrefix(full, best.Prefix), true
}

// normalImage returns an image with its registry, and the same without tag and digest. An image
// without a registry belongs to Docker Hub. The rule is from github.com/distribution/reference,
// which takes a millisecond of every start.
func normalImage(image string) (full, name string) {
	host, _, hasHost := strings.Cut(image, "/")
	switch {
	case !hasHost:
		full = "docker.io/library/" + image
	case !strings.ContainsAny(host, ".:") && host != "localhost" && host == strings.ToLower(host):
		full = "docker.io/" + image
	default:
		full = image
		if repository, isOldHost := strings.CutPrefix(image, "index.docker.io/"); isOldHost {
			full = "docker.io/" + repository
		}
	}
	name, _, _ = strings.Cut(full, "@")
	if tag := strings.LastIndexByte(name, ':'); tag > strings.LastIndexByte(name, '/') {
		name = name[:tag]
	}
	return full, name
}

// lowerPod returns the author's fields of the pods, with the Secrets for the registries of the
// project after the author's Secrets.
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
	return pod.Merge(MapOf(pod.Pos, member("imagePullSecrets", lowerList(items, pod.Pos))))
}
