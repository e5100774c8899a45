// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
	"github.com/ropewalk/ropewalk/test/canary/rejected"
)

// TestTheServerShowsNoRejectedSecret sends applications whose secrets are rejected, and
// looks for them in responses, announcements and the log.
func TestTheServerShowsNoRejectedSecret(t *testing.T) {
	t.Parallel()
	var log lines
	opts := options(t)
	opts.Report = log.add
	_, socket := start(t, opts)
	l := rejected.NewLeaks()
	all := rejected.Cases(2, 0, rejected.Many(t))
	random := rand.New(rand.NewPCG(2, 2)) //nolint:gosec // not for secrecy
	for len(all) > 0 {
		size := min(len(all), 1+random.IntN(10))
		p := rejected.Join(all[:size]...)
		all = all[size:]
		for what, text := range said(t, socket, &log, random, p) {
			require.False(t, what == "the error" && text == "", "%q", p.Names)
			if found, ok := l.Find([]byte(text)); ok {
				t.Errorf("%q: %s: %s", p.Names, what, found)
			}
		}
	}
}

// TestTheServerShowsNoRejectedSecretHoweverShort sends each application twice, with two secrets.
func TestTheServerShowsNoRejectedSecretHoweverShort(t *testing.T) {
	t.Parallel()
	var log lines
	opts := options(t)
	opts.Report = log.add
	_, socket := start(t, opts)
	for i, twins := range rejected.Twins() {
		n := rejected.Many(t) / len(rejected.Twins())
		first, second := rejected.Short(2, i*n, n, twins[0]), rejected.Short(2, i*n, n, twins[1])
		for j := range first {
			source := func() *rand.Rand { return rand.New(rand.NewPCG(2, uint64(j))) } //nolint:gosec // not for secrecy
			a, b := said(t, socket, &log, source(), rejected.Join(first[j])), said(t, socket, &log, source(), rejected.Join(second[j]))
			if !maps.Equal(a, b) {
				t.Errorf("%q: %q is not %q", first[j].Name, a, b)
			}
		}
	}
}

// said is what is said of an application that is rejected.
func said(t *testing.T, socket string, log *lines, random *rand.Rand, p rejected.Project) map[string]string {
	t.Helper()
	for i := range p.Set {
		p.Set[i] = strings.ToValidUTF8(p.Set[i], "") // No message of the protocol has such bytes.
	}
	c := call{archive: archive(t, texts(p.Files)), path: ".", env: map[string]string{varApp: "web", varEnvironment: "prod"}}
	given := []map[string]any{{"name": "values", "array": p.Values}}
	if random.IntN(2) == 0 {
		given = append(given, map[string]any{"name": "set", "array": p.Set}, map[string]any{"name": "runtime", "array": p.Runtime})
	} else {
		c.env[varSet] = strings.Join(p.Set, "\n")
		for _, arg := range p.Set {
			name, value, _ := strings.Cut(arg, "=")
			one := []map[string]any{
				{"string": value}, {"string": value}, {"array": []string{value}}, {"map": map[string]string{"a": value}}, {"string": value, "array": []string{value}},
			}[random.IntN(5)]
			one["name"] = name
			given = append(given, one)
		}
		values := map[string]string{}
		for _, arg := range p.Runtime {
			name, value, _ := strings.Cut(arg, "=")
			values[name] = value
		}
		given = append(given, map[string]any{"name": "runtime", "map": values})
	}
	parameters, err := json.Marshal(given)
	require.NoError(t, err)
	c.env[varParameters] = string(parameters)
	out := map[string]string{"the error": ""}
	if _, err = generate(t, socket, c); err != nil {
		out["the error"] = rejected.Same(err.Error())
	}
	out["the announcement"], out["the log"] = rejected.Same(announced(t, socket, c)), rejected.Same(log.take())
	return out
}

// announced are the parameters of an application.
func announced(t *testing.T, socket string, c call) string {
	t.Helper()
	client := dial(t, socket)
	defer func() { _ = client.conn.Close() }()
	stream, err := client.GetParametersAnnouncement(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.send(stream))
	out, err := stream.CloseAndRecv()
	if err != nil {
		return err.Error()
	}
	data, err := json.Marshal(struct{ Parameters []*wire.Parameter }{out.GetParameters()})
	require.NoError(t, err)
	return string(data)
}

// lines is a log.
type lines struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (l *lines) add(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.text.WriteString(err.Error() + "\n")
}

// take is what was logged since the last time.
func (l *lines) take() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	defer l.text.Reset()
	return l.text.String()
}
