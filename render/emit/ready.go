// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/render/object"
)

// celOf returns a readiness rule as CEL over the object: the four types of rules are one from
// here on.
func celOf(n *object.Node, r object.Ready) (string, error) {
	// Each type that is not CEL stands for a fixed expression.
	switch r.Type {
	case object.ReadyExists:
		return "true", nil
	case object.ReadyConditionMatch:
		if r.Condition == "" {
			return "", fmt.Errorf("ConditionMatch has no condition: expected one such as %q", "Ready")
		}
		status := r.Status
		if status == "" {
			status = "True"
		}
		// A condition may carry its own generation; a stale one says nothing
		// about the object as it is now.
		return "status.conditions.exists(c, c.type == " + strconv.Quote(r.Condition) +
			" && c.status == " + strconv.Quote(status) +
			" && (!has(c.observedGeneration) || !has(metadata.generation) || c.observedGeneration >= metadata.generation))", nil
	case object.ReadyDeploymentAvailable:
		if n.Object.Ref().GroupKind() != "Deployment.apps" {
			return "", fmt.Errorf("DeploymentAvailable is for a Deployment, not for a %s: use ConditionMatch or CEL", n.Object.Kind())
		}
		// The condition by itself stays true during an update, for the old pods.
		return `status.observedGeneration >= metadata.generation` +
			` && (spec.replicas == 0 || status.updatedReplicas >= spec.replicas && status.availableReplicas >= spec.replicas)` +
			` && status.conditions.exists(c, c.type == "Available" && c.status == "True")`, nil
	case object.ReadyCEL:
		if strings.TrimSpace(r.Expr) == "" {
			return "", fmt.Errorf("CEL has no expr: expected an expression such as %q", `status.phase == "Ready"`)
		}
		return r.Expr, nil
	}
	return "", fmt.Errorf("unknown readiness type %q: expected Exists, ConditionMatch, DeploymentAvailable or CEL", r.Type)
}

// problem is one thing that is wrong with one readiness rule of a node.
type problem struct {
	rule int
	// fatal means that the rule is wrong in itself, whatever the engine.
	fatal bool
	err   error
	hint  string
}

// rules reads readiness rules, each text once: the same few texts stand on many nodes, and most of
// their cost is in reading and translating.
type rules struct {
	known map[string]*ruleText
}

// ruleText is one expression with its translations, each made when it is first
// needed.
type ruleText struct {
	text  string
	parse func() (celExpr, error)
	// lua is the tree for Argo CD.
	lua func() (any, error)
	// flux is the expression for Flux.
	flux func() (fluxText, error)
}

func newRules() rules { return rules{known: map[string]*ruleText{}} }

// get returns the rule with the text, which is not parsed yet.
func (r rules) get(text string) *ruleText {
	if e, ok := r.known[text]; ok {
		return e
	}
	e := &ruleText{text: text}
	e.parse = sync.OnceValues(func() (celExpr, error) { return parseCEL(text) })
	e.lua = sync.OnceValues(func() (any, error) {
		c, err := e.parse()
		if err != nil {
			return nil, err
		}
		return luaTree(c)
	})
	e.flux = sync.OnceValues(func() (fluxText, error) {
		c, err := e.parse()
		if err != nil {
			return fluxText{}, err
		}
		return fluxExpr(c)
	})
	r.known[text] = e
	return e
}

// of returns the readiness rules of n. Only what an author wrote is parsed to find mistakes. The
// rules of Ropewalk have no mistakes, and the first parse of a process costs as much as the rest of
// a small render.
func (r rules) of(n *object.Node) ([]*ruleText, []problem) {
	var exprs []*ruleText
	var problems []problem
	for i, ready := range n.ReadyWhen {
		text, err := celOf(n, ready)
		if err == nil {
			e := r.get(text)
			if ready.Type == object.ReadyCEL {
				_, err = e.parse()
			}
			if err == nil {
				exprs = append(exprs, e)
				continue
			}
		}
		problems = append(problems, problem{rule: i, fatal: true, err: err})
	}
	return exprs, problems
}

// annotation returns the annotation of n for Argo CD. If one rule has no Lua, there is no
// annotation at all: half of a conjunction may hold at once, and the built-in health, which then
// stays, is the safer gate.
func (r rules) annotation(n *object.Node) (string, []problem) {
	// Translate every rule, and report those that Lua cannot express.
	exprs, problems := r.of(n)
	if len(problems) > 0 || len(exprs) == 0 {
		return "", problems
	}
	conjunction := []any{"and"}
	for i, e := range exprs {
		tree, err := e.lua()
		if err != nil {
			const hint = "fields, has(), comparisons, &&, ||, !, ?:, in, size(), exists() and all() become Lua"
			//nolint:staticcheck // Argo CD is a name
			err = fmt.Errorf("Argo CD cannot express %q: %w; it uses its built-in health of the kind", e.text, err)
			problems = append(problems, problem{rule: i, err: err, hint: hint})
			continue
		}
		conjunction = append(conjunction, tree)
	}

	// One rule stands for itself, several are a conjunction.
	var tree any = conjunction
	if len(conjunction) == 2 {
		tree = conjunction[1]
	}

	// The script of Argo CD has bounds, which a rule must keep.
	text := string(JSON(tree))
	switch {
	case len(problems) > 0:
		return "", problems
	case len(text) > maxRule:
		err := fmt.Errorf("the rule has %d bytes and Argo CD reads at most %d; it uses its built-in health of the kind",
			len(text), maxRule)
		return "", []problem{{err: err, hint: "shorten readyWhen"}}
	case nesting(tree) > maxNesting:
		err := fmt.Errorf("the operators of the rule nest %d deep and Argo CD follows at most %d; it uses its built-in health of the kind",
			nesting(tree), maxNesting)
		return "", []problem{{err: err, hint: "flatten readyWhen"}}
	}
	return text, nil
}

// nesting returns how deep the lists of a tree go.
func nesting(tree any) int {
	list, _ := tree.([]any)
	deepest := 0
	for _, e := range list {
		deepest = max(deepest, nesting(e))
	}
	if list == nil {
		return 0
	}
	return deepest + 1
}
