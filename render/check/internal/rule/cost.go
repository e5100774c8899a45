// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"math"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// costs says what calls of the functions of Kubernetes cost, in the units of
// CEL, as the server counts (k8s.io/apiserver, pkg/cel/library/cost.go).
type costs struct{}

// CallCost is the cost of a call; nil leaves it to CEL.
func (costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if len(args) == 0 {
		return nil
	}
	var cost uint64
	switch function {
	case "isSorted", "sum", "max", "min", "indexOf", "lastIndexOf":
		cost = traversal(args[0])
	case "url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver":
		cost = reading(size(args[0]), 1)
	case "replace", "split", "ip.isCanonical":
		cost = reading(size(args[0]), 2)
	case "join":
		cost = reading(size(result), 2)
	case "ip":
		cost = 1
		if overload != "cidr_ip" {
			cost = reading(size(args[0]), 1)
		}
	case "format.named", "getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery",
		"masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast",
		"sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add", "sub", "major", "minor", "patch":
		cost = 1
	case "_==_":
		if _, own := args[0].Value().(content); !own {
			return nil
		}
		cost = 1
	default:
		return pairCost(function, overload, args)
	}
	return &cost
}

// pairCost is the cost of functions of two arguments.
func pairCost(function, overload string, args []ref.Val) *uint64 {
	if len(args) < 2 {
		return nil
	}
	own, other := size(args[0]), size(args[1])
	var cost uint64
	switch function {
	case "find", "findAll":
		cost = matching(own, other)
	case "validate":
		f, ok := args[0].Value().(*format)
		if !ok {
			return nil
		}
		cost = matching(other, f.pattern)
	case "containsIP":
		cost = reading(2*own, 1)
		if overload == "cidr_contains_ip_string" {
			cost += reading(other, 1)
		}
	case "containsCIDR":
		cost = reading(2*own, 1) + reading(own, 1) + 1
		if overload == "cidr_contains_cidr_string" {
			cost += reading(other, 1)
		}
	default:
		return nil
	}
	return &cost
}

// reading is the cost of going over n bytes some times.
func reading(n uint64, times float64) uint64 {
	return uint64(math.Ceil(float64(n) * times * common.StringTraversalCostFactor))
}

// matching is the cost of matching n bytes with a pattern.
func matching(n, pattern uint64) uint64 {
	return reading(n+1, 1) * uint64(math.Ceil(float64(pattern)*common.RegexStringLengthCostFactor))
}

// size is the size of a value, 1 where it has none.
func size(v ref.Val) uint64 {
	switch own := v.Value().(type) {
	case address:
		return uint64(own.BitLen()+7) / 8 //nolint:gosec // at most 128
	case network:
		return uint64(own.Bits()+7) / 8 //nolint:gosec // at most 128
	}
	if sized, ok := v.(traits.Sizer); ok {
		n, _ := sized.Size().(types.Int)
		return uint64(max(n, 0)) //nolint:gosec // not negative
	}
	return 1
}

// traversal is the cost of going over a value with all its parts.
func traversal(v ref.Val) (cost uint64) {
	switch v := v.(type) {
	case types.String:
		return uint64(float64(len(v)) * common.StringTraversalCostFactor)
	case types.Bytes:
		return uint64(float64(len(v)) * common.StringTraversalCostFactor)
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			cost += traversal(it.Next())
		}
		return cost
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			cost += traversal(key) + traversal(v.Get(key))
		}
		return cost
	}
	return 1
}
