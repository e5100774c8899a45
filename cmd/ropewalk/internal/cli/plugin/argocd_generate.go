// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/argocd"
	"github.com/ropewalk/ropewalk/render/emit"
)

// stockTimeout is less than the minute that Argo CD gives a repo-server, which the
// command is not told.
const stockTimeout = 50 * time.Second

// stockFlags are those of a command that argocd-cmp-server runs for each request.
type stockFlags struct {
	ArgoCDFlags
	verbose bool
}

const stockHelp = `The working directory is the folder of the application, as argocd-cmp-server unpacks
it; the root of the repository is found from ARGOCD_APP_SOURCE_PATH. The request is
read from the environment: ARGOCD_APP_*, ARGOCD_ENV_*, ARGOCD_APP_PARAMETERS and
KUBE_VERSION mean the same as for "ropewalk plugin argocd". Variables that begin with
GIT_ are ignored: those of a request hold the credentials of its source, and would be
sent to any other Git server too.`

func (a Commands) pluginArgoCDGenerate() *cobra.Command {
	var flags stockFlags
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Render one application for the stock argocd-cmp-server",
		Long: `Render one application for argocd-cmp-server, which runs this command for each request
(generate.command of plugin.yaml), and print its manifests: what "ropewalk plugin
argocd" answers on its socket, as one YAML stream.

` + stockHelp + `

Errors go to standard error, the user's file and line first, in at most 4 KiB.

` + command.ExitCodes,
		Example: `  ropewalk plugin argocd generate
  ropewalk plugin argocd generate --request-timeout 80s
  cd shop && ARGOCD_APP_SOURCE_PATH=shop ropewalk plugin argocd generate --verbose`,
		Args: cobra.NoArgs,
		RunE: a.Run(func(ctx context.Context, _ []string) error {
			return a.runStock(ctx, &flags, func(ctx context.Context, s *argocd.Server, in argocd.Request) ([]byte, error) {
				manifests, err := s.Generate(ctx, in)
				if err != nil {
					return nil, err
				}
				files := make([]emit.File, len(manifests))
				for i, m := range manifests {
					files[i].Data = []byte(m)
				}
				return command.Stream(files, "yaml")
			})
		}),
	}
	flags.addTo(cmd)
	return cmd
}

func (a Commands) pluginArgoCDParameters() *cobra.Command {
	var flags stockFlags
	cmd := &cobra.Command{
		Use:   "parameters",
		Short: "List the parameters of one application for the stock argocd-cmp-server",
		Long: `List the parameters that the modules of one application take, as the JSON that
argocd-cmp-server expects of parameters.dynamic.command of plugin.yaml. Those that every
application takes are not among them: they are parameters.static there.

` + stockHelp + `

` + command.ExitCodes,
		Example: `  ropewalk plugin argocd parameters
  cd shop && ARGOCD_APP_SOURCE_PATH=shop ropewalk plugin argocd parameters`,
		Args: cobra.NoArgs,
		RunE: a.Run(func(ctx context.Context, _ []string) error {
			return a.runStock(ctx, &flags, func(ctx context.Context, s *argocd.Server, in argocd.Request) ([]byte, error) {
				all, err := s.Parameters(ctx, in)
				if err != nil {
					return nil, err
				}
				return command.Encode(all)
			})
		}),
	}
	flags.addTo(cmd)
	return cmd
}

// addTo adds the flags to cmd: those of the server that concern one request.
func (f *stockFlags) addTo(cmd *cobra.Command) {
	own := cmd.Flags()
	own.SortFlags = false
	own.BoolVar(&f.verbose, "verbose", false, "report warnings, and errors that failed nothing, on standard error")
	server := &cobra.Command{}
	addArgoCDFlags(server, &f.ArgoCDFlags)
	server.Flags().VisitAll(func(flag *pflag.Flag) {
		switch flag.Name {
		case "name", "socket-dir", "http", "renders", "archive", "drain", "temp-dir":
			return
		case "request-timeout":
			f.request = stockTimeout
			flag.DefValue = stockTimeout.String()
			flag.Usage = "limit of the request: less than the time-out of the repo-server, which this\ncommand cannot read"
		}
		own.AddFlag(flag)
	})
}

// runStock answers one request of argocd-cmp-server, and prints the result of work.
func (a Commands) runStock(ctx context.Context, flags *stockFlags, work func(context.Context, *argocd.Server, argocd.Request) ([]byte, error)) error {
	if err := flags.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, flags.request)
	defer cancel()
	report := func(error) {}
	if flags.verbose {
		report = a.reporter()
	}
	in, closer, err := StockRequest()
	if err != nil {
		return err
	}
	defer closer()
	server, done, err := flags.newServer(report)
	if err != nil {
		return err
	}
	defer done()
	data, err := work(ctx, server, in)
	if err != nil {
		return a.printRefusal(ctx, err)
	}
	return a.Write(data)
}

// StockRequest returns the request in the environment. The result closer closes the repository.
func StockRequest() (in argocd.Request, closer func(), err error) {
	in.Variables = argocd.Variables(os.Environ())
	if err := unsetSource(); err != nil {
		return in, nil, &command.EnvironmentError{Err: err}
	}
	dir, app, err := argocd.Checkout(".", in.Variables["ARGOCD_APP_SOURCE_PATH"])
	if err != nil {
		return in, nil, &command.EnvironmentError{Err: err}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return in, nil, &command.EnvironmentError{Err: err}
	}
	in.Files = root.FS()
	in.Path = filepath.ToSlash(app)
	return in, func() { _ = root.Close() }, nil
}

// unsetSource removes the variables by which the repo-server passes the credentials of
// the source to git: git would send them to any server that a module comes from, and
// trust any certificate if the source needs no valid one.
func unsetSource() error {
	var errs []error
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "GIT_") || name == "SSH_ASKPASS" || name == "ARGOCD_GIT_ASKPASS_NONCE" {
			errs = append(errs, os.Unsetenv(name))
		}
	}
	return errors.Join(errs...)
}

// printRefusal prints why there is no result.
func (a Commands) printRefusal(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	// The text of a refusal is at most as long as Argo CD's field for it.
	for line := range strings.Lines(err.Error()) {
		a.Note("%s\n", strings.TrimRight(line, "\n"))
	}
	var refusal *argocd.Refusal
	if errors.As(err, &refusal) && refusal.Findings {
		return command.ErrFoundReported()
	}
	return errors.Join(&command.EnvironmentError{Err: err}, command.ErrReported)
}
