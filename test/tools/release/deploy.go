// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing/fstest"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
)

// writeDeploy writes the chart and the manifests with the image by its digest: the chart as Helm
// packs one; the folders of deploy as an archive; and what deploy/flux installs as one file, and as
// the artifact deploy/, for an OCIRepository of Flux. It returns the digest of the artifact.
func (r *release) writeDeploy(ctx context.Context, image string) (string, error) {
	chart, err := r.shipped("deploy/chart", image)
	if err != nil {
		return "", err
	}
	data, err := pack(chart, "ropewalk-controller", r.time, false)
	if err != nil {
		return "", err
	}
	if err := r.write("ropewalk-controller-"+strings.TrimPrefix(r.Version, "v")+".tgz", data); err != nil {
		return "", err
	}
	var files []entry
	for _, folder := range []string{"crds", "flux", "argocd", "pivot"} {
		below, err := r.shipped("deploy/"+folder, image)
		if err != nil {
			return "", err
		}
		for _, f := range below {
			f.name = path.Join(folder, f.name)
			files = append(files, f)
		}
	}
	if data, err = pack(files, "deploy", r.time, false); err != nil {
		return "", err
	}
	if err := r.write("ropewalk_"+r.Version+"_deploy.tar.gz", data); err != nil {
		return "", err
	}
	stage := filepath.Join(r.work, "deploy")
	for _, f := range files {
		to := filepath.Join(stage, f.name)
		if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, f.data, 0o600); err != nil {
			return "", err
		}
	}
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(stage, "flux"))
	if err != nil {
		return "", err
	}
	manifests, err := objects.AsYaml()
	if err != nil {
		return "", err
	}
	if err := r.write("ropewalk-controller.yaml", manifests); err != nil {
		return "", err
	}
	return r.pushDeploy(ctx, fstest.MapFS{"ropewalk-controller.yaml": {Data: manifests}})
}

// shipped reads the files of a folder, with the image by its digest, and the chart with its version.
func (r *release) shipped(folder, image string) ([]entry, error) {
	var out []entry
	root := filepath.Join(r.Root, folder)
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(file) //nolint:gosec // of the checkout
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		name = filepath.ToSlash(name)
		out = append(out, entry{name: name, mode: 0o644, data: []byte(r.released(folder+"/"+name, string(data), image))})
		return err
	})
	return out, err
}

// released writes the version and the digest into a file that names the image.
func (r *release) released(name, text, image string) string {
	switch name {
	case "deploy/chart/values.yaml":
		return regexp.MustCompile(`(?m)^  digest: ""$`).ReplaceAllString(text, fmt.Sprintf("  digest: %q", image))
	case "deploy/chart/Chart.yaml":
		return regexp.MustCompile(`(?m)^(version: |appVersion: ")[^"\s]+`).ReplaceAllString(text, "${1}"+strings.TrimPrefix(r.Version, "v"))
	}
	return regexp.MustCompile(regexp.QuoteMeta(imageName)+`:v[0-9][0-9A-Za-z.-]*`).ReplaceAllString(text, imageName+":"+r.Version+"@"+image)
}

// pushDeploy writes the artifact of the manifests into the layout deploy/.
func (r *release) pushDeploy(ctx context.Context, tree fs.FS) (string, error) {
	set, err := artifact.PackSet(tree, nil, artifact.Options{Source: repository, Revision: r.Version + "@sha1:" + r.revision})
	if err != nil {
		return "", err
	}
	to, err := layout.Open(filepath.Join(r.Out, "deploy"), true)
	if err != nil {
		return "", err
	}
	defer func() { _ = to.Close() }()
	pushed, err := artifact.Push(ctx, to, set, []string{r.Version}, artifact.PushOptions{At: r.time})
	return pushed.Digest, err
}
