// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/artifact"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

func mistakes(all ...*object.Error) error { return object.Errors(all) }

func TestEveryErrorBecomesACondition(t *testing.T) {
	at := func(is error) *object.Error {
		return &object.Error{Stage: object.StageResolve, Err: source.Refuse(is, "x")}
	}
	plain := &object.Error{Stage: object.StageEvaluate, Err: errors.New("no such field")}
	policy := &object.Error{Stage: object.StageCheck, Policy: "p", Err: errors.New("no")}
	broken := &object.Error{Stage: object.StageEvaluate, Policy: "p", Err: errors.New("is no policy")}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "a", errors.New("no"))
	for name, c := range map[string]struct {
		err                         error
		kind                        kind
		reason, validated, rendered string
	}{
		"a mistake":                           {atRender.at(mistakes(plain)), stalled, v1alpha1.InvalidReason, "False", "False"},
		"a violation":                         {atRender.at(mistakes(policy, plain)), stalled, v1alpha1.PolicyViolationReason, "False", "False"},
		"a policy that is none":               {atRender.at(mistakes(broken)), stalled, v1alpha1.InvalidReason, "False", "False"},
		"a server that is down":               {atRequest.at(mistakes(at(source.ErrUnavailable))), retry, v1alpha1.FetchFailedReason, "Unknown", "False"},
		"a server that is down, a mistake":    {atRequest.at(mistakes(at(source.ErrUnavailable), plain)), stalled, v1alpha1.InvalidReason, "False", "False"},
		"a module that needs a login":         {atRequest.at(mistakes(at(source.ErrUnauthorized))), retry, v1alpha1.FetchFailedReason, "Unknown", "False"},
		"a module that is not there":          {atRequest.at(mistakes(at(source.ErrNotFound))), retry, v1alpha1.FetchFailedReason, "Unknown", "False"},
		"a module that runs for ever":         {atRender.at(mistakes(&object.Error{Err: evaluate.ErrTimeout})), retry, v1alpha1.RenderFailedReason, "Unknown", "False"},
		"a right that is missing":             {atRequest.at(forbidden), stalled, v1alpha1.AccessDeniedReason, "Unknown", "False"},
		"a right that is missing, at the end": {atDeliver.at(fmt.Errorf("layer: %w", forbidden)), stalled, v1alpha1.AccessDeniedReason, "", ""},
		"a registry that is down":             {atPublish.at(source.Refuse(source.ErrUnavailable, "x")), retry, v1alpha1.PublishFailedReason, "True", "False"},
		"a conflict":                          {atDeliver.at(apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("x"))), retry, v1alpha1.DeliveryFailedReason, "", ""},
		"a rollback to what is gone":          {atPublish.at(fmt.Errorf("x: %w", delivery.ErrGone)), stalled, v1alpha1.PublishFailedReason, "True", "False"},
		"a source that is too large":          {atRequest.at(source.Refuse(source.ErrLimit, "x")), stalled, v1alpha1.FetchFailedReason, "Unknown", "False"},
		"a render that is too large":          {atPublish.at(fmt.Errorf("x: %w", artifact.ErrLimit)), stalled, v1alpha1.PublishFailedReason, "True", "False"},
		"documents that are too large":        {atRequest.at(fmt.Errorf("x: %w", evaluate.ErrLimit)), stalled, v1alpha1.FetchFailedReason, "Unknown", "False"},
		"objects that are too large":          {atRender.at(mistakes(&object.Error{Err: evaluate.ErrLimit})), stalled, v1alpha1.InvalidReason, "False", "False"},
		"a cloud that trusts nobody":          {atPublish.at(&publish.IdentityError{Fault: publish.Refused}), retry, v1alpha1.PublishFailedReason, "True", "False"},
		"no right to ask for tokens":          {atPublish.at(&publish.IdentityError{Fault: publish.Denied}), stalled, v1alpha1.AccessDeniedReason, "True", "False"},
		"a gate that is off":                  {atPublish.at(&publish.IdentityError{Fault: publish.Disabled}), stalled, v1alpha1.FeatureDisabledReason, "True", "False"},
		"a registry of another cloud":         {atPublish.at(&publish.IdentityError{Fault: publish.Misplaced}), stalled, v1alpha1.PublishFailedReason, "True", "False"},
		"a dependency":                        {block(waiting, v1alpha1.DependencyNotReadyReason, "x"), waiting, v1alpha1.DependencyNotReadyReason, "", ""},
		"a time-out of the API server":        {context.DeadlineExceeded, retry, v1alpha1.FetchFailedReason, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := diagnose(c.err)
			require.Equal(t, c.kind, p.kind)
			require.Equal(t, c.reason, p.reason)
			require.Equal(t, c.validated, p.validated)
			require.Equal(t, c.rendered, p.rendered)
			require.ErrorIs(t, p.err, c.err)
		})
	}
}

func TestTheFirstStageCounts(t *testing.T) {
	require.Equal(t, v1alpha1.PublishFailedReason, diagnose(atDeliver.at(atPublish.at(errors.New("x")))).reason)
	require.NoError(t, atDeliver.at(nil))
}

func TestMessagesAreBounded(t *testing.T) {
	var all object.Errors
	for i := range 300 {
		all = append(all, &object.Error{Pos: object.Pos{File: "a.yaml", Line: i + 1, Column: 1}, Err: errors.New(strings.Repeat("é", 20))})
	}
	text := message(all)
	require.LessOrEqual(t, len(text), maxMessage)
	require.True(t, strings.HasPrefix(text, "a.yaml:1:1: "))
	require.Regexp(t, `\nand \d+ more, see status.violations$`, text)
	require.Len(t, violations(all), maxListed)
	require.LessOrEqual(t, len(message(errors.New(strings.Repeat("é", 5000)))), maxMessage)
}

func TestViolationsNameThePlace(t *testing.T) {
	out := violations(object.Errors{
		{Severity: object.SeverityWarning, Pos: object.Pos{File: "spec.input.a"}, Err: errors.New("warned")},
		{Pos: object.Pos{File: "apps/cart.yaml", Line: 16, Column: 15}, Path: "spec.replicas", Policy: "p", Err: errors.New("too many"), Hint: "take fewer"},
	})
	require.Equal(t, []v1alpha1.Violation{
		{Policy: "p", Severity: "error", Position: "apps/cart.yaml:16:15", Message: "spec.replicas: too many: take fewer"},
		{Severity: "warning", Position: "spec.input.a", Message: "warned"},
	}, out)
}
