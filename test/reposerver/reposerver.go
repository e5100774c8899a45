// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package reposerver makes the calls that Argo CD's repo-server makes to a plugin, for
// tests. It speaks grpc-go, as Argo CD does, so that both sides are of different make.
//
// Callers: tests of plugin/argocd and of what is deployed with it. The repo-server
// itself is in test/argocd.
package reposerver

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
)

// chunk is the size of the chunks in which Argo CD sends an archive.
const chunk = 1024

const service = "/plugin.ConfigManagementPluginService/"

// Request is what a repo-server asks of a plugin.
type Request struct {
	// Files is the repository, and Path the folder of the application in it. Packed is the
	// archive, where it is not that of Files.
	Files  fs.FS
	Packed []byte
	Path   string
	// Variables are those of the request, by name.
	Variables map[string]string
}

// Check asks the plugin on a socket for its configuration.
func Check(ctx context.Context, socket string) (*wire.PluginConfiguration, error) {
	conn, err := dial(socket)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	out := &wire.PluginConfiguration{}
	return out, conn.Invoke(ctx, service+"CheckPluginConfiguration", &wire.Empty{}, out)
}

// Generate returns the manifests of an application.
func Generate(ctx context.Context, socket string, in Request) ([]string, error) {
	out, err := send[wire.Manifests](ctx, socket, "GenerateManifest", in)
	return out.GetManifests(), err
}

// Parameters returns the parameters that the plugin announces for an application.
func Parameters(ctx context.Context, socket string, in Request) ([]*wire.Parameter, error) {
	out, err := send[wire.Announcement](ctx, socket, "GetParametersAnnouncement", in)
	return out.GetParameters(), err
}

func dial(socket string) (*grpc.ClientConn, error) {
	wire.Register()
	return grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(100<<20)))
}

func send[Answer any](ctx context.Context, socket, method string, in Request) (*Answer, error) {
	archive := in.Packed
	if archive == nil {
		packed, err := Archive(in.Files)
		if err != nil {
			return nil, err
		}
		archive = packed
	}
	conn, err := dial(socket)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	opened, err := conn.NewStream(ctx, &grpc.StreamDesc{StreamName: method, ClientStreams: true}, service+method)
	if err != nil {
		return nil, err
	}
	stream := &grpc.GenericClientStream[wire.Part, Answer]{ClientStream: opened}
	sum := sha256.Sum256(archive)
	m := &wire.Metadata{
		AppName: path.Base(in.Path), AppRelPath: in.Path, Checksum: hex.EncodeToString(sum[:]), Size: int64(len(archive)),
	}
	for name, value := range in.Variables {
		m.Env = append(m.Env, &wire.Variable{Name: name, Value: value})
	}
	err = stream.Send(&wire.Part{Request: &wire.Part_Metadata{Metadata: m}})
	for data := range slices.Chunk(archive, chunk) {
		if err != nil {
			break
		}
		err = stream.Send(&wire.Part{Request: &wire.Part_File{File: &wire.File{Chunk: data}}})
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return stream.CloseAndRecv() // After io.EOF, the error of the server.
}

// Archive packs a repository as a repo-server does.
func Archive(files fs.FS) ([]byte, error) {
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	if err := errors.Join(w.AddFS(files), w.Close(), zipped.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
