// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules_test

import (
	"context"
	"fmt"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/modules"
)

// A tree whose module file lists dependencies gets them below cue.mod/pkg; one
// that has them there already needs no registry.
func ExampleRegistry_Complete() {
	files := map[string][]byte{
		"cue.mod/module.cue": []byte(`
			module: "example.com/app@v0"
			language: version: "v0.17.0"
			deps: "example.com/base@v0": v: "v0.1.0"
		`),
		"app.cue": []byte("package app\n\nimport \"example.com/base\"\n\nx: base.#Labels\n"),
	}
	registry := modules.Registry{Config: "example.com=registry.example.com/modules", Offline: true}
	complete := func() {
		tree, err := source.NewTree(files, "path:app", "")
		if err != nil {
			fmt.Println(err)
			return
		}
		_, fetched, err := registry.Complete(context.Background(), tree, nil)
		fmt.Println(len(fetched), err)
	}
	complete()
	files["cue.mod/pkg/example.com/base/base.cue"] = []byte("package base\n\n#Labels: team: \"blue\"\n")
	complete()
	// Output:
	// 0 module "example.com/base@v0.1.0": offline, and there is no cache: run "ropewalk lock" once with the network, or "ropewalk vendor" to keep it in the project
	// 0 <nil>
}
