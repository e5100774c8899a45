// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// The outputs of a resource that is the server of a queue.
const (
	outputHost, outputUsername, outputPassword = "host", "username", "password"
)

// resolveQueue returns the server of the queue that the workload is scaled by: what the author
// wrote, or the outputs of the resource. It returns nil if there is none, or if it cannot be
// resolved, which is reported.
func (c *Compilation) resolveQueue() *generate.Queue {
	replicas := c.member.source.Spec.Replicas
	if replicas == nil || replicas.Queue == nil {
		return nil
	}
	q := replicas.Queue
	if q.Resource.Value == "" {
		return &generate.Queue{Address: literal(q.Address.Value, q.Address.Pos)}
	}

	// The first mistake is reported, and the rest is left out.
	s := c.scope(c.member)
	ok := c.checkList(q)
	output := func(name string) []generate.Piece {
		pieces, err := s.resource([]string{q.Resource.Value, name})
		if err == nil {
			return pieces
		}
		if err.Err != nil && ok {
			err.Stage, err.Pos = object.StageSpec, q.Resource.Pos
			err.Path = c.member.extra("replicas", "queue", "resource").String()
			c.errs = append(c.errs, err)
		}
		ok = false
		return nil
	}
	optional := func(name string) generate.Text {
		n, known := c.member.resource(q.Resource.Value)
		if !known {
			return generate.Text{}
		}
		r := c.result(c.member.instances[n])
		if r == nil || !slices.Contains(r.Names(), name) {
			return generate.Text{}
		}
		if password, plain := r.Outputs[outputPassword]; plain && password == "" {
			return generate.Text{} // The server asks for no password, and the user is the one of all.
		}
		return generate.Text{Pieces: output(name), Pos: q.Resource.Pos}
	}

	// Credentials are optional.
	host := output(outputHost)
	address := slices.Concat(host, []generate.Piece{{Literal: ":"}}, output(outputPort))
	out := &generate.Queue{
		Address:  generate.Text{Pieces: generate.Join(address), Pos: q.Resource.Pos},
		Username: optional(outputUsername), Password: optional(outputPassword),
	}
	if !ok {
		return nil
	}
	return out
}

// listURL begins the URL of a server that has lists.
var listURL = regexp.MustCompile(`^(redis|rediss|valkey|valkeys)://`)

// checkList reports a resource that is no server of lists: its type is neither redis nor valkey,
// and it has no output url that says so. It returns false for such a resource.
func (c *Compilation) checkList(q *score.Queue) bool {
	n, known := c.member.resource(q.Resource.Value)
	if !known {
		return true // It is reported where outputs are read.
	}
	i := c.member.instances[n]
	r := c.result(i)
	kind := i.resource.Type.Value
	if r == nil || kind == "redis" || kind == "valkey" || listURL.MatchString(r.Outputs["url"]) {
		return true
	}
	c.errs = append(c.errs, &object.Error{
		Stage: object.StageSpec, Pos: q.Resource.Pos, Path: c.member.extra("replicas", "queue", "resource").String(),
		Err: fmt.Errorf("a queue is a list of Redis or Valkey, and the resource %q is of type %q", q.Resource.Value, kind),
		Hint: "name a resource of type redis or valkey, or one with an output url that begins with redis://; " +
			"the triggers of other brokers are written by a workload module of the platform: spec.workloads.module",
	})
	return false
}
