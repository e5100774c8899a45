// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package krm_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/krm"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

func ExampleFunction_Run() {
	f := krm.Function{
		Evaluator: inprocess.New(inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}}),
	}
	out, err := f.Run(context.Background(), strings.NewReader(`
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
functionConfig:
  apiVersion: ropewalk.dev/v1alpha1
  kind: Transform
  metadata: {name: web}
  spec:
    cueRef:
      type: inline
      ref: |
        config: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "web", data: color: "green"}
`))
	text, _, _ := strings.Cut(string(out.List), "functionConfig:")
	fmt.Print(text, err)
	// Output:
	// apiVersion: config.kubernetes.io/v1
	// kind: ResourceList
	// items:
	// - apiVersion: v1
	//   data:
	//     color: green
	//   kind: ConfigMap
	//   metadata:
	//     annotations:
	//       internal.config.kubernetes.io/path: web/configmap-web.yaml
	//       ropewalk.dev/rendered-by: web
	//     name: web
	// <nil>
}
