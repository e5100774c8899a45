// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"regexp"
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/builder"
)

// The default paths of probes in a func.yaml (knative/func 1.23, pkg/functions/repository.go).
const (
	liveness  = "/health/liveness"
	readiness = "/health/readiness"
)

// unused returns the fields of a func.yaml that only the tool func uses, to build, to invoke and
// to remember, including the fields of older versions.
func unused() []string {
	return []string{
		"build", "buildEnvs", "builder", "builderImages", "builderMap", "builders", "buildpacks", "created", "git",
		"invocation", "invoke", "registry", "registryInsecure", "runtime", "specVersion", "template", "version",
	}
}

// moved maps the fields that older versions have at the top to their present parents.
func moved() map[string][]string {
	return map[string][]string{
		"envs": {"run"}, "volumes": {"run"}, "annotations": {"deploy"}, "healthEndpoints": {"deploy"},
		"labels": {"deploy"}, "options": {"deploy"}, "serviceAccountName": {"deploy"},
	}
}

// funcTable is the table of a func.yaml, of this version and of older ones (knative/func 1.23,
// schema/func_yaml-schema.json). Fields that are not read may hold anything.
var funcTable = sync.OnceValue(func() document.Field { //nolint:gochecknoglobals // a constant
	type field = document.Field
	text := func(name string) field { return field{Name: name, Kind: object.KindString} }
	keys := func(name string, fields ...field) field {
		return field{Name: name, Kind: object.KindMap, Fields: fields}
	}
	list := func(name string, fields ...field) field {
		return field{Name: name, Kind: object.KindList, Fields: fields}
	}

	// These fields have moved from the top into run or deploy.
	placed := map[string]field{
		"envs": list("envs", text("name"), text("value")),
		"volumes": list("volumes", text("path"), text("secret"), text("configMap"),
			keys("persistentVolumeClaim", text("claimName"), field{Name: "readOnly", Kind: object.KindBool}),
			keys("emptyDir", text("medium"), field{Name: "sizeLimit"})),
		"annotations":     {Name: "annotations", Kind: object.KindMap, Free: true},
		"healthEndpoints": keys("healthEndpoints", text("liveness"), text("readiness")),
		"labels":          list("labels", text("key"), field{Name: "value"}),
		"options": keys("options",
			keys("resources",
				keys("requests", field{Name: "cpu"}, field{Name: "memory"}),
				keys("limits", field{Name: "concurrency"}, field{Name: "cpu"}, field{Name: "memory"})),
			keys("scale",
				field{Name: "min"}, field{Name: "max"}, text("metric"), field{Name: "target"},
				field{Name: "utilization", Kind: object.KindNumber})),
		"serviceAccountName": text("serviceAccountName"),
	}

	// They are accepted in both places.
	run := keys("run", field{Name: "kafka"}, field{Name: "startTimeout"})
	deploy := keys("deploy", text("deployer"), text("image"), text("imagePullSecret"), text("namespace"), field{Name: "managementDisabled"},
		field{Name: "subscriptions", Kind: object.KindList, Free: true})
	root := keys("", text("name"), text("namespace"), text("image"), text("imageDigest"), text("domain"), text("deployer"))
	for _, name := range unused() {
		root.Fields = append(root.Fields, field{Name: name})
	}
	for _, name := range object.SortedKeys(placed) {
		root.Fields = append(root.Fields, placed[name])
		if moved()[name][0] == "run" {
			run.Fields = append(run.Fields, placed[name])
		} else {
			deploy.Fields = append(deploy.Fields, placed[name])
		}
	}
	root.Fields = append(root.Fields, run, deploy)
	return root
})

// Compile returns the function of a func.yaml as a document of kind Function. Errors are about
// fields that a Function lacks, and warnings about fields that are left out.
func Compile(doc spec.Document) ([]spec.Document, object.Errors) {
	d := &document.Decoder{}
	root := d.Hold(funcTable(), doc.Value, nil)
	run, deploy := root.At("run"), root.At("deploy")
	f := &funcYAML{root: root, run: run, deploy: deploy}
	f.reportUnsupported()
	name := root.At("name")
	if name.Text == "" {
		name.Fail("write name: NAME", "is missing")
	}

	// Translate the fields. Options and volumes add to several fields of a Function.
	pos := doc.Value.Pos
	var body builder.Fields
	body.Put("container", f.container())
	f.addOptions(&body)
	body.Put("resources", f.resources.Value(pos))
	body.Put("labels", f.labels())
	f.addAccount(&body)
	for _, namespace := range []document.Part{root.At("namespace"), deploy.At("namespace")} {
		if namespace.Text != "" {
			body.Put("namespace", namespace.Value)
			break
		}
	}

	// Make a document of them.
	out := doc
	out.Kind = spec.KindFunction
	out.Name, out.NamePos = name.Text, name.Pos
	out.Unsure = doc.Unsure || d.Errs.Err() != nil
	out.Value = builder.Pairs(pos, "apiVersion", object.TextAt(spec.APIVersion, pos), "kind", object.TextAt(spec.KindFunction, pos),
		"metadata", builder.Pairs(pos, "name", object.TextAt(name.Text, name.Pos)), "spec", body.Value(pos))
	return []spec.Document{out}, d.Errs
}

// funcYAML translates one func.yaml.
type funcYAML struct {
	root, run, deploy document.Part
	// resources are the resources of its volumes.
	resources builder.Fields
}

// moved returns a field at its present place, or at the place of older versions.
func (f *funcYAML) moved(name string) document.Part {
	if p := f.root.At(append(moved()[name], name)...); p.Given() {
		return p
	}
	return f.root.At(name)
}

// reportUnsupported reports the fields that no Function has.
func (f *funcYAML) reportUnsupported() {
	switch d := f.root.At("deployer"); d.Text {
	case "", targetKnative:
	case targetKEDA:
		d.Fail("write a document of kind Function with target: keda and scale: {max, concurrency, hosts}",
			"func.yaml names no hosts, by which KEDA's HTTP add-on knows the requests of the function")
	default:
		d.Fail("write a document of kind Workload", "the deployer %q has no Service of Knative", d.Text)
	}
	if s := f.deploy.At("subscriptions"); len(s.Parts()) > 0 {
		s.Fail("write a Trigger of Knative Eventing beside it, and remove the field", "subscriptions to events are not made")
	}
	if k := f.run.At("kafka"); k.Given() {
		k.Fail("write a KafkaSource of Knative Eventing beside it, and remove the field", "a source of events is not made")
	}
	if t := f.run.At("startTimeout"); t.Given() {
		t.Warn("", "is left out: only the tool func waits by it")
	}
}

// container returns the container of the function.
func (f *funcYAML) container() object.Value {
	pos := f.root.Pos
	image := object.TextAt(".", pos)
	for _, p := range []document.Part{f.root.At("image"), f.deploy.At("image")} {
		if p.Text != "" {
			image = p.Value
		}
	}
	if d := f.root.At("imageDigest"); d.Text != "" && image.Text != "." && !strings.Contains(image.Text, "@") {
		image.Text += "@" + d.Text // The digest of the deployed image.
	}
	var c builder.Fields
	c.Put("image", image)
	c.Put("variables", f.variables())
	c.Put("volumes", f.volumes())
	resources := f.moved("options").At("resources")
	c.Put("resources", builder.Pairs(resources.Pos, "requests", resources.At("requests").Value,
		"limits", resources.At("limits").Without(object.Fields("concurrency"))))
	health := f.moved("healthEndpoints")
	c.Put("livenessProbe", probe(health.At("liveness"), liveness))
	c.Put("readinessProbe", probe(health.At("readiness"), readiness))
	return c.Value(pos)
}

// probe returns a probe at the path of p, or at path by default.
func probe(p document.Part, path string) object.Value {
	if p.Text != "" {
		path = p.Text
	}
	port := object.Value{Kind: object.KindNumber, Pos: p.Pos, Text: defaultPort}
	get := builder.Pairs(p.Pos, "path", object.TextAt(path, p.Pos), "port", port)
	return builder.Pairs(p.Pos, "httpGet", get)
}

// reference matches {{ env:NAME }}, {{ secret:NAME:KEY }} and the like.
//
//nolint:gochecknoglobals // a constant
var reference = regexp.MustCompile(`^\{\{\s*(env|secret|configMap):([^\s:}]+)(?::([^\s:}]+))?\s*\}\}$`)

// variable matches the names that a source of variables can have.
var variable = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`) //nolint:gochecknoglobals // a constant

// variables returns the variables of the container, from envs.
func (f *funcYAML) variables() object.Value {
	envs := f.moved("envs")
	var out builder.Fields
	for _, env := range envs.Parts() {
		name, value := env.At("name"), env.At("value")
		words := reference.FindStringSubmatch(value.Text)
		switch {
		case name.Text == "" && len(words) > 0 && words[3] == "":
			env.Fail("write an entry with a name for each key", "all keys of a %s cannot be variables", words[1])
		case name.Text == "":
			env.Fail("write name: NAME", "is an entry without a name")
		case !value.Given():
			env.Warn("write value: \"\" for an empty one", "is left out: %q has no value", name.Text)
		default:
			out = append(out, object.Member{Name: name.Text, Pos: name.Pos, Value: valueOf(value, words)})
		}
	}
	return out.Value(envs.Pos)
}

// valueOf returns the value of an env. The argument words holds the parts of a reference, or nothing
// for plain text.
func valueOf(p document.Part, words []string) object.Value {
	out := p.Value
	switch {
	case len(words) == 0 && strings.Contains(p.Text, "{{"):
		p.Fail("write {{ env:NAME }}, {{ secret:NAME:KEY }} or plain text", "is neither text nor a reference of func")
	case len(words) == 0:
		out.Text = strings.ReplaceAll(p.Text, "${", "$${")
	case words[1] == "env" && !variable.MatchString(words[2]):
		p.Fail("call it by A-Z, 0-9 and _", "%q is not a name that a declared source can have", words[2])
	case words[1] == "env":
		out.Text = "${" + words[2] + "}"
	case words[3] == "":
		p.Fail("write {{ "+words[1]+":"+words[2]+":KEY }}", "names no key")
	case words[1] == "secret":
		return builder.Pairs(p.Pos, "local", object.TextAt(words[2], p.Pos), "key", object.TextAt(words[3], p.Pos))
	default:
		p.Fail("mount the ConfigMap with volumes, or write the value", "a key of a ConfigMap cannot be a variable")
	}
	return out
}

// volumes returns the mounts of the container. Each mounted volume becomes a resource.
func (f *funcYAML) volumes() object.Value {
	list := f.moved("volumes")
	var out builder.Fields
	for _, v := range list.Parts() {
		claim, scratch := v.At("persistentVolumeClaim"), v.At("emptyDir")
		params := builder.Pairs(v.Pos, "secretName", v.At("secret").Value, "configMapName", v.At("configMap").Value,
			"claimName", claim.At("claimName").Value, "medium", scratch.At("medium").Value, "sizeLimit", scratch.At("sizeLimit").Value)
		path := v.At("path")
		empty := len(params.Members) == 0 && !scratch.Given()
		if path.Text == "" || empty {
			v.Fail("write path, and one of secret, configMap, persistentVolumeClaim and emptyDir", "is not a volume")
			continue
		}

		// The resource is named after the index of the entry.
		name := "volume" + strings.TrimSuffix(strings.TrimPrefix(v.Path.String()[strings.LastIndex(v.Path.String(), "["):], "["), "]")
		f.resources.Put(name, builder.Pairs(v.Pos, "type", object.TextAt("volume", v.Pos), "params", params))
		readOnly := claim.At("readOnly").Value
		if v.At("secret").Given() || v.At("configMap").Given() {
			readOnly = object.BoolAt(true, v.Pos)
		}
		mount := builder.Pairs(path.Pos, "source", object.TextAt(name, path.Pos), "readOnly", readOnly)
		out = append(out, object.Member{Name: path.Text, Pos: path.Pos, Value: mount})
	}
	return out.Value(list.Pos)
}

// addOptions adds the scale of the function, and its limit of requests.
func (f *funcYAML) addOptions(body *builder.Fields) {
	options := f.moved("options")
	resources, scale := options.At("resources"), options.At("scale")
	body.Put("concurrencyLimit", resources.At("limits", "concurrency").Value)

	// The bounds. A maximum of 0 is no limit.
	var scaling, pods builder.Fields
	scaling.Put("min", scale.At("min").Value)
	if maximum := scale.At("max"); maximum.Text != "0" {
		scaling.Put("max", maximum.Value)
	}

	// The requests to scale by.
	metric, target := scale.At("metric"), scale.At("target")
	switch unit := metric.Text; {
	case unit != "" && unit != "concurrency" && unit != "rps":
		metric.Fail("", "%q is not known: expected concurrency or rps", unit)
	case target.Given() && unit == "rps":
		scaling.Put("rate", target.Value)
	case target.Given():
		scaling.Put("concurrency", target.Value)
	case unit != "":
		pods.Put("autoscaling.knative.dev/metric", metric.Value)
	}
	if u := scale.At("utilization"); u.Given() {
		pods.Put("autoscaling.knative.dev/target-utilization-percentage", object.TextAt(u.Text, u.Pos))

	}
	// Knative reads annotations about scaling at the template of the pods.
	annotations := f.moved("annotations")
	var others builder.Fields
	for _, m := range annotations.Members {
		if strings.HasPrefix(m.Name, "autoscaling.knative.dev/") {
			pods = append(pods, m)
		} else {
			others = append(others, m)
		}
	}
	if annotations.Given() {
		body.Put("annotations", others.Value(annotations.Pos))
	}
	body.Put("scale", scaling.Value(scale.Pos))
	body.Put("podAnnotations", pods.Value(options.Pos))
}

// labels returns the labels, which are a list in a func.yaml.
func (f *funcYAML) labels() object.Value {
	list := f.moved("labels")
	var out builder.Fields
	for _, l := range list.Parts() {
		key, value := l.At("key"), l.At("value")
		if strings.Contains(value.Text, "{{") {
			value.Fail("write the value", "labels cannot come from variables")
			continue
		}
		if !value.Given() {
			value.Value = object.TextAt("", l.Pos)
		}
		out = append(out, object.Member{Name: key.Text, Pos: key.Pos, Value: value.Value})
	}
	if domain := f.root.At("domain"); domain.Text != "" {
		out.Put("func.domain", domain.Value)
	}
	return out.Value(list.Pos)
}

// addAccount adds the service account, which exists already, and the Secret for the image.
func (f *funcYAML) addAccount(body *builder.Fields) {
	if a := f.moved("serviceAccountName"); a.Text != "" {
		body.Put("serviceAccount", builder.Pairs(a.Pos, "name", a.Value, "existing", object.BoolAt(true, a.Pos)))
	}
	if s := f.deploy.At("imagePullSecret"); s.Text != "" {
		body.Put("pod", builder.Pairs(s.Pos, "imagePullSecrets", object.ListAt(s.Pos, builder.Pairs(s.Pos, "name", s.Value))))
	}
}
