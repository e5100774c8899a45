// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-shellwords"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/builder"
	"github.com/ropewalk/ropewalk/render/workload/placeholder"
)

// application is the active services of a model, sorted by name.
type application struct {
	*reading
	root     document.Part
	services []*service
	byName   map[string]*service
	// mounts maps each named volume and each path of a host, by mountKey, to the services
	// that mount it.
	mounts map[string][]*service
}

// service is a service that becomes a workload.
type service struct {
	document.Part
	app *application
	// name is the name in the file, label its form as a DNS label.
	name, label string
	NamePos     object.Pos
	// completed is the condition of another service that waits for this service to end.
	// reached is set if others wait for it to run, and unclear if a condition is unknown.
	completed        document.Part
	reached, unclear bool
	job              bool
	// The parts of the workload in the making.
	spec, container, pod, podSecurity, security, resources, annotations, jobFields builder.Fields
	files, mounted                                                                 builder.Fields
	// names maps labels of the resources of the service to the names that the author gave.
	names map[string]string
	// kompose are the labels that kompose reads.
	kompose map[string]document.Part
}

// completed is the condition that a service has ended.
const completed = "service_completed_successfully"

var conditions = [...]string{"service_started", "service_healthy", completed} //nolint:gochecknoglobals // a constant

// application returns the services whose profiles are active, with their relations to each other.
func (r *reading) application(root document.Part) *application {
	a := &application{reading: r, root: root, byName: map[string]*service{}, mounts: map[string][]*service{}}
	for _, m := range root.At("services").Entries() {
		profiles := m.List("profiles")
		active := len(profiles) == 0 || slices.ContainsFunc(profiles, func(p document.Part) bool {
			return slices.Contains(r.profiles, p.Written()) || slices.Contains(r.profiles, "*")
		})
		if !active || m.Kind != object.KindMap {
			continue
		}
		s := &service{
			Part: m.Part, app: a, name: m.Name, NamePos: m.NamePos, label: builder.Label(m.Name),
			kompose: map[string]document.Part{}, names: map[string]string{},
		}
		for _, l := range m.At("labels").Entries() {
			if key, ok := strings.CutPrefix(l.Name, "kompose."); ok {
				s.kompose[key] = l.Part
			}
		}
		a.services = append(a.services, s)
		a.byName[s.name] = s
	}

	// Mistakes in shared declarations are reported once.
	r.checkDeclared(root)
	slices.SortFunc(a.services, func(s, o *service) int { return strings.Compare(s.name, o.name) })

	// Record the services that wait for each other, and the services that share a volume.
	for _, s := range a.services {
		for _, d := range s.At("depends_on").Entries() {
			other := a.byName[d.Name]
			switch condition := d.At("condition"); {
			case other == nil:
			case condition.Written() == completed:
				other.completed = condition
			case condition.Given() && !slices.Contains(conditions[:], condition.Text):
				other.unclear = true
			default:
				other.reached = true
			}
		}
		for _, v := range s.List("volumes") {
			if key := mountKey(v); !slices.Contains(a.mounts[key], s) {
				a.mounts[key] = append(a.mounts[key], s)
			}
		}
	}
	return a
}

// workload returns the service as a document of kind Workload.
func (s *service) workload() object.Value {
	if s.label != s.name {
		named := s.Part
		named.Pos = s.NamePos
		named.Warn("use "+strconv.Quote(s.label)+" where other services name it",
			"the service is called %q in Kubernetes, which has no names such as %q", s.label, s.name)
	}

	// Fill the parts of the workload. The kind comes first, as others depend on it.
	s.reportUnsupported()
	s.setKind()
	s.setImage()
	s.setCommand()
	s.setVariables()
	s.setPorts()
	s.setProbes()
	s.setAmounts()
	s.secure()
	s.setPods()
	s.setNetworks()
	s.mountVolumes()
	s.setReplicas()
	s.setDependencies()
	s.setLabels()

	// Put the parts together, with the fields of the author over them.
	if security := s.security.Value(s.Pos); len(s.security) > 0 {
		s.container.Put("securityContext", security)
	}
	s.container.Put("files", s.files.Value(s.Pos))
	s.container.Put("volumes", s.mounted.Value(s.Pos))
	s.spec.Put("containers", builder.Pairs(s.Pos, s.label, s.container.Value(s.Pos)))
	s.spec.Put("resources", s.resources.Value(s.Pos))
	s.spec.Put("securityContext", s.podSecurity.Value(s.Pos))
	s.spec.Put("pod", s.pod.Value(s.Pos))
	s.spec.Put("job", s.jobFields.Value(s.Pos))
	s.spec.Put("annotations", s.annotations.Value(s.Pos))
	body := s.spec.Value(s.Pos).Merge(s.extension())
	return builder.Pairs(s.Pos,
		"apiVersion", object.TextAt(spec.APIVersion, s.Pos), "kind", object.TextAt(spec.KindWorkload, s.Pos),
		"metadata", builder.Pairs(s.NamePos, "name", object.TextAt(s.label, s.NamePos)), "spec", body)
}

// extension returns x-ropewalk of the service: fields of the spec of a Workload. The field route
// is a short form of a resource of type route.
func (s *service) extension() object.Value {
	x := s.At(extension)
	if !x.Given() {
		return object.Value{}
	}
	x.Value = x.Without(object.Fields("hostPaths")) // mountPath has read it
	if s.app.project.NetworkPolicies() {
		x.Value = x.Without(object.Fields("network")) // setNetworks has read it
	}
	route := x.At("route")
	if !route.Given() {
		return x.Value
	}
	if resources := x.At("resources"); resources.Given() && resources.Kind != object.KindMap {
		return object.Value{} // The mistake is reported there. The route would replace it.
	}
	return x.Without(object.Fields("route")).Merge(builder.Pairs(route.Pos, "resources", builder.Pairs(route.Pos, "route",
		builder.Pairs(route.Pos, "type", object.TextAt("route", route.Pos), "params", route.Value))))
}

// setImage sets the image and its pull policy.
func (s *service) setImage() {
	image, build := s.At("image"), s.At("build")
	switch {
	case image.Given():
		s.container.Put("image", image.Value)
	case build.Given():
		s.container.Put("image", object.TextAt(".", build.Pos))
	default:
		s.container.Put("image", object.TextAt("unknown", s.Pos))
		if s.app.unsure > 0 {
			return // A variable with a mistake, which is reported, may hold the image.
		}
		image.Fail("write image: NAME, or build: . with --image "+s.label+"=IMAGE", "the service has no image")
	}

	// The intervals of Compose become Always.
	policy := s.At("pull_policy")
	switch p := policy.Written(); {
	case p == "always", p == "daily", p == "weekly", strings.HasPrefix(p, "every_"):
		s.container.Put("imagePullPolicy", object.TextAt("Always", policy.Pos))
	case p == "never":
		s.container.Put("imagePullPolicy", object.TextAt("Never", policy.Pos))
	case p == "missing", p == "if_not_present", p == "build":
		s.container.Put("imagePullPolicy", object.TextAt("IfNotPresent", policy.Pos))
	case policy.Given():
		policy.Fail("expected always, never, missing, if_not_present or build", "%q is not known", p)
	}
}

// setCommand sets the command and the arguments. Kubernetes expands $(NAME) in them, and Compose
// does not.
func (s *service) setCommand() {
	for _, field := range [][2]string{{"entrypoint", "command"}, {"command", "args"}} {
		p := s.At(field[0])
		words := words(p)
		if p.Given() && field[0] == "entrypoint" && (len(words) == 0 || words[0].Text == "") {
			p.Fail("write the command that the image has", "Kubernetes cannot clear the entrypoint of an image")
		}
		if parser := shellwords.NewParser(); p.Kind == object.KindString {
			if _, err := parser.Parse(p.Text); err == nil && parser.Position >= 0 {
				part := string([]rune(p.Text)[parser.Position])
				p.Warn(`write ["/bin/sh", "-c", "…"]`, "what begins with %q is not run, in Compose neither: there is no shell", part)
			}
		}
		for i, w := range words {
			words[i].Text = literal(w.Text)
		}
		s.container.Put(field[1], object.ListAt(p.Pos, words...))
	}

	// Some fields only have another name.
	for _, field := range [][2]string{{"working_dir", "workingDir"}} {
		if p := s.At(field[0]); p.Given() {
			s.container.Put(field[1], p.Value)
		}
	}
	for _, field := range [][2]string{{"stdin_open", "stdin"}, {"tty", "tty"}} {
		if p := s.At(field[0]); p.True() {
			s.container.Put(field[1], object.BoolAt(true, p.Pos))
		}
	}
}

// literal returns a text with escapes for everything that Kubernetes would expand.
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

// setVariables sets the environment: the variables of the env files, and over them the variables of
// the service.
func (s *service) setVariables() {
	values := map[string]object.Value{}
	for _, f := range s.List("env_file") {
		if format := f.At("format"); format.Given() {
			format.Fail("remove it, and quote values with a dollar in single quotes", "a format of env files is not read")
		}
		path := f.At("path")
		if required := f.At("required"); required.Given() && !required.True() {
			if _, err := s.app.project.Read(path.Written()); err != nil {
				continue
			}
		}
		for name, value := range s.app.readEnvFile(path, path.Written()) {
			values[name] = object.TextAt(value, path.Pos)
		}
	}

	// A variable without a value takes it from the caller.
	for _, m := range s.At("environment").Entries() {
		v := object.TextAt(m.Written(), m.Pos)
		warnOfNumber(m.Part)
		if m.Kind == object.KindNull {
			value, ok := s.app.scope.get(m.Name)
			v.Text = value
			if !ok && m.Raw != unfilled {
				s.app.reportMissing(m.Part, m.Name, true)
			}
		}
		values[m.Name] = v
	}

	// Values are literal text: a placeholder in them has no meaning.
	var f builder.Fields
	for _, name := range object.SortedKeys(values) {
		v := values[name]
		v.Text = placeholder.Part{Literal: v.Text}.String()
		f.Put(name, v)
	}
	s.container.Put("variables", f.Value(s.At("environment").Pos))
}

// scale returns the number of pods that the author wants.
func (s *service) scale() document.Part {
	if p := s.At("scale"); p.Given() {
		return p
	}
	return s.At("deploy", "replicas")
}

// setReplicas sets the number of pods.
func (s *service) setReplicas() {
	scale := s.scale()
	n, ok := scale.Number()
	lowest, hasLowest := s.kompose["hpa.replicas.min"]
	highest, hasHighest := s.kompose["hpa.replicas.max"]
	switch {
	case s.job && ok && n != 1:
		s.jobFields.Put("parallelism", object.NumberAt(n, scale.Pos))
		s.jobFields.Put("completions", object.NumberAt(n, scale.Pos))
	case s.job:
	case hasLowest || hasHighest:
		var f builder.Fields
		f.Put("min", numberOf(lowest))
		f.Put("max", numberOf(highest))
		f.Put("cpu", numberOf(s.kompose["hpa.cpu"]))
		f.Put("memory", numberOf(s.kompose["hpa.memory"]))
		s.spec.Put("replicas", f.Value(cmp.Or(highest.Pos, lowest.Pos)))
	case ok:
		s.spec.Put("replicas", object.NumberAt(n, scale.Pos))
	}
}

func numberOf(p document.Part) object.Value {
	if p.Decoder == nil {
		return object.Value{}
	}
	if n, ok := integer(p, 0); ok {
		return object.NumberAt(n, p.Pos)
	}
	return object.Value{}
}

// setDependencies sets the specs that come first. They are ready, or have ended if they are Jobs,
// so that the three conditions have the same effect.
func (s *service) setDependencies() {
	var names []object.Value
	for _, d := range s.At("depends_on").Entries() {
		required := !d.At("required").Given() || d.Flag("required")
		dependency := d.Part
		dependency.Pos = d.NamePos
		switch other := s.app.byName[d.Name]; {
		case other == s:
			dependency.Fail("remove it", "the service depends on itself")
		case other != nil:
			names = append(names, object.TextAt(other.label, d.NamePos))
		case !required:
		case s.app.root.At("services", d.Name).Given():
			dependency.Fail("activate its profile, or write required: false", "the service %q has a profile that is not active", d.Name)
		default:
			reportUndeclared(s.app.root.At("services"), dependency, d.Name, object.Suggest(d.Name, object.SortedKeys(s.app.byName)), "service")
		}
		if c := d.At("condition"); c.Given() && !slices.Contains(conditions[:], c.Written()) {
			c.Fail(object.Suggest(c.Text, conditions[:]), "%q is not known", c.Text)
		}
	}

	// Links only check names.
	for _, l := range s.List("links") {
		name, alias, _ := strings.Cut(l.Written(), ":")
		switch other := s.app.byName[name]; {
		case other == nil:
			l.Fail(object.Suggest(name, object.SortedKeys(s.app.byName)), "there is no service %q", name)
		case alias != "" && alias != other.label:
			l.Fail("call the service by its own name", "Kubernetes knows the service as %q only, not as %q", other.label, alias)
		}
	}
	s.spec.Put("dependsOn", object.ListAt(s.At("depends_on").Pos, names...))
}
