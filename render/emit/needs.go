// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
)

// checkNeeds refuses needs that the render itself has, for which a layer would wait before
// anything makes them. It warns of needs that nothing waits for: plain manifests are not
// waited for at all, and the warning is for engines alone.
func (w *writer) checkNeeds() {
	rendered := map[object.Ref]*object.Node{}
	for _, wave := range w.plan.Waves {
		for _, n := range wave.Nodes {
			rendered[n.Object.Ref()] = n
		}
	}
	for _, wave := range w.plan.Waves {
		for _, n := range wave.Nodes {
			if len(n.Needs) > object.MaxNeeds { // A module and overlays add up.
				w.addFound(n, &object.Error{Path: "needs", Err: fmt.Errorf("it needs %d objects, and %d are the most", len(n.Needs), object.MaxNeeds)})
				continue
			}
			for i, need := range n.Needs {
				w.checkNeed(n, fmt.Sprintf("needs[%d]", i), need, rendered)
			}
		}
	}
}

// checkNeed checks one need of a node, at its path.
func (w *writer) checkNeed(n *object.Node, path string, need object.Need, rendered map[object.Ref]*object.Node) {
	need = need.In(n.Object.Namespace())
	group, _, ok := strings.Cut(need.APIVersion, "/")
	if !ok {
		group = ""
	}
	inside := rendered[object.Ref{Group: group, Kind: need.Kind, Namespace: need.Namespace, Name: need.Name}]
	if inside == nil { // An object of the whole cluster has no namespace.
		inside = rendered[object.Ref{Group: group, Kind: need.Kind, Name: need.Name}]
	}

	// A need is for an object of the cluster that something else applies.
	isPath := strings.ContainsAny(need.Kind+need.Namespace+need.Name, "/%") || need.Name == "." || need.Name == ".."
	switch {
	case isPath: // They are parts of a request to the API server.
		err := fmt.Errorf("expected names of a kind, a namespace and an object, got %q", need)
		w.addFound(n, &object.Error{Pos: need.Pos, Path: path, Err: err})
	case inside != nil:
		w.addFound(n, &object.Error{
			Pos: need.Pos, Path: path, Err: fmt.Errorf("%s is part of the render, and needs are for what is not", need),
			Hint: fmt.Sprintf("write dependsOn: [%q]", inside.ID),
		})
	case w.dialect.Name != dialect.Plain && !w.opts.Awaited:
		w.addFound(n, &object.Error{
			Severity: object.SeverityWarning, Pos: need.Pos, Path: path,
			Err: fmt.Errorf("%s cannot wait for %s, which is not part of the render: it applies %s without it",
				w.dialect.Title, need, n.Object.Ref()),
			Hint: "deliver it by a Transform with spec.delivery.type Flux, whose controller waits",
		})
	}
}
