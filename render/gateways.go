// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/workload"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// join decodes the Gateways of the request and relates them to its workloads, which then
// know the ports that they have to open.
func (c *compiler) join(sources []workload.Source) (mistakes Errors) {
	// The Gateways come from the specs of the request.
	for _, s := range c.req.Specs {
		if s.Gateway {
			e := s.Evaluate
			g, errs := gateway.Decode(e.Spec, e.Pos, e.Context, e.Input)
			if s.Written != nil {
				errs = s.Written(errs)
			}
			c.gateways = append(c.gateways, g)
			mistakes = append(mistakes, errs...)
		}
	}
	if len(c.gateways) == 0 {
		return nil
	}

	// The ports of a workload that is broken or partial are unknown.
	broken := slices.Clone(c.req.Broken)
	var workloads []gateway.Workload
	for _, s := range sources {
		name := s.Spec.Name.Value
		if s.Partial {
			broken = append(broken, name)
			continue
		}
		workloads = append(workloads, gateway.Workload{
			Name: name, Namespace: s.Context.Namespace, Ports: s.Spec.Ports, Canary: s.Spec.Deploy.Strategy == score.StrategyCanary,
			Serverless: s.Spec.Kind.Value == score.KindKnativeService, Resources: s.Spec.Resources,
		})
	}

	// The workloads open the ports that routes lead to.
	joined, errs := gateway.Join(c.gateways, workloads, broken...)
	c.joined = joined
	for i, s := range sources {
		sources[i].Opened = joined.Ports[s.Spec.Name.Value]
	}
	return append(mistakes, errs...)
}
