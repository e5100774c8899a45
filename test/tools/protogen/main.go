// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Command protogen makes Go code of the messages in the .proto files of a folder,
// beside them, by the generator that this module pins; protoc is not needed.
//
// What it makes registers nothing before main: the init function of each file
// is taken out, and a file of the package calls what it called when the first
// server or client is made. A command that speaks no gRPC pays for none.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("expected one folder")
	}
	files, err := filepath.Glob(filepath.Join(args[0], "*.proto"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%q: no .proto files: %w", args[0], err)
	}
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	slices.Sort(files)
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{args[0]}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(ctx, files...)
	if err != nil {
		return err
	}
	req := &pluginpb.CodeGeneratorRequest{FileToGenerate: files, Parameter: proto.String("paths=source_relative")}
	for _, f := range compiled {
		// The generator reads options from the bytes, so the form of the compiler
		// goes once through them.
		data, err := proto.Marshal(protoutil.ProtoFromFileDescriptor(f))
		if err != nil {
			return err
		}
		file := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(data, file); err != nil {
			return err
		}
		req.ProtoFile = append(req.ProtoFile, file)
	}
	return generate(ctx, args[0], req)
}

// generate has the generator of the tools write its files into dir.
func generate(ctx context.Context, dir string, req *pluginpb.CodeGeneratorRequest) error {
	const name = "protoc-gen-go"
	in, err := proto.Marshal(req)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "tool", name)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	resp := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(out.Bytes(), resp); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if resp.Error != nil {
		return fmt.Errorf("%s: %s", name, resp.GetError())
	}
	start := regexp.MustCompile(`(?m)^func init\(\) \{ file_\w+_init\(\) \}\n`)
	for _, f := range resp.GetFile() {
		text := start.ReplaceAllString(f.GetContent(), "")
		if err := os.WriteFile(filepath.Join(dir, f.GetName()), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
