// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/preflight"
)

// The actions of a plan.
const (
	Install = "install"
	Upgrade = "upgrade"
	Keep    = "keep"
)

// Step is a provider of a plan.
type Step struct {
	// Kind is such as InfrastructureProvider, and Name such as aws.
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Installed is the version that the inventory lists; "" if it is not installed.
	Installed string `json:"installed,omitempty"`
	// Version is the planned version.
	Version string `json:"version"`
	Action  string `json:"action"`
	// Note is a hint for the user before the step.
	Note string `json:"note,omitempty"`
}

// Plan lists the providers for a management cluster, in their order.
type Plan struct {
	Steps []Step   `json:"steps"`
	Notes []string `json:"notes,omitempty"`
}

// Wanted is an infrastructure provider that a user requests.
type Wanted struct {
	Name string
	// Version is "" for the known, or the installed, version.
	Version string
}

// Parse reads NAME or NAME:VERSION, as clusterctl does.
func Parse(text string) (Wanted, error) {
	name, release, has := strings.Cut(text, ":")
	bad := !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`).MatchString(name)
	if has && !bad {
		_, err := version.ParseSemantic(release)
		bad = err != nil || !strings.HasPrefix(release, "v")
	}
	if bad {
		return Wanted{}, fmt.Errorf("%q is not NAME or NAME:VERSION of a provider", text)
	}
	w := Wanted{Name: name, Version: release}
	if w.Version == "" && find(infrastructure, name).version == "" {
		return w, fmt.Errorf("no version of the provider %q is known", name)
	}
	return w, nil
}

// Make returns the plan of a management cluster.
func Make(ctx context.Context, p *plane.Plane, wanted []Wanted) (Plan, error) {
	kinds, err := p.Kinds(ctx)
	if err != nil {
		return Plan{}, err
	}
	listed, err := preflight.ListProviders(ctx, p, kinds)
	if err != nil {
		return Plan{}, err
	}

	// Installed providers stay, and are upgraded if they are older.
	var out Plan
	missing := all()[:3]
	for _, provider := range listed {
		i := slices.IndexFunc(wanted, func(w Wanted) bool { return provider.Type == infrastructure && w.Name == provider.Provider })
		var asked string
		if i >= 0 {
			asked = wanted[i].Version
			wanted = slices.Delete(slices.Clone(wanted), i, i+1)
		}
		missing = slices.DeleteFunc(missing, func(k known) bool { return k.kind == provider.Type && k.name == provider.Provider })
		out.Steps = append(out.Steps, installed(provider, asked))
	}

	// The others are to be installed.
	for _, w := range wanted {
		k := find(infrastructure, w.Name)
		k.version = cmp.Or(w.Version, k.version)
		missing = append(missing, k)
	}
	for _, k := range missing {
		out.Steps = append(out.Steps, Step{
			Kind:      k.kind,
			Name:      k.name,
			Namespace: cmp.Or(k.namespace, k.name+"-system"),
			Version:   k.version,
			Action:    Install,
		})
	}
	slices.SortFunc(out.Steps, func(a, b Step) int {
		return cmp.Or(
			cmp.Compare(rank(a.Kind), rank(b.Kind)),
			cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Namespace, b.Namespace),
		)
	})
	out.Notes = notes(kinds, out, len(listed) == 0)
	return out, nil
}

// installed returns the step of a provider that is installed; asked is the version that a user
// requests, or "".
func installed(provider preflight.Provider, asked string) Step {
	s := Step{
		Kind:      provider.Type,
		Name:      provider.Provider,
		Namespace: provider.Namespace,
		Installed: provider.Version,
		Version:   provider.Version,
		Action:    Keep,
	}

	// Compare the versions. A provider is never downgraded.
	target := cmp.Or(asked, find(provider.Type, provider.Provider).version)
	have, err := version.ParseSemantic(provider.Version)
	want, none := version.ParseSemantic(target)
	switch {
	case err != nil:
		s.Note = fmt.Sprintf("its version, %q, is none that can be compared", provider.Version)
	case none != nil: // Ropewalk makes none of its objects.
	case have.LessThan(want):
		s.Version = target
		s.Action = Upgrade
	case want.LessThan(have) && asked != "":
		s.Note = fmt.Sprintf("newer than %s, which was asked for: a provider is not downgraded", target)
	case want.LessThan(have):
		s.Note = fmt.Sprintf("newer than %s, by whose definitions Ropewalk checks objects", target)
	}
	return s
}

// notes returns hints about the whole plan.
func notes(kinds plane.Kinds, p Plan, none bool) (out []string) {
	if _, ok := kinds[schema.GroupKind{Group: inventory.ClusterGroup, Kind: "Cluster"}]; ok && none {
		out = append(out, "Cluster API is installed, and the cluster has no inventory of it: "+
			"neither clusterctl nor the Cluster API Operator installed it, and its versions are unknown")
	}
	if _, ok := kinds[schema.GroupKind{Group: operatorGroup, Kind: core}]; !ok {
		out = append(out, "the Cluster API Operator, which the objects of --format yaml are for, is not installed")
	}
	for _, s := range p.Steps {
		switch {
		case rank(s.Kind) == len(order()):
			const format = "%s %s/%s is of no kind that the Cluster API Operator has, and is not among its objects"
			out = append(out, fmt.Sprintf(format, s.Kind, s.Namespace, s.Name))
		case s.Kind == infrastructure && s.Action == Install && s.Name != "docker":
			const format = "%s %s needs its credentials: add spec.configSecret with the name of a Secret to its object"
			out = append(out, fmt.Sprintf(format, s.Kind, s.Name))
		}
	}
	if !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind == infrastructure }) {
		out = append(out, "there is no infrastructure provider: name one with --infrastructure")
	}
	return out
}
