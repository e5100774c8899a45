// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// errBudget ends the evaluation of all rules of an object.
var errBudget = errors.New("running out of cost budget, no further validation rules will be run")

// Judge runs the rules on v, which lies at path, as on a new value. It returns
// what is wrong and what is left of the budget, which is negative when no further
// rule may run. Null passes.
func (r *Rules) Judge(ctx context.Context, path *field.Path, v any, budget int64) (out field.ErrorList, left int64) {
	if v == nil || len(r.all) == 0 {
		return nil, budget
	}
	if err := r.setUp(); err != nil {
		return field.ErrorList{r.invalid(path, "rule compiler initialization error: %v", err)}, budget
	}
	if budget <= 0 {
		return field.ErrorList{r.invalid(path, "validation failed due to %v", errBudget)}, -1
	}
	scope := &activation{self: r.c.value(v, r.schema)}
	for _, rule := range r.all {
		if blank(rule.Rule) {
			continue
		}
		program, err := r.compile(rule)
		if err != nil {
			out = append(out, r.invalid(path, "rule compile error: %v", err))
			continue
		}
		if program == nil {
			continue
		}
		scope.optional = rule.optional()
		e, rest := r.one(ctx, path, rule, scope, v, budget)
		if budget = rest; e != nil {
			out = append(out, e)
		}
		if budget < 0 {
			break
		}
	}
	return out, budget
}

func (r *Rules) invalid(path *field.Path, format string, args ...any) *field.Error {
	return field.Invalid(path, r.schema.Type, fmt.Sprintf(format, args...))
}

// one runs one rule.
func (r *Rules) one(ctx context.Context, path *field.Path, rule *compiled, scope *activation, v any, budget int64) (*field.Error, int64) {
	verdict, left, err := evaluate(ctx, rule.program, scope, budget)
	switch {
	case errors.Is(err, errBudget):
		return r.invalid(path, "validation failed due to %v", err), -1
	case err == nil && verdict == types.True:
		return nil, left
	case err == nil:
	case strings.HasPrefix(err.Error(), "no such overload"):
		return r.invalid(path, "'%v': call arguments did not match a supported operator, function or macro signature for rule: %v", err, rule.words()), left
	case cancelled(err):
		return r.invalid(path, "'%v': no further validation rules will be run due to call cost exceeds limit for rule: %v", err, rule.words()), -1
	default:
		return r.invalid(path, "%v evaluating rule: %v", err, rule.words()), left
	}
	place := path
	if p, ok := fieldPath(rule.FieldPath, r.schema); ok && p != "" {
		place = place.Child(p)
	}
	detail, left, err := r.detail(ctx, rule, scope, left)
	if err != nil {
		return r.invalid(place, "%v", err), -1
	}
	return failure(place, v, detail, rule.Reason), left
}

// evaluate runs a program within the budget.
func evaluate(ctx context.Context, program cel.Program, scope *activation, budget int64) (ref.Val, int64, error) {
	verdict, details, err := program.ContextEval(ctx, scope)
	if details == nil || details.ActualCost() == nil {
		return nil, -1, errors.New("the cost could not be calculated, no further validation rules will be run")
	}
	cost := *details.ActualCost()
	if cost > math.MaxInt64 || int64(cost) > budget {
		return nil, -1, errBudget
	}
	return verdict, budget - int64(cost), err
}

func cancelled(err error) bool {
	return strings.HasPrefix(err.Error(), "operation cancelled: actual cost limit exceeded")
}

// detail is what the author of a broken rule says. An error ends the evaluation
// of all rules.
func (r *Rules) detail(ctx context.Context, rule *compiled, scope *activation, budget int64) (string, int64, error) {
	words := rule.Message
	if words == "" {
		words = "failed rule: " + rule.words()
	}
	words = strings.TrimSpace(words)
	if rule.MessageExpression == "" {
		return words, budget, nil
	}
	program, err := r.compileMessage(rule)
	if err != nil {
		return words, budget, nil //nolint:nilerr // the message of the rule stands in for it
	}
	// The server evaluates the message without an old value.
	v, left, err := evaluate(ctx, program, &activation{self: scope.self}, budget)
	switch {
	case errors.Is(err, errBudget):
		return "", -1, fmt.Errorf("messageExpression evaluation failed due to %w", err)
	case err != nil && cancelled(err):
		return "", -1, fmt.Errorf("no further validation rules will be run due to call cost exceeds limit for messageExpression: %q", rule.MessageExpression)
	case err != nil:
		return words, left, nil //nolint:nilerr // the message of the rule stands in for it
	}
	text, _ := v.Value().(string)
	if text = strings.TrimSpace(text); text == "" || len(text) > messageLimit || strings.Contains(text, "\n") {
		return words, left, nil
	}
	return text, left, nil
}

// words is what a rule is called in messages.
func (rule *compiled) words() string {
	if rule.Message != "" {
		return strings.TrimSpace(rule.Message)
	}
	return strings.TrimSpace(rule.Rule)
}

// failure is the error for a broken rule.
func failure(path *field.Path, v any, detail string, reason *apiextensions.FieldValueErrorReason) *field.Error {
	switch v.(type) {
	case map[string]any, []any:
		v = field.OmitValueType{}
	}
	e := field.Invalid(path, v, detail)
	if reason == nil {
		return e
	}
	switch *reason {
	case apiextensions.FieldValueForbidden:
		return field.Forbidden(path, detail)
	case apiextensions.FieldValueRequired:
		return field.Required(path, detail)
	case apiextensions.FieldValueDuplicate:
		e.Type = field.ErrorTypeDuplicate
	case apiextensions.FieldValueInvalid:
	}
	return e
}

// activation is self and, for rules that take its absence, oldSelf.
type activation struct {
	self     ref.Val
	optional bool
}

var _ interpreter.Activation = (*activation)(nil)

// ResolveName finds a variable.
func (a *activation) ResolveName(name string) (any, bool) {
	switch {
	case name == "self":
		return a.self, true
	case name == "oldSelf" && a.optional:
		return types.OptionalNone, true
	}
	return nil, false
}

// Parent is nil: there are no further variables.
func (a *activation) Parent() interpreter.Activation { return nil }
