// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"context"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/providers"
)

type (
	// ProviderPlan lists the Cluster API providers for a management cluster.
	ProviderPlan = providers.Plan
	// WantedProvider is an infrastructure provider that a user requests.
	WantedProvider = providers.Wanted
)

// ParseProvider reads NAME or NAME:VERSION of an infrastructure provider.
func ParseProvider(text string) (WantedProvider, error) { return providers.Parse(text) }

// Providers returns the plan of providers for the management cluster at k. Nothing is changed.
func Providers(ctx context.Context, k Kubeconfig, wanted []WantedProvider) (ProviderPlan, error) {
	p, err := k.reach(ctx, "management", nil)
	if err != nil {
		return ProviderPlan{}, err
	}
	return providers.Make(ctx, p, wanted)
}
