// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"
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
		for i := range p.Set {
			p.Set[i] = strings.ToValidUTF8(p.Set[i], "") // No message of the protocol has such bytes.
		}
		all = all[size:]
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
		_, err = generate(t, socket, c)
		require.Error(t, err, "%q", p.Names)
		if found, ok := l.Find([]byte(err.Error())); ok {
			t.Errorf("%q: %s", p.Names, found)
		}
		announced := announced(t, socket, c)
		if found, ok := l.Find([]byte(announced)); ok {
			t.Errorf("%q: announced: %s", p.Names, found)
		}
		if found, ok := l.Find([]byte(log.take())); ok {
			t.Errorf("%q: logged: %s", p.Names, found)
		}
	}
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
