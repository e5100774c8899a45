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

// queue is the server of the queue that the workload is scaled by: what the author wrote,
// or the outputs of the resource. Nil is none, or one that cannot be resolved, which is
// reported.
func (c *Compilation) queue() *generate.Queue {
	replicas := c.member.source.Spec.Replicas
	if replicas == nil || replicas.Queue == nil {
		return nil
	}
	q := replicas.Queue
	if q.Resource.Value == "" {
		return &generate.Queue{Address: literal(q.Address.Value, q.Address.Pos)}
	}
	s := c.scope(c.member)
	ok := c.isList(q)
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
		if r := c.result(c.member.instances[n]); r == nil || !slices.Contains(r.Names(), name) {
			return generate.Text{}
		}
		return generate.Text{Pieces: output(name), Pos: q.Resource.Pos}
	}
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

// isList refuses a resource that is no server of lists: its type is neither redis nor
// valkey, and it has no output url that says so.
func (c *Compilation) isList(q *score.Queue) bool {
	n, known := c.member.resource(q.Resource.Value)
	if !known {
		return true // It is reported where outputs are read.
	}
	i := c.member.instances[n]
	r, kind := c.result(i), i.resource.Type.Value
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

// extra is the path of a field that Score does not have.
func (m *member) extra(fields ...string) object.Path {
	if m.source.Spec.Score {
		return append(object.Fields("metadata"), object.Fields(fields...)...)
	}
	return m.at(fields...)
}
