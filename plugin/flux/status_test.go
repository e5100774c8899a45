// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
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
		"what is ignored": {
			object.Error{Severity: object.SeverityNote, Policy: "small", Err: errors.New("at most 2")},
			v1alpha1.Violation{Policy: "small", Severity: "note", Message: "at most 2"},
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, violation(&c.mistake)) })
	}
	require.Len(t, violations(object.Errors{{Severity: object.SeverityNote, Err: errors.New("ignored")}}), 1)
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

// reported is a Transform with the conditions of a step.
func reported(step func(*v1alpha1.Transform)) *v1alpha1.Transform {
	t := &v1alpha1.Transform{}
	t.Generation, t.Status.ObservedGeneration = 2, -1
	step(t)
	return t
}

func TestOneTextDoesNotFillAllConditions(t *testing.T) {
	long := strings.Repeat("x", maxMessage)
	for name, step := range map[string]func(*v1alpha1.Transform){
		"of a mistake": func(of *v1alpha1.Transform) {
			setProblem(of, problem{kind: stalled, reason: "Invalid", validated: "False", rendered: "False", err: errors.New("first\nsecond")})
		},
		"of an outage": func(of *v1alpha1.Transform) {
			setProblem(of, problem{kind: retry, reason: "FetchFailed", validated: "Unknown", rendered: "False", err: errors.New("first\nsecond")})
		},
		"of a long line": func(of *v1alpha1.Transform) {
			setProblem(of, problem{kind: retry, reason: "FetchFailed", validated: "Unknown", rendered: "False", err: errors.New("first second " + long)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := reported(step)
			require.Len(t, got.Status.Conditions, 4)
			for _, c := range got.Status.Conditions {
				switch c.Type {
				case "Ready":
					require.Contains(t, c.Message, "second")
				case "Stalled", "Reconciling":
					require.True(t, strings.HasPrefix(c.Message, "first"), c.Message)
					require.NotContains(t, c.Message, "\n")
					require.LessOrEqual(t, len(c.Message), maxLine+50)
				default:
					require.NotContains(t, c.Message, "first")
					require.Contains(t, c.Message, "see the condition Ready")
				}
			}
		})
	}
}

// What kstatus wants: Stalled and Reconciling exclude each other and Ready=True, they are
// never False, and what is Stalled has been observed. What it makes of it all in a cluster is
// tested in test/e2e.
func TestConditionsAreThoseOfKstatus(t *testing.T) {
	failed := func(k kind) func(*v1alpha1.Transform) {
		return func(of *v1alpha1.Transform) {
			setProblem(of, problem{kind: k, reason: "Invalid", err: errors.New("no")})
		}
	}
	says := func(p delivery.Progress) func(*v1alpha1.Transform) {
		return func(of *v1alpha1.Transform) { setEngineConditions(of, p) }
	}
	steps := map[string]func(*v1alpha1.Transform){
		"retry": failed(retry), "waiting": failed(waiting), "stalled": failed(stalled), "begun": func(of *v1alpha1.Transform) { setProgressing(of, "Progressing", "rendering") },
		"ready": says(delivery.Progress{Ready: true}), "layer failed": says(delivery.Progress{Failed: true}), "layer stalled": says(delivery.Progress{Stalled: true}),
		"layer applying": says(delivery.Progress{Reason: v1alpha1.LayerNotReadyReason}), "deleting": says(delivery.Progress{Reason: v1alpha1.DeletingReason}),
	}
	for before, first := range steps {
		for name, step := range steps {
			got := reported(func(of *v1alpha1.Transform) { first(of); step(of) })
			is := map[string]string{}
			for _, c := range got.Status.Conditions {
				is[c.Type] = string(c.Status)
			}
			about := before + ", then " + name
			require.NotEmpty(t, is["Ready"], about)
			require.NotContains(t, []string{is["Stalled"], is["Reconciling"]}, "False", about)
			require.False(t, is["Stalled"] != "" && is["Reconciling"] != "", about)
			require.Equal(t, is["Ready"] == "True", is["Stalled"] == "" && is["Reconciling"] == "", about)
			if is["Ready"] == "True" || is["Stalled"] == "True" {
				require.Equal(t, got.Generation, got.Status.ObservedGeneration, about)
			}
		}
	}
}

func TestSharedObjectsAreNewsOnce(t *testing.T) {
	of := &v1alpha1.Transform{}
	require.False(t, setEngineConditions(of, delivery.Progress{Ready: true}))
	require.True(t, setEngineConditions(of, delivery.Progress{Ready: true, Shared: "apps/web"}))
	require.False(t, setEngineConditions(of, delivery.Progress{Ready: true, Shared: "apps/web"}))
	require.True(t, setEngineConditions(of, delivery.Progress{Ready: true, Shared: "apps/db"}))
	require.False(t, setEngineConditions(of, delivery.Progress{Stalled: true, Shared: "apps/web"}), "the condition Ready has it")
	setEngineConditions(of, delivery.Progress{Ready: true})
	require.Nil(t, conditions.Get(of, v1alpha1.SharedObjectsCondition))
}

func TestAPublicationIsPutBeforeTheEarlierOnes(t *testing.T) {
	of := &v1alpha1.Transform{}
	first := timeOf(time.Unix(1, 5))
	digests := func() (out []string) {
		for _, a := range of.Status.History {
			require.Empty(t, a.Checksum, "it is rendered again where it comes back")
			out = append(out, a.Digest)
		}
		return out
	}
	changed, revised := showPublished(of, v1alpha1.Artifact{Digest: "1", Revision: "a", Checksum: "x", Time: first})
	require.True(t, changed)
	require.False(t, revised)
	changed, _ = showPublished(of, v1alpha1.Artifact{Digest: "2", Revision: "b"})
	require.True(t, changed)
	require.Equal(t, []string{"2", "1"}, digests())

	// Another revision that renders the same is no other artifact.
	changed, revised = showPublished(of, v1alpha1.Artifact{Digest: "2", Revision: "c"})
	require.False(t, changed)
	require.True(t, revised)
	changed, revised = showPublished(of, v1alpha1.Artifact{Digest: "1", Revision: "a", Checksum: "y", Time: timeOf(time.Unix(9, 0))})
	require.True(t, changed)
	require.False(t, revised)
	require.Equal(t, []string{"1", "2"}, digests())
	require.Equal(t, "y", of.Status.Artifact.Checksum)
	require.Equal(t, first, of.Status.Artifact.Time, "it is as old as it was")
}

func TestAReferenceThatHasNotChangedKeepsItsTime(t *testing.T) {
	of := &v1alpha1.Transform{}
	one := v1alpha1.ResolvedReference{Name: "source", Revision: "a"}
	showReferences(of, []v1alpha1.ResolvedReference{one}, timeOf(time.Unix(1, 0)))
	other := v1alpha1.ResolvedReference{Name: "module", Revision: "a"}
	showReferences(of, []v1alpha1.ResolvedReference{one, other}, timeOf(time.Unix(2, 0)))
	require.Equal(t, timeOf(time.Unix(1, 0)), of.Status.References[0].Time)
	require.Equal(t, timeOf(time.Unix(2, 0)), of.Status.References[1].Time)
	one.Revision = "b"
	showReferences(of, []v1alpha1.ResolvedReference{one}, timeOf(time.Unix(3, 0)))
	require.Equal(t, timeOf(time.Unix(3, 0)), of.Status.References[0].Time)
}
