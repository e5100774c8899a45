// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package impact

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/preview"
	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

// examine returns what the new version changes for all consumers at a place. The error is that of
// the context of the run.
func (x *examining) examine(ctx context.Context, p place) (out []Consumer, err error) {
	// A place that is no project has no environments.
	switch {
	case p.err != nil:
		return []Consumer{x.broken(p, "", p.err)}, nil //nolint:nilerr // it is its verdict
	case p.installation != nil:
		return x.examineInstallation(ctx, p), ctx.Err()
	}

	// Load it once to know its environments.
	first, err := x.load(ctx, p, "", nil)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	environments := object.SortedKeys(first.Project.Environments)
	if len(environments) == 0 {
		return x.examineEnvironment(ctx, p, "", first, err)
	}

	// Examine the consumers in each environment that --env names.
	for _, name := range environments {
		if len(x.environments) > 0 && !slices.Contains(x.environments, name) {
			continue
		}
		loaded, err := x.load(ctx, p, name, nil)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		more, err := x.examineEnvironment(ctx, p, name, loaded, err)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// load loads the consumers at a place, with trees in place of what references lead to.
func (x *examining) load(ctx context.Context, p place, environment string, replace map[source.Ref]source.Tree) (host.Loaded, error) {
	ctx, cancel := context.WithTimeout(ctx, x.flags.each)
	defer cancel()
	flags := x.flags.ProjectFlags
	flags.Environment = environment
	flags.Shared = x.evaluator
	if replace != nil {
		flags.Sources.Replace = replace
		flags.Sources.Locked = false
	}
	loaded, err := x.LoadFS(ctx, &flags, p.files, p.dir)
	if p.optional {
		loaded.Request.Mistakes = withoutBundles(loaded.Request.Mistakes)
		if wrong, ok := command.IsFindings(err); ok {
			err = withoutBundles(wrong).Err()
		}
	}
	return loaded, late(ctx, err, x.flags.each)
}

// withoutBundles returns the mistakes of a folder that was searched, without those of the bundles
// in it: each bundle is a consumer of its own.
func withoutBundles(mistakes object.Errors) object.Errors {
	return slices.DeleteFunc(slices.Clone(mistakes), func(e *object.Error) bool { return errors.Is(e, project.ErrUnreadBundle) })
}

// late returns err, or an error that the time of a consumer is over.
func late(ctx context.Context, err error, limit time.Duration) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("not done within %s: --consumer-timeout allows more", limit)
	}
	return err
}

// examineEnvironment returns what changes for the consumers at a place in one environment.
func (x *examining) examineEnvironment(ctx context.Context, p place, name string, before host.Loaded, failed error) ([]Consumer, error) {
	uses := x.target.uses(before.References)
	x.note(before.References)
	if failed != nil || len(uses) == 0 && before.Request.Mistakes.Err() != nil {
		return x.unloaded(p, name, before, cmp.Or(failed, before.Request.Mistakes.Err())), nil //nolint:nilerr // it is their verdict
	}
	if len(uses) == 0 {
		return x.unused(p, name, before), nil
	}
	after, err := x.loadUpgraded(ctx, p, name, uses)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if !p.project {
		return x.examineSpecs(ctx, p, name, before, after, err, uses)
	}
	c := Consumer{Path: p.shown, Name: before.Name, Environment: name}
	c.addUses(uses)
	if err == nil {
		err = after.Request.Mistakes.Err()
	}
	if wrong := before.Request.Mistakes.Err(); wrong != nil {
		c.fail(Broken, wrong)
		return []Consumer{c}, nil
	}
	x.all.Add(1)
	err = x.compare(ctx, &c, before.Request, after.Request, err)
	return []Consumer{c}, err
}

// unloaded returns the consumers at a place that cannot be loaded, or only in part. A consumer
// whose files do not name the repository of the module does not use it.
func (x *examining) unloaded(p place, environment string, loaded host.Loaded, failed error) []Consumer {
	mistakes, ok := command.IsFindings(failed)
	if ok && !(command.Below{Optional: p.optional}).Holds(mistakes) {
		return nil
	}
	if !p.project {
		if out := x.addMistaken(p, environment, loaded, x.unused(p, environment, loaded)); len(out) > 0 {
			return out
		}
	}
	if len(loaded.Texts) > 0 && !x.isNamed(loaded.Texts) {
		return []Consumer{{Verdict: Unused, Path: p.shown, Name: loaded.Project.Name, Environment: environment}}
	}
	return []Consumer{x.broken(p, environment, failed)}
}

// loadUpgraded loads a place with the new version.
func (x *examining) loadUpgraded(ctx context.Context, p place, environment string, uses []host.Reference) (host.Loaded, error) {
	ctx, cancel := context.WithTimeout(ctx, x.flags.each)
	defer cancel()
	replace := map[source.Ref]source.Tree{}
	for _, r := range uses {
		tree, err := x.target.version(ctx, r.Ref)
		if err != nil {
			return host.Loaded{}, object.Errors{{Stage: object.StageResolve, Pos: r.Pos, Err: late(ctx, err, x.flags.each)}}
		}
		if strings.Contains(r.Ref.Ref, "@") {
			tree.Version = "" // An instance of a bundle with a digest is held to the version beside it.
		}
		replace[r.Ref] = tree
	}
	return x.load(ctx, p, environment, replace)
}

// isNamed reports whether one of the texts names the repository of the module.
func (x *examining) isNamed(texts map[string][]byte) bool {
	name := []byte(strings.TrimPrefix(x.target.base, "oci://"))
	for _, text := range texts {
		if bytes.Contains(text, name) {
			return true
		}
	}
	return false
}

// broken returns a consumer that cannot be loaded.
func (x *examining) broken(p place, environment string, err error) Consumer {
	c := Consumer{Path: p.shown, Environment: environment}
	c.fail(Broken, err)
	return c
}

// unused returns the consumers at a place that do not use the module.
func (x *examining) unused(p place, environment string, loaded host.Loaded) (out []Consumer) {
	if p.project {
		return []Consumer{{Verdict: Unused, Path: p.shown, Name: loaded.Name, Environment: environment}}
	}
	for _, s := range loaded.Request.Specs {
		out = append(out, Consumer{Verdict: Unused, Path: p.at(s.Evaluate.Pos.File), Name: s.Evaluate.Spec, Environment: environment})
	}
	return out
}

// at returns the name of a file at a place as the user knows it.
func (p place) at(file string) string {
	switch {
	case file == "":
		return p.shown
	case p.files != nil:
		base, _ := splitGit(p.shown)
		return base + "//" + file
	}
	return file
}

// examineSpecs returns what changes for the specs of a place that is no project. Each is a consumer
// of its own, and is rendered without the others.
func (x *examining) examineSpecs(ctx context.Context, p place, environment string, before, after host.Loaded, failed error, uses []host.Reference) ([]Consumer, error) {
	// Find the uses of each spec by the digests of its modules.
	digests := map[string][]host.Reference{}
	for _, r := range uses {
		digests[r.Tree.Digest] = append(digests[r.Tree.Digest], r)
	}

	// Render the specs that use the module, several at once.
	all, upgraded := newEach(before), newEach(after)
	out := make([]Consumer, len(before.Request.Specs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(x.flags.Parallel())
	x.all.Add(int64(len(out)))
	for i, s := range before.Request.Specs {
		c := &out[i]
		*c = Consumer{Verdict: Unused, Path: p.at(s.Evaluate.Pos.File), Name: s.Evaluate.Spec, Environment: environment}
		own := usesOf(s, digests)
		if len(own) == 0 {
			x.done()
			continue
		}
		c.addUses(own)
		group.Go(func() (err error) {
			defer crash.Recover(&err)
			now, err := alone(after, s, failed)
			err = x.compare(ctx, c, all.only(s), upgraded.only(now), err)
			c.Errors = upgraded.hide(all.hide(c.Errors))
			return err
		})
	}

	// Add the documents that are no specs.
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return x.addMistaken(p, environment, before, out), nil
}

// alone returns a spec as it is with the new version, or the error that it has with it.
func alone(after host.Loaded, s render.Spec, failed error) (render.Spec, error) {
	found := object.AsErrors(cmp.Or(failed, after.Request.Mistakes.Err()), object.StageSpec).Failures()
	at := documentOf(after.Texts, s.Evaluate.Pos)
	if own := slices.DeleteFunc(slices.Clone(found), func(e *object.Error) bool { return documentOf(after.Texts, e.Pos) != at }); len(own) > 0 {
		return s, own
	}
	i := slices.IndexFunc(after.Request.Specs, func(now render.Spec) bool { return now.Evaluate.Spec == s.Evaluate.Spec })
	if i < 0 {
		return s, found.Err()
	}
	return after.Request.Specs[i], nil
}

// each gives the request of each spec of a load: with that spec alone, and those that it depends on
// as specs that mistakes hide. What no message of the load may show is collected once, and not
// for each of them.
type each struct {
	host.Loaded
	known   map[string]bool
	mu      sync.Mutex
	secrets func() *object.Secrets
}

func newEach(loaded host.Loaded) *each {
	out := &each{Loaded: loaded, known: map[string]bool{}}
	for _, name := range loaded.Request.Broken {
		out.known[name] = true
	}
	for _, s := range loaded.Request.Specs {
		out.known[s.Evaluate.Spec] = true
	}
	out.secrets = sync.OnceValue(func() *object.Secrets {
		var all object.Secrets
		if loaded.Request.Secrets != nil {
			loaded.Request.Secrets(&all)
		}
		return &all
	})
	return out
}

// only returns the request of one spec.
func (e *each) only(s render.Spec) render.Request {
	req := e.Request
	req.Specs = []render.Spec{s}
	req.Mistakes = nil
	req.Broken = nil
	req.Secrets = nil
	for _, d := range s.DependsOn {
		if e.known[d.Name] && d.Name != s.Evaluate.Spec {
			req.Broken = append(req.Broken, d.Name)
		}
	}
	return req
}

// hide hides secrets in the errors of a consumer.
func (e *each) hide(errs object.Errors) object.Errors {
	if len(errs) == 0 {
		return errs
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.secrets().Errors(errs)
}

// document is one of those in a file, by its number.
type document struct {
	file   string
	number int
}

// documentOf returns the document that a position is in.
func documentOf(texts map[string][]byte, pos object.Pos) document {
	out := document{file: pos.File}
	line := 0
	for text := range bytes.Lines(texts[pos.File]) {
		line++
		if line > pos.Line {
			break
		}
		if bytes.HasPrefix(text, []byte("---")) {
			out.number++
		}
	}
	return out
}

// addMistaken adds the documents at a place that cannot be read to the consumers of specs.
func (x *examining) addMistaken(p place, environment string, loaded host.Loaded, out []Consumer) []Consumer {
	// Know the specs by their documents.
	known := map[document]int{}
	for i, s := range loaded.Request.Specs {
		known[documentOf(loaded.Texts, s.Evaluate.Pos)] = i
	}

	// Group the mistakes by documents, in the order of the first mistake of each.
	failures := map[document]object.Errors{}
	var order []document
	for _, e := range loaded.Request.Mistakes.Failures() {
		at := documentOf(loaded.Texts, e.Pos)
		if failures[at] == nil {
			order = append(order, at)
		}
		failures[at] = append(failures[at], e)
	}

	// A mistake counts only in a document that may use the module.
	for _, at := range order {
		text, read := loaded.Texts[at.file]
		i, isSpec := known[at]
		switch {
		case isSpec && out[i].Verdict == Unused:
		case isSpec:
			out[i].Diff = nil
			out[i].fail(Broken, failures[at])
		case read && !x.isNamed(map[string][]byte{"": text}):
			out = append(out, Consumer{Verdict: Unused, Path: p.at(at.file), Environment: environment})
		default:
			c := Consumer{Path: p.at(at.file), Environment: environment}
			c.fail(Broken, failures[at])
			out = append(out, c)
		}
	}
	return out
}

// compare renders both sides of a consumer. The argument failed is the reason that the new version
// cannot be rendered. The error is that of the context of the run.
func (x *examining) compare(ctx context.Context, c *Consumer, before, after render.Request, failed error) error {
	// The old version must render.
	run := ctx
	ctx, cancel := context.WithTimeout(ctx, x.flags.each)
	defer cancel()
	defer x.done()
	old, was, err := x.render(ctx, "now", before)
	if err != nil {
		c.fail(Broken, late(ctx, err, x.flags.each))
		return run.Err()
	}

	// The new version may fail before, or in its render.
	var now diff.Snapshot
	var is preview.Side
	if failed == nil {
		now, is, failed = x.render(ctx, x.title, after)
	}
	if failed != nil {
		failed = late(ctx, failed, x.flags.each)
		c.fail(Refused, failed)
	}

	// Keep both sides for the page.
	c.before, c.after = &was, &is
	if failed != nil {
		return run.Err()
	}

	// Compare what they make.
	report, err := diff.Compare(ctx, old, now)
	if err != nil {
		c.fail(Refused, late(ctx, err, x.flags.each))
		return run.Err()
	}
	c.Diff = &report
	c.Verdict = Same
	switch {
	case report.Count(diff.Recreated)+report.Count(diff.Deleted) > 0:
		c.Verdict = Recreated
	case !report.Empty():
		c.Verdict = Changed
	}
	return nil
}

// render renders one side.
func (x *examining) render(ctx context.Context, name string, req render.Request) (diff.Snapshot, preview.Side, error) {
	result, err := render.Renderer{Evaluator: x.evaluator}.Render(ctx, req)
	if err != nil {
		return diff.Snapshot{}, preview.Side{}, err
	}
	snap, err := snapshot.OfRender(ctx, name, result, nil)
	if err != nil {
		return diff.Snapshot{}, preview.Side{}, err
	}
	if x.flags.html == "" {
		return snap, preview.Side{}, nil
	}
	return snap, preview.NewSide(snap, result.Plan.Document()), nil
}
