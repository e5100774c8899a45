// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// area is a part of the picture that nothing else may lie on.
type area struct {
	name                     string
	left, top, right, bottom int
}

func (a area) overlaps(b area) bool {
	return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

// areas are the boxes and the labels beside them.
func (p *picture) areas() []area {
	var out []area
	label := func(x, baseline, width int, text string) {
		out = append(out, area{text, x, baseline - labelSize + 1, x + width, baseline + 2})
	}
	for _, g := range p.groups {
		for _, b := range g.boxes {
			out = append(out, area{string(b.id), b.x, b.y, b.x + b.w, b.y + b.h})
			if b.note != "" {
				label(b.x+b.w+labelInset, b.noteAt.y+4, textWidth(b.note, labelSize), b.note)
			}
		}
	}
	for _, c := range p.curves {
		if c.way != ahead {
			label(c.target.at.x+c.target.at.w+labelInset, c.target.y-3, c.labelWidth(), c.label)
		}
	}
	return out
}

// tangle is a plan in which everything depends on much.
func tangle(t *testing.T, specs, nodes int) *order.Plan {
	t.Helper()
	kinds := []string{"Deployment", "StatefulSet", "DaemonSet"}
	var all []*object.Node
	for s := range specs {
		for n := range nodes {
			name := fmt.Sprintf("a-rather-long-name-of-a-workload-%d-%d", s, n)
			node := &object.Node{ID: object.MakeID(fmt.Sprintf("spec%d", s), fmt.Sprintf("n%d", n)), Object: object.Object{
				"apiVersion": "apps/v1", "kind": kinds[(s+n)%3], "metadata": map[string]any{"name": name},
			}}
			for i := 1; i < 4 && i <= len(all); i++ {
				node.DependsOn = append(node.DependsOn, object.Dependency{ID: all[(len(all)*i*7)%len(all)].ID})
			}
			if n%2 == 0 {
				node.ReadyWhen = []object.Ready{{Type: object.ReadyExists}}
			}
			all = append(all, node)
		}
	}
	g, err := graph.Build(all, nil)
	require.NoError(t, err)
	d, err := dialect.Find(dialect.ArgoCD)
	require.NoError(t, err)
	return order.New(g, d)
}

func TestNothingOnThePictureLiesOnAnythingElse(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 3}, {5, 4}, {7, 5}} {
		p := compose(Picture{Plan: tangle(t, size[0], size[1]), Unfolded: true}.scene(true))
		p.arrange()
		areas := p.areas()
		for i, a := range areas {
			require.GreaterOrEqual(t, a.left, 0)
			require.LessOrEqual(t, a.right, p.width, a.name)
			require.LessOrEqual(t, a.bottom, p.height-p.bottom, a.name)
			for _, b := range areas[:i] {
				require.False(t, a.overlaps(b), "%v %v", a, b)
			}
		}
		for i, g := range p.groups {
			for _, h := range p.groups[:i] {
				a := area{g.spec, g.x, g.y, g.x + g.w, g.y + g.h}
				b := area{h.spec, h.x, h.y, h.x + h.w, h.y + h.h}
				require.False(t, a.overlaps(b), "%v %v", a, b)
			}
		}
	}
}

func TestFit(t *testing.T) {
	require.Equal(t, "short", fit("short", boldWidth, 12, 100))
	long := fit("a-name-that-is-much-too-long-for-its-box", boldWidth, 12, 100)
	require.LessOrEqual(t, boldWidth(long, 12), 100)
	require.Contains(t, long, "…")
	require.Equal(t, "…", fit("wide", textWidth, 12, 1))
}
