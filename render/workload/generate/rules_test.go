// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

func TestAHostThatANetworkPolicyDoesNotKnowIsAWarning(t *testing.T) {
	host := network.External{Name: "pay", Host: "pay.example", Pos: at(40), Path: "resources.pay"}
	address := host
	address.Host, address.CIDR = "192.0.2.7", "192.0.2.7/32"
	bucket := network.External{Name: "pay", Host: "pay.example"}
	const all, beside = "opens the ports of pay.example to all addresses (cilium and istio know hosts:", "to all addresses, also where Cilium does not (ask for one"
	for _, c := range []struct {
		name     string
		policies []string
		rules    *score.Rules
		host     network.External
		want     string
	}{
		{"a NetworkPolicy alone", []string{"kubernetes"}, nil, host, all},
		{"beside Cilium", []string{"cilium", "kubernetes"}, nil, host, beside},
		{"beside a mesh", []string{"istio", "kubernetes"}, nil, host, ""},
		{"Cilium alone", []string{"cilium"}, nil, host, ""},
		{"an address", []string{"kubernetes"}, nil, address, ""},
		{"a host that no one calls external", []string{"kubernetes"}, nil, bucket, ""},
		{"rules for calls that pods make", nil, &score.Rules{To: []score.Rule{}}, host, all},
		{"rules for callers", nil, &score.Rules{From: []score.Rule{}}, host, ""},
		{"nothing is closed", nil, nil, host, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plain()
			r.Config.Policies, r.Workload.Network, r.Network.External = c.policies, c.rules, []network.External{c.host}
			_, errs := Input(r)
			if c.want == "" {
				require.Empty(t, lines(errs))
				return
			}
			require.Len(t, errs, 1)
			require.Equal(t, object.SeverityWarning, errs[0].Severity)
			require.Contains(t, lines(errs)[0], "score.yaml:40:5: spec: resources.pay: ")
			require.Contains(t, lines(errs)[0], c.want)
		})
	}
}
