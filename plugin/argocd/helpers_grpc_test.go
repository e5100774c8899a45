// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"

	"google.golang.org/grpc"

	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
)

// pluginClient is a repo-server. It calls by grpc-go, as Argo CD does, so that
// both sides of these tests are of different make.
type pluginClient struct {
	conn *grpc.ClientConn
}

// stream is a call that sends parts.
type stream[Answer any] = grpc.ClientStreamingClient[wire.Part, Answer]

func (c pluginClient) CheckPluginConfiguration(ctx context.Context, in *wire.Empty) (*wire.PluginConfiguration, error) {
	out := &wire.PluginConfiguration{}
	return out, c.conn.Invoke(ctx, serviceName+"CheckPluginConfiguration", in, out)
}

func (c pluginClient) MatchRepository(ctx context.Context) (stream[wire.Match], error) {
	return open[wire.Match](ctx, c.conn, "MatchRepository")
}

func (c pluginClient) GenerateManifest(ctx context.Context, opts ...grpc.CallOption) (stream[wire.Manifests], error) {
	return open[wire.Manifests](ctx, c.conn, "GenerateManifest", opts...)
}

func (c pluginClient) GetParametersAnnouncement(ctx context.Context) (stream[wire.Announcement], error) {
	return open[wire.Announcement](ctx, c.conn, "GetParametersAnnouncement")
}

func open[Answer any](ctx context.Context, conn *grpc.ClientConn, method string, opts ...grpc.CallOption) (stream[Answer], error) {
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{StreamName: method, ClientStreams: true}, serviceName+method, opts...)
	if err != nil {
		return nil, err
	}
	return &grpc.GenericClientStream[wire.Part, Answer]{ClientStream: s}, nil
}

// registerAskPass has a server of grpc-go tell credentials.
func registerAskPass(server *grpc.Server, tell func(context.Context, *wire.CredentialsRequest) (*wire.Credentials, error)) {
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "askpass.AskPassService", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "GetCredentials",
			Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				in := &wire.CredentialsRequest{}
				if err := decode(in); err != nil {
					return nil, err
				}
				return tell(ctx, in)
			},
		}},
	}, struct{}{})
}
