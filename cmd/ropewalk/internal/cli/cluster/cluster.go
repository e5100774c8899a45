// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster has the commands for a cluster: doctor, and for its Transforms get, reconcile, suspend, resume,
// rollback and wait. Their words and flags are those of flux and kubectl.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/cluster"
	"github.com/ropewalk/ropewalk/render/object"
)

// Commands has the commands of this package.
type Commands struct{ *command.App }

// Commands returns all of them.
func (a Commands) Commands() []*cobra.Command {
	return []*cobra.Command{a.doctor(), a.get(), a.wait(), a.reconcile(), a.suspend(), a.resume(), a.rollback()}
}

// exitCodes is the help about them.
const exitCodes = `Exit codes:
  0    good
  1    findings: a Transform is not Ready, or not in time, is suspended, or has nothing to roll
       back to; an object does not come from a Transform
  2    usage: a mistake on the command line
  3    environment: a kubeconfig cannot be read, what is named is not in the cluster, or an API
       server gives no answer or no access
  130  interrupted`

// flags are those of all commands.
type flags struct {
	kubeconfig, context, namespace string
	timeout                        time.Duration
	format                         command.Choice
}

func (f *flags) add(cmd *cobra.Command) *cobra.Command {
	set := cmd.Flags()
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the cluster (default as kubectl)")
	set.StringVar(&f.context, "context", "", "context in that file; its current context where not given")
	set.StringVarP(&f.namespace, "namespace", "n", "", "namespace; that of the context where not given")
	f.format = command.NewChoice("text", "json")
	f.format.Add(cmd, "format", "how to print it")
	return cmd
}

// addWaiting adds the flags of commands that wait.
func (f *flags) addWaiting(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().DurationVar(&f.timeout, "timeout", 5*time.Minute, "how long to wait")
	return f.add(cmd)
}

// open returns the cluster, and the namespace that is meant.
func (a Commands) open(f *flags) (*cluster.Cluster, string, error) {
	a.JSON = f.format.Value == "json"
	c, err := cluster.Open(f.kubeconfig, f.context)
	if err != nil {
		return nil, "", &command.EnvironmentError{Err: err, Hint: "give --kubeconfig and --context, or set KUBECONFIG"}
	}
	return c, cmp.Or(f.namespace, c.Namespace), nil
}

// mistake returns an error as the command line reports it: a state of the cluster is a finding, and
// an object that does not exist is an error of the environment.
func mistake(err error) error {
	var state *cluster.Error
	switch {
	case !errors.As(err, &state):
		return err
	case state.Absent:
		return &command.EnvironmentError{Err: err, Hint: state.Advice}
	}
	return object.Errors{{Err: err, Hint: state.Advice}}
}

// named returns the name of the Transform that arguments mean: transform NAME, or transform/NAME.
func named(cmd *cobra.Command, args []string) (string, error) {
	words := strings.Split(strings.Join(args, "/"), "/")
	if len(words) != 2 || words[1] == "" || !isTransform(words[0]) {
		return "", command.Usagef(fmt.Sprintf("write it as \"%s transform web\"", cmd.CommandPath()), "%q does not name a Transform", strings.Join(args, " "))
	}
	return words[1], nil
}

func isTransform(kind string) bool {
	switch strings.ToLower(kind) {
	case "transform", "transforms", "rwt", "transform.ropewalk.dev", "transforms.ropewalk.dev":
		return true
	}
	return false
}

// action returns a command that does something to one Transform, and prints the result.
func (a Commands) action(cmd *cobra.Command, f *flags, do func(ctx context.Context, c *cluster.Cluster, namespace, name string, p cluster.Patience) (*cluster.Transform, error), said func(*cluster.Transform) string) *cobra.Command {
	cmd.Args = cobra.RangeArgs(1, 2)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.Run(func(ctx context.Context, args []string) error {
			name, err := named(cmd, args)
			if err != nil {
				return err
			}
			if cmd.Flags().Lookup("timeout") != nil && f.timeout <= 0 {
				return command.Usagef("give more than 0, such as 5m", "--timeout %s is not positive", f.timeout)
			}
			c, namespace, err := a.open(f)
			if err != nil {
				return err
			}
			progress := command.NewProgress(a.Streams, "waiting for")
			t, err := do(ctx, c, namespace, name, cluster.Patience{Timeout: f.timeout, Report: progress.Say})
			progress.Clear()
			if err != nil {
				return mistake(err)
			}
			return a.Outcome(f.format.Value, t, said(t))
		})(cmd, args)
	}
	return cmd
}

// ready says that a Transform is Ready.
func ready(t *cluster.Transform) string {
	return fmt.Sprintf("Transform %s/%s is Ready: %s\n", t.Namespace, t.Name, command.OneLine(t.Message))
}

func (a Commands) wait() *cobra.Command {
	var f flags
	return f.addWaiting(a.action(&cobra.Command{
		Use: "wait transform NAME", Short: "Wait until a Transform is Ready in a cluster",
		Long: `Wait until a Transform is Ready at its present spec, and all of its Kustomizations are. One
that is stalled or suspended ends the wait at once. On a terminal a line says what it waits for.

` + exitCodes,
		Example: `  ropewalk wait transform shop -n apps
  ropewalk wait transform shop -n apps --timeout 15m`,
	}, &f, func(ctx context.Context, c *cluster.Cluster, namespace, name string, p cluster.Patience) (*cluster.Transform, error) {
		return c.Wait(ctx, namespace, name, p)
	}, ready))
}

func (a Commands) reconcile() *cobra.Command {
	var f flags
	var source bool
	cmd := f.addWaiting(a.action(&cobra.Command{
		Use: "reconcile transform NAME", Short: "Have a Transform reconciled in a cluster, and wait for it",
		Long: `Request a reconciliation by the annotation reconcile.fluxcd.io/requestedAt, as flux does, and
wait until it is done and the Transform is Ready. Modules and inputs are fetched anew. With
--with-source the source of the Transform is fetched first.

` + exitCodes,
		Example: `  ropewalk reconcile transform shop -n apps
  ropewalk reconcile transform shop -n apps --with-source`,
	}, &f, func(ctx context.Context, c *cluster.Cluster, namespace, name string, p cluster.Patience) (*cluster.Transform, error) {
		return c.Reconcile(ctx, namespace, name, source, p)
	}, ready))
	cmd.Flags().BoolVar(&source, "with-source", false, "fetch the source of the Transform first")
	return cmd
}

func (a Commands) suspend() *cobra.Command {
	var f flags
	return f.add(a.action(&cobra.Command{
		Use: "suspend transform NAME", Short: "Have a Transform left alone in a cluster",
		Long: `Set spec.suspend of a Transform: nothing is rendered or published until it is resumed. What was
delivered stays, and the engine goes on with it.

` + exitCodes,
		Example: `  ropewalk suspend transform shop -n apps`,
	}, &f, func(ctx context.Context, c *cluster.Cluster, namespace, name string, _ cluster.Patience) (*cluster.Transform, error) {
		return c.Suspend(ctx, namespace, name)
	}, func(t *cluster.Transform) string {
		return fmt.Sprintf("Transform %s/%s is suspended: it delivers %s\n", t.Namespace, t.Name, t.Delivered())
	}))
}

func (a Commands) resume() *cobra.Command {
	var f flags
	return f.addWaiting(a.action(&cobra.Command{
		Use: "resume transform NAME", Short: "Go on with a Transform that is suspended, and wait for it",
		Long: `Take spec.suspend of a Transform away, and wait until it is Ready as "ropewalk wait" does.

` + exitCodes,
		Example: `  ropewalk resume transform shop -n apps`,
	}, &f, func(ctx context.Context, c *cluster.Cluster, namespace, name string, p cluster.Patience) (*cluster.Transform, error) {
		return c.Resume(ctx, namespace, name, p)
	}, ready))
}

func (a Commands) rollback() *cobra.Command {
	var f flags
	var to string
	var end bool
	cmd := f.addWaiting(a.action(&cobra.Command{
		Use: "rollback transform NAME", Short: "Deliver an earlier artifact of a Transform, and wait for it",
		Long: `Pin what a Transform delivers to an artifact of its history (status.history), by spec.rollback:
the one before what is delivered now, or that of --to. Rendering goes on, and what it gives is
not delivered until --end takes the pin away. Where a Transform is applied from Git, write the
pin there too: the next change may take it away.

` + exitCodes,
		Example: `  ropewalk rollback transform shop -n apps
  ropewalk rollback transform shop -n apps --to sha256:2c26b46b68ff
  ropewalk rollback transform shop -n apps --end`,
	}, &f, func(ctx context.Context, c *cluster.Cluster, namespace, name string, p cluster.Patience) (*cluster.Transform, error) {
		if end {
			return c.EndRollback(ctx, namespace, name, p)
		}
		return c.Rollback(ctx, namespace, name, to, p)
	}, ready))
	cmd.Flags().StringVar(&to, "to", "", "`DIGEST` of an artifact of the history, or its beginning")
	cmd.Flags().BoolVar(&end, "end", false, "end a rollback: deliver what the spec says now")
	cmd.MarkFlagsMutuallyExclusive("to", "end")
	return cmd
}
