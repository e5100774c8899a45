// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"

	"github.com/go-logr/logr"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// safeLog returns log without credentials in URLs, and with the texts of others escaped: messages
// of modules, registries and Git servers reach it in errors and in values.
func safeLog(log logr.Logger) logr.Logger {
	sink := log.GetSink()
	if deeper, ok := sink.(logr.CallDepthLogSink); ok {
		sink = deeper.WithCallDepth(1)
	}
	return log.WithSink(safeSink{sink})
}

// safeSink is one place for all log lines of the process.
type safeSink struct{ logr.LogSink }

var _ logr.LogSink = safeSink{}

// Info implements logr.LogSink.
func (s safeSink) Info(level int, text string, values ...any) {
	s.LogSink.Info(level, printable.Line(text), safeValues(values)...)
}

// Error implements logr.LogSink.
func (s safeSink) Error(err error, text string, values ...any) {
	if err != nil {
		err = errors.New(safeText(err.Error()))
	}
	s.LogSink.Error(err, printable.Line(text), safeValues(values)...)
}

// WithValues implements logr.LogSink.
func (s safeSink) WithValues(values ...any) logr.LogSink {
	return safeSink{s.LogSink.WithValues(safeValues(values)...)}
}

// WithName implements logr.LogSink.
func (s safeSink) WithName(name string) logr.LogSink { return safeSink{s.LogSink.WithName(name)} }

// safeText returns a text with escapes, and without credentials in URLs.
func safeText(text string) string { return printable.Text((*object.Secrets)(nil).Hide(text)) }

// safeValues returns keys and values with their texts escaped. Structs are left to the encoder.
func safeValues(values []any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case string:
			out[i] = safeText(v)
		case error:
			out[i] = safeText(v.Error())
		default:
			out[i] = v
		}
	}
	return out
}
