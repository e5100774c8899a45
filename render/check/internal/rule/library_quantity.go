// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
)

// quantityLibrary is quantity, isQuantity and arithmetic with quantities.
func quantityLibrary() []cel.EnvOption {
	one, two := []*cel.Type{quantityType()}, []*cel.Type{quantityType(), quantityType()}
	withInt := []*cel.Type{quantityType(), cel.IntType}
	text := []*cel.Type{cel.StringType}
	return []cel.EnvOption{
		cel.Function("quantity", cel.Overload("string_to_quantity", text, quantityType(), unary(func(t string) ref.Val {
			q, err := resource.ParseQuantity(t)
			if err != nil {
				return types.WrapErr(err)
			}
			return box(quantity{Quantity: &q})
		}))),
		cel.Function("isQuantity", cel.Overload("is_quantity_string", text, cel.BoolType, unary(func(t string) ref.Val {
			_, err := resource.ParseQuantity(t)
			return types.Bool(err == nil)
		}))),
		cel.Function("sign", cel.Overload("quantity_sign", one, cel.IntType, unary(func(q quantity) ref.Val { return types.Int(q.Sign()) }))),
		cel.Function("isGreaterThan", cel.MemberOverload("quantity_is_greater_than", two, cel.BoolType,
			binary(func(q, o quantity) ref.Val { return types.Bool(q.Cmp(*o.Quantity) > 0) }))),
		cel.Function("isLessThan", cel.MemberOverload("quantity_is_less_than", two, cel.BoolType,
			binary(func(q, o quantity) ref.Val { return types.Bool(q.Cmp(*o.Quantity) < 0) }))),
		cel.Function("compareTo", cel.MemberOverload("quantity_compare_to", two, cel.IntType,
			binary(func(q, o quantity) ref.Val { return types.Int(q.Cmp(*o.Quantity)) }))),
		cel.Function("asApproximateFloat", cel.MemberOverload("quantity_get_float", one, cel.DoubleType,
			unary(func(q quantity) ref.Val { return types.Double(q.AsApproximateFloat64()) }))),
		cel.Function("asInteger", cel.MemberOverload("quantity_get_int", one, cel.IntType, unary(func(q quantity) ref.Val {
			if i, ok := q.AsInt64(); ok {
				return types.Int(i)
			}
			return types.WrapErr(errors.New("cannot convert value to integer"))
		}))),
		cel.Function("isInteger", cel.MemberOverload("quantity_is_integer", one, cel.BoolType, unary(func(q quantity) ref.Val {
			_, ok := q.AsInt64()
			return types.Bool(ok)
		}))),
		cel.Function("add",
			cel.MemberOverload("quantity_add", two, quantityType(), binary(func(q, o quantity) ref.Val { return plus(q, *o.Quantity) })),
			cel.MemberOverload("quantity_add_int", withInt, quantityType(),
				binary(func(q quantity, i int64) ref.Val { return plus(q, *resource.NewQuantity(i, resource.DecimalExponent)) }))),
		cel.Function("sub",
			cel.MemberOverload("quantity_sub", two, quantityType(), binary(func(q, o quantity) ref.Val { return minus(q, *o.Quantity) })),
			cel.MemberOverload("quantity_sub_int", withInt, quantityType(),
				binary(func(q quantity, i int64) ref.Val { return minus(q, *resource.NewQuantity(i, resource.DecimalExponent)) }))),
	}
}

func plus(q quantity, o resource.Quantity) ref.Val {
	sum := q.DeepCopy()
	sum.Add(o)
	return box(quantity{&sum, true})
}

func minus(q quantity, o resource.Quantity) ref.Val {
	difference := q.DeepCopy()
	difference.Sub(o)
	return box(quantity{&difference, true})
}
