// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// container returns a container in the shape of the Kubernetes API. The argument ready is what
// others wait for: complete makes an init container, started and healthy make a sidecar, and ""
// one of the main containers of the pod.
func (l *lowering) container(i int, ready string) object.Value {
	c := &l.r.Containers[i]
	s := &c.Spec
	l.checkImage(s)
	env, from := l.environment(c).finish()

	// The fields that Score knows.
	m := make(members, 0, 12)
	m.put("name", object.TextAt(s.Name, s.Pos))
	image, _ := Mirrored(s.Image.Value, l.r.Config.Images.Mirrors)
	m.put("image", object.TextAt(image, s.Image.Pos))
	m.put("command", lowerTexts(s.Command))
	m.put("args", lowerTexts(s.Args))
	m.put("env", env)
	m.put("envFrom", from)
	m.put("ports", l.containerPorts(s, ready))
	m.put("resources", resources(s))
	m.put("volumeMounts", lowerList(l.mounts[i], s.Pos))
	l.addProbes(&m, s, ready)
	m.put("securityContext", s.SecurityContext)
	if ready == score.ReadyStarted || ready == score.ReadyHealthy {
		m.put("restartPolicy", object.TextAt("Always", s.Before[0].Pos))
	}

	// Fields of Kubernetes are passed on. An init container has no hooks.
	for _, f := range s.Further.Members {
		if f.Name == "lifecycle" && ready == score.ReadyComplete {
			l.warn(f.Value.Pos, l.extra("containers", s.Name, f.Name), "",
				"left out: others wait until the container is complete, and Kubernetes runs no hooks for such a container")
			continue
		}
		m = append(m, f)
	}
	return m.value(s.Pos)
}

// checkImage reports an image that Score leaves to the deployment.
func (l *lowering) checkImage(s *score.Container) {
	if s.Image.Value != "." {
		return
	}
	name := l.name
	if len(l.r.Containers) > 1 {
		name += "/" + s.Name
	}
	l.fail(s.Image.Pos, l.at("containers", s.Name, "image"), "give --image "+name+"=IMAGE",
		"the image is left to the deployment, and none was given")
}

// containerPorts returns the ports of the service that a container listens at: all of them if it
// is the only one of the pod, and otherwise those of its probes, as nothing else is known. A port
// of a container is a note for the reader, and a name for probes: Services and policies use the
// number.
func (l *lowering) containerPorts(s *score.Container, ready string) object.Value {
	if ready == score.ReadyComplete {
		return object.Value{}
	}
	all := ready == "" && (l.main == 1 || l.kind == score.KindKnativeService && s.Name == l.first)
	if l.kind == score.KindKnativeService && !all {
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
	for _, p := range l.spec.Ports {
		n := number{p.Target, p.Protocol}
		if taken[n] || !all && !slices.Contains(probed, p.Name) && !slices.Contains(probed, strconv.Itoa(p.Target)) {
			continue
		}
		taken[n] = true
		name := ""
		if isPortName(p.Name) && (l.kind != score.KindKnativeService || isKnativePortName(p.Name)) {
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

// pod returns what the author wrote of the pods, with the Secrets for the registries of the
// project behind those of the author.
func (l *lowering) pod() object.Value {
	images := l.r.Config.Images
	pod := l.spec.Pod
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

// containers returns the containers of the pod. Those of init come before others, each before all
// that wait for it. Those of main are in the order of the document: tools use the first one as
// the main one (kubectl logs). Kubernetes starts the former one by one, each when the one before
// it is complete or, for a sidecar, started and past its startup probe.
func (l *lowering) containers() (init, main []object.Value) {
	order := l.beforeOrder()
	l.main = len(l.r.Containers) - len(order)
	for _, i := range order {
		c := &l.r.Containers[i].Spec
		ready := strongest(c)
		if ready != score.ReadyComplete {
			l.checkSidecar(c)
		}
		init = append(init, l.container(i, ready))
	}
	var others []int
	for i := range l.r.Containers {
		if len(l.r.Containers[i].Spec.Before) == 0 {
			others = append(others, i)
		}
	}
	slices.SortStableFunc(others, func(a, b int) int {
		return cmp.Compare(l.r.Containers[a].Spec.Order, l.r.Containers[b].Spec.Order)
	})
	if len(others) > 0 {
		l.first = l.r.Containers[others[0]].Spec.Name
	}
	for _, i := range others {
		main = append(main, l.container(i, ""))
	}
	return init, main
}
