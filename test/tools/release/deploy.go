// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/deploy"
)

// writeDeploy writes the chart and the manifests with the image by its digest: the chart as Helm
// packs one, and as the artifact chart/; the folders of deploy as an archive; and what deploy/flux
// installs as one file, and as the artifact deploy/, for an OCIRepository of Flux.
func (r *release) writeDeploy(ctx context.Context, image string) error {
	chart, err := r.shipped("deploy/chart", image)
	if err != nil {
		return err
	}
	packed, err := pack(chart, "ropewalk-controller", r.time, false)
	if err != nil {
		return err
	}
	if err := r.write("ropewalk-controller-"+r.chartVersion()+".tgz", packed); err != nil {
		return err
	}
	if err := r.pushChart(ctx, chart, packed); err != nil {
		return err
	}
	var files []entry
	for _, folder := range []string{"crds", "flux", "argocd", "pivot"} {
		below, err := r.shipped("deploy/"+folder, image)
		if err != nil {
			return err
		}
		for _, f := range below {
			f.name = path.Join(folder, f.name)
			files = append(files, f)
		}
	}
	folders, err := pack(files, "deploy", r.time, false)
	if err != nil {
		return err
	}
	if err := r.write("ropewalk_"+r.Version+"_deploy.tar.gz", folders); err != nil {
		return err
	}
	manifests := []byte(deploy.Flux(r.imageTag() + "@" + image))
	if err := r.write("ropewalk-controller.yaml", manifests); err != nil {
		return err
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
		return regexp.MustCompile(`(?m)^(version: |appVersion: ")[^"\s]+`).ReplaceAllString(text, "${1}"+r.chartVersion())
	}
	return deploy.WithImage(text, r.imageTag()+"@"+image)
}

// pushDeploy writes the artifact of the manifests into the layout deploy/.
func (r *release) pushDeploy(ctx context.Context, tree fs.FS) error {
	set, err := artifact.PackSet(tree, nil, artifact.Options{Source: repository, Revision: r.Version + "@sha1:" + r.revision})
	if err != nil {
		return err
	}
	to, err := layout.Open(filepath.Join(r.Out, "deploy"), true)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	_, err = artifact.Push(ctx, to, set, []string{r.Version}, artifact.PushOptions{At: r.time})
	return err
}

// pushChart writes the chart into the layout chart/, as helm push does.
func (r *release) pushChart(ctx context.Context, files []entry, packed []byte) error {
	at := slices.IndexFunc(files, func(f entry) bool { return f.name == "Chart.yaml" })
	config, err := yaml.YAMLToJSON(files[at].data)
	if err != nil {
		return err
	}
	chart, err := artifact.NewImage(artifact.Blob{MediaType: "application/vnd.cncf.helm.config.v1+json", Data: config},
		[]artifact.Blob{{MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Data: packed}}, fmt.Sprintf("sha256:%x", sha256.Sum256(packed)), nil)
	if err != nil {
		return err
	}
	to, err := layout.Open(filepath.Join(r.Out, "chart"), true)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	_, err = artifact.PushImage(ctx, to, chart, r.chartVersion(), artifact.PushOptions{At: r.time})
	return err
}
