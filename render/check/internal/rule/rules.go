// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"errors"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The limits of the server (k8s.io/apiserver, pkg/apis/cel/config.go), in the
// units of CEL.
const (
	// Budget is what all rules of an object may cost together.
	Budget int64 = 10_000_000
	// callLimit is what one rule may cost.
	callLimit uint64 = 1_000_000
	// messageLimit is how long a message of an expression may be, in bytes.
	messageLimit = 5 << 10
)

// Rules is the rules of one schema, without those of its parts. It is safe for
// concurrent use.
type Rules struct {
	c      *Compiler
	schema *structural.Structural
	all    []*compiled

	once     sync.Once
	declared *declarations
	self     *cel.Type
	err      error

	mu     sync.Mutex
	scopes map[bool]*checker.Env // by whether oldSelf is optional
}

// compiled is one rule, compiled when it is first needed.
type compiled struct {
	apiextensions.ValidationRule

	once    sync.Once
	program cel.Program // nil for a rule that does not apply to new objects
	err     error

	messageOnce sync.Once
	message     cel.Program
	messageErr  error
}

// Rules binds the rules of s. root says that s describes a resource: the custom
// resource itself or one that it embeds.
func (c *Compiler) Rules(s *structural.Structural, root bool) *Rules {
	r := &Rules{c: c, schema: s}
	if root {
		r.schema = withMeta(s)
	}
	for _, rule := range s.XValidations {
		r.all = append(r.all, &compiled{ValidationRule: rule})
	}
	return r
}

// setUp declares self.
func (r *Rules) setUp() error {
	r.once.Do(func() {
		if r.err = r.c.setUp(); r.err != nil {
			return
		}
		r.declared = &declarations{Provider: r.c.env.CELTypeProvider(), objects: map[string]*structural.Structural{}}
		r.scopes = map[bool]*checker.Env{}
		var ok bool
		if r.self, ok = r.declared.typeOf(r.schema, selfType, false); !ok {
			r.err = errors.New("failed to convert to declType for CEL validation rules")
		}
	})
	return r.err
}

// scope is the type checker for rules in which oldSelf is optional or not.
func (r *Rules) scope(optional bool) (*checker.Env, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.scopes[optional]; known != nil {
		return known, nil
	}
	old := r.self
	if optional {
		old = types.NewOptionalType(r.self)
	}
	scope, err := r.c.scope(r.declared, r.self, old)
	if err != nil {
		return nil, err
	}
	r.scopes[optional] = scope
	return scope, nil
}

// optional reports whether a rule takes a missing old value.
func (rule *compiled) optional() bool { return rule.OptionalOldSelf != nil && *rule.OptionalOldSelf }

// compile compiles a rule unless it applies only to changes.
func (r *Rules) compile(rule *compiled) (cel.Program, error) {
	rule.once.Do(func() {
		parsed, err := r.c.parse(rule.Rule)
		if err != nil {
			rule.err = err
			return
		}
		if refersToOld(parsed, rule.Rule) && !rule.optional() {
			return
		}
		rule.program, rule.err = r.plan(parsed, rule, types.BoolType)
	})
	return rule.program, rule.err
}

// compileMessage compiles the expression for the message of a rule.
func (r *Rules) compileMessage(rule *compiled) (cel.Program, error) {
	rule.messageOnce.Do(func() {
		parsed, err := r.c.parse(rule.MessageExpression)
		if err != nil {
			rule.messageErr = errors.New("messageExpression " + err.Error())
			return
		}
		if rule.message, err = r.plan(parsed, rule, types.StringType); err != nil {
			rule.messageErr = errors.New("messageExpression " + err.Error())
		}
	})
	return rule.message, rule.messageErr
}

// plan checks an expression, which has to give the type want, and plans it.
func (r *Rules) plan(parsed *cel.Ast, rule *compiled, want *cel.Type) (cel.Program, error) {
	scope, err := r.scope(rule.optional())
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	// Checking adds the types that it finds to the scope.
	checked, err := r.c.check(parsed, scope)
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if checked.GetType(checked.Expr().ID()) != want {
		if want == types.BoolType {
			return nil, errors.New("cel expression must evaluate to a bool")
		}
		return nil, errors.New("must evaluate to a string")
	}
	program, err := r.c.program(checked)
	if err != nil {
		return nil, errors.New("program instantiation failed: " + err.Error())
	}
	return program, nil
}

// Problems compiles every rule, those for changes too, and returns what is
// wrong with them. path is that of the schema.
func (r *Rules) Problems(path *field.Path) (out field.ErrorList) {
	if len(r.all) == 0 {
		return nil
	}
	path = path.Child("x-kubernetes-validations")
	if err := r.setUp(); err != nil {
		return field.ErrorList{field.Invalid(path, "", err.Error())}
	}
	for i, rule := range r.all {
		if blank(rule.Rule) {
			continue
		}
		_, err := r.compile(rule)
		if err == nil && rule.program == nil {
			var parsed *cel.Ast
			if parsed, err = r.c.parse(rule.Rule); err == nil {
				_, err = r.plan(parsed, rule, types.BoolType)
			}
		}
		if err != nil {
			out = append(out, field.Invalid(path.Index(i).Child("rule"), "", err.Error()))
			continue
		}
		if rule.MessageExpression == "" {
			continue
		}
		if _, err := r.compileMessage(rule); err != nil {
			out = append(out, field.Invalid(path.Index(i).Child("messageExpression"), "", err.Error()))
		}
	}
	return out
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }
