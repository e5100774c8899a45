// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// failure is an error about an object; its text shows no value of the object.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.err }

// failed returns the error of a request about an object, or nil. The object may be nil if the
// request did not send one.
func failed(p *plane.Plane, doing string, r plane.Ref, o *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	return &failure{text: fmt.Sprintf("%s plane: %s %s: %s", p.Name(), doing, r, reason(o, err)), err: err}
}

// reason returns the text of an error. The text of a server, webhook or policy may show values of
// the object. All values are hidden, because any of them may be secret; names stay.
func reason(o *unstructured.Unstructured, err error) string {
	// An invalid object is explained by the names of its fields.
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Reason == metav1.StatusReasonInvalid {
		var fields []string
		if details := status.Status().Details; details != nil {
			for _, c := range details.Causes {
				if c.Field != "" {
					fields = append(fields, fmt.Sprintf("%s (%s)", c.Field, c.Type))
				}
			}
		}
		slices.Sort(fields)
		fields = slices.Compact(fields)
		if len(fields) > 0 {
			return "the server rejects it as invalid: " + strings.Join(fields, ", ")
		}
	}

	// Other texts are kept, without the values of the object.
	if o == nil {
		return err.Error()
	}
	return snapshot.Hide(o, err.Error())
}

// beingDeleted returns the finding about an object of a target that is not active yet.
func beingDeleted(p *plane.Plane, r plane.Ref) (_ plane.Ref, problem, advice string) {
	problem = fmt.Sprintf("is being deleted from the %s plane", p.Name())
	advice = "see what deletes it, and stop that; then remove its finalizers with kubectl, which deletes this copy and no machine, " +
		"and go on with `ropewalk pivot run --resume`: it is imported again"
	return r, problem, advice
}
