// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/pivot"
	"github.com/ropewalk/ropewalk/render/object"
)

// installFlags are those of install.
type installFlags struct {
	file, manifest, out string
	bootstrap           pivot.Kubeconfig
	timeout             time.Duration
	dryRun              bool
	format              command.Choice
}

func (a Commands) install() *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use: "install -f FILE --manifest FILE --out FILE [--kubeconfig KUBECONFIG]", Short: "Make the first management cluster by a bootstrap cluster",
		Long: `Have a bootstrap cluster, such as one of kind, make the cluster of a PivotCluster, and wait
until that is in charge of itself: the bootstrap cluster may be deleted then. It needs Cluster
API with the provider of the cluster, an engine and ropewalk-controller with the part pivot; all
that is missing is reported at once.

The manifest is what a ClusterResourceSet installs on the new cluster: the network of its pods
(CNI), its engine (Flux or Argo CD, as spec.gitOps.engine says), and the definitions, the rights
and the Deployment of ropewalk-controller. What seems to be missing is warned of, by --dry-run
too. The kubeconfig of the cluster is written to the file of --out, which only the user can
read. The bootstrap cluster goes on by itself where the command ends early; run it again to
follow.

` + exitCodes,
		Example: `  ropewalk pivot install -f cluster.yaml --manifest management.yaml --out cluster.kubeconfig
  ropewalk pivot install -f cluster.yaml --manifest management.yaml --dry-run`,
		Args: cobra.NoArgs,
		RunE: a.Run(func(ctx context.Context, _ []string) error {
			a.JSON = f.format.Value == "json"
			o, err := a.installOptions(ctx, &f)
			if err != nil {
				return a.reportPivot(ctx, nil, err)
			}
			if f.dryRun {
				return a.preview(&f, o)
			}
			return a.runInstall(ctx, &f, o)
		}),
	}
	set := cmd.Flags()
	set.StringVarP(&f.file, "file", "f", "", "`FILE` of the PivotCluster")
	set.StringVar(&f.manifest, "manifest", "", "`FILE` of what is installed on the new cluster (YAML)")
	set.StringVar(&f.out, "out", "", "`FILE` to write the kubeconfig of the new cluster to")
	set.StringVar(&f.bootstrap.Path, "kubeconfig", "", "kubeconfig file of the bootstrap cluster (default as kubectl)")
	set.StringVar(&f.bootstrap.Context, "context", "", "context in that file; its current context where not given")
	set.DurationVar(&f.timeout, "timeout", time.Hour, "how long to wait for the end")
	set.BoolVar(&f.dryRun, "dry-run", false, "print what would be applied, without the manifest, and do nothing")
	f.format = command.NewChoice("text", "json")
	f.format.Add(cmd, "format", "how to print it")
	return markRequired(cmd, "file", "manifest")
}

// installOptions returns the options of an installation, from files that are valid.
func (a Commands) installOptions(ctx context.Context, f *installFlags) (pivot.InstallOptions, error) {
	var o pivot.InstallOptions
	switch {
	case f.timeout <= 0:
		return o, command.Usagef("give more than 0, such as 1h", "--timeout %s is not positive", f.timeout)
	case f.out == "" && !f.dryRun:
		return o, command.Usagef("name a file: the new cluster cannot be reached without it", "required flag \"out\" is not set")
	}
	data, err := os.ReadFile(f.manifest)
	if err != nil {
		return o, &command.EnvironmentError{Err: fmt.Errorf("--manifest: %w", err)}
	}
	o.Manifest, err = pivot.ParseManifest(data)
	if err != nil {
		return o, object.Errors{{Stage: object.StageSpec, Pos: object.Pos{File: f.manifest}, Err: err}}
	}
	o.Cluster, err = a.readCluster(ctx, f.file)
	if err != nil {
		return o, err
	}
	o.Timeout = f.timeout
	var warnings object.Errors
	for _, l := range o.Lacks() {
		warnings = append(warnings, &object.Error{Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: object.Pos{File: f.manifest}, Err: errors.New(l.Problem), Hint: l.Advice})
	}
	a.Warn(warnings)
	return o, nil
}

// readCluster returns the PivotCluster of a file, checked as render checks it.
func (a Commands) readCluster(ctx context.Context, file string) (*unstructured.Unstructured, error) {
	data, err := os.ReadFile(file) //nolint:gosec // the file of the user
	if err != nil {
		return nil, &command.EnvironmentError{Err: fmt.Errorf("--file: %w", err)}
	}
	var p command.ProjectFlags
	p.Add(&cobra.Command{}) // Their defaults.
	r, err := a.Render(ctx, &p, []string{file})
	if err != nil {
		return nil, err
	}
	r.Close()
	a.Warn(r.Warnings)
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &o.Object); err != nil || len(r.Request.Specs) != 1 || o.GetKind() != "PivotCluster" {
		return nil, object.Errors{{Stage: object.StageSpec, Pos: object.Pos{File: file}, Err: errors.New("expected one PivotCluster, and nothing else")}}
	}
	return o, nil
}

// preview prints what would be applied.
func (a Commands) preview(f *installFlags, o pivot.InstallOptions) error {
	objects := o.Objects(time.Now(), false)
	var b strings.Builder
	fmt.Fprintf(&b, "# Not printed: the %s of %s in the Secrets, %s.\n", printable.Count(o.Manifest.Objects, "object"), f.manifest, command.BytesText(int64(o.Manifest.Bytes)))
	for _, one := range objects {
		text, err := yaml.Marshal(one.Object)
		if err != nil {
			return err
		}
		b.WriteString("---\n" + string(text))
	}
	return a.Outcome(f.format.Value, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}, b.String())
}

// uninstalled is what an installation that failed prints as data.
type uninstalled struct {
	*pivot.Installed
	Errors object.Errors `json:"errors"`
}

func (a Commands) runInstall(ctx context.Context, f *installFlags, o pivot.InstallOptions) error {
	start := time.Now()
	o.Keep = func(kubeconfig []byte) error { return keep(f.out, o.Cluster.GetName(), kubeconfig) }
	o.Report = func(m pivot.Mark) {
		a.Note("%7.2fs  %-12s  %s\n", m.At.Sub(start).Seconds(), m.Phase, command.OneLine(m.Message))
	}
	done, err := pivot.Install(ctx, f.bootstrap, o)
	if err != nil && ctx.Err() != nil {
		a.Note("ropewalk: the bootstrap cluster goes on by itself: run the same command again to follow\n")
	}
	if err != nil {
		return a.report(a.mistake(ctx, nil, err), func(errs object.Errors) any { return uninstalled{done, errs} })
	}
	return a.Outcome(f.format.Value, done, fmt.Sprintf("%s is in charge of itself, by pivot %s, with %d of %d nodes ready: the bootstrap cluster may be deleted\nits kubeconfig is %s\n",
		done.Cluster, done.Pivot, done.NodesReady, done.Nodes, f.out))
}

// keep writes the kubeconfig of a cluster to a file of its own. It writes nothing if kubeconfig is
// nil: there is none yet.
func keep(file, cluster string, kubeconfig []byte) error {
	had, err := os.ReadFile(file) //nolint:gosec // the file of the user
	switch {
	case err == nil && kubeconfig != nil && bytes.Equal(had, kubeconfig):
		return nil
	case err == nil:
		return &command.EnvironmentError{Err: fmt.Errorf("--out: %s exists, and is not the kubeconfig of %s", file, cluster), Hint: "name another file"}
	case !errors.Is(err, os.ErrNotExist):
		return &command.EnvironmentError{Err: fmt.Errorf("--out: %w", err)}
	case kubeconfig == nil:
		return nil
	}
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // as above
	if err != nil {
		return &command.EnvironmentError{Err: fmt.Errorf("--out: %w", err)}
	}
	_, err = to.Write(kubeconfig)
	err = errors.Join(err, to.Close())
	if err != nil {
		return &command.EnvironmentError{Err: errors.Join(fmt.Errorf("--out: %w", err), os.Remove(file))}
	}
	return nil
}
