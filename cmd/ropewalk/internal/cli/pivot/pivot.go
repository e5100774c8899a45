// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/pivot"
	"github.com/ropewalk/ropewalk/render/object"
)

// Commands has the subcommands of this package.
type Commands struct{ *command.App }

// Command returns the command pivot.
func (a Commands) Command() *cobra.Command {
	// What client-go logs is said again by the errors that it returns.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	cmd := &cobra.Command{
		Use:   "pivot",
		Short: "Move a cluster's Cluster API objects to another management cluster",
		Long: `Move the Cluster API objects of one cluster from one management cluster (the source) to
another (the target), so that at no time both are in charge. A run that was killed goes on
with --resume. Both clusters need Cluster API and the same providers.

  install   make the first management cluster by a bootstrap cluster
  plan      what would move, in which order, and what stands in the way
  run       move it
  status    how far a pivot is
  abort     undo a pivot that is not committed
  takeover  activate the target of a source that is lost for good

  providers plan   which providers of Cluster API a management cluster has, and should have`,
	}
	cmd.AddCommand(a.install(), a.plan(), a.run(), a.status(), a.abort(), a.takeover(), a.providers())
	return cmd
}

// flags are those of all commands.
type flags struct {
	from, to, fromContext, toContext string
	copied                           []string
	format                           command.Choice
}

func (f *flags) add(cmd *cobra.Command, from, to string) {
	if from != "" {
		cmd.Flags().StringVar(&f.from, "from", "", from)
		cmd.Flags().StringVar(&f.fromContext, "from-context", "", "context in that file; its current context where not given")
	}
	if to != "" {
		cmd.Flags().StringVar(&f.to, "to", "", to)
		cmd.Flags().StringVar(&f.toContext, "to-context", "", "context in that file; its current context where not given")
	}
	f.format = command.NewChoice("text", "json")
	f.format.Add(cmd, "format", "how to print it")
}

// Flags that most commands have.
const (
	source = "kubeconfig file of the source"
	target = "kubeconfig file of the target"
)

// exitCodes is the help about them.
const exitCodes = `Exit codes:
  0    good
  1    findings: something stands in the way, does not fit the step of the pivot, or is for a user
       to decide
  2    usage: a mistake on the command line
  3    environment: a kubeconfig cannot be read, or an API server gives no answer or no access
  130  interrupted`

const copyHelp = "object that other clusters use too, as KIND.GROUP/NAME: it is copied, and stays on the source; may be given several times"

// options returns the options of the pivot of the cluster that an argument names.
func (f *flags) options(argument string) (pivot.Options, error) {
	o := pivot.Options{From: pivot.Kubeconfig{Path: f.from, Context: f.fromContext}, To: pivot.Kubeconfig{Path: f.to, Context: f.toContext}}
	namespace, name, ok := strings.Cut(argument, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return o, command.Usagef("write it as apps/blue", "%q is not NAMESPACE/NAME of a Cluster", argument)
	}
	o.Cluster = types.NamespacedName{Namespace: namespace, Name: name}
	for _, text := range f.copied {
		kind, name, ok := strings.Cut(text, "/")
		kind, group, _ := strings.Cut(kind, ".")
		if !ok || kind == "" || name == "" {
			return o, command.Usagef("write it as ClusterClass.cluster.x-k8s.io/base", "--copy: %q is not KIND.GROUP/NAME", text)
		}
		o.Copy = append(o.Copy, pivot.Ref{Group: group, Kind: kind, Namespace: namespace, Name: name})
	}
	for flag, path := range map[string]string{"--from": f.from, "--to": f.to} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return o, &command.EnvironmentError{Err: fmt.Errorf("%s: %w", flag, err), Hint: "give the path of a kubeconfig file"}
		}
	}
	return o, nil
}

// markRequired makes flags required, and returns the command.
func markRequired(cmd *cobra.Command, names ...string) *cobra.Command {
	for _, name := range names {
		_ = cmd.MarkFlagRequired(name) // It fails only for a flag that does not exist.
	}
	return cmd
}

// failure is what a command that failed prints as data: the receipt, where there is one, and
// what is wrong.
type failure struct {
	*pivot.Receipt
	Errors object.Errors `json:"errors"`
}

// reportPivot reports an error of a pivot, as data with --format json, and returns it.
func (a Commands) reportPivot(ctx context.Context, r *pivot.Receipt, err error) error {
	if err == nil {
		return nil
	}
	return a.report(a.mistake(ctx, r, err), func(errs object.Errors) any { return failure{r, errs} })
}

// report reports an error, as data with --format json, and returns it.
func (a Commands) report(err error, data func(object.Errors) any) error {
	if !a.JSON {
		return err
	}
	var errs object.Errors
	for _, e := range object.AsErrors(err, "") {
		errs = append(errs, object.Shown(e))
	}
	if unwritten := a.Outcome("json", data(errs), ""); unwritten != nil {
		return unwritten
	}
	return errors.Join(command.ErrReported, err)
}

// mistake returns the error of a pivot as the command line reports it: findings one by one, with
// what to do. A decision of the user is a finding, and no failure of a server.
func (a Commands) mistake(ctx context.Context, r *pivot.Receipt, err error) error {
	var findings pivot.Findings
	switch {
	case ctx.Err() != nil:
		a.noteState(r)
		return err
	case errors.As(err, &findings):
		if errors.Is(err, pivot.ErrAborted) {
			a.Note("ropewalk: the pivot was undone: the source is in charge as before\n")
		}
		a.noteState(r)
		return mistakes(findings)
	case pivot.IsDecision(err):
		return object.Errors{&object.Error{Err: err}}
	}
	a.noteState(r)
	return err
}

// noteState prints the state that a run leaves after an interrupt or an error.
func (a Commands) noteState(r *pivot.Receipt) {
	if r == nil || r.ID == "" || r.Step.Ended() {
		return
	}
	if r.Step.Forward() {
		a.Note("ropewalk: pivot %s stopped after step %s: it is committed: go on with `ropewalk pivot run --resume`\n", r.ID, r.Step)
		return
	}
	a.Note("ropewalk: pivot %s stopped after step %s, and %s may be paused on the source: go on with `ropewalk pivot run --resume`, or undo it with `ropewalk pivot abort`\n", r.ID, r.Step, r.Cluster)
}

func mistakes(findings pivot.Findings) object.Errors {
	var out object.Errors
	for _, f := range findings {
		out = append(out, &object.Error{Err: fmt.Errorf("%s: %s", f.Ref, f.Problem), Hint: f.Advice})
	}
	return out
}

// reporter shows progress: each step that is finished in a line, and counts on a terminal.
func (a Commands) reporter() (report func(pivot.Event), clear func()) {
	start := time.Now()
	shown := false
	clear = func() {
		if shown {
			a.Tell("\r\x1b[K")
			shown = false
		}
	}
	return func(e pivot.Event) {
		at := time.Since(start).Seconds()
		switch {
		case e.Of > 0 && a.Width > 0:
			a.Tell("\r\x1b[K")
			a.Note("%7.2fs  %s %d of %d", at, e.Message, e.Done, e.Of)
			shown = true
		case e.Of > 0:
		default:
			clear()
			text := string(e.Step)
			if e.Message != "" {
				text = strings.TrimSpace(text + "  " + e.Message)
			}
			a.Note("%7.2fs  %s\n", at, text)
		}
	}, clear
}

func (a Commands) run() *cobra.Command {
	var f flags
	var resume, discard bool
	var hold time.Duration
	cmd := &cobra.Command{
		Use: "run NAMESPACE/CLUSTER --from KUBECONFIG --to KUBECONFIG", Short: "Move a cluster to another management cluster",
		Long: `Move the Cluster API objects of a cluster to another management cluster: pause it on the
source, copy its objects, compare them, commit, unpause them on the target, and delete them
from the source. What fails before the commit is undone. Both ends keep a receipt, the
ConfigMap pivot-CLUSTER; after a kill --resume goes on from there. --format json prints that
of the source, with the field errors where the run failed.

` + exitCodes,
		Example: `  ropewalk pivot run apps/blue --from management.yaml --to blue.yaml
  ropewalk pivot run apps/blue --from management.yaml --to blue.yaml --resume`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			o, err := f.options(args[0])
			if err != nil {
				return err
			}
			if hold < 0 {
				return command.Usagef("give 0 or more, such as 1m", "--hold %s is negative", hold)
			}
			a.JSON = f.format.Value == "json"
			var clear func()
			o.Resume, o.DiscardChanges, o.Hold = resume, discard, hold
			o.Report, clear = a.reporter()
			receipt, err := pivot.Run(ctx, o)
			clear()
			if err != nil {
				return a.reportPivot(ctx, receipt, err)
			}
			return a.Outcome(f.format.Value, receipt, summary(receipt))
		}),
	}
	f.add(cmd, source, target)
	cmd.Flags().StringArrayVar(&f.copied, "copy", nil, copyHelp)
	cmd.Flags().BoolVar(&resume, "resume", false, "go on with the pivot that the receipt of the source says is under way")
	cmd.Flags().BoolVar(&discard, "discard-changes", false, "delete objects of the source although they were changed after the commit: the change is lost")
	cmd.Flags().DurationVar(&hold, "hold", time.Minute, "how long the target has to be in charge before the source is deleted")
	return markRequired(cmd, "from", "to")
}

// summary says how long the steps of a pivot took.
func summary(r *pivot.Receipt) string {
	var b strings.Builder
	b.WriteString(command.Table(timeline(r)))
	frozen := r.When("Activated").Sub(r.Paused)
	fmt.Fprintf(&b, "\n%s with %d objects is managed by %s; it was paused for %.2fs\n", r.Cluster, r.Objects, r.Target.Server, frozen.Seconds())
	return b.String()
}

// timeline returns a row for each step that was finished.
func timeline(r *pivot.Receipt) [][]string {
	rows := [][]string{{"STEP", "AT", "AFTER", "NOTE"}}
	for i, m := range r.Marks {
		after := ""
		if i > 0 {
			after = fmt.Sprintf("%.2fs", m.At.Sub(r.Marks[i-1].At).Seconds())
		}
		rows = append(rows, []string{string(m.Step), m.At.Format(time.RFC3339), after, command.OneLine(m.Note)})
	}
	return rows
}

func (a Commands) abort() *cobra.Command {
	var f flags
	var lost bool
	cmd := &cobra.Command{
		Use: "abort NAMESPACE/CLUSTER --from KUBECONFIG --to KUBECONFIG", Short: "Undo a pivot that is not committed",
		Long: `Undo a pivot that is not committed: delete what was copied to the target, and unpause the
cluster on the source. With --target-lost only the source is unpaused, which is refused while
the target answers; what is on the target stays paused, and must never be taken over: where it
comes back, abort again without --target-lost to delete it.

` + exitCodes,
		Example: `  ropewalk pivot abort apps/blue --from management.yaml --to blue.yaml`,
		Args:    cobra.ExactArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			o, err := f.options(args[0])
			if err != nil {
				return err
			}
			if !lost && f.to == "" {
				return command.Usagef("give the kubeconfig of the target, or --target-lost", "required flag \"to\" is not set")
			}
			a.JSON = f.format.Value == "json"
			var clear func()
			o.Report, clear = a.reporter()
			receipt, err := pivot.Abort(ctx, o, lost)
			clear()
			if err != nil {
				return a.reportPivot(ctx, receipt, err)
			}
			return a.Outcome(f.format.Value, receipt, fmt.Sprintf("pivot %s of %s is undone: %s is in charge\n", receipt.ID, receipt.Cluster, receipt.Source.Server))
		}),
	}
	f.add(cmd, source, target+"; not with --target-lost")
	cmd.Flags().BoolVar(&lost, "target-lost", false, "the target cannot be reached, and never will")
	return markRequired(cmd, "from")
}

func (a Commands) takeover() *cobra.Command {
	var f flags
	var destroyed bool
	var reason string
	cmd := &cobra.Command{
		Use: "takeover NAMESPACE/CLUSTER --to KUBECONFIG --parent-destroyed --reason TEXT", Short: "Activate the target of a source that is lost for good",
		Long: `Activate a target that has all objects, and whose source was lost before it could say that it
commits. If the source is not lost, both are in charge then: so this is refused while it
answers, and who did it and why is kept in the receipt. A source that answers is lost where
its namespace, or the Cluster there, is gone or is being deleted: give it with --from.

` + exitCodes,
		Example: `  ropewalk pivot takeover apps/blue --to blue.yaml --parent-destroyed --reason "its disks are gone"`,
		Args:    cobra.ExactArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			o, err := f.options(args[0])
			if err != nil {
				return err
			}
			if !destroyed || strings.TrimSpace(reason) == "" {
				return command.Usagef("if the source is lost for good, add --parent-destroyed and --reason", "a takeover needs --parent-destroyed and --reason")
			}
			a.JSON = f.format.Value == "json"
			var clear func()
			o.Report, clear = a.reporter()
			receipt, err := pivot.Takeover(ctx, o, reason)
			clear()
			if err != nil {
				return a.reportPivot(ctx, nil, err)
			}
			return a.Outcome(f.format.Value, receipt, fmt.Sprintf("%s is managed by %s\n", receipt.Cluster, receipt.Target.Server))
		}),
	}
	f.add(cmd, source+", to look whether it answers there", target)
	cmd.Flags().BoolVar(&destroyed, "parent-destroyed", false, "the source is lost, and never comes back")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the receipt")
	return markRequired(cmd, "to")
}

func (a Commands) status() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use: "status NAMESPACE/CLUSTER [--from KUBECONFIG] [--to KUBECONFIG]", Short: "Print how far a pivot is",
		Long: `Print the receipts of a pivot: of the source, of the target, or of both.

` + exitCodes,
		Example: `  ropewalk pivot status apps/blue --from management.yaml --to blue.yaml`,
		Args:    cobra.ExactArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			o, err := f.options(args[0])
			if err != nil {
				return err
			}
			if f.from == "" && f.to == "" {
				return command.Usagef("give --from, --to or both", "no kubeconfig is given")
			}
			receipts := []*pivot.Receipt{}
			var failed error
			for _, at := range []pivot.Kubeconfig{o.From, o.To} {
				if at.Path == "" {
					continue
				}
				r, err := pivot.Status(ctx, at, o.Cluster)
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				receipts = append(receipts, r)
			}
			var text strings.Builder
			for _, r := range receipts {
				text.WriteString(describe(r, committed(r, receipts)) + command.Table(timeline(r)) + "\n")
			}
			return errors.Join(a.Outcome(f.format.Value, receipts, text.String()), a.reportPivot(ctx, nil, failed))
		}),
	}
	f.add(cmd, source, target)
	return cmd
}

// committed reports whether one of the receipts says that the pivot of r can only go forward.
func committed(r *pivot.Receipt, receipts []*pivot.Receipt) bool {
	return slices.ContainsFunc(receipts, func(o *pivot.Receipt) bool { return o.ID == r.ID && o.Step.Forward() })
}

// describe returns a receipt in a few lines.
func describe(r *pivot.Receipt, committed bool) string {
	state := "under way: go on with `ropewalk pivot run --resume`, or undo it with `ropewalk pivot abort`"
	switch {
	case r.Step == "Done":
		state = "done"
	case r.Step == "Aborted":
		state = "aborted: the source is in charge"
	case r.Step == "Aborting":
		state = "being undone: go on with `ropewalk pivot abort`"
	case r.Role == "target" && r.Step == "Active":
		state = "in charge; the source is still to be deleted: `ropewalk pivot run --resume`"
	case committed:
		state = "committed: go on with `ropewalk pivot run --resume`"
	case r.Role == "target" && r.Step == "Verified":
		state = "complete; its source knows whether it is committed, and goes on with `ropewalk pivot run --resume`"
	}
	text := fmt.Sprintf("%s as %s: pivot %s, step %s, %s\n  from %s (%s)\n  to   %s (%s)\n",
		r.Cluster, r.Role, r.ID, r.Step, state, r.Source.Server, r.Source.UID, r.Target.Server, r.Target.UID)
	if r.Digest != "" {
		text += fmt.Sprintf("  %d objects, snapshot %s\n", r.Objects, r.Digest)
	}
	if r.TakenOver {
		text += "  taken over without its source\n"
	}
	return text
}
