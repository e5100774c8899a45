// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
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
	ok := true
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

// extra is the path of a field that Score does not have.
func (m *member) extra(fields ...string) object.Path {
	if m.source.Spec.Score {
		return append(object.Fields("metadata"), object.Fields(fields...)...)
	}
	return m.at(fields...)
}
