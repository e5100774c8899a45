// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"context"
	"io/fs"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/component/kustomize"
)

// Inflate renders a chart of a kustomization to YAML, with hooks as they are.
func (c Charts) Inflate(ctx context.Context, chart fs.FS, dir string, o kustomize.ChartOptions) ([]byte, error) {
	// The options of a kustomization are the options of helm template.
	opts := Options{
		ReleaseName: o.ReleaseName, Namespace: o.Namespace, KubeVersion: o.KubeVersion, APIVersions: o.APIVersions, Served: c.Served,
		SkipCRDs: !o.IncludeCRDs, Hooks: HooksKeep,
		Leave: func(events string) bool {
			isSkippedTest := o.SkipTests && strings.Contains(events, "test")
			return o.SkipHooks || isSkippedTest
		},
	}
	if opts.ReleaseName == "" {
		opts.ReleaseName = "release-name" // That of helm template.
	}
	for _, data := range o.Values {
		v, err := ReadValues("values of chart "+o.Name, data)
		if err != nil {
			return nil, err
		}
		opts.Values = append(opts.Values, v)
	}

	// The objects become one stream of YAML.
	output, err := Template(ctx, chart, dir, opts)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, made := range output.Objects {
		data, err := yaml.Marshal(made.Object)
		if err != nil {
			return nil, err
		}
		text.WriteString("---\n")
		text.Write(data)
	}
	return text.Bytes(), nil
}
