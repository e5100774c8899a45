// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/request"
	"github.com/ropewalk/ropewalk/plugin/host/transform"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

// kind classifies problems by the event after which a Transform goes on.
type kind int

const (
	// retry: it may pass by itself.
	retry kind = iota
	// waiting: another object has to change first.
	waiting
	// stalled: a user has to change something.
	stalled
)

// problem is an error as the status has it.
type problem struct {
	kind   kind
	reason string
	// watched says that an event follows when it is worth another try.
	watched bool
	// unwatched: it is stalled, and no event follows when it is corrected. Rights are granted
	// without an event, and an API server that has just started denies them to all.
	unwatched bool
	// validated and rendered are the statuses of these conditions: True, False, Unknown, or ""
	// to leave a condition as it is.
	validated, rendered string
	err                 error
}

// endsWithEvent reports whether an event follows when it is worth another try.
func (p *problem) endsWithEvent() bool {
	return p.kind == stalled && !p.unwatched || p.kind == waiting && p.watched
}

// stage is a part of a reconciliation.
type stage string

const (
	atRequest stage = v1alpha1.FetchFailedReason
	atRender  stage = v1alpha1.RenderFailedReason
	atPublish stage = v1alpha1.PublishFailedReason
	atDeliver stage = v1alpha1.DeliveryFailedReason
)

// staged is an error with the stage that it comes from.
type staged struct {
	stage
	err error
}

// Error returns the message of the cause.
func (s *staged) Error() string { return s.err.Error() }

// Unwrap returns the cause.
func (s *staged) Unwrap() error { return s.err }

// at returns an error with its stage. The first stage that an error gets counts.
func (s stage) at(err error) error {
	if err == nil || errors.As(err, new(*staged)) {
		return err
	}
	return &staged{stage: s, err: err}
}

// listsMistakes reports whether an error comes from the input or from the render: the status lists
// their mistakes.
func listsMistakes(err error) bool {
	var failed *staged
	return errors.As(err, &failed) && (failed.stage == atRequest || failed.stage == atRender)
}

// blocked is a problem that was found as such.
type blocked struct{ problem }

// Error returns the message of the problem.
func (b *blocked) Error() string { return b.err.Error() }

// Unwrap returns the cause.
func (b *blocked) Unwrap() error { return b.err }

// block returns the error of a problem that ends with an event of another object, or with a change
// by a user.
func block(k kind, reason, format string, args ...any) error {
	return &blocked{problem{kind: k, reason: reason, watched: true, err: fmt.Errorf(format, args...)}}
}

// outage is the error of a registry that is not available, where the Transform is Ready and its
// artifact would not change: the Transform stays Ready, and a later reconciliation asks the registry
// again.
type outage struct{ error }

// Unwrap returns the error of the registry.
func (o *outage) Unwrap() error { return o.error }

// diagnose turns an error into a problem. No other place does.
func diagnose(err error) *problem {
	// The stage gives the reason, if nothing else is known.
	p := &problem{kind: retry, reason: v1alpha1.FetchFailedReason, err: err}
	var failed *staged
	if errors.As(err, &failed) {
		p.reason = string(failed.stage)
	}
	p.setStage(failed)

	// The type of the error decides whether another try helps.
	var (
		known    *blocked
		missing  *transform.WaitError
		denied   *request.DeniedError
		secret   *publish.SecretError
		identity *publish.IdentityError
		mistakes object.Errors
	)
	switch {
	case errors.As(err, &known):
		*p = known.problem
		p.err = err
	case errors.As(err, &missing):
		p.kind, p.reason, p.watched = waiting, missing.Reason, missing.Watched
	case errors.As(err, &denied):
		p.kind, p.reason = stalled, v1alpha1.AccessDeniedReason
	case errors.As(err, &secret):
		// Secrets are not watched.
		p.kind = retry
	case errors.As(err, &identity):
		p.classifyIdentity(identity)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		p.kind, p.reason, p.unwatched = stalled, v1alpha1.AccessDeniedReason, true
	case apimeta.IsNoMatchError(err):
		p.kind, p.reason = stalled, v1alpha1.FeatureDisabledReason
	case errors.As(err, &mistakes):
		p.classifyMistakes(mistakes)
	case errors.Is(err, source.ErrLimit), errors.Is(err, artifact.ErrLimit), errors.Is(err, evaluate.ErrLimit):
		p.kind = stalled
	case errors.Is(err, source.ErrReference), errors.Is(err, delivery.ErrGone):
		p.kind = stalled
	}
	return p
}

// setStage sets the conditions before Ready after a failure in a stage.
func (p *problem) setStage(failed *staged) {
	if failed == nil {
		return
	}
	switch failed.stage {
	case atRequest, atRender:
		p.validated, p.rendered = "Unknown", "False"
	case atPublish:
		p.validated, p.rendered = "True", "False"
	case atDeliver:
	}
}

// classifyIdentity classifies a failed login at a cloud.
func (p *problem) classifyIdentity(e *publish.IdentityError) {
	switch e.Fault {
	case publish.Refused, publish.Away:
		// There is no event when a cloud trusts an account, or is back.
	case publish.Denied:
		p.kind, p.reason, p.unwatched = stalled, v1alpha1.AccessDeniedReason, true
	case publish.Disabled:
		p.kind, p.reason = stalled, v1alpha1.FeatureDisabledReason
	case publish.Misplaced:
		p.kind = stalled
	}
}

// classifyMistakes sets the kind and the reason for the mistakes of a request or a render.
func (p *problem) classifyMistakes(mistakes object.Errors) {
	failures := mistakes.Failures()
	consistsOf := func(kinds ...error) bool {
		return len(failures) > 0 && !slices.ContainsFunc(failures, func(m *object.Error) bool {
			return !slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(m, kind) })
		})
	}
	switch {
	case consistsOf(source.ErrUnavailable, evaluate.ErrWorker, context.DeadlineExceeded):
		p.kind, p.reason = retry, v1alpha1.FetchFailedReason
	case consistsOf(source.ErrUnavailable, source.ErrUnauthorized, source.ErrHostKey, source.ErrAbsent, source.ErrNotFound):
		// There is no event when a repository exists, or a Secret is right.
		p.kind, p.reason = retry, v1alpha1.FetchFailedReason
	case consistsOf(evaluate.ErrTimeout, evaluate.ErrMemory, evaluate.ErrWorker):
		p.kind, p.reason = retry, v1alpha1.RenderFailedReason
	case slices.ContainsFunc(failures, func(m *object.Error) bool { return m.Policy != "" && m.Stage == object.StageCheck }):
		p.kind, p.reason, p.validated, p.rendered = stalled, v1alpha1.PolicyViolationReason, "False", "False"
	default:
		p.kind, p.reason, p.validated, p.rendered = stalled, v1alpha1.InvalidReason, "False", "False"
	}
}

// maxMessage limits the message of a condition, in bytes.
const maxMessage = 2 << 10

// message returns the message of an error for people, with a line for each mistake.
func message(err error) string {
	text := err.Error()
	var mistakes object.Errors
	if errors.As(err, &mistakes) {
		failures := mistakes.Failures().Sorted()
		var b strings.Builder
		for i, m := range failures {
			line := m.Error()
			remainder := fmt.Sprintf("and %d more, see status.violations", len(failures)-i)
			if i > 0 && b.Len()+len(line)+len(remainder)+2 > maxMessage {
				b.WriteString("\n" + remainder)
				break
			}
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line)
		}
		text = b.String()
	}
	return cut(text, maxMessage)
}

// cut returns text for a status, with at most size bytes.
func cut(text string, size int) string {
	text = printable.Text((*object.Secrets)(nil).Hide(text))
	const more = " …"
	if len(text) <= size {
		return text
	}
	return printable.Cut(text, size-len(more), more)
}
