// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"os"
	"path"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
)

// withSourceFiles returns a source with what the files .argocd-source.yaml and
// .argocd-source-NAME.yaml in its folder lay over it, such as Argo CD Image Updater writes. They
// change how the files are built, and never which files these are.
func (x *expanding) withSourceFiles(u *Unit, source object.Value, folder string) (object.Value, *object.Error) {
	for _, name := range []string{".argocd-source.yaml", ".argocd-source-" + u.Name + ".yaml"} {
		file := path.Join(folder, name)
		if !isFile(x.repo.FS, file) {
			continue
		}
		text, err := readFile(x.repo.FS, file)
		var over any
		if err == nil {
			err = yaml.Unmarshal(text, &over)
		}
		if err != nil {
			return source, mistake(object.Pos{File: file, Line: 1, Column: 1}, "", "%s: the file cannot be read: %w", u.ID, err)
		}
		v := valueOf(over, object.Value{Pos: object.Pos{File: file, Line: 1, Column: 1}})
		for _, built := range []string{"helm", "kustomize", "directory", "plugin"} {
			if below := lookup(v, built); below.Kind != object.KindNone {
				source = source.Merge(mapOf(source.Pos, member(built, below)))
			}
		}
	}
	return source, nil
}

// buildVariables returns the variables of Argo CD that a source may refer to as $NAME or ${NAME}.
func buildVariables(u *Unit, source object.Value) map[string]string {
	return map[string]string{
		"ARGOCD_APP_NAME": u.Name, "ARGOCD_APP_NAMESPACE": u.Namespace, "ARGOCD_APP_PROJECT_NAME": lookup(u.Object, "spec", "project").Text,
		"ARGOCD_APP_SOURCE_REPO_URL": source.TextOf("repoURL"), "ARGOCD_APP_SOURCE_PATH": source.TextOf("path"),
		"ARGOCD_APP_SOURCE_TARGET_REVISION": source.TextOf("targetRevision"), "$": "$",
	}
}

// withVariables returns a text with the variables of Argo CD in it. Those of the revision stay, with
// a warning: the commit that Argo CD will check out is in no file.
func withVariables(u *Unit, source, v object.Value) object.Value {
	known := buildVariables(u, source)
	v.Text = os.Expand(v.Text, func(name string) string {
		if slices.Contains([]string{"ARGOCD_APP_REVISION", "ARGOCD_APP_REVISION_SHORT", "ARGOCD_APP_REVISION_SHORT_8"}, name) {
			u.Warnings = append(u.Warnings, warning(v.Pos, "", "%s: $%s stays, as the revision is known to Argo CD alone", u.ID, name))
			return "${" + name + "}"
		}
		return known[name]
	})
	return v
}

// allWithVariables returns a map of texts with the variables of Argo CD in them.
func allWithVariables(u *Unit, source, v object.Value) object.Value {
	v.Members = slices.Clone(v.Members)
	for i, m := range v.Members {
		v.Members[i].Value = withVariables(u, source, m.Value)
	}
	return v
}
