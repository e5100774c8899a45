// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

// podInput is what a test reads of the input of the module.
type podInput struct {
	Name           string
	Containers     []podContainer
	InitContainers []podContainer
	Volumes        []struct {
		Name      string
		ConfigMap struct {
			Name  string
			Items []volumeItem
		}
		Secret struct {
			SecretName string
			Items      []volumeItem
		}
	}
	Configs map[string]struct {
		Data       map[string]string
		BinaryData map[string]string
	}
	Secrets map[string]struct {
		Data []struct {
			SecretKey string
			RemoteRef struct{ Key, Property, Version string }
			SourceRef *struct{ StoreRef struct{ Name, Kind string } }
		}
		Template map[string]string
	}
}

type volumeItem struct {
	Key, Path string
	Mode      *int
}

type podContainer struct {
	Name string
	Env  []struct {
		Name, Value string
		ValueFrom   *struct{ SecretKeyRef struct{ Name, Key string } }
	}
	EnvFrom []struct {
		ConfigMapRef, SecretRef *struct{ Name string }
	}
	VolumeMounts []struct{ Name, MountPath, SubPath string }
}

// seen is what the process of a container sees.
type seen struct{ env, files map[string]string }

// cluster is a cluster in the small: a store of secrets, Secrets, External
// Secrets and the kubelet, as far as environments and files go.
type cluster struct {
	// store has the values of secrets by key, property and version; secrets those
	// of the Secrets of the cluster by name and key.
	store   map[[3]string]string
	secrets map[string]map[string]string
	// kubernetesStore is the name of the store that reads secrets.
	kubernetesStore string
}

// run is what each container sees after the objects of the input are applied.
func (c cluster) run(t *testing.T, input object.Value) map[string]seen {
	t.Helper()
	var in podInput
	require.NoError(t, json.Unmarshal(input.JSON(), &in))
	configs, secrets := map[string]map[string]string{}, map[string]map[string]string{}
	for end, config := range in.Configs {
		data := map[string]string{}
		for k, v := range config.Data {
			data[k] = v
		}
		for k, v := range config.BinaryData {
			raw, err := base64.StdEncoding.DecodeString(v)
			require.NoError(t, err)
			data[k] = string(raw)
		}
		for k := range data {
			require.Regexp(t, `^[-._a-zA-Z0-9]{1,253}$`, k)
		}
		configs[in.Name+"-"+end] = data
	}
	for name, data := range c.secrets {
		secrets[name] = data
	}
	c.sync(t, in, secrets)
	out := map[string]seen{}
	for _, pc := range append(in.Containers, in.InitContainers...) {
		out[pc.Name] = seen{env: kubeletEnv(t, pc, configs, secrets), files: kubeletFiles(t, in, pc, configs, secrets)}
	}
	return out
}

// sync makes Secrets as External Secrets does.
func (c cluster) sync(t *testing.T, in podInput, secrets map[string]map[string]string) {
	t.Helper()
	for end, s := range in.Secrets {
		values := map[string]string{}
		require.NotEmpty(t, s.Data)
		for _, d := range s.Data {
			value, ok := c.store[[3]string{d.RemoteRef.Key, d.RemoteRef.Property, d.RemoteRef.Version}]
			if d.SourceRef != nil {
				require.Equal(t, c.kubernetesStore, d.SourceRef.StoreRef.Name)
				value, ok = c.secrets[d.RemoteRef.Key][d.RemoteRef.Property]
			}
			require.True(t, ok, "%v is in no store", d)
			require.NotContains(t, values, d.SecretKey)
			values[d.SecretKey] = value
		}
		made := map[string]string{}
		for key, source := range s.Template {
			require.Regexp(t, `^[-._a-zA-Z0-9]{1,253}$`, key)
			made[key] = executeTemplate(t, source, values)
		}
		secrets[in.Name+"-"+end] = made
	}
}

// executeTemplate is the engine v2 of External Secrets, with the one function of
// sprig that our templates call.
func executeTemplate(t *testing.T, source string, values map[string]string) string {
	t.Helper()
	replace := func(from, to, s string) string { return strings.ReplaceAll(s, from, to) }
	parsed, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{"replace": replace}).Parse(source)
	require.NoError(t, err, source)
	var b strings.Builder
	require.NoError(t, parsed.Execute(&b, values), source)
	return b.String()
}

// kubeletEnv is the environment of a container as the kubelet makes it.
func kubeletEnv(t *testing.T, pc podContainer, configs, secrets map[string]map[string]string) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, from := range pc.EnvFrom {
		data, ok := map[string]string(nil), false
		if from.ConfigMapRef != nil {
			data, ok = configs[from.ConfigMapRef.Name]
		} else {
			data, ok = secrets[from.SecretRef.Name]
		}
		require.True(t, ok, "no object for %v", from)
		for k, v := range data {
			env[k] = v
		}
	}
	names := map[string]bool{}
	for _, e := range pc.Env {
		require.False(t, names[e.Name], "%q is twice in env", e.Name)
		names[e.Name] = true
		if e.ValueFrom != nil {
			ref := e.ValueFrom.SecretKeyRef
			require.Contains(t, secrets, ref.Name)
			require.Contains(t, secrets[ref.Name], ref.Key)
			env[e.Name] = secrets[ref.Name][ref.Key]
			continue
		}
		env[e.Name] = kubernetesExpand(e.Value, func(name string) (string, bool) {
			v, ok := env[name]
			return v, ok
		})
	}
	return env
}

// kubernetesExpand expands the value of an item of env, one byte after another.
func kubernetesExpand(s string, value func(name string) (string, bool)) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		end := strings.IndexByte(s[i:], ')')
		switch {
		case s[i] == '(' && end > 0:
			name := s[i+1 : i+end]
			if v, ok := value(name); ok {
				out.WriteString(v)
			} else {
				out.WriteString("$(" + name + ")")
			}
			i += end
		case s[i] == '$':
			out.WriteByte('$')
		default:
			out.WriteString("$" + s[i:i+1])
		}
	}
	return out.String()
}

// kubeletFiles is the files that a container mounts.
func kubeletFiles(t *testing.T, in podInput, pc podContainer, configs, secrets map[string]map[string]string) map[string]string {
	t.Helper()
	volumes := map[string]map[string]string{}
	for _, v := range in.Volumes {
		require.NotContains(t, volumes, v.Name)
		data, items := configs[v.ConfigMap.Name], v.ConfigMap.Items
		if v.Secret.SecretName != "" {
			data, items = secrets[v.Secret.SecretName], v.Secret.Items
		}
		volumes[v.Name] = map[string]string{}
		for _, item := range items {
			require.Contains(t, data, item.Key)
			require.NotContains(t, volumes[v.Name], item.Path)
			volumes[v.Name][item.Path] = data[item.Key]
		}
	}
	files := map[string]string{}
	for _, m := range pc.VolumeMounts {
		require.Contains(t, volumes, m.Name)
		if content, ok := volumes[m.Name][m.SubPath]; ok {
			require.NotContains(t, files, m.MountPath)
			files[m.MountPath] = content
		}
	}
	return files
}
