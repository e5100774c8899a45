// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// bareServer is the argument by which the test binary serves a plugin that does
// nothing.
const bareServer = "serve-nothing"

// bare reads what it is sent, and answers the same to everybody. What it takes is
// what no plugin can do without.
type bare struct {
	apiclient.UnimplementedConfigManagementPluginServiceServer
}

// CheckPluginConfiguration answers that there is nothing to say.
func (*bare) CheckPluginConfiguration(context.Context, *emptypb.Empty) (*apiclient.CheckPluginConfigurationResponse, error) {
	return &apiclient.CheckPluginConfigurationResponse{}, nil
}

// GenerateManifest answers with five objects, as many as the application has that it is held against.
func (*bare) GenerateManifest(stream apiclient.ConfigManagementPluginService_GenerateManifestServer) error {
	for {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return stream.SendAndClose(&apiclient.ManifestResponse{
				Manifests: bareObjects(),
			})
		} else if err != nil {
			return err
		}
	}
}

// bareObjects returns five objects.
func bareObjects() (out []string) {
	for n := range 5 {
		out = append(out, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bare-%d"}}`, n))
	}
	return out
}

// serveBare serves bare.sock in a folder until the process is killed.
func serveBare(dir string) {
	listener, err := net.Listen("unix", filepath.Join(dir, "bare.sock"))
	if err == nil {
		server := grpc.NewServer()
		apiclient.RegisterConfigManagementPluginServiceServer(server, &bare{})
		err = server.Serve(listener)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
