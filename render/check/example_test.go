// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"fmt"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/object"
)

func ExampleChecker_Check() {
	service := object.Object{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "web"},
		"spec": map[string]any{
			"selectr": map[string]any{"app": "web"},
			"ports":   []any{map[string]any{"port": "80"}},
		},
	}
	checker := check.New(check.Options{})
	findings, err := checker.Check(context.Background(), []*object.Node{{ID: "api/web", Object: service}})
	if err != nil {
		panic(err)
	}
	for _, f := range findings {
		fmt.Printf("%s: %s: %s (%s)\n", f.Node, f.Path, f.Message, f.Hint)
	}
	// Output:
	// api/web: spec.ports[0].port: expected an integer, found the string "80" (write it without quotes)
	// api/web: spec.selectr: is not a known field (did you mean "selector"?)
}
