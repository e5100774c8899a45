// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestAViolationSaysWhereItIsAndOfWhichObject(t *testing.T) {
	for name, c := range map[string]struct {
		mistake object.Error
		want    v1alpha1.Violation
	}{
		"of a policy": {
			object.Error{Pos: object.Pos{File: "web.yaml", Line: 9, Column: 15}, Path: "spec.replicas", Node: "web/deployment", Policy: "small", Err: errors.New("at most 2"), Hint: "say 2"},
			v1alpha1.Violation{Policy: "small", Severity: "error", Position: "web.yaml:9:15", Message: "web/deployment: spec.replicas: at most 2: say 2"},
		},
		"of a field of the Transform": {
			object.Error{Path: "spec.input.text", Severity: object.SeverityWarning, Err: errors.New("too long")},
			v1alpha1.Violation{Severity: "warning", Position: "spec.input.text", Message: "too long"},
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, violation(&c.mistake)) })
	}
}
