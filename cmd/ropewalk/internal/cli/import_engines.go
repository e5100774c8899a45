// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// importApplication makes a component of the source of an Application.
func importApplication(o object.Object) (imported, error) {
	out := imported{name: project.Label(o.Name())}

	// Take the only source of the Application.
	sources := o.List("spec", "sources")
	source := object.Object(o.Map("spec", "source"))
	switch {
	case len(sources) > 1:
		return out, fmt.Errorf("the Application %q has %d sources: make an Application of each", o.Name(), len(sources))
	case len(sources) == 1:
		first, _ := sources[0].(map[string]any)
		source = first
	}
	url := source.Text("repoURL")
	if url == "" {
		return out, fmt.Errorf("the Application %q has no source.repoURL", o.Name())
	}

	// Take the kind from the status, or from the field that is set.
	known := []string{"repoURL", "path", "targetRevision", "chart", "name"}
	kind := o.Text("status", "sourceType")
	for _, name := range []string{"helm", "kustomize", "directory", "plugin"} {
		if source.Map(name) != nil && kind == "" {
			kind = strings.ToUpper(name[:1]) + name[1:]
		}
	}
	at := source.Text("path")
	if at == "" {
		at = "."
	}

	// Write what renders the source.
	git := gitSource(url, source.Text("targetRevision"))
	switch {
	case source.Text("chart") != "":
		out.built = map[string]any{"helm": out.addHelm(source, "", map[string]any{"chart": source.Text("chart"), "repo": url, "version": source.Text("targetRevision")})}
		if !strings.Contains(url, "://") { // Argo CD names registries without a scheme.
			helm, _ := out.built["helm"].(map[string]any)
			helm["chart"] = "oci://" + url + "/" + source.Text("chart")
			delete(helm, "repo")
		}
		known = append(known, "helm")
	case kind == "Helm":
		out.built = map[string]any{"source": git, "helm": out.addHelm(source, at, map[string]any{"chart": at})}
		known = append(known, "helm")
	case kind == "Kustomize":
		out.built = map[string]any{"source": git, "kustomize": out.addKustomize(source.Map("kustomize"), map[string]any{"path": at})}
		known = append(known, "kustomize")
	case kind == "Directory":
		// One pattern for .yaml, .yml and .json: each must match a file, and the folder is not at hand.
		paths := []any{at + "/*.[jy][ams]*[ln]"}
		if recurse, _ := source.Get("directory", "recurse").(bool); recurse {
			paths = []any{at}
		}
		out.built = map[string]any{"source": git, "manifests": map[string]any{"paths": paths}}
		out.leave("directory", source.Map("directory"), "recurse")
		known = append(known, "directory")
	case source.Map("plugin") != nil:
		return out, fmt.Errorf("the Application %q is rendered by a plugin: import what its folder %q holds, or what the plugin prints: PLUGIN | ropewalk import - DIR", o.Name(), at)
	default:
		return out, fmt.Errorf("the Application %q does not say of what its source is made (status.sourceType): take it from the cluster with kubectl get -o yaml, or add source.helm, kustomize or directory", o.Name())
	}

	// Note the fields that have no place in a component.
	out.leave("source", source, known...)
	out.leave("spec", o.Map("spec"), "source", "sources", "destination", "project")
	out.leave("spec.destination", o.Map("spec", "destination"), "namespace")

	// A project of Argo CD bounds rights, and a namespace is the context.
	if project := o.Text("spec", "project"); project != "" && project != "default" {
		out.left = append(out.left, "spec.project")
	}
	if namespace := o.Text("spec", "destination", "namespace"); namespace != "" {
		out.context = map[string]any{"namespace": namespace}
	}
	// Argo CD names the release like the Application, with its dots.
	if helm, ok := out.built["helm"].(map[string]any); ok && helm["releaseName"] == nil && out.name != o.Name() {
		helm["releaseName"] = o.Name()
	}
	return out, nil
}

// leave notes the fields of an object that are not carried over.
func (i *imported) leave(at string, of map[string]any, known ...string) {
	for _, name := range object.SortedKeys(of) {
		if !slices.Contains(known, name) {
			i.left = append(i.left, at+"."+name)
		}
	}
}

// addHelm adds source.helm of an Application to out. The argument dir is the folder of the chart in
// the source, or "" for a chart of a repository.
func (i *imported) addHelm(source object.Object, dir string, out map[string]any) map[string]any {
	helm := object.Object(source.Map("helm"))

	// Files of values lie in the chart, or below the source.
	var files []any
	for n, item := range helm.List("valueFiles") {
		// One is in the folder of the chart, or with a slash in that of the source.
		file, _ := item.(string)
		if dir == "" || strings.Contains(file, "://") || strings.HasPrefix(file, "$") {
			i.left = append(i.left, fmt.Sprintf("source.helm.valueFiles[%d]", n))
			continue
		}
		if rooted, ok := strings.CutPrefix(file, "/"); ok {
			files = append(files, path.Clean(rooted))
		} else {
			files = append(files, path.Join(dir, file))
		}
	}
	if len(files) > 0 {
		out["valuesFiles"] = files
	}

	// These fields have the same meaning in a component.
	for from, to := range map[string]string{"releaseName": "releaseName", "namespace": "namespace", "skipCrds": "skipCRDs", "apiVersions": "apiVersions"} {
		if v, ok := helm[from]; ok {
			out[to] = v
		}
	}

	// Values come as an object or as text, and parameters go over them.
	known := []string{"releaseName", "valueFiles", "valuesObject", "namespace", "skipCrds", "apiVersions", "parameters"}
	values := helm.Map("valuesObject")
	if values == nil {
		if err := yaml.Unmarshal([]byte(helm.Text("values")), &values); err == nil {
			known = append(known, "values")
		}
	} else { // Argo CD does not read the text then.
		known = append(known, "values")
	}
	for n, item := range helm.List("parameters") {
		p, _ := item.(map[string]any)
		if values == nil {
			values = map[string]any{}
		}
		if !setParameter(values, p) {
			i.left = append(i.left, fmt.Sprintf("source.helm.parameters[%d]", n))
		}
	}
	if len(values) > 0 {
		out["values"] = values
	}
	i.leave("source.helm", helm, known...)
	return out
}

// setParameter lays a parameter of an Application over values as helm --set does. It returns false
// if its name is more than names with dots between them.
func setParameter(values, parameter map[string]any) bool {
	p := object.Object(parameter)
	name, text := p.Text("name"), p.Text("value")
	if name == "" || strings.ContainsAny(name, `[]\{},`) || strings.ContainsAny(text, `\{},`) {
		return false
	}
	var value any = text
	if force, _ := p["forceString"].(bool); !force {
		number, err := strconv.ParseInt(text, 10, 64)
		switch {
		case text == "true" || text == "false":
			value = text == "true"
		case text == "null":
			value = nil
		case err == nil && (text == "0" || text[0] != '0'):
			value = number
		}
	}
	steps := strings.Split(name, ".")
	for _, step := range steps[:len(steps)-1] {
		below, ok := values[step].(map[string]any)
		if !ok {
			below = map[string]any{}
			values[step] = below
		}
		values = below
	}
	values[steps[len(steps)-1]] = value
	return true
}

// addKustomize adds source.kustomize of an Application, or the spec of a Kustomization of Flux, to
// out.
func (i *imported) addKustomize(k, out map[string]any) map[string]any {
	// These fields have the same meaning in a component.
	for _, name := range []string{"namePrefix", "nameSuffix", "namespace", "patches", "replicas", "commonAnnotations"} {
		if v, ok := k[name]; ok {
			out[name] = v
		}
	}

	// A component is relative to the path of the kustomization.
	var components []any
	for _, c := range object.Object(k).List("components") {
		if text, ok := c.(string); ok && !strings.Contains(text, "://") { // It is relative to the path.
			dir, _ := out["path"].(string)
			c = path.Join(dir, text)
		}
		components = append(components, c)
	}
	if len(components) > 0 {
		out["components"] = components
	}

	// Labels and images have another form in kustomize itself.
	if labels, ok := k["commonLabels"]; ok {
		out["labels"] = []any{map[string]any{"pairs": labels, "includeSelectors": true}}
	}
	var images []any
	list, _ := k["images"].([]any)
	for _, item := range list {
		if text, ok := item.(string); ok {
			item = imageOf(text)
		}
		images = append(images, item)
	}
	if len(images) > 0 {
		out["images"] = images
	}
	i.leave("kustomize", k, "namePrefix", "nameSuffix", "namespace", "components", "patches", "replicas", "commonAnnotations", "commonLabels", "images", "path")
	return out
}

// imageOf returns an image of an Application, [NAME=]NEW[:TAG|@DIGEST], as kustomize has it.
func imageOf(text string) map[string]any {
	name, to, renamed := strings.Cut(text, "=")
	if !renamed {
		to = name
	}
	out := map[string]any{}
	if base, digest, ok := strings.Cut(to, "@"); ok {
		to, out["digest"] = base, digest
	} else if i := strings.LastIndex(to, ":"); i > strings.LastIndex(to, "/") {
		to, out["newTag"] = to[:i], to[i+1:]
	}
	if !renamed {
		name = to
	} else {
		out["newName"] = to
	}
	out["name"] = name
	return out
}

// gitSource returns a source of the repository repo. The revision is a commit, a version or a
// branch, or "" for the default branch.
func gitSource(repo, revision string) map[string]any {
	kind := "branch"
	switch {
	case revision == "" || revision == "HEAD":
		return map[string]any{"type": "git", "ref": repo}
	case regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(revision):
		kind = "commit"
	case strings.ContainsAny(revision, "*<>=~^|") || regexp.MustCompile(`^v?[0-9.]+\.[xX](\.|$)`).MatchString(revision):
		kind = "semver"
		revision = strings.NewReplacer("%", "%25", "&", "%26", "+", "%2B", "#", "%23", " ", "%20").Replace(revision)
	case regexp.MustCompile(`^v?[0-9]+\.[0-9]+`).MatchString(revision):
		kind = "tag"
	}
	return map[string]any{"type": "git", "ref": repo + "?" + kind + "=" + revision}
}

// importKustomization makes a component of a Kustomization of Flux. Its GitRepository is one of
// objects, and its index is returned.
func importKustomization(o object.Object, objects []object.Object) (imported, int, error) {
	out := imported{name: project.Label(o.Name())}

	// Find the source, which must be one that can be fetched from here.
	kind, name := o.Text("spec", "sourceRef", "kind"), o.Text("spec", "sourceRef", "name")
	i := slices.IndexFunc(objects, func(s object.Object) bool {
		return s.Kind() == kind && s.Name() == name && strings.HasSuffix(s.Group(), "source.toolkit.fluxcd.io")
	})
	if kind != "GitRepository" && kind != "OCIRepository" {
		why := "cannot be fetched here"
		if kind == "ExternalArtifact" {
			why = "is made in the cluster and cannot be fetched here"
		}
		return out, i, fmt.Errorf("the Kustomization %q has the source %s %q, which %s: import the folder that it is made of, such as ropewalk import ./deploy", o.Name(), kind, name, why)
	}
	if i < 0 {
		return out, i, fmt.Errorf("the Kustomization %q has the source %s %q, which is not beside it: add the manifest of that %s", o.Name(), kind, name, kind)
	}

	// Write the reference, with the most exact revision of it.
	ref := object.Object(objects[i].Map("spec", "ref"))
	url := objects[i].Text("spec", "url")
	source := gitSource(url, "")
	for _, by := range []string{"commit", "semver", "tag", "branch", "digest"} {
		if text := ref.Text(by); text != "" {
			source["ref"] = url + "?" + by + "=" + text
			break
		}
	}
	if kind == "OCIRepository" {
		source = map[string]any{"type": "oci", "ref": url}
		switch {
		case ref.Text("digest") != "":
			source["ref"] = url + "@" + ref.Text("digest")
		case ref.Text("semver") != "":
			source["ref"] = url + "?semver=" + ref.Text("semver")
		case ref.Text("tag") != "":
			source["ref"] = url + ":" + ref.Text("tag")
		}
	}

	// Write the fields that a kustomization has too.
	spec := o.Map("spec")
	at := strings.TrimPrefix(strings.TrimPrefix(o.Text("spec", "path"), "./"), "/")
	if at == "" {
		at = "."
	}
	fields := map[string]any{}
	for _, name := range []string{"namePrefix", "nameSuffix", "components", "patches", "images", "commonAnnotations"} {
		if v, ok := spec[name]; ok {
			fields[name] = v
		}
	}
	if namespace, ok := spec["targetNamespace"]; ok {
		fields["namespace"] = namespace
	}

	// Note the fields that have no place in a component.
	out.built = map[string]any{"source": source, "kustomize": out.addKustomize(fields, map[string]any{"path": at})}
	out.leave("spec", spec, append([]string{"interval", "sourceRef", "path", "targetNamespace"}, object.SortedKeys(fields)...)...)
	of := objects[i].Map("spec")
	if secret := objects[i].Text("spec", "secretRef", "name"); secret != "" {
		source["pullSecretRef"] = map[string]any{"name": secret}
	}
	out.leave(kind+".spec", of, "interval", "timeout", "url", "ref", "secretRef")
	return out, i, nil
}

// contextFlags returns the flags that a context of a project has, by its fields.
func contextFlags() map[string]string {
	return map[string]string{"namespace": "namespace", "kube-version": "kubeVersion", "cluster-domain": "clusterDomain", "dialect": "engine"}
}

// keepFlags writes flags into the project. It refuses a flag that no field keeps.
func (i *imported) keepFlags(given *pflag.FlagSet) error {
	// These flags change the input, and have no field in a project.
	inputFlags := []string{
		"overrides-file", "override-file", "set", "set-string", "set-json", "set-file", "override-property", "expression", "env", "runtime", "runtime-from-env", "env-file", "var", "var-from-env", "image",
	}
	var refused []string
	var err error
	fields := contextFlags()

	// Write each flag into its field, or refuse it.
	given.Visit(func(f *pflag.Flag) {
		if f.Name == "name" || f.Name == "namespace" {
			if wrong := spec.CheckName(f.Value.String()); wrong != nil && err == nil {
				err = command.Usagef("", "--%s: %s", f.Name, wrong)
			}
		}
		switch {
		case f.Name == "name":
			i.rename(f.Value.String())
		case fields[f.Name] != "":
			if i.context == nil {
				i.context = map[string]any{}
			}
			i.context[fields[f.Name]] = f.Value.String()
		case slices.Contains(inputFlags, f.Name):
			refused = append(refused, "--"+f.Name)
		}
	})
	if err == nil && len(refused) > 0 {
		err = command.Usagef("import without it, then write what it sets into component.yaml; of a chart in a file for --values",
			"%s: an import cannot keep it for the project, so nothing was written", strings.Join(refused, ", "))
	}
	return err
}

// rename gives the component a name. The release of an Application stays.
func (i *imported) rename(name string) {
	if helm, ok := i.built["helm"].(map[string]any); ok && i.before == "" && helm["releaseName"] == nil {
		helm["releaseName"] = i.name
	}
	i.name = name
}

// keepValues adds the files of --values to those of the chart. It refuses a file that the project
// may not read.
func (i *imported) keepValues(files []string, dir string) error {
	helm, chart := i.built["helm"].(map[string]any)
	if !chart || i.root == "" {
		return command.Usagef("write what it has into component.yaml after the import, as helm.values or helm.valuesFiles",
			"--values: an import keeps it of a folder with a chart in the repository of the project only, so nothing was written")
	}
	base, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	var out []any
	for _, file := range files {
		full, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		if in, err := filepath.Rel(i.root, full); err != nil || !filepath.IsLocal(in) {
			return command.Usagef("copy the file into it", "--values: the project cannot read %s, which is outside of %s", file, i.root)
		}
		rel, err := filepath.Rel(base, full)
		if err != nil {
			return err
		}
		out = append(out, filepath.ToSlash(rel))
	}
	helm["valuesFiles"] = out
	return nil
}
