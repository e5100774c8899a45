// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// runtimeAttribute is one @timoni(runtime:TYPE:NAME) of a field.
type runtimeAttribute struct {
	kind, name string
	pos        token.Pos
	field      *ast.Field
}

// runtimeAttributes returns the runtime attributes of the fields in files, in the order of the
// text.
func runtimeAttributes(files []*ast.File) (attributes []runtimeAttribute) {
	pattern := regexp.MustCompile(`^\s*runtime:(\w+):([\w.-]+)\s*$`)
	for _, f := range files {
		ast.Walk(f, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok {
				return true
			}
			for _, a := range field.Attrs {
				key, body := a.Split()
				if parts := pattern.FindStringSubmatch(body); key == fieldTimoni && parts != nil {
					attributes = append(attributes, runtimeAttribute{kind: parts[1], name: parts[2], pos: a.Pos(), field: field})
				}
			}
			return true
		}, nil)
	}
	return attributes
}

// injectRuntime puts values of Module.Tags in the place of fields that have a
// runtime attribute. A name without a value leaves its field as it is.
func injectRuntime(m evaluate.Module, t *tree, files []*ast.File) error {
	replaced := map[ast.Node]ast.Node{}
	zeroes := map[string]string{"bool": "false", "number": "0"}
	var errs object.Errors

	// Each value takes the place of the expression of its field.
	for _, a := range runtimeAttributes(files) {
		value, ok := m.Tags[a.name]
		if !ok {
			continue
		}
		expr, err := runtimeValue(a.kind, value)
		if err != nil {
			errs = append(errs, &object.Error{
				Stage: object.StageEvaluate, Pos: t.position(m, a.pos), Err: fmt.Errorf("runtime value %q: %w", a.name, err),
			})
			// So that CUE does not report the field as incomplete, too.
			expr, err = runtimeValue(a.kind, zeroes[a.kind])
			if err != nil {
				continue
			}
		}
		ast.SetPos(expr, a.field.Value.Pos())
		replaced[a.field.Value] = expr
		a.field.Value = expr
	}

	// Names that were resolved to the old expression must mean the new expression.
	for _, f := range files {
		ast.Walk(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && replaced[id.Node] != nil {
				id.Node = replaced[id.Node]
			}
			return true
		}, nil)
	}
	return errs.Err()
}

// missingRuntime returns the mistakes of attributes whose name has no value and whose field has
// neither a default nor a value of its own. They explain why a value is incomplete.
func missingRuntime(m evaluate.Module, t *tree, files []*ast.File) object.Errors {
	var errs object.Errors
	for _, a := range runtimeAttributes(files) {
		if _, ok := m.Tags[a.name]; ok || hasOwnValue(a.field.Value) {
			continue
		}
		errs = append(errs, &object.Error{
			Stage: object.StageEvaluate, Pos: t.position(m, a.pos), Err: notSet(a.name),
			Hint: fmt.Sprintf("pass --runtime %s=VALUE, or write a default in place of the type", a.name),
		})
	}
	return errs
}

func notSet(name string) error { return fmt.Errorf("runtime value %q is not set", name) }

// hasOwnValue reports whether an expression is a literal or has a default.
func hasOwnValue(e ast.Expr) (found bool) {
	ast.Walk(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit, *ast.StructLit, *ast.ListLit, *ast.Interpolation:
			found = found || n == e
			return false
		case *ast.UnaryExpr:
			found = found || n.Op == token.MUL
		}
		return true
	}, nil)
	return found
}

// runtimeValue returns text as a literal of CUE. The text is never parsed as CUE, so that a value
// cannot bring expressions along. Errors do not quote it: it may be a secret.
func runtimeValue(kind, text string) (ast.Expr, error) {
	switch kind {
	case "string":
		return ast.NewString(text), nil
	case "bool":
		// YAML has True and TRUE, too.
		text = strings.ToLower(strings.TrimSpace(text))
		if text != "true" && text != "false" {
			return nil, errors.New("expected true or false")
		}
		return ast.NewBool(text == "true"), nil
	case "number":
		text = strings.TrimSpace(text)
		var n literal.NumInfo
		if literal.ParseNum(text, &n) != nil {
			return nil, errors.New("expected a number")
		}
		digits := strings.TrimLeft(text, "+-")
		if !isNumber(digits) {
			return nil, errors.New("the number is out of range")
		}
		kind := token.FLOAT
		if n.IsInt() {
			kind = token.INT
		}
		number := ast.NewLit(kind, digits)
		if strings.HasPrefix(text, "-") {
			return &ast.UnaryExpr{Op: token.SUB, X: number}, nil
		}
		return number, nil
	}
	return nil, errors.New("the type must be string, number or bool, got " + kind)
}

// runtimeNames returns the names that runtime attributes of the tree ask for.
func (t *tree) runtimeNames() map[string]bool {
	names := map[string]bool{}
	for name, data := range t.files {
		if strings.HasSuffix(name, ".cue") {
			for _, found := range evaluate.RuntimeNames(data) {
				names[found] = true
			}
		}
	}
	return names
}
