// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package validators

import (
	"log/slog"
	"testing"

	cilium "github.com/cilium/cilium/pkg/k8s/apis/cilium.io/v2"
	"github.com/cilium/cilium/pkg/policy/api"
	"github.com/stretchr/testify/require"
)

func TestCiliumTakesPolicies(t *testing.T) {
	var found *cilium.CiliumNetworkPolicy
	for _, r := range Examples(t) {
		for _, o := range r.Of("cilium.io", "CiliumNetworkPolicy") {
			policy := As[cilium.CiliumNetworkPolicy](t, o)
			rules, err := policy.Parse(slog.New(slog.DiscardHandler), "default")
			require.NoError(t, err, "%s %s", r.Name, o.GetName())
			require.NotEmpty(t, rules)
			if len(policy.Spec.Egress) > 1 {
				found = policy
			}
		}
	}
	require.NotNil(t, found)
	// One kind of peer in a rule.
	found.Spec.Egress[1].ToCIDRSet = api.CIDRRuleSlice{{Cidr: "10.0.0.0/8"}}
	found.Spec.Egress[1].ToFQDNs = api.FQDNSelectorSlice{{MatchName: "a.example"}}
	_, err := found.Parse(slog.New(slog.DiscardHandler), "default")
	require.ErrorContains(t, err, "combining")
}
