// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/units"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/preview"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

// expandUnits finds what Argo CD or Flux render of a side below folders.
func (p *previewing) expandUnits(ctx context.Context, s *side, folders []string) error {
	s.units = map[gitops.ID]gitops.Unit{}
	for _, folder := range folders {
		if _, err := s.files.Lstat(folder); err != nil {
			continue
		}
		load := func(ctx context.Context, u gitops.Unit) (host.Loaded, error) { return p.loadUnit(ctx, s, u) }
		found, err := units.Expand(ctx, s.files, folder, s.flags, load)
		if err != nil {
			return err
		}
		for _, u := range found.Units {
			s.units[u.ID] = u
		}
		for name := range found.Local {
			p.local[name] = true
		}
		if found.Hidden {
			s.hidden = append(s.hidden, folder)
		}
		s.warnings = append(s.warnings, found.Warnings...)
		s.unapplied = append(s.unapplied, found.Unapplied...)
	}
	return nil
}

// dropOrphans takes units from the head whose files stay where they were and that nothing applies any
// more: the engine deletes them, or leaves them unmanaged, and looks at their folder no more.
func (p *previewing) dropOrphans() {
	gone := map[gitops.ID]bool{}
	for id, u := range p.head.units {
		base := p.base.units[id]
		if len(base.Parents) == 0 || len(u.Parents) > 0 || u.Pos.File != base.Pos.File {
			continue
		}
		// What a parent that cannot be rendered applies is not known.
		if parent := base.Parents[len(base.Parents)-1]; p.head.units[parent].Problem == nil {
			gone[id] = true
			p.head.Notes = append(p.head.Notes, fmt.Sprintf("%s is still in %s, and nothing applies it any more: %s did.", id, u.Pos.File, parent))
		}
	}
	slices.Sort(p.head.Notes)
	maps.DeleteFunc(p.head.units, func(id gitops.ID, u gitops.Unit) bool {
		return gone[id] || slices.ContainsFunc(u.Parents, func(parent gitops.ID) bool { return gone[parent] })
	})
}

// addUnits adds the units of both sides to what is compared, those of the wanted clusters if there
// are some. It returns the names of all clusters.
func (p *previewing) addUnits(wanted []string) (clusters []string) {
	for _, s := range []*side{&p.base, &p.head} {
		for _, id := range slices.SortedFunc(maps.Keys(s.units), gitops.ID.Compare) {
			clusters = append(clusters, id.Cluster)
			c := cell{unit: id}
			isWanted := len(wanted) == 0 || slices.Contains(wanted, id.Cluster)
			if isWanted && !slices.Contains(p.cells, c) {
				p.cells = append(p.cells, c)
			}
		}
	}
	return clusters
}

// loadUnit loads a unit of a side.
func (p *previewing) loadUnit(ctx context.Context, s *side, u gitops.Unit) (host.Loaded, error) {
	flags := *s.flags
	flags.Environment = ""
	if s == &p.head && p.untrusted {
		if err := p.confine(&flags, "."); err != nil {
			return host.Loaded{}, err
		}
	}
	return p.LoadUnit(ctx, &flags, s.files, u)
}

// inputOf loads a unit of a side. It returns nil if the side does not have it.
func (p *previewing) inputOf(ctx context.Context, s *side, id gitops.ID) *input {
	u, ok := s.units[id]
	if !ok {
		return nil
	}
	out := &input{name: s.Name, unit: true}
	if u.Problem != nil {
		out.err = object.Errors{u.Problem}
		return out
	}
	loaded, err := p.loadUnit(ctx, s, u)
	if err == nil {
		err = loaded.Request.Mistakes.Err()
	}
	out.Loaded, out.err = loaded, err
	return out
}

// unitResult returns the result of a unit, which has its name and the file that it is in.
func (p *previewing) unitResult(id gitops.ID) preview.Result {
	u, ok := p.head.units[id]
	if !ok {
		u = p.base.units[id]
	}
	named := id
	named.Cluster = ""
	return preview.Result{Project: named.String(), Path: u.Pos.File, Name: id.Cluster, Unit: true}
}

// isUntouched reports whether the change does not reach a unit, by what it says on both sides.
func (p *previewing) isUntouched(id gitops.ID) bool {
	base, had := p.base.units[id]
	head, has := p.head.units[id]
	return had && has && base.IsSame(head)
}

// secrets returns the values of Secrets that units of both sides are made of, and what charts make of
// them.
func (p *previewing) secrets() []string {
	var out []string
	for _, s := range []*side{&p.base, &p.head} {
		for _, id := range slices.SortedFunc(maps.Keys(s.units), gitops.ID.Compare) {
			out = append(out, s.units[id].Secrets...)
		}
	}
	return append(out, object.SortedKeys(p.transformed)...)
}

// addTransformed adds what the chart of a unit makes of the values of Secrets to what is hidden.
func (p *previewing) addTransformed(ctx context.Context, s *side, id gitops.ID) error {
	load := func(ctx context.Context, u gitops.Unit) (host.Loaded, error) { return p.loadUnit(ctx, s, u) }
	texts, err := gitops.Transformed(ctx, s.units[id], load, p.Shared)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range texts {
		p.transformed[text] = true
	}
	return err
}

// noteUnits tells which units the head has that are not rendered, what is not carried over of the
// others, and what is not expanded. What several units have in common is one note.
func (p *previewing) noteUnits() {
	reasons, missing := map[string][]string{}, map[string][]string{}
	var unreached []string
	for id, u := range p.head.units {
		if u.Problem != nil && isUnreached(u.Problem.Err) {
			unreached = append(unreached, id.String())
			continue
		}
		if u.Problem != nil {
			text := strings.TrimPrefix(u.Problem.Err.Error(), id.String()+" ") // The note begins with the name.
			reasons[text] = append(reasons[text], id.String())
			continue
		}
		for _, w := range u.Warnings {
			text := strings.TrimPrefix(w.Err.Error(), id.String()+": ")
			missing[text] = append(missing[text], id.String())
		}
	}
	note := func(kind string, texts map[string][]string) {
		for _, text := range object.SortedKeys(texts) {
			names := texts[text]
			slices.Sort(names)
			p.head.Notes = append(p.head.Notes, fmt.Sprintf("%s: %s: %s.", kind, printable.List(slices.Compact(names), most), text))
		}
	}
	if len(unreached) > 0 {
		slices.Sort(unreached)
		p.head.Notes = append(p.head.Notes, fmt.Sprintf("Not rendered: %s with charts or files that cannot be fetched from here: %s. The command ropewalk vet -r has the reasons.", printable.Count(len(unreached), "unit"), printable.List(unreached, most)))
	}
	note("Not rendered", reasons)
	note("Not as in the cluster", missing)
	for _, w := range p.head.warnings {
		p.head.Notes = append(p.head.Notes, fmt.Sprintf("%s: %s.", w.Pos, w.Err))
	}
}

// isUnreached reports whether a server gave no answer, or was not to be asked.
func isUnreached(err error) bool {
	return errors.Is(err, source.ErrOffline) || errors.Is(err, source.ErrUnavailable)
}

// noteUnapplied tells which files the change touches whose objects no unit applies.
func (p *previewing) noteUnapplied() {
	if p.base.files == nil {
		return
	}
	changed := slices.DeleteFunc(slices.Clone(p.head.unapplied), func(name string) bool {
		before, err := fs.ReadFile(p.base.files, name)
		after, errNow := fs.ReadFile(p.head.files, name)
		return err == nil && errNow == nil && bytes.Equal(before, after)
	})
	if len(changed) > 0 {
		p.head.Notes = append(p.head.Notes, fmt.Sprintf("Changed and applied by no unit: %s.", printable.List(changed, most)))
	}
}

// most is how many names a note has.
const most = 5

// tolerate makes warnings of the mistakes of a unit that the change is not at fault for: those of a unit
// that neither side can render, as what needs a cluster or a server is none, and objects that a schema
// refuses on both sides. A program that is missing is no mistake of a unit, and without it nothing is
// known of the change.
func tolerate(before, after *rendered) {
	if after == nil {
		return
	}
	neither := after.Outline == nil && (before == nil || before.Outline == nil)
	isOld := func(e *object.Error) bool {
		return before != nil && e.Stage == object.StageCheck && slices.ContainsFunc(before.Findings, func(old *object.Error) bool {
			return old.Stage == e.Stage && old.Node == e.Node && old.Path == e.Path && old.Err.Error() == e.Err.Error()
		})
	}
	for i, e := range after.Findings {
		if gitops.IsInstallation(e.Err) || !neither && !isOld(e) {
			continue
		}
		noted := *e
		noted.Severity = object.SeverityWarning
		after.Findings[i] = &noted
	}
}
