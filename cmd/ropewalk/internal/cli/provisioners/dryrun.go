// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package provisioners

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// dryRun is what came of one resource, as JSON has it.
type dryRun struct {
	// Provisioner made it: TYPE/CLASS#ID of the entry in Module.
	Provisioner string `json:"provisioner"`
	Module      string `json:"module"`
	// Resource is what the provisioner saw of it.
	Resource json.RawMessage `json:"resource"`
	// Result is outputs, sensitive, volume, claim, workload and after.
	Result json.RawMessage `json:"result"`
	Nodes  []dryRunNode    `json:"nodes"`
}

// dryRunNode is an object of the resource.
type dryRunNode struct {
	ID        object.ID      `json:"id"`
	DependsOn []object.ID    `json:"dependsOn,omitempty"`
	ReadyWhen []object.Ready `json:"readyWhen,omitempty"`
	Needs     []object.Need  `json:"needs,omitempty"`
	Apply     object.Apply   `json:"apply,omitzero"`
	Object    object.Object  `json:"object"`
}

// dryRun makes the one resource of a workload.
func (c catalog) dryRun(ctx context.Context, document object.Value) (dryRun, error) {
	// Join the workload with the catalog, as a render does.
	decoded, errs := score.Decode(score.Document{Value: document})
	if errs.Err() != nil {
		return dryRun{}, errs.Sorted()
	}
	name := decoded.Name.Value
	surroundings := c.Context
	surroundings.Name = name
	project, errs := workload.Join([]workload.Source{{Spec: decoded, Context: surroundings}}, c.Workloads.Config, c.matching())
	if errs.Err() != nil {
		return dryRun{}, errs.Failures()
	}

	// Find the request that its resource makes.
	compilation := project.Compile(name)
	requests := compilation.Next()
	if len(requests) == 0 {
		// Its params cannot be resolved; what else the workload lacks is said too.
		_, errs := compilation.Finish()
		return dryRun{}, errs.Failures()
	}

	// Evaluate the module of the provisioner.
	asked := requests[0]
	req := evaluate.Request{
		Spec: name, Pos: decoded.Pos, Module: c.Workloads.Provisioners[asked.Module].Module,
		Input: asked.Input, Context: asked.Context,
	}
	result, err := c.evaluator.Evaluate(ctx, req)
	if err != nil {
		return dryRun{}, err
	}
	// Who tries out a param wants to know of one that is not there.
	if len(result.Warnings) > 0 {
		return dryRun{}, strict(result.Warnings)
	}

	// Give the result to the workload, and check the objects.
	key := asked.Resources[0]
	made := result.Provisioned[key]
	answers := map[string]resource.Answer{key: {Result: made.JSON, Nodes: made.Nodes}}
	if errs := compilation.Answer(asked, answers); errs.Err() != nil {
		return dryRun{}, errs
	}
	if err := c.checkObjects(ctx, req, made.Nodes); err != nil {
		return dryRun{}, err
	}
	return c.result(asked, key, made), nil
}

// strict returns warnings as errors.
func strict(warnings object.Errors) object.Errors {
	out := make(object.Errors, len(warnings))
	for i, w := range warnings {
		e := *w
		e.Severity = object.SeverityError
		out[i] = &e
	}
	return out
}

// checkObjects checks the objects against the schemas of the API. An error is at the line of the
// user that leads to it, or at that of the module.
func (c catalog) checkObjects(ctx context.Context, req evaluate.Request, nodes []*object.Node) error {
	var errs object.Errors
	findings, err := render.Renderer{}.Check(ctx, c.Check, nodes)
	if err != nil {
		return err
	}
	for _, e := range findings {
		for _, n := range nodes {
			if n.ID == e.Node {
				e.Pos = n.Pos
			}
		}
		// Without an origin the line of the node is as good as it gets.
		origins, _ := c.evaluator.Trace(ctx, req, []evaluate.Query{{Node: e.Node, Path: object.ParsePath(e.Path)}})
		for _, o := range origins {
			switch {
			case o.Input.IsValid():
				e.Pos = o.Input
			case o.Module.IsValid():
				e.Pos = o.Module
			}
		}
		errs = append(errs, e)
	}
	return errs.Sorted().Err()
}

// result returns the result of a dry run, with the provisioner that made it.
func (c catalog) result(asked workload.Request, key string, made evaluate.Provisioned) dryRun {
	entry, _ := asked.Input.Lookup(object.Fields("resources", key))
	resource, _ := entry.Get("resource")
	number, _ := entry.Get("provisioner")
	out := dryRun{Resource: resource.JSON(), Result: made.JSON, Nodes: []dryRunNode{}}
	for _, p := range c.entries {
		if p.number == asked.Module && strconv.Itoa(p.Index) == number.Text {
			out.Provisioner, out.Module = p.title(), p.module.Module.Label
		}
	}
	for _, n := range made.Nodes {
		node := dryRunNode{ID: n.ID, ReadyWhen: n.ReadyWhen, Needs: n.Needs, Apply: n.Apply, Object: n.Object}
		for _, d := range n.DependsOn {
			node.DependsOn = append(node.DependsOn, d.ID)
		}
		out.Nodes = append(out.Nodes, node)
	}
	return out
}

// text returns a stream of YAML: what the resource gives, then its objects.
func (t dryRun) text() string {
	var b bytes.Buffer
	var resource struct{ Name, UID, Namespace, Workload string }
	// Both are JSON that was read before.
	_ = json.Unmarshal(t.Resource, &resource)
	result, _ := object.Decode(t.Result)
	fmt.Fprintf(&b, "# %s of workload %s in namespace %s: %s\n", resource.Name, resource.Workload, resource.Namespace, resource.UID)
	fmt.Fprintf(&b, "# made by %s of %s\n", command.OneLine(t.Provisioner), command.OneLine(t.Module))
	b.Write(emit.YAML(map[string]any(result)))
	for _, n := range t.Nodes {
		fmt.Fprintf(&b, "---\n# %s\n", n.ID)
		for _, d := range n.DependsOn {
			fmt.Fprintf(&b, "# comes after %s\n", d)
		}
		for _, r := range n.ReadyWhen {
			data, _ := json.Marshal(r) // It is text only.
			fmt.Fprintf(&b, "# is ready when %s\n", data)
		}
		for _, need := range n.Needs {
			fmt.Fprintf(&b, "# waits for %s\n", need)
		}
		if n.Apply != (object.Apply{}) {
			data, _ := json.Marshal(n.Apply)
			fmt.Fprintf(&b, "# is applied with %s\n", data)
		}
		b.Write(emit.YAML(map[string]any(n.Object)))
	}
	return b.String()
}
