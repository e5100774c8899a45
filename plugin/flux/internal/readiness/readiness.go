// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package readiness reads objects of a cluster and judges them as Flux does: by the expressions of
// their Kustomization, and else by kstatus. The values of Secrets and ConfigMaps are never read.
//
// Expressions are evaluated with the options of github.com/fluxcd/pkg/runtime/cel, which is not
// imported because it links the client of kubectl.
package readiness

import (
	"context"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// MaxObjects limits the objects of a Transform that are read at once.
	MaxObjects = 200
	// Interval is the time for which a reading holds.
	Interval = 10 * time.Second
	// patience bounds the time of a reading.
	patience = 10 * time.Second
)

// Verdict is the readiness of an object.
type Verdict struct {
	Ready, Failed bool
	// Reason says why it is not ready.
	Reason string
}

// Judge reads objects and returns a verdict about each, in their order. It returns an error if the
// server gives no answer, or an expression is not valid CEL.
func Judge(ctx context.Context, reader client.Reader, objects []unstructured.Unstructured, exprs []kustomize.CustomHealthCheck) ([]Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	// An expression holds for all objects of its kind.
	rules := map[schema.GroupVersionKind]kustomize.HealthCheckExpressions{}
	for _, e := range exprs {
		rules[schema.FromAPIVersionAndKind(e.APIVersion, e.Kind)] = e.HealthCheckExpressions
	}
	out := make([]Verdict, len(objects))
	for i := range objects {
		var err error
		out[i], err = judge(ctx, reader, &objects[i], rules[objects[i].GroupVersionKind()])
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// judge reads one object into o and judges it.
func judge(ctx context.Context, reader client.Reader, o *unstructured.Unstructured, rule kustomize.HealthCheckExpressions) (Verdict, error) {
	err := read(ctx, reader, o)
	switch {
	case apierrors.IsNotFound(err):
		return Verdict{Reason: "it does not exist"}, nil
	case apimeta.IsNoMatchError(err):
		return Verdict{Reason: "the cluster does not serve its kind"}, nil
	case apierrors.IsForbidden(err):
		return Verdict{Reason: "not known: the account may not get it"}, nil
	case err != nil:
		return Verdict{}, err
	}

	// An expression that reads a field which does not exist yet does not hold yet.
	var result *status.Result
	if rule.Current != "" {
		result, err = evaluate(ctx, o, rule)
	} else {
		result, err = status.Compute(o)
	}
	switch {
	case err != nil:
		return Verdict{Reason: "its readyWhen cannot be evaluated yet: " + err.Error()}, ctx.Err()
	case result.Status == status.CurrentStatus:
		return Verdict{Ready: true}, nil
	case result.Message == "":
		return Verdict{Failed: result.Status == status.FailedStatus, Reason: "its readyWhen does not hold"}, nil
	}
	return Verdict{Failed: result.Status == status.FailedStatus, Reason: result.Message}, nil
}

// read reads an object, but only the metadata of Secrets and ConfigMaps.
func read(ctx context.Context, reader client.Reader, o *unstructured.Unstructured) error {
	name := client.ObjectKeyFromObject(o)
	gvk := o.GroupVersionKind()
	if gvk.Group != "" || gvk.Kind != "Secret" && gvk.Kind != "ConfigMap" {
		return reader.Get(ctx, name, o)
	}
	var meta metav1.PartialObjectMetadata
	meta.SetGroupVersionKind(gvk)
	if err := reader.Get(ctx, name, &meta); err != nil {
		return err
	}
	o.SetDeletionTimestamp(meta.DeletionTimestamp)
	return nil
}

// evaluate judges an object by the expressions of its kind, in the order of Flux (RFC 0009): a
// status of an earlier generation says nothing, and a failure comes first.
func evaluate(ctx context.Context, o *unstructured.Unstructured, rule kustomize.HealthCheckExpressions) (*status.Result, error) {
	observed, ok, err := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	if err == nil && ok && observed != o.GetGeneration() {
		return &status.Result{Status: status.InProgressStatus, Message: "its status is of an earlier generation"}, nil
	}
	for _, e := range [...]struct {
		text string
		of   status.Status
	}{{rule.InProgress, status.InProgressStatus}, {rule.Failed, status.FailedStatus}, {rule.Current, status.CurrentStatus}} {
		if e.text == "" {
			continue
		}
		holds, err := holds(ctx, o, e.text)
		if err != nil || holds {
			return &status.Result{Status: e.of}, err
		}
	}
	return &status.Result{Status: status.InProgressStatus}, nil
}

// holds reports whether an expression holds for an object.
func holds(ctx context.Context, o *unstructured.Unstructured, text string) (bool, error) {
	env, err := cel.NewEnv(
		cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders(),
	)
	if err != nil {
		return false, err
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return false, issues.Err()
	}
	program, err := env.Program(parsed, cel.InterruptCheckFrequency(100)) // As the API server looks for the end of ctx.
	if err != nil {
		return false, err
	}
	value, _, err := program.ContextEval(ctx, o.Object)
	if err != nil {
		return false, err
	}
	return value.Value() == true, nil
}
