// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/resource"
)

// environment collects the variables of one container. A variable
// reaches the container in the plainest way that keeps every byte of it:
//
//   - envFrom of a ConfigMap, where it is plain text: nothing in there is expanded;
//   - envFrom of a Secret that an ExternalSecret makes by a template, where it
//     holds secrets of the store;
//   - env, where its name is no key of a ConfigMap, where it holds $(NAME) of
//     another variable, which Kubernetes expands only in env, and where it holds
//     a Secret of the cluster; pieces that are secrets are then variables of their
//     own, the helpers, and the text is composed of $(HELPER).
//
// A literal $ in a composed text is written as $$, from which Kubernetes makes $
// again, so that no literal ever joins what follows it.
type environment struct {
	errs    *mistakes
	backend backend
	// workload is the name that the names of objects begin with; several is set if the pod
	// has other containers.
	workload string
	several  bool
	c        *Container
	// config is the data of the ConfigMap, secret is the ExternalSecret.
	config members
	secret externalSecret
	// providers are the ExternalSecrets by provider, for texts whose secrets all come from
	// stores of providers.
	providers map[string]*externalSecret
	// referable holds the names that $(NAME) may stand for.
	referable map[string]bool
	// helpers are the variables under generated names for Secrets of the cluster, entries
	// the other variables of env.
	helpers []object.Value
	entries []item
	// names are the helpers by secret and escape; reserved holds the names that a
	// helper must not have.
	names    map[helperKey]string
	reserved map[string]bool
}

// assignVariables assigns all variables of a container.
func assignVariables(errs *mistakes, r *Resolved, c *Container) *environment {
	e := &environment{
		errs: errs, backend: backend{&r.Config.Secrets}, workload: r.Workload.Name.Value, several: len(r.Containers) > 1,
		c: c, referable: namesKnown(c.Variables),
	}
	e.config = make(members, 0, len(c.Variables))
	for i := range c.Variables {
		e.assign(&c.Variables[i])
	}
	return e
}

// namesKnown returns the names of all variables, or nil if no text can refer to a variable.
func namesKnown(variables []Variable) map[string]bool {
	refers := false
	for _, v := range variables {
		for _, p := range v.Value.Pieces {
			refers = refers || strings.Contains(p.Literal, "$(") || strings.HasSuffix(p.Literal, "$")
		}
	}
	if !refers {
		return nil
	}
	names := make(map[string]bool, len(variables))
	for _, v := range variables {
		names[v.Name] = true
	}
	return names
}

func (e *environment) path(variable string) object.Path {
	return e.errs.path("containers", e.c.Spec.Name, "variables", variable)
}

// assign chooses the way in which one variable reaches the container.
func (e *environment) assign(v *Variable) {
	if len(validation.IsRelaxedEnvVarName(v.Name)) > 0 {
		e.errs.fail(v.NamePos, e.path(v.Name), "", "%q is not a variable name: Kubernetes accepts printable ASCII without =", v.Name)
		return
	}

	// No variable can hold a NUL byte, and secrets take another way.
	pieces := v.Value.Pieces
	for _, p := range pieces {
		if strings.IndexByte(p.Literal, 0) >= 0 {
			e.errs.fail(v.Value.Pos, e.path(v.Name), "put it into a file",
				"the value contains a NUL byte, which an environment variable cannot hold")
			return
		}
	}
	if v.Value.Tainted() {
		e.assignSecret(v, pieces)
		return
	}

	// Plain text goes into the ConfigMap unless Kubernetes has to expand it.
	text := v.Value.Plain()
	warnSecret(e.errs, v, v.Value.private(), e.path(v.Name))
	switch expands := expands(pieces, e.referable); {
	case !expands && isKey(v.Name):
		e.config = append(e.config, object.Member{Name: v.Name, Pos: v.NamePos, Value: object.TextAt(text, v.Value.Pos)})
	case !expands:
		e.add(v, object.TextAt(strings.ReplaceAll(text, "$", "$$"), v.Value.Pos), nil)
	case slices.ContainsFunc(pieces, func(p Piece) bool { return p.Verbatim }):
		composed, refs := compose(pieces, true, e.addHelper)
		e.add(v, object.TextAt(composed, v.Value.Pos), refs)
	default:
		var refs []string
		scan(text, func(string) {}, func(name string) { refs = append(refs, name) })
		e.add(v, object.TextAt(text, v.Value.Pos), refs)
	}
}

// assignSecret chooses the way in which a variable with secrets reaches the container.
func (e *environment) assignSecret(v *Variable, pieces []Piece) {
	if !e.backend.checkExpressible(e.errs, pieces, v.Value.Pos, e.path(v.Name)) {
		return
	}
	warnUnescaped(e.errs, pieces, v.Value.Pos, e.path(v.Name))
	expands := expands(pieces, e.referable)
	switch {
	case len(pieces) == 1 && e.backend.direct(pieces[0]):
		e.entries = append(e.entries, item{name: v.Name, v: v, value: secretVariable(v.Name, v.NamePos, v.Value.Pos, pieces[0].Secret)})
	case !expands && isKey(v.Name) && e.backend.templated(pieces):
		if x, end := e.ofProvider(v.Value); x != nil {
			x.addTemplate(v.Name, v.NamePos, pieces, v.Value.Pos)
			direct := &Secret{Reference: resource.Reference{Key: e.workload + "-" + end, Property: v.Name}}
			e.entries = append(e.entries, item{name: v.Name, v: v, value: secretVariable(v.Name, v.NamePos, v.Value.Pos, direct)})
			return
		}
		e.secret.addTemplate(v.Name, v.NamePos, pieces, v.Value.Pos)
	default:
		text, refs := compose(pieces, expands, e.addHelper)
		e.add(v, object.TextAt(text, v.Value.Pos), refs)
	}
}

// add puts a variable with text into env.
func (e *environment) add(v *Variable, text object.Value, refs []string) {
	e.entries = append(e.entries, item{name: v.Name, refs: refs, v: v,
		value: MapOf(v.Value.Pos, StringMember("name", v.Name, v.NamePos), member("value", text))})
}

// finish returns the fields env and envFrom of the container, and the objects that they read.
func (e *environment) finish() (env, envFrom object.Value, read objects) {
	configs, secrets := e.nameEnd("env"), e.nameEnd("secrets")

	// Each object has all variables of one kind, and envFrom names it.
	var sources []object.Value
	source := func(field, end string) {
		name := MapOf(object.Pos{}, StringMember("name", e.workload+"-"+end, object.Pos{}))
		sources = append(sources, MapOf(object.Pos{}, member(field, name)))
	}
	if len(e.config) > 0 {
		e.checkSize("the ConfigMap of the variables", e.config)
		read.configs.put(configs, MapOf(object.Pos{}, member("data", e.config.value(e.c.Spec.Pos))))
		source("configMapRef", configs)
	}
	if len(e.secret.templates) > 0 {
		e.checkSize("the Secret of the variables", e.secret.templates)
		read.secrets.put(secrets, e.secret.value(e.backend.config))
		source("secretRef", secrets)
	}

	// Texts with secrets of one provider are in an object of their own.
	for _, provider := range slices.Sorted(maps.Keys(e.providers)) {
		x := e.providers[provider]
		e.checkSize("the Secret of the variables", x.templates)
		read.secrets.put(e.nameEnd("secrets-"+provider), x.value(e.backend.config))
	}

	// Helpers come before the variables that refer to them.
	items := e.helpers
	for _, o := range ordered(e.entries, e.warnRing) {
		items = append(items, o.value)
	}
	return lowerList(items, e.c.Spec.Pos), lowerList(sources, e.c.Spec.Pos), read
}

// helperKey identifies the helper for a secret.
type helperKey struct {
	secret string
	escape bool
}

// addHelper returns the name of the variable that holds a secret, for texts that are composed. It
// adds the variable on first use.
func (e *environment) addHelper(p Piece) string {
	key := helperKey{p.Secret.Name, p.Escape}
	if name, ok := e.names[key]; ok {
		return name
	}
	if e.names == nil {
		e.names = map[helperKey]string{}
		e.reserved = e.namesMentioned()
	}
	name := "ROPEWALK_SECRET_" + strings.ToUpper(p.Secret.Name)
	if p.Escape {
		name += "_URL"
	}
	for e.reserved[name] {
		name += "_"
	}
	e.names[key] = name
	e.reserved[name] = true
	if e.backend.direct(p) {
		e.helpers = append(e.helpers, secretVariable(name, object.Pos{}, object.Pos{}, p.Secret))
	} else {
		e.secret.addTemplate(name, object.Pos{}, []Piece{p}, object.Pos{})
	}
	return name
}

// namesMentioned returns all names of variables, and all NAME of $(NAME) in any text that
// Kubernetes expands. A helper with such a name would put a secret where the author wrote text.
func (e *environment) namesMentioned() map[string]bool {
	names := map[string]bool{}
	note := func(name string) { names[name] = true }
	skip := func(string) {}
	for _, v := range e.c.Variables {
		names[v.Name] = true
		for _, p := range v.Value.Pieces {
			scan(p.Literal, skip, note)
		}
	}
	for _, t := range slices.Concat(e.c.Spec.Command, e.c.Spec.Args) {
		scan(t.Value, skip, note)
	}
	return names
}

// warnRing warns of variables that refer to themselves or to each other in a cycle.
func (e *environment) warnRing(cycle []int) {
	first := e.entries[cycle[0]]
	if len(cycle) == 1 {
		if slices.Contains(first.refs, first.name) {
			e.errs.warn(first.v.Value.Pos, e.path(first.name), "a variable that the image sets cannot be extended here",
				"%q refers to itself: Kubernetes leaves $(%s) in it as it is", first.name, first.name)
		}
		return
	}
	names := make([]string, len(cycle))
	for i, n := range cycle {
		names[i] = e.entries[n].name
	}
	e.errs.warn(first.v.Value.Pos, e.path(first.name), "",
		"variables refer to each other in a cycle: %s; Kubernetes leaves $(NAME) as it is where NAME comes later",
		strings.Join(names, ", "))
}

// ofProvider returns the ExternalSecret of the provider whose secrets a text holds, with the end
// of its name. It returns nil if one of the secrets is in the store of the environment. A text with
// secrets of several providers belongs to the first.
func (e *environment) ofProvider(t Text) (x *externalSecret, end string) {
	var reads externalSecret
	for _, p := range t.Pieces {
		if p.Secret != nil {
			reads.reads = append(reads.reads, p.Secret)
		}
	}
	provider := reads.provider()
	if provider == "" {
		return nil, ""
	}
	if e.providers[provider] == nil {
		if e.providers == nil {
			e.providers = map[string]*externalSecret{}
		}
		e.providers[provider] = &externalSecret{}
	}
	return e.providers[provider], e.nameEnd("secrets-" + provider)
}

// nameEnd returns the end of the name of an object of the container. It is part of the id of a node
// as well (secret-<end>), which has at most 63 characters.
func (e *environment) nameEnd(what string) string {
	if !e.several {
		return what
	}
	const longest = 63 - len("secret-")
	return object.Shorten(e.c.Spec.Name, longest-1-len(what)) + "-" + what
}

// checkSize reports variables that are too large for one object.
func (e *environment) checkSize(what string, m members) {
	e.errs.checkSize(what, len(m), func(i int) int { return len(m[i].Name) + len(m[i].Value.Text) },
		func(i int) (object.Pos, object.Path) { return m[i].Pos, e.path(m[i].Name) })
}

// isKey reports whether name can be a key of a ConfigMap or Secret.
func isKey(name string) bool { return len(validation.IsConfigMapKey(name)) == 0 }
