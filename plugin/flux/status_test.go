// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"errors"
	"strings"
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

func TestMessagesNameWhatIsDeliveredInALine(t *testing.T) {
	sum := strings.Repeat("0123456789abcdef", 4)
	for name, c := range map[string]struct{ revision, want string }{
		"without a source":             {"", "sha256:0123456789ab"},
		"of a branch":                  {"main@sha1:" + sum[:40], "main@sha1:0123456789ab (sha256:0123456789ab)"},
		"of an artifact with a tag":    {"v1.2@sha256:" + sum, "v1.2@sha256:0123456789ab (sha256:0123456789ab)"},
		"of a bucket or a digest":      {"sha256:" + sum, "sha256:0123456789ab (sha256:0123456789ab)"},
		"of a version, not a sum":      {"v1.2.3", "v1.2.3 (sha256:0123456789ab)"},
		"of a branch that reads so":    {"fix:" + strings.Repeat("z", 40), "fix:" + strings.Repeat("z", 40) + " (sha256:0123456789ab)"},
		"of a sum that is short as is": {"main@sha1:0123456", "main@sha1:0123456 (sha256:0123456789ab)"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, shown(&v1alpha1.Artifact{Digest: "sha256:" + sum, Revision: c.revision}))
		})
	}
	require.Equal(t, "nothing", shown(nil))
}
