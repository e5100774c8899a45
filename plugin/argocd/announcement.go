// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"

	"github.com/ropewalk/ropewalk/plugin/argocd/internal/wire"
)

// Parameter is one that an application takes, as argocd-cmp-server wants it of the
// command that announces them.
type Parameter struct {
	Name     string `json:"name"`
	Title    string `json:"title,omitempty"`
	Tooltip  string `json:"tooltip,omitempty"`
	Required bool   `json:"required,omitempty"`
	// ItemType is string, number or boolean; string where "".
	ItemType string `json:"itemType,omitempty"`
	// CollectionType is string, array or map, and says which of the next three holds
	// what the parameter is while nobody sets it; string where "".
	CollectionType string            `json:"collectionType,omitempty"`
	String         string            `json:"string,omitempty"`
	Array          []string          `json:"array,omitempty"`
	Map            map[string]string `json:"map,omitempty"`
}

// StaticParameters are those that every application takes.
func StaticParameters() []Parameter { return parametersOf(announced()) }

func parametersOf(all []*wire.Parameter) []Parameter {
	out := make([]Parameter, len(all))
	for i, p := range all {
		out[i] = Parameter{
			Name: p.GetName(), Title: p.GetTitle(), Tooltip: p.GetTooltip(), Required: p.GetRequired(),
			ItemType: p.GetItemType(), CollectionType: p.GetCollectionType(),
			String: p.GetString_(), Array: p.GetArray(), Map: p.GetMap(),
		}
	}
	return out
}

// Parameters are what the server answers when a repo-server asks which parameters
// an application takes, without a socket. A mistake in the application is no error:
// its parameters are left out. An error is a Refusal.
func (s *Server) Parameters(ctx context.Context, in Request) (out []Parameter, err error) {
	err = s.measured(ctx, methodAnnounce, func(ctx context.Context) error {
		r, err := in.unpacked()
		if err != nil {
			// What is wrong with a request fails its render.
			out = StaticParameters()
			return nil //nolint:nilerr // as on the socket
		}
		held := s.stay(r)
		defer held.end()
		out = parametersOf(s.announcement(ctx, r, in.Files, held))
		return nil
	})
	if err != nil {
		return nil, refusal(err)
	}
	return out, nil
}
