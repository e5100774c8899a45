// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

const released = "testdata/released.json"

func current() *descriptorpb.FileDescriptorProto {
	Register()
	return protodesc.ToFileDescriptorProto(File_link_proto)
}

// TestChangesAreCompatible compares the messages with those of the released protocol.
func TestChangesAreCompatible(t *testing.T) {
	data, err := os.ReadFile(released)
	require.NoError(t, err)
	before := &descriptorpb.FileDescriptorProto{}
	require.NoError(t, protojson.Unmarshal(data, before))
	require.Empty(t, broken(before, current()), "older agents and parents could not be understood")
	if os.Getenv("ROPEWALK_UPDATE") != "" {
		text, err := protojson.Marshal(current())
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, json.Indent(&out, text, "", "  ")) // protojson is not stable in its spaces.
		out.WriteByte('\n')
		require.NoError(t, os.WriteFile(released, out.Bytes(), 0o644))
		return
	}
	require.True(t, proto.Equal(before, current()), "something was added: keep it by ROPEWALK_UPDATE=1 go test .")
}

// broken says what of a protocol is not in a later one as it was.
func broken(before, after *descriptorpb.FileDescriptorProto) (out []string) {
	if before.GetPackage() != after.GetPackage() {
		out = append(out, fmt.Sprintf("the package was %q, and is %q", before.GetPackage(), after.GetPackage()))
	}
	now := map[string]*descriptorpb.DescriptorProto{}
	for _, m := range messages("", after.GetMessageType()) {
		now[m.name] = m.DescriptorProto
	}
	for _, m := range messages("", before.GetMessageType()) {
		if now[m.name] == nil {
			out = append(out, fmt.Sprintf("message %s was removed", m.name))
			continue
		}
		out = append(out, fields(m.name, m.DescriptorProto, now[m.name])...)
	}
	values := map[string]int32{}
	for _, e := range after.GetEnumType() {
		for _, v := range e.GetValue() {
			values[e.GetName()+"."+v.GetName()] = v.GetNumber()
		}
	}
	for _, e := range before.GetEnumType() {
		for _, v := range e.GetValue() {
			name := e.GetName() + "." + v.GetName()
			if is, ok := values[name]; !ok || is != v.GetNumber() {
				out = append(out, fmt.Sprintf("value %s was %d, and is removed or renumbered", name, v.GetNumber()))
			}
		}
	}
	methods := map[string]string{}
	for _, s := range after.GetService() {
		for _, m := range s.GetMethod() {
			methods[s.GetName()+"."+m.GetName()] = signature(m)
		}
	}
	for _, s := range before.GetService() {
		for _, m := range s.GetMethod() {
			name := s.GetName() + "." + m.GetName()
			if is := methods[name]; is != signature(m) {
				out = append(out, fmt.Sprintf("method %s was %q, and is %q", name, signature(m), is))
			}
		}
	}
	return out
}

func signature(m *descriptorpb.MethodDescriptorProto) string {
	return fmt.Sprintf("%s stream=%t -> %s stream=%t", m.GetInputType(), m.GetClientStreaming(), m.GetOutputType(), m.GetServerStreaming())
}

type named struct {
	name string
	*descriptorpb.DescriptorProto
}

// messages are those of a list, with those inside them.
func messages(prefix string, list []*descriptorpb.DescriptorProto) (out []named) {
	for _, m := range list {
		out = append(out, named{prefix + m.GetName(), m})
		out = append(out, messages(prefix+m.GetName()+".", m.GetNestedType())...)
	}
	return out
}

func fields(message string, before, after *descriptorpb.DescriptorProto) (out []string) {
	now := map[int32]*descriptorpb.FieldDescriptorProto{}
	numbers := map[string]int32{}
	for _, f := range after.GetField() {
		now[f.GetNumber()], numbers[f.GetName()] = f, f.GetNumber()
	}
	for _, f := range before.GetField() {
		is, name := now[f.GetNumber()], fmt.Sprintf("field %d of %s, %s,", f.GetNumber(), message, f.GetName())
		switch n, moved := numbers[f.GetName()]; {
		case is == nil && moved:
			out = append(out, fmt.Sprintf("%s has number %d now", name, n))
		case is == nil:
			out = append(out, name+" was removed")
		case is.GetName() != f.GetName():
			out = append(out, fmt.Sprintf("%s is called %s now", name, is.GetName()))
		case kind(f, before) != kind(is, after):
			out = append(out, fmt.Sprintf("%s was %s, and is %s", name, kind(f, before), kind(is, after)))
		}
	}
	return out
}

// kind is the type of a field on the wire.
func kind(f *descriptorpb.FieldDescriptorProto, in *descriptorpb.DescriptorProto) string {
	out := f.GetLabel().String() + " " + f.GetType().String() + " " + f.GetTypeName()
	if f.OneofIndex != nil {
		out += " of oneof " + in.GetOneofDecl()[f.GetOneofIndex()].GetName()
	}
	return out
}

// TestWhatIsNotCompatible changes the protocol in the ways that older ends would not understand.
func TestWhatIsNotCompatible(t *testing.T) {
	message := func(f *descriptorpb.FileDescriptorProto, name string) *descriptorpb.DescriptorProto {
		for _, m := range f.GetMessageType() {
			if m.GetName() == name {
				return m
			}
		}
		return nil
	}
	for want, change := range map[string]func(*descriptorpb.FileDescriptorProto){
		"field 2 of Heartbeat, state, was removed": func(f *descriptorpb.FileDescriptorProto) {
			m := message(f, "Heartbeat")
			m.Field = slices.Delete(m.Field, 1, 2)
		},
		"field 2 of Heartbeat, state, has number 3 now": func(f *descriptorpb.FileDescriptorProto) {
			message(f, "Heartbeat").Field[1].Number = proto.Int32(3)
		},
		"field 2 of Heartbeat, state, is called mood now": func(f *descriptorpb.FileDescriptorProto) {
			message(f, "Heartbeat").Field[1].Name = proto.String("mood")
		},
		"field 1 of Welcome, session, was LABEL_OPTIONAL TYPE_INT64 , and is LABEL_OPTIONAL TYPE_STRING ": func(f *descriptorpb.FileDescriptorProto) {
			message(f, "Welcome").Field[0].Type = descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()
		},
		"field 2 of Secret.DataEntry, value, was LABEL_OPTIONAL TYPE_BYTES , and is LABEL_REPEATED TYPE_BYTES ": func(f *descriptorpb.FileDescriptorProto) {
			message(f, "Secret").NestedType[0].Field[1].Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		},
		"field 1 of FromChild, agent_ready, was LABEL_OPTIONAL TYPE_MESSAGE .ropewalk.pivot.v1.AgentReady of oneof message, and is LABEL_OPTIONAL TYPE_MESSAGE .ropewalk.pivot.v1.AgentReady": func(f *descriptorpb.FileDescriptorProto) {
			message(f, "FromChild").Field[0].OneofIndex = nil
		},
		"value AgentState.AGENT_STATE_WAITING was 1, and is removed or renumbered": func(f *descriptorpb.FileDescriptorProto) {
			f.EnumType[0].Value[1].Number = proto.Int32(9)
		},
		"message Part was removed": func(f *descriptorpb.FileDescriptorProto) {
			f.MessageType = f.MessageType[:len(f.MessageType)-1]
		},
		`the package was "ropewalk.pivot.v1", and is "ropewalk.pivot.v2"`: func(f *descriptorpb.FileDescriptorProto) {
			f.Package = proto.String("ropewalk.pivot.v2")
		},
		`method Link.Bulk was ".ropewalk.pivot.v1.Part stream=true -> .ropewalk.pivot.v1.Part stream=true", and is ".ropewalk.pivot.v1.Part stream=true -> .ropewalk.pivot.v1.Part stream=false"`: func(f *descriptorpb.FileDescriptorProto) {
			f.Service[0].Method[1].ServerStreaming = proto.Bool(false)
		},
	} {
		after := proto.CloneOf(current())
		change(after)
		require.Equal(t, []string{want}, broken(current(), after))
	}
	more := proto.CloneOf(current())
	heartbeat := message(more, "Heartbeat")
	heartbeat.Field = append(heartbeat.Field, &descriptorpb.FieldDescriptorProto{Name: proto.String("more"), Number: proto.Int32(9)})
	more.MessageType = append(more.MessageType, &descriptorpb.DescriptorProto{Name: proto.String("More")})
	require.Empty(t, broken(current(), more), "what is added is compatible")
}
