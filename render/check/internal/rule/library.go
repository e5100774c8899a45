// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"reflect"
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// The libraries that Kubernetes adds to CEL: names and overloads are those of
// https://kubernetes.io/docs/reference/using-api/cel, and overloads with types
// that do not fit never reach the functions.

// library is all of them.
func (c *Compiler) library() (options []cel.EnvOption) {
	options = append(options, urlLibrary()...)
	options = append(options, regexLibrary()...)
	options = append(options, listLibrary()...)
	options = append(options, quantityLibrary()...)
	options = append(options, networkLibrary()...)
	options = append(options, c.formatLibrary()...)
	return append(options, semverLibrary()...)
}

// unary is a function of one argument, of the Go type T.
func unary[T any](f func(T) ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(func(v ref.Val) ref.Val {
		a, ok := as[T](v)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		return f(a)
	})
}

// binary is a function of two arguments, of the Go types T and U.
func binary[T, U any](f func(T, U) ref.Val) cel.OverloadOpt {
	return cel.BinaryBinding(func(v, w ref.Val) ref.Val {
		a, ok := as[T](v)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		b, ok := as[U](w)
		if !ok {
			return types.MaybeNoSuchOverloadErr(w)
		}
		return f(a, b)
	})
}

// as is v as a Go type: a value of ours, or the Go value in one of CEL.
func as[T any](v ref.Val) (T, bool) {
	if own, ok := v.(T); ok {
		return own, true
	}
	t, ok := v.Value().(T)
	return t, ok
}

// regexLibrary is find and findAll.
func regexLibrary() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("find", cel.MemberOverload("string_find_string", []*cel.Type{cel.StringType, cel.StringType}, cel.StringType,
			binary(func(text, pattern string) ref.Val {
				return withExpression(pattern, func(e *regexp.Regexp) ref.Val { return types.String(e.FindString(text)) })
			}))),
		cel.Function("findAll",
			cel.MemberOverload("string_find_all_string", []*cel.Type{cel.StringType, cel.StringType}, cel.ListType(cel.StringType),
				binary(func(text, pattern string) ref.Val {
					return withExpression(pattern, func(e *regexp.Regexp) ref.Val { return texts(e.FindAllString(text, -1)) })
				})),
			cel.MemberOverload("string_find_all_string_int", []*cel.Type{cel.StringType, cel.StringType, cel.IntType}, cel.ListType(cel.StringType),
				cel.FunctionBinding(func(args ...ref.Val) ref.Val {
					pattern, ok := as[string](args[1])
					if !ok {
						return types.MaybeNoSuchOverloadErr(args[1])
					}
					return withExpression(pattern, func(e *regexp.Regexp) ref.Val { return findAll(e, args) })
				}))),
	}
}

func withExpression(pattern string, f func(*regexp.Regexp) ref.Val) ref.Val {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return types.NewErr("Illegal regex: %v", err.Error())
	}
	return f(expression)
}

// findAll is the matches in args[0], at most args[2] of them where it is given.
func findAll(e *regexp.Regexp, args []ref.Val) ref.Val {
	text, ok := as[string](args[0])
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	most := int64(-1)
	if len(args) == 3 {
		if most, ok = as[int64](args[2]); !ok {
			return types.MaybeNoSuchOverloadErr(args[2])
		}
	}
	return texts(e.FindAllString(text, int(most)))
}

func texts(found []string) ref.Val { return types.NewStringList(types.DefaultTypeAdapter, found) }

// compiledPatterns compiles the constant patterns of find and findAll with the
// rule, which fails there if they are wrong.
func compiledPatterns() cel.ProgramOption {
	return cel.OptimizeRegex(
		optimized("find", func(e *regexp.Regexp, args []ref.Val) ref.Val {
			text, ok := as[string](args[0])
			if !ok {
				return types.MaybeNoSuchOverloadErr(args[0])
			}
			return types.String(e.FindString(text))
		}),
		optimized("findAll", findAll),
	)
}

func optimized(name string, f func(*regexp.Regexp, []ref.Val) ref.Val) *interpreter.RegexOptimization {
	return &interpreter.RegexOptimization{
		Function:   name,
		RegexIndex: 1,
		Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
			expression, err := regexp.Compile(pattern)
			if err != nil {
				return nil, err
			}
			return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
				return f(expression, args)
			}), nil
		},
	}
}

// named is a type with the name that overloads carry.
type named struct {
	name string
	t    *cel.Type
	zero ref.Val // of those that can be summed
}

// comparableTypes is the types of which lists can be sorted; the first four can be
// summed.
func comparableTypes() []named {
	return []named{
		{"int", cel.IntType, types.Int(0)},
		{"uint", cel.UintType, types.Uint(0)},
		{"double", cel.DoubleType, types.Double(0)},
		{"duration", cel.DurationType, types.Duration{}},
		{"bool", cel.BoolType, nil},
		{"timestamp", cel.TimestampType, nil},
		{"string", cel.StringType, nil},
		{"bytes", cel.BytesType, nil},
	}
}

// listLibrary is isSorted, sum, min, max, indexOf and lastIndexOf.
func listLibrary() []cel.EnvOption {
	var isSorted, sum, least, greatest []cel.FunctionOpt
	for _, n := range comparableTypes() {
		of := []*cel.Type{cel.ListType(n.t)}
		isSorted = append(isSorted, cel.MemberOverload("list_"+n.name+"_is_sorted_bool", of, cel.BoolType, unary(sorted)))
		least = append(least, cel.MemberOverload("list_"+n.name+"_min_"+n.name, of, n.t, unary(extreme("min", types.IntOne))))
		greatest = append(greatest, cel.MemberOverload("list_"+n.name+"_max_"+n.name, of, n.t, unary(extreme("max", types.IntNegOne))))
		if n.zero != nil {
			sum = append(sum, cel.MemberOverload("list_"+n.name+"_sum_"+n.name, of, n.t, unary(total(n.zero))))
		}
	}
	t := cel.TypeParamType("A")
	at := func(last bool) cel.OverloadOpt {
		return cel.BinaryBinding(func(l, v ref.Val) ref.Val { return indexOf(l, v, last) })
	}
	return []cel.EnvOption{
		cel.Function("isSorted", isSorted...), cel.Function("sum", sum...), cel.Function("min", least...), cel.Function("max", greatest...),
		cel.Function("indexOf", cel.MemberOverload("list_a_index_of_int", []*cel.Type{cel.ListType(t), t}, cel.IntType, at(false))),
		cel.Function("lastIndexOf", cel.MemberOverload("list_a_last_index_of_int", []*cel.Type{cel.ListType(t), t}, cel.IntType, at(true))),
	}
}

func sorted(l traits.Iterable) ref.Val {
	var last traits.Comparer
	for it := l.Iterator(); it.HasNext() == types.True; {
		v := it.Next()
		next, ok := v.(traits.Comparer)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		if last != nil && last.Compare(v) == types.IntOne {
			return types.False
		}
		last = next
	}
	return types.True
}

// total adds the elements up.
func total(zero ref.Val) func(traits.Iterable) ref.Val {
	return func(l traits.Iterable) ref.Val {
		sum := zero
		for it := l.Iterator(); it.HasNext() == types.True; {
			adder, ok := sum.(traits.Adder)
			if !ok {
				return types.MaybeNoSuchOverloadErr(sum)
			}
			sum = adder.Add(it.Next())
		}
		return sum
	}
}

// extreme is the first element that no other one beats; beaten is what a
// comparison with a better one says.
func extreme(name string, beaten ref.Val) func(traits.Iterable) ref.Val {
	return func(l traits.Iterable) ref.Val {
		var best ref.Val
		for it := l.Iterator(); it.HasNext() == types.True; {
			v := it.Next()
			if _, ok := v.(traits.Comparer); !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			if c, ok := best.(traits.Comparer); !ok || c.Compare(v) == beaten {
				best = v
			}
		}
		if best == nil {
			return types.NewErr("%s called on empty list", name)
		}
		return best
	}
}

// indexOf is the index of the first or last element that equals v, -1 where
// none does.
func indexOf(l, v ref.Val, last bool) ref.Val {
	elements, ok := l.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(l)
	}
	size, _ := elements.Size().(types.Int)
	for i := range size {
		if last {
			i = size - 1 - i
		}
		if elements.Get(i).Equal(v) == types.True {
			return i
		}
	}
	return types.Int(-1)
}

// toNative is v itself or its text, whichever is of the type t.
func toNative(v any, text string, t reflect.Type) (any, bool) {
	switch {
	case reflect.TypeOf(v).AssignableTo(t):
		return v, true
	case reflect.TypeFor[string]().AssignableTo(t):
		return text, true
	}
	return nil, false
}
