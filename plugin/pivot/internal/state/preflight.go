// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/preflight"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Found describes both planes before a pivot.
type Found struct {
	Set    inventory.Set
	Source Peer
	Target Peer
	// Findings stand in its way.
	Findings inventory.Findings
	// Notes list checks that could not be made.
	Notes []string
	// Later lists checks that only a run can make.
	Later []string
}

// lookAtBoth reads both planes, and changes nothing. It returns findings in Found, and the samples
// that the target has tried. Its error means that a plane could not be read.
func lookAtBoth(ctx context.Context, p *process) (out Found, samples []snapshot.Entry, err error) {
	uid, err := p.plane.UID(ctx)
	if err != nil {
		return out, nil, err
	}

	// The target must be another cluster, without a pivot of this one.
	out = Found{Source: Peer{UID: uid, Server: p.plane.Server()}}
	hello, err := p.call(ctx, Request{Op: Hello})
	if err != nil {
		return out, nil, err
	}
	out.Target = *hello.Plane
	if hello.Plane.UID == uid {
		out.Findings = inventory.Findings{{
			Ref:     p.ref(),
			Problem: "source and target are the same cluster: the namespace kube-system of both has UID " + uid,
			Advice:  "give the kubeconfigs of two clusters",
		}}
		return out, nil, nil
	}
	out.Findings, err = underWay(ctx, p, hello.Receipt)
	if err != nil || len(out.Findings) > 0 {
		return out, nil, err
	}

	// Find the objects that move, in versions that both planes serve.
	kinds, err := p.plane.Kinds(ctx)
	if err != nil {
		return out, nil, err
	}
	p.kinds = preflight.Common(kinds, mapped(hello.Kinds))
	out.Set, err = inventory.Read(ctx, p.plane, p.kinds, p.cluster, inventory.Options{Copy: p.copies})
	if err != nil {
		if errors.As(err, &out.Findings) {
			return out, nil, nil
		}
		return out, nil, err
	}
	_, out.Findings = preflight.Kinds(kinds, mapped(hello.Kinds), out.Set)
	if len(out.Findings) > 0 {
		return out, nil, nil
	}

	// Check the source: providers, rights, objects at rest, and dependents of the set.
	out.Findings = preflight.Skew(out.Set, p.kinds, preflight.Providers(ctx, p.plane, p.kinds), hello.Providers)
	out.Findings = append(out.Findings, preflight.Source(ctx, p.plane, p.kinds, out.Set)...)
	dependents, notes := out.Set.Dependents(ctx, p.plane, kinds)
	out.Findings = append(out.Findings, dependents...)
	out.Notes = notes

	// Let the target check the rest with samples.
	samples = preflight.Samples(out.Set)
	checked, err := trySamples(ctx, p, samples)
	const format = "whether the controllers of the target run cannot be seen before they have objects: a run waits for them before its commit, up to %s"
	out.Later = append(checked.Notes, fmt.Sprintf(format, settleWithin))
	var refused *refusal
	if errors.As(err, &refused) && len(refused.findings) > 0 {
		out.Findings = append(out.Findings, refused.findings...)
		err = nil
	}
	out.Findings = out.Findings.Sorted()
	return out, samples, err
}

// underWay returns findings for a pivot of the cluster that has not ended, on either side. Without
// them, the preflight would report the copies that such a pivot has made.
func underWay(ctx context.Context, p *process, target *Receipt) (inventory.Findings, error) {
	source, err := Read(ctx, p.plane, p.cluster)
	if err != nil {
		return nil, err
	}
	var out inventory.Findings
	for side, r := range map[string]*Receipt{"source": source, "target": target} {
		if r == nil || r.Step.Ended() || r.empty() {
			continue
		}

		// The advice depends on the end that knows the pivot.
		advice := "see `ropewalk pivot status`: " + r.next()
		sourceIsOver := source == nil || source.ID != r.ID || source.Step == Aborted
		if string(r.Role) != side {
			advice = "see `ropewalk pivot status`: finish or abort that one, with its own --from and --to"
		} else if side == "target" && sourceIsOver {
			advice = "run `ropewalk pivot abort` with the same --from and --to: it removes what that one has left on the target"
		}
		problem := fmt.Sprintf("pivot %q from %s to %s is under way, at step %s on its %s since %s",
			r.ID, r.Source.Server, r.Target.Server, r.Step, r.Role, r.When(r.Step).Format(time.RFC3339))
		out = append(out, inventory.Finding{Ref: p.ref(), Problem: problem, Advice: advice})
	}
	return out.Sorted(), nil
}

// trySamples tries the samples on the target.
func trySamples(ctx context.Context, p *process, samples []snapshot.Entry) (Response, error) {
	return p.call(ctx, Request{Op: Check, Samples: samples, Kinds: list(p.kinds)})
}
