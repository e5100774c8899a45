// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// TestATargetTakesOnlyWhatItAccepts: where it does not take one object, none is created, and
// the source is in charge as before.
func TestATargetTakesOnlyWhatItAccepts(t *testing.T) {
	for name, takes := range map[string]func(plane.Ref) bool{
		"all":              func(plane.Ref) bool { return true },
		"no Secrets":       func(r plane.Ref) bool { return r.Kind != "Secret" },
		"another Cluster":  func(r plane.Ref) bool { return r.Kind != "Cluster" || r.Name == "green" },
		"later":            func(plane.Ref) bool { return true },
		"no bootstrapping": func(r plane.Ref) bool { return r.Kind != "KubeadmConfig" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 3)
			w.link = func(Link) Link {
				later := false
				target := &Target{Plane: w.plane("target", w.target), Now: w.clock, Accept: func(r plane.Ref) error {
					if takes(r) && !later {
						return nil
					}
					return errors.New("not that")
				}}
				return LinkFunc(func(ctx context.Context, r Request) (Response, error) {
					later = name == "later" && r.Op == Seal
					return target.Call(ctx, r)
				})
			}
			_, err := w.coordinator().Run(t.Context())
			if name == "all" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "not that")
			for _, o := range w.target.Objects() {
				require.NotContains(t, w.refs, plane.RefOf(o))
			}
			require.NotContains(t, w.source.Object(w.cluster).Object["spec"], "paused")
			if name == "later" { // The others are refused before anything is written.
				r, err := Read(t.Context(), w.plane("target", w.target), types.NamespacedName{Namespace: "apps", Name: "blue"})
				require.NoError(t, err)
				require.Equal(t, Aborted, r.Step)
			}
		})
	}
}

// TestATargetIsNotLiedTo: an entry may not have another object than it says.
func TestATargetIsNotLiedTo(t *testing.T) {
	object := planetest.Object("v1", "Secret", "kube-system", "admin")
	data, err := json.Marshal(object.Object)
	require.NoError(t, err)
	all := func(plane.Ref) error { return nil }
	for name, e := range map[string]snapshot.Entry{
		"another namespace": {Ref: plane.Ref{Kind: "Secret", Namespace: "apps", Name: "admin"}, APIVersion: "v1", Object: data},
		"another version":   {Ref: plane.RefOf(object), APIVersion: "v2", Object: data},
		"no object":         {Ref: plane.RefOf(object), APIVersion: "v1", Object: json.RawMessage("[]")},
	} {
		require.Error(t, accept(all, []snapshot.Entry{e}, checkObject), name)
	}
	require.NoError(t, accept(all, []snapshot.Entry{{Ref: plane.RefOf(object), APIVersion: "v1", Object: data}}, checkObject))
}
