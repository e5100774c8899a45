// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package impact

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// Commands has the command of this package.
type Commands struct{ *command.App }

// options are the flags of the command.
type options struct {
	command.ProjectFlags
	with   string
	each   time.Duration
	failOn []string
	format command.Choice
	html   string
}

// Command returns the command module impact.
func (a Commands) Command() *cobra.Command {
	o := options{format: command.NewChoice("text", "json", "markdown")}
	cmd := &cobra.Command{
		Use:   "impact MODULE PROJECT...",
		Short: "Say what a new version of a module does to its consumers",
		Long: `Render consumers of a module twice, with the version that each of them refers to and with
the new one, and say for each of them and each of its environments:

  refused        the new version refuses its input, or it does not render with it: the
                 errors, in its own lines
  recreated      objects are deleted, or a field changes that is immutable, so that they
                 have to be made again
  broken before  it does not render with its own version either
  changed        its manifests change
  none           its manifests are the same

MODULE is the new version, as "ropewalk module compat" takes it: oci://REGISTRY/REPOSITORY
with a tag or a digest, or git:URL?tag=TAG (or branch, semver, commit) with //FOLDER at its
end. With --with it has no version: a folder stands in for one that is not published yet.

PROJECT is a folder, which is searched for projects, bundles and specs, a file, or the URL
of a Git repository, with ?branch= (or tag, commit) and //FOLDER. A project or a bundle is a
consumer, once in each environment, and so is each spec that is in no project. References
to the repository of the module in any version count: those of specs, policies, provisioners
and instances. An Installation runs what was built before: it is listed by the provenance of
its artifacts. What does not use the module is counted.

Nothing is written. The lock of a consumer holds for what it has now.

Exit code 1 says that --fail-on found a verdict, 3 that a consumer cannot be fetched, or not
in its time.

` + command.ExitCodes,
		Example: `  ropewalk module impact oci://ghcr.io/acme/acme.example/web:v2.0.0 shop billing
  ropewalk module impact oci://ghcr.io/acme/acme.example/web . --with ./modules/web
  ropewalk module impact 'git:https://github.com/acme/modules?tag=v2.0.0//web' 'https://github.com/acme/shop?branch=main//deploy'
  ropewalk module impact oci://ghcr.io/acme/acme.example/web:v2.0.0 . --format markdown --fail-on refused --html impact.html`,
		Args: cobra.MinimumNArgs(2),
		RunE: a.Run(func(ctx context.Context, args []string) error { return a.run(ctx, &o, args[0], args[1:]) }),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.with, "with", "", "`DIR` of a module to take in place of a published version")
	o.format.Add(cmd, "format", "how to print it; markdown is for a comment on a change request")
	f.StringVar(&o.html, "html", "", "`FILE` to write a page to, with every field that changes")
	f.StringSliceVar(&o.failOn, "fail-on", []string{string(Refused), string(Recreated)}, "`VERDICT` that makes the exit code 1 (refused, recreated, broken, changed), or never; may\nbe repeated")
	f.DurationVar(&o.each, "consumer-timeout", 2*time.Minute, "limit of each step of a consumer: its fetches, and both of its renders")
	o.Add(cmd)
	f.Lookup("env").Usage = "environments of the projects to look at, as `NAME[,NAME]` (default all)"
	return cmd
}

// never is the word of --fail-on that no verdict has.
const never = "never"

// check refuses flags that have no meaning.
func (o *options) check() error {
	words := []string{string(Refused), string(Recreated), string(Broken), string(Changed), never}
	for _, word := range o.failOn {
		if !slices.Contains(words, word) {
			return command.Usagef("expected "+strings.Join(words, ", "), "--fail-on %s", word)
		}
	}
	if o.each <= 0 {
		return command.Usagef("", "--consumer-timeout %s: expected more than 0", o.each)
	}
	return nil
}

// examining is one run.
type examining struct {
	Commands
	flags        *options
	target       *target
	title        string
	environments []string
	evaluator    evaluate.Evaluator

	bar            *command.Progress
	all, completed atomic.Int64

	mu sync.Mutex
	// known are the repositories of all modules that consumers refer to.
	known map[string]bool
}

// done reports that one more consumer has its verdict.
func (x *examining) done() { x.bar.Specs(int(x.completed.Add(1)), int(x.all.Load())) }

// note keeps the repositories of references, to suggest one.
func (x *examining) note(all []host.Reference) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range all {
		if r.Module {
			x.known[baseOf(r.Type, r.Ref.Ref)] = true
		}
	}
}

func (a Commands) run(ctx context.Context, o *options, module string, args []string) error {
	// Check the flags, and the reference to the module.
	a.JSON = o.format.Value == "json"
	if err := o.check(); err != nil {
		return err
	}
	t, err := parseTarget(module, o.with != "")
	if err != nil {
		return err
	}

	// Prepare what all consumers share.
	x := &examining{Commands: a, flags: o, target: t, title: t.title(o.with), known: map[string]bool{}}
	x.environments = slices.DeleteFunc(strings.Split(o.Environment, ","), func(name string) bool { return name == "" })
	evaluator, closer, err := o.Evaluator()
	if err != nil {
		return err
	}
	defer closer()
	x.evaluator = evaluator
	if err := t.open(ctx, a.App, &o.Sources, o.with); err != nil {
		return command.WithOptions(err)
	}

	// Find the consumers, and examine them.
	places, err := x.findPlaces(ctx, args)
	if err != nil {
		return err
	}
	consumers, err := x.examineAll(ctx, places)
	if err != nil {
		return err
	}

	// Print the report, which decides about the exit code.
	out := x.report(consumers)
	if len(out.Consumers) == 0 {
		return command.Usagef(object.Suggest(t.base, object.SortedKeys(x.known)), "none of %s uses %s", printable.Count(len(out.Unused), "consumer"), t.base)
	}
	if err := x.print(out); err != nil {
		return err
	}
	return x.verdict(out)
}

// examineAll examines all places, several at once.
func (x *examining) examineAll(ctx context.Context, places []place) ([]Consumer, error) {
	x.bar = command.NewProgress(x.Streams, "comparing")
	defer x.bar.Clear()
	found := make([][]Consumer, len(places))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(x.flags.Parallel())
	for i, p := range places {
		group.Go(func() (err error) {
			defer crash.Recover(&err)
			found[i], err = x.examine(ctx, p)
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

// verdict returns the error that makes the exit code, or nil if there is none.
func (x *examining) verdict(out Report) error {
	var found []string
	for _, v := range verdicts() {
		if n := out.Counts[v]; n > 0 && slices.Contains(x.flags.failOn, string(v)) {
			found = append(found, fmt.Sprintf("%d %s", n, v.text()))
		}
	}
	switch {
	case len(found) > 0:
		x.Note("failed by --fail-on: %s\n", strings.Join(found, ", "))
		return command.ErrFoundReported()
	case slices.ContainsFunc(out.Consumers, func(c Consumer) bool { return c.unreachable }):
		return unreachable()
	}
	return nil
}
