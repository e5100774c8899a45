// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"fmt"
	"net/netip"
	"net/url"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The types that the libraries add.
func urlType() *cel.Type      { return cel.ObjectType("kubernetes.URL") }
func quantityType() *cel.Type { return cel.ObjectType("kubernetes.Quantity") }
func formatType() *cel.Type   { return cel.ObjectType("kubernetes.NamedFormat") }
func semverType() *cel.Type   { return cel.ObjectType("kubernetes.Semver") }
func ipType() *cel.Type       { return cel.OpaqueType("net.IP") }
func cidrType() *cel.Type     { return cel.OpaqueType("net.CIDR") }

// content is a Go value that can stand in an expression.
type content interface {
	// celType is the type that expressions know it by.
	celType() *cel.Type
	// equals compares it with one of its type; the result is a boolean or an error.
	equals(o any) ref.Val
	fmt.Stringer
}

// boxed is a value of a type of the libraries.
type boxed[T content] struct{ v T }

func box[T content](v T) ref.Val { return boxed[T]{v} }

// ConvertToNative gives the Go value, or its text.
func (b boxed[T]) ConvertToNative(t reflect.Type) (any, error) {
	if v, ok := toNative(b.v, b.v.String(), t); ok {
		return v, nil
	}
	return nil, fmt.Errorf("type conversion error from '%s' to '%v'", b.v.celType().TypeName(), t)
}

// ConvertToType converts to the type itself, to the type of types and, for
// addresses, to a string.
func (b boxed[T]) ConvertToType(t ref.Type) ref.Val {
	own := b.v.celType()
	if own.Kind() == types.OpaqueKind && t.TypeName() == types.StringType.TypeName() {
		return types.String(b.v.String())
	}
	return convert(b, own, t)
}

// Equal compares values of the same type.
func (b boxed[T]) Equal(other ref.Val) ref.Val {
	o, ok := other.(boxed[T])
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return b.v.equals(o.v)
}

// Type is the type that expressions know the value by.
func (b boxed[T]) Type() ref.Type { return b.v.celType() }

// Value is the Go value.
func (b boxed[T]) Value() any { return b.v }

// address is an IP address.
type address struct{ netip.Addr }

func (address) celType() *cel.Type     { return ipType() }
func (a address) equals(o any) ref.Val { return types.Bool(a == o) }

// network is a prefix of IP addresses.
type network struct{ netip.Prefix }

func (network) celType() *cel.Type     { return cidrType() }
func (n network) equals(o any) ref.Val { return types.Bool(n == o) }

// link is a URL.
type link struct{ *url.URL }

func (link) celType() *cel.Type { return urlType() }
func (l link) equals(o any) ref.Val {
	other, ok := o.(link)
	return types.Bool(ok && l.String() == other.String())
}

// quantity is an amount such as 100Mi. One that was computed can be compared
// with another, but another cannot be compared with it: so it is on the server,
// which holds the two in different types.
type quantity struct {
	*resource.Quantity
	computed bool
}

func (quantity) celType() *cel.Type { return quantityType() }
func (q quantity) equals(o any) ref.Val {
	other, ok := o.(quantity)
	if !ok || other.computed {
		return types.NoSuchOverloadErr()
	}
	return types.Bool(q.Cmp(*other.Quantity) == 0)
}
