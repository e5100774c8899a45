// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/placeholder"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// application is the services of a model whose profiles are active, sorted by name.
type application struct {
	root     part
	services []*service
	byName   map[string]*service
	// mounts are the services that mount each named volume.
	mounts map[string][]*service
}

// service is a service that becomes a workload.
type service struct {
	part
	app *application
	// name is that in the file, label the same as a DNS label.
	name, label string
	namePos     object.Pos
	// completed is where another service waits for this one to end, and reached is set
	// where others wait for it to run.
	completed part
	reached   bool
	job       bool
	// The parts of the workload in the making.
	spec, container, pod, podSecurity, security, resources, annotations, jobFields fields
	files, mounted                                                                 fields
	// called are the resources of the service by their name, as the author called them.
	called map[string]string
	// kompose are the labels that kompose reads.
	kompose map[string]part
}

func newApplication(root part) *application {
	a := &application{root: root, byName: map[string]*service{}, mounts: map[string][]*service{}}
	for _, m := range root.get("services").members() {
		profiles := m.get("profiles").items()
		active := len(profiles) == 0 || slices.ContainsFunc(profiles, func(p part) bool {
			return slices.Contains(root.profiles, p.text()) || slices.Contains(root.profiles, "*")
		})
		if !active || m.Kind != object.KindMap {
			continue
		}
		s := &service{part: m.part, app: a, name: m.name, namePos: m.namePos, label: label(m.name), kompose: map[string]part{}, called: map[string]string{}}
		for _, l := range m.get("labels").members() {
			if key, ok := strings.CutPrefix(l.name, "kompose."); ok {
				s.kompose[key] = l.part
			}
		}
		a.services = append(a.services, s)
		a.byName[s.name] = s
	}
	for _, n := range root.get("networks").members() {
		n.only("name", "driver", "driver_opts", "ipam", "internal", "external", "attachable", "enable_ipv4", "enable_ipv6", "labels")
		n.unused("driver_opts", "ipam", "enable_ipv4", "enable_ipv6")
		if !root.project.NetworkPolicies() {
			n.unused("internal")
		}
	}
	slices.SortFunc(a.services, func(s, o *service) int { return strings.Compare(s.name, o.name) })
	for _, s := range a.services {
		for _, d := range s.get("depends_on").members() {
			other := a.byName[d.name]
			switch condition := d.get("condition"); {
			case other == nil:
			case condition.Text == "service_completed_successfully":
				other.completed = condition
			default:
				other.reached = true
			}
		}
		for _, v := range s.get("volumes").items() {
			source, _ := v.Get("source")
			if name := source.Written(); !slices.Contains(a.mounts[name], s) {
				a.mounts[name] = append(a.mounts[name], s)
			}
		}
	}
	return a
}

// label is a name as a DNS label: My_App is my-app.
func label(name string) string {
	const longest = 63
	out := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim(object.Shorten(strings.Trim(out, "-"), longest), "-")
}

// workload is the service as a document of kind Workload.
func (s *service) workload() object.Value {
	if s.label != s.name {
		at := s.part
		at.Pos = s.namePos
		at.warn("use "+strconv.Quote(s.label)+" where other services name it", "the service is called %q in Kubernetes, which has no names such as %q", s.label, s.name)
	}
	s.unsupported()
	s.kind()
	s.image()
	s.command()
	s.variables()
	s.ports()
	s.probes()
	s.amounts()
	s.secure()
	s.pods()
	s.networks()
	s.volumes()
	s.replicas()
	s.dependencies()
	s.labels()
	if security := s.security.value(s.Pos); len(s.security) > 0 {
		s.container.put("securityContext", security)
	}
	s.container.put("files", s.files.value(s.Pos))
	s.container.put("volumes", s.mounted.value(s.Pos))
	s.spec.put("containers", pairs(s.Pos, s.label, s.container.value(s.Pos)))
	s.spec.put("resources", s.resources.value(s.Pos))
	s.spec.put("securityContext", s.podSecurity.value(s.Pos))
	s.spec.put("pod", s.pod.value(s.Pos))
	s.spec.put("job", s.jobFields.value(s.Pos))
	s.spec.put("annotations", s.annotations.value(s.Pos))
	body := s.spec.value(s.Pos).Merge(s.extension())
	return pairs(s.Pos,
		"apiVersion", text(spec.APIVersion, s.Pos), "kind", text(spec.KindWorkload, s.Pos),
		"metadata", pairs(s.namePos, "name", text(s.label, s.namePos)), "spec", body)
}

// extension is x-ropewalk of the service: fields of the spec of a Workload. A route is
// short for a resource of that type.
func (s *service) extension() object.Value {
	x := s.get("x-ropewalk")
	if !x.given() || !x.is(object.KindMap) {
		return object.Value{}
	}
	if s.project.NetworkPolicies() {
		x.Value = x.Without(object.Fields("network")) // networks has read it
	}
	route := x.get("route")
	if !route.given() {
		return x.Value
	}
	return x.Without(object.Fields("route")).Merge(pairs(route.Pos, "resources", pairs(route.Pos, "route",
		pairs(route.Pos, "type", text("route", route.Pos), "params", route.Value))))
}

// kind decides what runs the pods. A service that ends is a Job: one whose end another
// service waits for, and one with restart: no or on-failure that no one talks to.
func (s *service) kind() {
	restart, policy := s.get("restart"), s.at("deploy", "restart_policy")
	condition, retries, _ := strings.Cut(restart.text(), ":")
	at := restart
	if c := policy.get("condition"); c.given() {
		condition, at = cmp.Or(map[string]string{"none": "no", "any": "always"}[c.text()], c.text()), c
		retries = policy.get("max_attempts").text()
	}
	ends := condition == "no" || condition == "on-failure" || condition == "false"
	serves := s.get("ports").given() || s.get("expose").given() || s.get("healthcheck").given() || s.reached
	mode, own := s.at("deploy", "mode"), s.at("x-ropewalk", "kind")
	switch s.job = s.completed.given(); {
	case own.given():
		s.job = own.Text == score.KindJob || own.Text == score.KindCronJob
	case condition != "" && !ends && condition != "always" && condition != "unless-stopped":
		at.fail(`expected "no", on-failure, always or unless-stopped`, "%q is not known", at.Text)
	case s.job && condition != "" && !ends:
		at.fail(`write restart: "no"`, "the service is always restarted, and another one waits for its end at %s", s.completed.Pos)
	case ends && serves && !s.job:
		at.warn("write x-ropewalk: {kind: Job} if it ends", "others use the service, so it becomes a Deployment, which is restarted whenever it ends")
	case ends && !s.job && condition == "on-failure":
		s.job = true
		at.warn("write x-ropewalk: {kind: Deployment} if it does not end", "the service becomes a Job, which is ready when it has ended")
	case ends:
		s.job = true
	}
	switch mode.text() {
	case "", "replicated":
	case "replicated-job", "global-job":
		s.job = true
	default:
		mode.fail("write replicas, and x-ropewalk: {pod: {topologySpreadConstraints: …}} to spread them", "a Workload cannot run one pod on each node")
	}
	if !s.job {
		return
	}
	s.spec.put("kind", text(score.KindJob, cmp.Or(at.Pos, s.Pos)))
	if condition == "on-failure" {
		s.pod.put("restartPolicy", text("OnFailure", at.Pos))
	}
	switch n, err := strconv.Atoi(retries); {
	case err == nil && n >= 0 && condition == "on-failure":
		s.jobFields.put("backoffLimit", number(n, at.Pos))
	case condition != "on-failure":
		s.jobFields.put("backoffLimit", number(0, cmp.Or(at.Pos, s.Pos)))
	}
}

func (s *service) image() {
	image, build := s.get("image"), s.get("build")
	switch {
	case image.given() && image.is(object.KindString):
		s.container.put("image", image.Value)
	case build.given():
		s.container.put("image", text(".", build.Pos))
	default:
		s.container.put("image", text("unknown", s.Pos))
		if image.Kind == object.KindNull && s.errs.Failures().Err() != nil {
			return
		}
		s.fail("write image: NAME, or build: . with --image "+s.label+"=IMAGE", "the service has no image")
	}
	policy := s.get("pull_policy")
	switch p := policy.text(); {
	case p == "always", p == "daily", p == "weekly", strings.HasPrefix(p, "every_"):
		s.container.put("imagePullPolicy", text("Always", policy.Pos))
	case p == "never":
		s.container.put("imagePullPolicy", text("Never", policy.Pos))
	case p == "missing", p == "if_not_present", p == "build":
		s.container.put("imagePullPolicy", text("IfNotPresent", policy.Pos))
	case policy.given():
		policy.fail("expected always, never, missing, if_not_present or build", "%q is not known", p)
	}
}

// command sets the command and the arguments. Kubernetes expands $(NAME) in them, and
// Compose does not.
func (s *service) command() {
	for _, field := range [][2]string{{"entrypoint", "command"}, {"command", "args"}} {
		p := s.get(field[0])
		words := p.words()
		if p.given() && len(words) == 0 && field[0] == "entrypoint" {
			p.fail("write the command that the image has", "Kubernetes cannot clear the entrypoint of an image")
		}
		for i, w := range words {
			words[i].Text = literal(w.Text)
		}
		s.container.put(field[1], list(p.Pos, words...))
	}
	for _, field := range [][2]string{{"working_dir", "workingDir"}} {
		if p := s.get(field[0]); p.given() && p.is(object.KindString) {
			s.container.put(field[1], p.Value)
		}
	}
	for _, field := range [][2]string{{"stdin_open", "stdin"}, {"tty", "tty"}} {
		if p := s.get(field[0]); p.flag() {
			s.container.put(field[1], boolean(true, p.Pos))
		}
	}
}

// literal is text in which Kubernetes expands nothing.
func literal(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		if s[i] == '$' && i+1 < len(s) && (s[i+1] == '$' || s[i+1] == '(') {
			b.WriteByte('$')
		}
	}
	return b.String()
}

// variables sets the environment: that of the env files, and over it what stands in the
// service.
func (s *service) variables() {
	values := map[string]object.Value{}
	for _, f := range s.get("env_file").items() {
		f.only("path", "required", "format")
		if format := f.get("format"); format.given() {
			format.fail("remove it, and quote values with a dollar in single quotes", "a format of env files is not read")
		}
		at := f.get("path")
		if required := f.get("required"); required.given() && !required.flag() {
			if _, err := s.project.Read(at.text()); err != nil {
				continue
			}
		}
		for name, value := range s.envFile(at, at.text()) {
			values[name] = text(value, at.Pos)
		}
	}
	for _, m := range s.get("environment").members() {
		v := text(m.text(), m.Pos)
		if m.Kind == object.KindNull {
			value, ok := s.scope.get(m.name)
			if v.Text = value; !ok {
				m.missing(m.name)
			}
		}
		values[m.name] = v
	}
	var f fields
	for _, name := range object.SortedKeys(values) {
		v := values[name]
		v.Text = placeholder.Part{Literal: v.Text}.String()
		f.put(name, v)
	}
	s.container.put("variables", f.value(s.get("environment").Pos))
}

// scale is how many pods the author wants.
func (s *service) scale() part {
	if p := s.get("scale"); p.given() {
		return p
	}
	return s.at("deploy", "replicas")
}

// replicas sets how many pods there are.
func (s *service) replicas() {
	scale := s.scale()
	n, ok := scale.integer(0)
	lowest, hpa := s.kompose["hpa.replicas.min"]
	highest, most := s.kompose["hpa.replicas.max"]
	switch {
	case s.job && ok && n != 1:
		s.jobFields.put("parallelism", number(n, scale.Pos))
		s.jobFields.put("completions", number(n, scale.Pos))
	case s.job:
	case hpa || most:
		var f fields
		f.put("min", numberOf(lowest))
		f.put("max", numberOf(highest))
		f.put("cpu", numberOf(s.kompose["hpa.cpu"]))
		f.put("memory", numberOf(s.kompose["hpa.memory"]))
		s.spec.put("replicas", f.value(cmp.Or(highest.Pos, lowest.Pos)))
	case ok:
		s.spec.put("replicas", number(n, scale.Pos))
	}
}

func numberOf(p part) object.Value {
	if p.reading == nil {
		return object.Value{}
	}
	if n, ok := p.integer(0); ok {
		return number(n, p.Pos)
	}
	return object.Value{}
}

// dependencies sets the specs that come first. What comes first is ready, or has ended
// where it is a Job, so that the three conditions are one.
func (s *service) dependencies() {
	var names []object.Value
	for _, d := range s.get("depends_on").members() {
		d.only("condition", "required", "restart")
		required := !d.get("required").given() || d.get("required").flag()
		at := d.part
		at.Pos = d.namePos
		switch other := s.app.byName[d.name]; {
		case other == s:
			at.fail("remove it", "the service depends on itself")
		case other != nil:
			names = append(names, text(other.label, d.namePos))
		case !required:
		case s.app.root.at("services", d.name).given():
			at.fail("activate its profile, or write required: false", "the service %q has a profile that is not active", d.name)
		default:
			at.fail(object.Suggest(d.name, object.SortedKeys(s.app.byName)), "there is no service %q", d.name)
		}
		if c := d.get("condition"); c.given() && !slices.Contains([]string{"service_started", "service_healthy", "service_completed_successfully"}, c.text()) {
			c.fail("expected service_started, service_healthy or service_completed_successfully", "%q is not known", c.Text)
		}
	}
	for _, l := range s.get("links").items() {
		name, alias, _ := strings.Cut(l.text(), ":")
		switch other := s.app.byName[name]; {
		case other == nil:
			l.fail(object.Suggest(name, object.SortedKeys(s.app.byName)), "there is no service %q", name)
		case alias != "" && alias != other.label:
			l.fail("call the service by its own name", "Kubernetes knows the service as %q only, not as %q", other.label, alias)
		}
	}
	s.spec.put("dependsOn", list(s.get("depends_on").Pos, names...))
}
