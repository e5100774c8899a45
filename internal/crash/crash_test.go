// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/crash"
)

const secret = "hunter2-hunter2"

// named has a secret in what it prints of itself.
type named struct{ text string }

func (n named) String() string { return n.text }

func TestAPanicShowsNoValue(t *testing.T) {
	var none []string
	for name, c := range map[string]struct {
		panics func()
		want   string
	}{
		"a text":               {func() { panic("bad " + secret) }, "a value of type string"},
		"an error":             {func() { panic(errors.New(secret)) }, "a value of type *errors.errorString"},
		"a stringer":           {func() { panic(named{secret}) }, "a value of type crash_test.named"},
		"a pattern":            {func() { regexp.MustCompile(strings.Repeat("(", 2) + secret) }, "a value of type string"},
		"an index":             {func() { _ = none[len(secret)] }, "runtime error: index out of range [15] with length 0"},
		"a type":               {func() { _ = any(secret).(fmt.Stringer) }, "interface conversion: string is not fmt.Stringer: missing method String"}, //nolint:forcetypeassert // it is to panic
		"an error around that": {func() { panic(fmt.Errorf("%s: %w", secret, indexed(none))) }, "runtime error: index out of range [0] with length 0"},
		"another panic":        {func() { panic(crash.Of(secret)) }, "a value of type string"},
	} {
		t.Run(name, func(t *testing.T) {
			err := caught(c.panics)
			var p *crash.Panic
			require.ErrorAs(t, err, &p)
			require.Contains(t, err.Error(), "ropewalk panicked, please report it: "+c.want)
			require.NotContains(t, err.Error()+p.Stack, "hunter2")
			require.Contains(t, p.Stack, "crash_test.go")
		})
	}
	require.Regexp(t, `: a value of type string \(github.com/ropewalk/ropewalk/internal/crash_test.+, crash_test.go:\d+\)$`, caught(func() { panic(secret) }))
	require.NoError(t, caught(func() {}))
}

// caught is the error of what panics.
func caught(panics func()) (err error) {
	defer crash.Recover(&err)
	panics()
	return nil
}

// indexed is the error of the runtime of an index that is not there.
func indexed(of []string) (err error) {
	defer func() { err, _ = recover().(error) }()
	return errors.New(of[0])
}
