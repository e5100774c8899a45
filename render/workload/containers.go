// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/placeholder"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// resolveContainers resolves the texts of all containers. Texts that cannot be resolved are left
// out and reported, so that the others are checked too.

func (c *Compilation) resolveContainers() []generate.Container {
	containers := c.member.source.Spec.Containers
	out := make([]generate.Container, 0, len(containers))
	s := c.scope(c.member)

	// Resolve the variables.
	for _, spec := range containers {
		container := generate.Container{Spec: spec, Variables: make([]generate.Variable, 0, len(spec.Variables))}
		for _, v := range spec.Variables {
			origin := position{pos: v.Value.Pos, path: func() string { return c.member.containerPath(spec, "variables", v.Name) }}
			value, ok, errs := s.expand(v.Value.Value, origin)
			c.errs = append(c.errs, errs...)
			if ok {
				container.Variables = append(container.Variables, generate.Variable{Name: v.Name, NamePos: v.NamePos, Value: value})
			}
		}

		// Secrets become variables like the others.
		for _, v := range spec.Secrets {
			if secret, ok := c.resolveSecret(v, c.member.containerPath(spec, "variables", v.Name)); ok {
				container.Variables = append(container.Variables, secret)
			}
		}
		slices.SortFunc(container.Variables, func(a, b generate.Variable) int { return strings.Compare(a.Name, b.Name) })

		// Resolve the files and the volumes.
		for _, f := range spec.Files {
			if resolved, ok := c.resolveFile(s, spec, f); ok {
				container.Files = append(container.Files, resolved)
			}
		}
		for _, v := range spec.Volumes {
			if m, ok := c.mount(s, spec, v); ok {
				container.Mounts = append(container.Mounts, m)
			}
		}
		out = append(out, container)
	}
	return out
}

// resolveFile resolves the text of a file. It returns false if the file is missing or a
// placeholder could not be resolved.
func (c *Compilation) resolveFile(s scope, container score.Container, f score.File) (generate.File, bool) {
	out := generate.File{Spec: f}
	var raw string
	var origin position
	path := func(field string) func() string {
		return func() string { return c.member.containerPath(container, "files", f.Target, field) }
	}

	// Find the text. Content that is not UTF-8 stays as it is.
	switch {
	case f.Content != nil:
		raw, origin = f.Content.Value, inContent(f, path("content"))
	case f.Source != nil:
		data, ok := c.member.source.Files[f.Source.Value]
		if !ok {
			c.fail(f.Source.Pos, path("source")(), "a path is relative to the document that names it",
				"file %q not found", f.Source.Value)
			return out, false
		}
		if !utf8.Valid(data) {
			out.Binary = data
			if found := placeholder.Find(string(data)); found != "" && !f.NoExpand {
				c.errs = append(c.errs, &object.Error{
					Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: f.Source.Pos, Path: path("source")(),
					Err:  fmt.Errorf("%s in the file is not expanded, because the file is not text in UTF-8", found),
					Hint: "set noExpand: true where it stands for itself",
				})
			}
			return out, true
		}
		raw, origin = string(data), inSource(f, path("source"))
	default:
		out.Binary = f.Binary
		return out, true
	}

	// Expand the text, unless the author turned that off.
	out.IsText = true
	if f.NoExpand {
		out.Content = literal(raw, origin.pos)
		return out, true
	}
	content, ok, errs := s.expand(raw, origin)
	c.errs = append(c.errs, errs...)
	c.errs = append(c.errs, c.member.warnScript(raw, origin)...)
	out.Content = content
	return out, ok
}

// mount finds the volume that a container mounts: the resource that the source names, by a
// placeholder without an output (which stands for its uid) or by its name, or an existing object.
func (c *Compilation) mount(s scope, container score.Container, v score.Mount) (generate.Mount, bool) {
	path := func() string { return c.member.containerPath(container, "volumes", v.Target, "source") }
	name, ok := c.volumeName(s, v, path)
	if !ok {
		return generate.Mount{}, false
	}
	if prefix, existing, _ := strings.Cut(name, ":"); existingVolumes()[prefix] != nil && prefix != name {
		return c.mountExisting(v, prefix, existing, path)
	}

	// A resource that the document lacks because of other mistakes is reported already.
	n, ok := c.member.resource(name)
	if !ok && c.member.lacksResources() {
		return generate.Mount{}, false
	}
	if !ok {
		hint := object.Suggest(name, c.member.resourceNames())
		if parts := placeholder.Parse(v.Source.Value); len(parts) == 1 && len(parts[0].Ref) > 2 {
			hint = fmt.Sprintf("write ${%s.%s}: a mount names the resource, not an output of it", generate.RootResources, parts[0].Ref[1])
		}
		if strings.Contains(name, ":") {
			hint = "what is there already is " + strings.Join(object.SortedKeys(existingVolumes()), ":NAME, ") + ":NAME"
		}
		c.fail(v.Source.Pos, path(), hint, "the workload %q has no resource %q to mount", c.member.name(), name)
		return generate.Mount{}, false
	}

	// The resource has to be a volume that the pods can reach.
	i := c.member.instances[n]
	r := c.result(i)
	if r == nil {
		return generate.Mount{}, false
	}
	if r.Volume.Kind == object.KindNone && r.Claim.Kind == object.KindNone {
		c.fail(v.Source.Pos, path(), "mount a resource of type volume",
			"the resource %q of type %q is not a volume", name, i.resource.Type.Value)
		return generate.Mount{}, false
	}
	if kind := namespaced(r.Volume); kind != "" && i.namespace() != c.member.source.Context.Namespace {
		c.fail(v.Source.Pos, path(), "let both run in one namespace, or remove the id so that each has a volume of its own",
			"the resource %q is a %s of the namespace %q, and pods in %q cannot mount it",
			name, kind, i.namespace(), c.member.source.Context.Namespace)
		return generate.Mount{}, false
	}
	return generate.Mount{Spec: v, Resource: name, Volume: r.Volume, Claim: r.Claim, Single: r.Single()}, true
}

// existingVolumes returns the fields of volumes of existing objects, by the word before the
// name of the object, such as pvc:archive. No resource can have such a name.
func existingVolumes() map[string][]string {
	return map[string][]string{
		"pvc":       {"persistentVolumeClaim", "claimName"},
		"configmap": {"configMap", "name"},
		"secret":    {"secret", "secretName"},
	}
}

// mountExisting returns the mount of an existing object. The volume of the pod is called by prefix
// and name, with a hash of both if that is not a valid name of a volume, or the name of a resource.
func (c *Compilation) mountExisting(v score.Mount, prefix, name string, path func() string) (generate.Mount, bool) {
	const most, tail = 63, 1 + 8
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		c.fail(v.Source.Pos, path(), "write "+prefix+":NAME with the name of the object",
			"%q is no name of an object of Kubernetes", name)
		return generate.Mount{}, false
	}
	volume := prefix + "-" + name
	_, taken := c.member.resource(volume)
	if taken || len(volume) > most || strings.Contains(name, ".") {
		short := strings.ReplaceAll(volume[:min(len(volume), most-tail)], ".", "-")
		volume = strings.TrimRight(short, "-") + "-" + object.ShortHash(volume)
	}
	pos := v.Source.Pos
	source := existingVolumes()[prefix]
	return generate.Mount{Spec: v, Resource: volume, Volume: generate.MapOf(pos, object.Member{
		Name: source[0], Pos: pos, Value: generate.MapOf(pos, generate.StringMember(source[1], name, pos)),
	})}, true
}

// namespaced returns the kind of the namespaced object that is mounted as a volume, or "" for any
// other volume.
func namespaced(volume object.Value) string {
	for _, kind := range [...][2]string{
		{"persistentVolumeClaim", "PersistentVolumeClaim"}, {"configMap", "ConfigMap"}, {"secret", "Secret"},
	} {
		if _, ok := volume.Get(kind[0]); ok {
			return kind[1]
		}
	}
	return ""
}

// volumeName returns the name of the resource that the source of a mount names.
func (c *Compilation) volumeName(s scope, v score.Mount, path func() string) (string, bool) {
	raw := v.Source.Value
	parts := placeholder.Parse(raw)
	if len(parts) == 1 && len(parts[0].Ref) == 2 && parts[0].Ref[0] == generate.RootResources {
		if _, ok := c.member.resource(parts[0].Ref[1]); ok {
			return parts[0].Ref[1], true
		}
	}

	// Any other text is expanded, and the result is a uid or a name.
	t, ok, errs := s.expand(raw, position{pos: v.Source.Pos, path: path})
	c.errs = append(c.errs, errs...)
	if !ok {
		return "", false
	}
	if t.Tainted() {
		c.errs = append(c.errs, secretIn(v.Source.Pos, path(), "the source of a volume", ""))
		return "", false
	}
	name := t.Plain()
	for n, i := range c.member.instances {
		if i.uid() == name {
			return c.member.source.Spec.Resources[n].Name, true
		}
	}
	return name, true
}

func (c *Compilation) fail(pos object.Pos, path, hint, format string, args ...any) {
	c.errs = append(c.errs, &object.Error{
		Stage: object.StageSpec, Pos: pos, Path: path, Err: fmt.Errorf(format, args...), Hint: hint,
	})
}

// resolveSecret returns a variable that holds a secret. It returns false if the reference to the
// secret has a mistake, which is reported.
func (c *Compilation) resolveSecret(v score.SecretVariable, path string) (generate.Variable, bool) {
	source := spec.SecretSource{Provider: v.Provider, Secret: v.Secret, Version: v.Version, Key: v.Key}
	config := &c.project.config.Secrets
	ref, err := referenceTo(config, source, v.Name)
	if err != nil {
		err.Stage, err.Pos, err.Path = object.StageSpec, v.Pos, path
		c.errs = append(c.errs, err)
		if err.Severity != object.SeverityWarning {
			return generate.Variable{}, false
		}

	}
	parts := slices.DeleteFunc([]string{"secret", ref.Provider, ref.Key, ref.Version}, func(s string) bool { return s == "" })
	const longest = 120 // Both together are a key of a Secret, which has at most 253 characters.
	s := c.secret(object.Shorten(strings.Join(parts, "."), longest), object.Shorten(cmp.Or(ref.Property, "value"), longest), ref)
	s.Written = "the secret " + ref.Key
	value := generate.Text{Pieces: []generate.Piece{{Secret: s}}, Pos: v.Pos}
	return generate.Variable{Name: v.Name, NamePos: v.NamePos, Value: value}, true
}
