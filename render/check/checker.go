// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/check/custom"
	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/check/kubernetes"
	"github.com/ropewalk/ropewalk/render/check/schemas"
	"github.com/ropewalk/ropewalk/render/object"
)

// Checker judges rendered objects. It is made by [New] and safe for concurrent
// use.
type Checker struct {
	options Options
	schemas *Schemas
	minor   int                           // of Options.KubeVersion, 0 for the newest that is known and later
	given   map[string]*custom.Definition // Options.CRDs, by group/Kind
	broken  []Finding                     // what is wrong with Options.CRDs
}

// New makes a Checker. A CustomResourceDefinition of the options that cannot
// be read is a finding of every check, without a node.
func New(options Options) *Checker {
	c := &Checker{options: options, schemas: options.Schemas, given: map[string]*custom.Definition{}}
	if c.schemas == nil {
		c.schemas = &Schemas{}
	}
	if options.SkipSchemas {
		return c
	}
	if _, newest := schemas.Known(); options.KubeVersion != "" && schemas.Minor(options.KubeVersion) < newest {
		c.minor = max(0, schemas.Minor(options.KubeVersion))
	}
	for _, o := range options.CRDs {
		if d, problem := custom.Read(o); problem != "" {
			c.broken = append(c.broken, Finding{
				Rule: finding.RuleDefinition, Message: "CustomResourceDefinition " + finding.Quote(o.Name()) + " " + problem,
			})
		} else {
			c.given[d.Key()] = d
		}
	}
	return c
}

// Check judges nodes and returns what is wrong with them, sorted by node,
// path and message, each mistake once. CustomResourceDefinitions among the nodes
// win over all others for the custom resources among the nodes. The error is the error
// of ctx, which ends a check of any length.
func (c *Checker) Check(ctx context.Context, nodes []*object.Node) ([]Finding, error) {
	definitions := c.defined(nodes)
	findings := slices.Clone(c.broken)
	for _, n := range nodes {
		findings = append(findings, c.checkNode(ctx, n, definitions)...)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return sorted(findings), nil
}

// defined returns the definitions of the CustomResourceDefinitions among nodes, by group/Kind.
func (c *Checker) defined(nodes []*object.Node) map[string]*custom.Definition {
	definitions := map[string]*custom.Definition{}
	if c.options.SkipSchemas {
		return definitions
	}
	for _, n := range nodes {
		if custom.IsDefinition(n.Object) {
			if d, problem := custom.Read(n.Object); problem == "" {
				definitions[d.Key()] = d
			}
		}
	}
	return definitions
}

// checkNode judges one object.
func (c *Checker) checkNode(ctx context.Context, n *object.Node, definitions map[string]*custom.Definition) []Finding {
	encrypted := isEncrypted(n.Object)
	report := &finding.Report{Node: n.ID, Root: n.Object, Secret: isSecret(n.Object) || encrypted, Minor: c.minor}
	a := finding.NewValue(report)
	c.checkSecrets(a)
	c.warnOfHook(a)
	applied, complete := c.applied(n.Object, func() map[string]*custom.Definition { return definitions })
	if !complete {
		reportServerFields(a, applied)
		report.Root = applied
		a = finding.NewValue(report)
	}
	switch {
	case c.options.SkipSchemas:
	case n.Object.APIVersion() == "" || n.Object.Kind() == "":
		for _, name := range [...]string{"apiVersion", "kind"} {
			if n.Object.Text(name) == "" {
				a.Missing(name)
			}
		}
	case encrypted:
		// The content can be checked only where it is decrypted.
		kubernetes.Metadata(a)
	default:
		c.checkSchema(ctx, a, definitions)
	}
	return report.Findings
}

// warnOfHook warns of a hook of Helm: only Helm runs it where it is written for.
func (c *Checker) warnOfHook(a *finding.Value) {
	const name = "helm.sh/hook"
	events := a.Root().Annotations()[name]
	if events == "" {
		return
	}
	what := "an ordinary object, applied with the others and kept"
	if c.options.Engine == "argocd" {
		what = "one that Argo CD runs in a phase of its own"
	}
	annotation := a.Field("metadata").Field("annotations").Field(name)
	f := annotation.Warn(finding.RuleHook, "it is a hook of Helm (%s), and here %s", finding.Quote(events), what)
	f.Hint = "name the chart itself, whose hooks get a place in the order, or leave the object out"
}

// checkSchema judges an object by its kind.
func (c *Checker) checkSchema(ctx context.Context, a *finding.Value, definitions map[string]*custom.Definition) {
	// A kind of Kubernetes has a component and a first version.
	o := a.Root()
	if kind, ok := kubernetes.LookupKind(o.APIVersion(), o.Kind()); ok {
		kubernetes.Metadata(a)
		kubernetes.Scope(a, kind.Namespaced)
		if schemas.Preview(o.APIVersion()) {
			a.Field("apiVersion").Warn(finding.RuleAPIVersion, "%s %s is served only where the cluster enables it", o.APIVersion(), o.Kind())
		}
		if c.minor > 0 && kind.Since > c.minor {
			const format = "%s %s is not in Kubernetes 1.%d: it came with 1.%d"
			a.Field("apiVersion").Fail(finding.RuleAPIVersion, format, o.APIVersion(), o.Kind(), c.minor, kind.Since)
			return
		}
		c.schemas.Components.Check(a, kind)
		if custom.IsDefinition(o) {
			c.schemas.CheckDefinition(ctx, a)
		}
		return
	}

	// Any other kind has a definition, was served once, or is unknown.
	d := c.lookup(o.Group(), o.Kind(), definitions)
	switch {
	case d != nil:
		kubernetes.Metadata(a)
		kubernetes.Scope(a, d.Scope != "Cluster")
		c.schemas.Check(ctx, a, d)
	case kubernetes.Unserved(a):
	default:
		kubernetes.Metadata(a)
		f := a.Field("kind").Warn(finding.RuleKind, "no schema is known for %s %s: the object was not checked", o.APIVersion(), o.Kind())
		f.Hint = "name its CustomResourceDefinition with --crds"
		// An ApplicationSet has no schema here, and is no slip for Application.
		isSet := o.Group() == "argoproj.io" && o.Kind() == "ApplicationSet"
		if hint := object.DidYouMean(o.Kind(), c.kindsOf(o.Group(), definitions)); hint != "" && !isSet {
			f.Hint = hint + " Otherwise name its CustomResourceDefinition with --crds"
		} else if near := kubernetes.Near(o.Group(), o.Kind()); near != "" {
			f.Hint = fmt.Sprintf("did you mean %q? Otherwise name its CustomResourceDefinition with --crds", near)
		} else if ours := elsewhere(o.Kind()); ours != "" {
			const format = "as a spec of Ropewalk it is kind %s; as an object of the cluster, name its CustomResourceDefinition with --crds"
			f.Hint = fmt.Sprintf(format, ours)
		}
	}
}

// elsewhere returns the kind of Ropewalk that corresponds to a kind of another system, or "" if
// no kind does.
func elsewhere(kind string) string {
	switch kind {
	case "LatticeService":
		return "Workload"
	case "LatticeCluster":
		return "PivotCluster"
	}
	return ""
}

// lookup returns the definition of a kind, out of the render, the options, or the built-in set. It
// returns nil for a kind without a definition.
func (c *Checker) lookup(group, kind string, definitions map[string]*custom.Definition) *custom.Definition {
	key := group + "/" + kind
	if d, ok := definitions[key]; ok {
		return d
	}
	if d, ok := c.given[key]; ok {
		return d
	}
	return c.schemas.BuiltIn(group, kind)
}

// kindsOf returns the kinds of a group that a definition is known for.
func (c *Checker) kindsOf(group string, definitions map[string]*custom.Definition) (kinds []string) {
	for _, set := range [...]map[string]*custom.Definition{definitions, c.given} {
		for _, key := range object.SortedKeys(set) {
			if g, kind, _ := strings.Cut(key, "/"); g == group {
				kinds = append(kinds, kind)
			}
		}
	}
	return append(kinds, c.schemas.Kinds(group)...)
}

// sorted returns findings by node, path and message, each once.
func sorted(findings []Finding) []Finding {
	// Each path is written once, and not for every comparison.
	type keyed struct {
		Finding
		path string
	}
	entries := make([]keyed, len(findings))
	for i, f := range findings {
		entries[i] = keyed{f, f.Path.String()}
	}
	slices.SortStableFunc(entries, func(a, b keyed) int {
		return cmp.Or(
			strings.Compare(string(a.Node), string(b.Node)),
			comparePaths(a.Path, b.Path),
			strings.Compare(a.Message, b.Message),
		)
	})

	// What is misspelt is there by its wrong name, and not missing.
	meant := map[string]bool{}
	for _, k := range entries {
		text, hinted := strings.CutPrefix(k.Hint, `did you mean "`)
		name, _, ok := strings.Cut(text, `"`)
		isUnknown := k.Rule == finding.RuleUnknownField && len(k.Path) > 0
		if isUnknown && hinted && ok {
			meant[string(k.Node)+" "+k.Path[:len(k.Path)-1].Append(object.Field(name)).String()] = true
		}
	}
	entries = slices.DeleteFunc(entries, func(k keyed) bool {
		return k.Rule == finding.RuleRequired && meant[string(k.Node)+" "+k.path]
	})
	entries = slices.CompactFunc(entries, func(a, b keyed) bool {
		// A required field is missed once, however many checks report it.
		bothRequired := a.Rule == finding.RuleRequired && b.Rule == finding.RuleRequired
		same := bothRequired || a.Message == b.Message
		return same && a.Node == b.Node && a.path == b.path
	})

	// The sort keys go.
	result := make([]Finding, len(entries))
	for i, k := range entries {
		result[i] = k.Finding
	}
	return result
}

// comparePaths orders paths as a reader of the object meets them: item 2
// before item 10.
func comparePaths(a, b object.Path) int {
	return slices.CompareFunc(a, b, func(s, t object.Step) int {
		return cmp.Or(strings.Compare(s.Name, t.Name), cmp.Compare(s.Index, t.Index))
	})
}
