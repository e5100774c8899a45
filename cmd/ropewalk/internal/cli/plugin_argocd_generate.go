// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/plugin/argocd"
	"github.com/ropewalk/ropewalk/render/emit"
)

// stockTimeout is less than the minute that Argo CD gives a repo-server, which the
// command is not told.
const stockTimeout = 50 * time.Second

// stockText is how many bytes of an error are for the user.
const stockText = 4 << 10

// stockFlags are those of a command that argocd-cmp-server runs for each request.
type stockFlags struct {
	argocdFlags
	socket  string
	verbose bool
}

const stockHelp = `The working directory is the folder of the application, as argocd-cmp-server unpacks
it; the root of the repository is found from ARGOCD_APP_SOURCE_PATH. The request is
read from the environment: ARGOCD_APP_*, ARGOCD_ENV_*, ARGOCD_APP_PARAMETERS and
KUBE_VERSION mean what they do to "ropewalk plugin argocd". Variables that begin with
GIT_ are not: those of a request hold the credentials of its source, and would go to
any other Git server too.

A "ropewalk plugin argocd" that answers on --socket is handed the request, because its
modules are warm; it gets the files that a render needs. It must be of the same
version, and have the same policy and the same flags about references, health and
credentials. Where none answers the request is worked on here. Both give the same;
limits are those of who renders.`

func (a *app) pluginArgoCDGenerate() *cobra.Command {
	var flags stockFlags
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Render one application for the stock argocd-cmp-server",
		Long: `Render one application for argocd-cmp-server, which runs this command for each request
(generate.command of plugin.yaml), and print its manifests: what "ropewalk plugin
argocd" answers on its socket, as one YAML stream.

` + stockHelp + `

Errors go to standard error, the user's file and line first, in at most 4 KiB.

` + exitCodes,
		Example: `  ropewalk plugin argocd generate
  ropewalk plugin argocd generate --socket /run/ropewalk/ropewalk.sock --request-timeout 80s
  cd shop && ARGOCD_APP_SOURCE_PATH=shop ropewalk plugin argocd generate --socket "" --verbose`,
		Args: cobra.NoArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			return a.stock(ctx, &flags, func(ctx context.Context, h argocd.Handover, in argocd.Request) ([]byte, argocd.Who, error) {
				manifests, who, err := h.Generate(ctx, in)
				if err != nil {
					return nil, who, err
				}
				files := make([]emit.File, len(manifests))
				for i, m := range manifests {
					files[i].Data = []byte(m)
				}
				data, err := stream(files, "yaml")
				return data, who, err
			})
		}),
	}
	flags.addTo(cmd)
	return cmd
}

func (a *app) pluginArgoCDParameters() *cobra.Command {
	var flags stockFlags
	cmd := &cobra.Command{
		Use:   "parameters",
		Short: "List the parameters of one application for the stock argocd-cmp-server",
		Long: `List the parameters that the modules of one application take, as the JSON that
argocd-cmp-server wants of parameters.dynamic.command of plugin.yaml. Those that every
application takes are not among them: they are parameters.static there.

` + stockHelp + `

` + exitCodes,
		Example: `  ropewalk plugin argocd parameters
  cd shop && ARGOCD_APP_SOURCE_PATH=shop ropewalk plugin argocd parameters --socket ""`,
		Args: cobra.NoArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			return a.stock(ctx, &flags, func(ctx context.Context, h argocd.Handover, in argocd.Request) ([]byte, argocd.Who, error) {
				all, who, err := h.Parameters(ctx, in)
				if err != nil {
					return nil, who, err
				}
				data, err := encode(dynamic(all))
				return data, who, err
			})
		}),
	}
	flags.addTo(cmd)
	return cmd
}

// dynamic are the parameters that not every application takes; none is [].
func dynamic(all []argocd.Parameter) []argocd.Parameter {
	static := argocd.StaticParameters()
	out := make([]argocd.Parameter, 0, len(all))
	for _, p := range all {
		if !slices.ContainsFunc(static, func(s argocd.Parameter) bool { return s.Name == p.Name }) {
			out = append(out, p)
		}
	}
	return out
}

// addTo makes the flags of cmd: those of the server, but for what is about its
// socket and about several requests.
func (f *stockFlags) addTo(cmd *cobra.Command) {
	own := cmd.Flags()
	own.SortFlags = false
	own.StringVar(&f.socket, "socket", filepath.Join(pluginSockets, argocd.DefaultName+".sock"),
		"`SOCKET` of a server to hand over to; none is asked where empty")
	own.BoolVar(&f.verbose, "verbose", false, "say on standard error who worked on the request, and what went wrong and\nfailed nothing; an error says the first always")
	server := &cobra.Command{}
	addArgoCDFlags(server, &f.argocdFlags)
	server.Flags().VisitAll(func(flag *pflag.Flag) {
		switch flag.Name {
		case "name", "socket-dir", "http", "renders", "archive", "drain":
			return
		case "request-timeout":
			f.request, flag.DefValue = stockTimeout, stockTimeout.String()
			flag.Usage = "limit of the request, which must be less than what Argo CD waits: nobody tells\nthis command how long that is"
		}
		own.AddFlag(flag)
	})
}

// stock works on one request of argocd-cmp-server and prints what comes of it.
func (a *app) stock(ctx context.Context, flags *stockFlags,
	work func(context.Context, argocd.Handover, argocd.Request) ([]byte, argocd.Who, error),
) error {
	if err := flags.check(); err != nil {
		return err
	}
	a.listen() // Workers are processes of our own.
	ctx, cancel := context.WithTimeout(ctx, flags.request)
	defer cancel()
	var said sync.Mutex
	report := func(err error) {
		if err != nil && flags.verbose {
			said.Lock()
			defer said.Unlock()
			a.note("ropewalk: %v\n", err)
		}
	}
	in, closer, err := stockRequest()
	if err != nil {
		return err
	}
	defer closer()
	server, done, err := flags.server(report)
	if err != nil {
		return err
	}
	defer done()
	data, who, err := work(ctx, argocd.Handover{Client: argocd.Client{Socket: flags.socket, Temporary: flags.temporary}, Own: server}, in)
	if err != nil {
		return a.refused(ctx, err, who)
	}
	if flags.verbose {
		a.note("ropewalk: %s\n", whoWorked(who))
	}
	return a.write(data)
}

// stockRequest is what the environment asks for; closer gives the repository back.
func stockRequest() (in argocd.Request, closer func(), err error) {
	in.Variables = argocd.Variables(os.Environ())
	if err := forgetSource(); err != nil {
		return in, nil, &environmentError{err: err}
	}
	dir, app, err := argocd.Checkout(".", in.Variables["ARGOCD_APP_SOURCE_PATH"])
	if err != nil {
		return in, nil, &environmentError{err: err}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return in, nil, &environmentError{err: err}
	}
	in.Files, in.Path = root.FS(), filepath.ToSlash(app)
	return in, func() { _ = root.Close() }, nil
}

// forgetSource takes away the variables by which the repo-server tells git the
// credentials of the source: git would give them to whatever server a module
// comes from, and trust any certificate where the source does not need a good one.
func forgetSource() error {
	var errs []error
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "GIT_") || name == "SSH_ASKPASS" || name == "ARGOCD_GIT_ASKPASS_NONCE" {
			errs = append(errs, os.Unsetenv(name))
		}
	}
	return errors.Join(errs...)
}

// refused tells the user why there is nothing, and last who found that.
func (a *app) refused(ctx context.Context, err error, who argocd.Who) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	last := "(" + whoWorked(who) + ")\n"
	for line := range strings.Lines(shortened(err.Error(), stockText-len(last)-1)) {
		a.note("%s\n", printable(strings.TrimRight(line, "\n")))
	}
	a.note("%s", last)
	var refusal *argocd.Refusal
	if errors.As(err, &refusal) && refusal.Findings {
		return errDifferentReported()
	}
	return errors.Join(&environmentError{err: err}, errReported)
}

func whoWorked(who argocd.Who) string {
	if who.Socket != "" {
		return fmt.Sprintf("by the server at %q", who.Socket)
	}
	return "here: " + shortened(who.Why.Error(), 500)
}

// shortened is text with at most size bytes.
func shortened(text string, size int) string {
	return strings.ToValidUTF8(text[:min(len(text), size)], "")
}
