// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v3/util/app/discovery"
	"github.com/argoproj/argo-cd/v3/util/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Names of the plugins that are compared: ours, the server of Argo CD that runs
// cue export for each request, and one that does nothing.
const (
	ours  = "ropewalk"
	stock = "stock"
	none  = "bare"
)

// plugins are servers of plugins in one directory.
type plugins struct {
	dir, home string
	processes map[string]*process
}

// newPlugins starts all of them, with nothing cached.
func newPlugins(b *testing.B) *plugins {
	b.Helper()
	needCUE(b)
	// The path of a socket has room for a hundred letters.
	dir, err := os.MkdirTemp("", "rw")
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, os.RemoveAll(dir)) })
	b.Setenv("ARGOCD_PLUGINSOCKFILEPATH", dir)
	p := &plugins{dir: dir, home: b.TempDir(), processes: map[string]*process{}}
	p.run(b, ours, nil, installed(b).ropewalk, "plugin", "argocd", "--socket-dir", dir, "--http", "", "--cache-dir", b.TempDir())
	p.run(b, none, nil, os.Args[0], bareServer, dir)

	server, config := stockPlugin(b)
	p.run(b, stock, []string{"ARGOCD_PLUGINSOCKFILEPATH=" + dir, "ARGOCD_CMP_WORKDIR=" + b.TempDir()},
		server, "--config-dir-path", config, "--loglevel", "error")
	return p
}

// needCUE skips a benchmark where the environment does not name the command cue.
func needCUE(b *testing.B) string {
	b.Helper()
	cue := os.Getenv("ROPEWALK_CUE")
	if cue == "" {
		b.Skip("ROPEWALK_CUE names the command that the stock plugin runs: run make bench-argocd")
	}
	return cue
}

// stockPlugin is the argocd-cmp-server, and the folder of its configuration: a plugin that
// runs cue export, of the objects as one List.
func stockPlugin(b *testing.B) (server, config string) {
	b.Helper()
	config = b.TempDir()
	write(b, config, map[string]string{"plugin.yaml": fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ConfigManagementPlugin
metadata: {name: %s}
spec:
  generate:
    command: [%q]
    args: [export, --out, yaml, -e, '{apiVersion: "v1", kind: "List", items: [for n in graph.nodes {n.object}]}', .]
`, stock, needCUE(b))})
	server, err := stockServer()
	require.NoError(b, err)
	return server, config
}

// run starts a server and waits for its socket.
func (p *plugins) run(b *testing.B, name string, env []string, binary string, args ...string) {
	env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+p.home, "TMPDIR="+p.home, "CUE_CACHE_DIR="+filepath.Join(p.home, "cue"))
	server := start(b, env, binary, args...)
	p.processes[name] = server
	server.ready(b, func() bool { return listens("unix", filepath.Join(p.dir, name+".sock")) })
}

// pid is the process of a server.
func (p *plugins) pid(name string) int { return p.processes[name].cmd.Process.Pid }

// sent is an archive of a repository, and the first message of its stream.
type sent struct {
	root  string
	data  []byte
	first *apiclient.ManifestRequestMetadata
}

// archive makes the archive as the repo-server does.
func archive(b *testing.B, root string) sent {
	b.Helper()
	file, first, err := cmp.GetCompressedRepoAndMetadata(root, root, nil, []string{".git/*"}, nil)
	require.NoError(b, err)
	defer func() { _ = os.Remove(file.Name()) }()
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(file)
	require.NoError(b, err)
	return sent{root, data, first.GetMetadata()}
}

// asked is one request to a plugin.
type asked struct {
	plugin, path string
	env          map[string]string
	sent         sent
	// packs says that the archive is made for it, as the repo-server does each time.
	packs bool
}

// ask makes the calls of the repo-server, by its own client: it dials, checks twice,
// and has the manifests generated.
func ask(ctx context.Context, a asked) (*apiclient.ManifestResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	at := filepath.Join(a.sent.root, a.path)
	conn, client, err := discovery.DetectConfigManagementPlugin(ctx, at, a.sent.root, a.plugin, nil, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := client.CheckPluginConfiguration(ctx, &emptypb.Empty{}); err != nil {
		return nil, err
	}
	stream, err := client.GenerateManifest(ctx)
	if err != nil {
		return nil, err
	}
	if a.packs {
		err = cmp.SendRepoStream(ctx, at, a.sent.root, stream, a.variables(), []string{".git/*"})
	} else {
		err = a.send(stream)
	}
	if err != nil {
		return nil, err
	}
	return stream.CloseAndRecv()
}

// send sends an archive that is there, in the chunks of the repo-server.
func (a asked) send(stream cmp.StreamSender) error {
	first := &apiclient.ManifestRequestMetadata{
		AppName: filepath.Base(a.path), AppRelPath: a.path, Checksum: a.sent.first.Checksum, Size_: a.sent.first.Size_,
	}
	for name, value := range a.env {
		first.Env = append(first.Env, &apiclient.EnvEntry{Name: name, Value: value})
	}
	if err := stream.Send(&apiclient.AppStreamRequest{Request: &apiclient.AppStreamRequest_Metadata{Metadata: first}}); err != nil {
		return err
	}
	for data := a.sent.data; len(data) > 0; {
		n := min(1024, len(data))
		if err := stream.Send(cmp.AppFileRequest(data[:n])); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (a asked) variables() []string {
	var out []string
	for name, value := range a.env {
		out = append(out, name+"="+value)
	}
	return out
}
