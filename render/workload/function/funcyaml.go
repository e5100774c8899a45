// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"regexp"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// What a function of func answers probes at where its func.yaml names nothing else
// (knative/func 1.23, pkg/functions/repository.go).
const (
	liveness  = "/health/liveness"
	readiness = "/health/readiness"
)

// unused are the fields of a func.yaml that only the tool func uses, to build, to invoke
// and to remember; those of older versions are among them.
func unused() []string {
	return []string{
		"build", "buildEnvs", "builder", "builderImages", "builderMap", "builders", "buildpacks", "created", "git", "imageDigest",
		"invocation", "invoke", "registry", "registryInsecure", "runtime", "specVersion", "template", "version",
	}
}

// moved are the fields that older versions have at the top, with where they are now.
func moved() map[string][]string {
	return map[string][]string{
		"envs": {"run"}, "volumes": {"run"}, "annotations": {"deploy"}, "healthEndpoints": {"deploy"},
		"labels": {"deploy"}, "options": {"deploy"}, "serviceAccountName": {"deploy"},
	}
}

// Compile is the function of a func.yaml as a document of kind Function. Errors are those
// of what a Function cannot say, and warnings of what is left out.
func Compile(doc spec.Document) ([]spec.Document, object.Errors) {
	r := &reading{}
	root := part{r, doc.Value, nil}
	known := append(unused(), "deploy", "deployer", "domain", "image", "name", "namespace", "run")
	for name := range moved() {
		known = append(known, name)
	}
	root.only(known...)
	run, deploy := root.get("run"), root.get("deploy")
	run.only("envs", "kafka", "startTimeout", "volumes")
	deploy.only("annotations", "deployer", "healthEndpoints", "image", "imagePullSecret", "labels", "managementDisabled",
		"namespace", "options", "serviceAccountName", "subscriptions")
	f := &funcYAML{reading: r, root: root, run: run, deploy: deploy}
	f.refuse()
	name := root.get("name")
	if name.text() == "" {
		name.fail("write name: NAME", "is missing")
	}
	at := doc.Value.Pos
	var body fields
	body.put("container", f.container())
	f.options(&body)
	body.put("resources", f.resources.value(at))
	body.put("labels", f.labels())
	f.account(&body)
	for _, namespace := range []part{root.get("namespace"), deploy.get("namespace")} {
		if namespace.text() != "" {
			body.put("namespace", namespace.Value)
			break
		}
	}
	out := doc
	out.Kind, out.Name, out.NamePos, out.Unsure = spec.KindFunction, name.Text, name.Pos, doc.Unsure || r.errs.Err() != nil
	out.Value = pairs(at, field("apiVersion", text(spec.APIVersion, at)), field("kind", text(spec.KindFunction, at)),
		field("metadata", pairs(at, field("name", text(name.Text, name.Pos)))), field("spec", body.value(at)))
	return []spec.Document{out}, r.errs
}

// funcYAML is a func.yaml on its way.
type funcYAML struct {
	*reading
	root, run, deploy part
	// resources are those of its volumes.
	resources fields
}

// moved is a field at its place now, or where older versions have it.
func (f *funcYAML) moved(name string) part {
	if p := f.root.at(append(moved()[name], name)...); p.given() {
		return p
	}
	return f.root.get(name)
}

// refuse reports what no Function says.
func (f *funcYAML) refuse() {
	switch d := f.root.get("deployer"); d.text() {
	case "", targetKnative:
	case targetKEDA:
		d.fail("write a document of kind Function with target: keda and scale: {max, concurrency, hosts}", "func.yaml names no hosts, by which KEDA's HTTP add-on knows the requests of the function")
	default:
		d.fail("write a document of kind Workload", "the deployer %q has no Service of Knative", d.Text)
	}
	if s := f.deploy.get("subscriptions"); len(s.items()) > 0 {
		s.fail("write a Trigger of Knative Eventing beside it, and remove the field", "subscriptions to events are not made")
	}
	if k := f.run.get("kafka"); k.given() {
		k.fail("write a KafkaSource of Knative Eventing beside it, and remove the field", "a source of events is not made")
	}
	if t := f.run.get("startTimeout"); t.given() {
		t.warn("", "is left out: only the tool func waits by it")
	}
}

// container is the one of the function.
func (f *funcYAML) container() object.Value {
	at := f.root.Pos
	image := text(".", at)
	for _, p := range []part{f.root.get("image"), f.deploy.get("image")} {
		if p.text() != "" {
			image = p.Value
		}
	}
	if d := f.root.get("imageDigest"); d.text() != "" && image.Text != "." && !strings.Contains(image.Text, "@") {
		image.Text += "@" + d.Text // What was deployed.
	}
	var c fields
	c.put("image", image)
	c.put("variables", f.variables())
	c.put("volumes", f.volumes())
	resources := f.moved("options").get("resources")
	c.put("resources", pairs(resources.Pos, field("requests", resources.get("requests").Value),
		field("limits", resources.get("limits").Without(object.Fields("concurrency")))))
	health := f.moved("healthEndpoints")
	health.only("liveness", "readiness")
	c.put("livenessProbe", health.get("liveness").probe(liveness))
	c.put("readinessProbe", health.get("readiness").probe(readiness))
	return c.value(at)
}

func (p part) probe(path string) object.Value {
	if p.text() != "" {
		path = p.Text
	}
	get := pairs(p.Pos, field("path", text(path, p.Pos)), field("port", object.Value{Kind: object.KindNumber, Pos: p.Pos, Text: defaultPort}))
	return pairs(p.Pos, field("httpGet", get))
}

// reference is {{ env:NAME }}, {{ secret:NAME:KEY }} and the like.
var reference = regexp.MustCompile(`^\{\{\s*(env|secret|configMap):([^\s:}]+)(?::([^\s:}]+))?\s*\}\}$`) //nolint:gochecknoglobals // a constant

// variable is the name of a variable that a source can have.
var variable = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`) //nolint:gochecknoglobals // a constant

// variables are the envs.
func (f *funcYAML) variables() object.Value {
	envs := f.moved("envs")
	var out fields
	for _, env := range envs.items() {
		env.only("name", "value")
		name, value := env.get("name"), env.get("value")
		words := reference.FindStringSubmatch(value.Text)
		switch {
		case name.text() == "" && len(words) > 0 && words[3] == "":
			env.fail("write an entry with a name for each key", "all keys of a %s cannot be variables", words[1])
		case name.text() == "":
			env.fail("write name: NAME", "is an entry without a name")
		case !value.given():
			env.warn("write value: \"\" for an empty one", "is left out: %q has no value", name.Text)
		default:
			out = append(out, object.Member{Name: name.Text, Pos: name.Pos, Value: value.variable(words)})
		}
	}
	return out.value(envs.Pos)
}

// variable is the value of an env; words are those of the reference that it is.
func (p part) variable(words []string) object.Value {
	out := p.Value
	switch {
	case !p.is(object.KindString):
	case len(words) == 0 && strings.Contains(p.Text, "{{"):
		p.fail("write {{ env:NAME }}, {{ secret:NAME:KEY }} or plain text", "is neither text nor a reference of func")
	case len(words) == 0:
		out.Text = strings.ReplaceAll(p.Text, "${", "$${")
	case words[1] == "env" && !variable.MatchString(words[2]):
		p.fail("call it by A-Z, 0-9 and _", "%q is not a name that a declared source can have", words[2])
	case words[1] == "env":
		out.Text = "${" + words[2] + "}"
	case words[3] == "":
		p.fail("write {{ "+words[1]+":"+words[2]+":KEY }}", "names no key")
	case words[1] == "secret":
		return pairs(p.Pos, field("local", text(words[2], p.Pos)), field("key", text(words[3], p.Pos)))
	default:
		p.fail("mount the ConfigMap with volumes, or write the value", "a key of a ConfigMap cannot be a variable")
	}
	return out
}

// volumes are the mounts of the container; what they mount becomes a resource.
func (f *funcYAML) volumes() object.Value {
	all := f.moved("volumes")
	var out fields
	for _, v := range all.items() {
		v.only("configMap", "emptyDir", "path", "persistentVolumeClaim", "secret")
		claim, scratch := v.get("persistentVolumeClaim"), v.get("emptyDir")
		claim.only("claimName", "readOnly")
		scratch.only("medium", "sizeLimit")
		params := pairs(v.Pos, field("secretName", v.get("secret").Value), field("configMapName", v.get("configMap").Value),
			field("claimName", claim.get("claimName").Value), field("medium", scratch.get("medium").Value), field("sizeLimit", scratch.get("sizeLimit").Value))
		path := v.get("path")
		if path.text() == "" || len(params.Members) == 0 && !scratch.given() {
			v.fail("write path, and one of secret, configMap, persistentVolumeClaim and emptyDir", "is not a volume")
			continue
		}
		name := "volume" + strings.TrimSuffix(strings.TrimPrefix(v.path.String()[strings.LastIndex(v.path.String(), "["):], "["), "]")
		f.resources.put(name, pairs(v.Pos, field("type", text("volume", v.Pos)), field("params", params)))
		readOnly := claim.get("readOnly").Value
		if v.get("secret").given() || v.get("configMap").given() {
			readOnly = object.Value{Kind: object.KindBool, Pos: v.Pos, Text: "true"}
		}
		out = append(out, object.Member{Name: path.Text, Pos: path.Pos, Value: pairs(path.Pos, field("source", text(name, path.Pos)), field("readOnly", readOnly))})
	}
	return out.value(all.Pos)
}

// options are how the function is scaled, and its limit of requests.
func (f *funcYAML) options(body *fields) {
	options := f.moved("options")
	options.only("resources", "scale")
	resources, scale := options.get("resources"), options.get("scale")
	resources.only("limits", "requests")
	resources.get("requests").only("cpu", "memory")
	resources.get("limits").only("concurrency", "cpu", "memory")
	scale.only("max", "metric", "min", "target", "utilization")
	body.put("concurrencyLimit", resources.at("limits", "concurrency").Value)
	var out, pods fields
	out.add(scale.Value, "min")
	if most := scale.get("max"); most.Text != "0" { // No limit.
		out.put("max", most.Value)
	}
	metric, target := scale.get("metric"), scale.get("target")
	switch by := metric.text(); {
	case by != "" && by != "concurrency" && by != "rps":
		metric.fail("", "%q is not known: expected concurrency or rps", by)
	case target.given() && by == "rps":
		out.put("rate", target.Value)
	case target.given():
		out.put("concurrency", target.Value)
	case by != "":
		pods.put("autoscaling.knative.dev/metric", metric.Value)
	}
	if u := scale.get("utilization"); u.is(object.KindNumber) {
		pods.put("autoscaling.knative.dev/target-utilization-percentage", text(u.Text, u.Pos))
	}
	// Knative wants what is about scaling at the template of the pods.
	annotations := f.moved("annotations")
	var others fields
	for _, m := range annotations.Members {
		if strings.HasPrefix(m.Name, "autoscaling.knative.dev/") {
			pods = append(pods, m)
		} else {
			others = append(others, m)
		}
	}
	if annotations.is(object.KindMap) {
		body.put("annotations", others.value(annotations.Pos))
	}
	body.put("scale", out.value(scale.Pos))
	body.put("podAnnotations", pods.value(options.Pos))
}

// labels are a list in a func.yaml.
func (f *funcYAML) labels() object.Value {
	all := f.moved("labels")
	var out fields
	for _, l := range all.items() {
		l.only("key", "value")
		key, value := l.get("key"), l.get("value")
		if strings.Contains(value.Text, "{{") {
			value.fail("write the value", "labels cannot come from variables")
			continue
		}
		if !value.given() {
			value.Value = text("", l.Pos)
		}
		out = append(out, object.Member{Name: key.text(), Pos: key.Pos, Value: value.Value})
	}
	if domain := f.root.get("domain"); domain.text() != "" {
		out.put("func.domain", domain.Value)
	}
	return out.value(all.Pos)
}

// account is the service account, which is there already, and the Secret for the image.
func (f *funcYAML) account(body *fields) {
	if a := f.moved("serviceAccountName"); a.text() != "" {
		body.put("serviceAccount", pairs(a.Pos, field("name", a.Value), field("existing", object.Value{Kind: object.KindBool, Pos: a.Pos, Text: "true"})))
	}
	if s := f.deploy.get("imagePullSecret"); s.text() != "" {
		list := object.Value{Kind: object.KindList, Pos: s.Pos, Items: []object.Value{pairs(s.Pos, field("name", s.Value))}}
		body.put("pod", pairs(s.Pos, field("imagePullSecrets", list)))
	}
}
