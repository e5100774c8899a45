// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// cluster is a cluster in the small: what was applied, and what External Secrets
// made of it.
type cluster struct {
	// store and kubernetesStore are the names of the stores that there are.
	store, kubernetesStore string
	// configs and secrets are data by "namespace/name". A Secret that nobody made
	// here is there with a canary behind each key.
	configs, secrets map[string]map[string]string
	// pods are the pod specs by "namespace/name" of the workload.
	pods map[string]podSpec
	// objects is everything, to look into.
	objects []map[string]any
}

// podSpec is what is read of the spec of a pod.
type podSpec struct {
	Containers     []podContainer `yaml:"containers"`
	InitContainers []podContainer `yaml:"initContainers"`
	Volumes        []struct {
		Name      string
		ConfigMap *struct {
			Name  string
			Items []volumeItem
		} `yaml:"configMap"`
		Secret *struct {
			SecretName string `yaml:"secretName"`
			Items      []volumeItem
		}
	}
}

type volumeItem struct {
	Key, Path string
	Mode      *int
}

type podContainer struct {
	Name          string
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   *struct {
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	EnvFrom []struct {
		ConfigMapRef *struct{ Name string } `yaml:"configMapRef"`
		SecretRef    *struct{ Name string } `yaml:"secretRef"`
	} `yaml:"envFrom"`
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
		SubPath   string `yaml:"subPath"`
	} `yaml:"volumeMounts"`
}

// manifest is what is read of an object.
type manifest struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     yaml.Node
	Binary   map[string]string `yaml:"binaryData"`
	Spec     yaml.Node
}

// apply adds the objects of a file.
func (c *cluster) apply(data []byte) error {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return err
	}
	var m manifest
	var all map[string]any
	if err := errors.Join(document.Decode(&m), document.Decode(&all)); err != nil {
		return err
	}
	c.objects = append(c.objects, all)
	at := m.Metadata.Namespace + "/" + m.Metadata.Name
	switch m.Kind {
	case "ConfigMap":
		config := map[string]string{}
		if !m.Data.IsZero() {
			if err := m.Data.Decode(&config); err != nil {
				return err
			}
		}
		for k, v := range m.Binary {
			raw, err := base64.StdEncoding.DecodeString(v)
			if err != nil {
				return err
			}
			config[k] = string(raw)
		}
		c.configs[at] = config
	case "Secret":
		return fmt.Errorf("%s: a Secret with its values was rendered", at)
	case "ExternalSecret":
		return c.sync(m)
	case "Deployment", "StatefulSet", "Job":
		var spec struct{ Template struct{ Spec podSpec } }
		err := m.Spec.Decode(&spec)
		c.pods[at] = spec.Template.Spec
		return err
	case "CronJob":
		var spec struct {
			JobTemplate struct {
				Spec struct{ Template struct{ Spec podSpec } }
			} `yaml:"jobTemplate"`
		}
		err := m.Spec.Decode(&spec)
		c.pods[at] = spec.JobTemplate.Spec.Template.Spec
		return err
	}
	return nil
}

// externalSecret is the spec of an ExternalSecret
// (external-secrets.io/v1, ExternalSecretSpec).
type externalSecret struct {
	SecretStoreRef struct{ Name, Kind string } `yaml:"secretStoreRef"`
	Target         struct {
		Name     string
		Template *struct {
			EngineVersion string `yaml:"engineVersion"`
			Data          map[string]string
		}
	}
	Data []struct {
		SecretKey string                                  `yaml:"secretKey"`
		RemoteRef struct{ Key, Property, Version string } `yaml:"remoteRef"`
		SourceRef *struct {
			StoreRef struct{ Name, Kind string } `yaml:"storeRef"`
		} `yaml:"sourceRef"`
	}
}

// sync makes a Secret as External Secrets does.
func (c *cluster) sync(m manifest) error {
	var spec externalSecret
	if err := m.Spec.Decode(&spec); err != nil {
		return err
	}
	at := m.Metadata.Namespace + "/" + m.Metadata.Name
	values := map[string]string{}
	for _, d := range spec.Data {
		store, from := inEnvironment, spec.SecretStoreRef.Name
		if d.SourceRef != nil {
			store, from = inCluster, d.SourceRef.StoreRef.Name
		}
		if store == inEnvironment && from != c.store || store == inCluster && (from == "" || from != c.kubernetesStore) {
			return fmt.Errorf("%s reads from the store %q", at, from)
		}
		if _, twice := values[d.SecretKey]; twice {
			return fmt.Errorf("%s: two secrets are called %q", at, d.SecretKey)
		}
		values[d.SecretKey] = canary(store, d.RemoteRef.Key, d.RemoteRef.Property, d.RemoteRef.Version)
	}
	if spec.Target.Name != "" {
		at = m.Metadata.Namespace + "/" + spec.Target.Name
	}
	c.secrets[at] = values
	if spec.Target.Template == nil {
		return nil
	}
	if spec.Target.Template.EngineVersion != "v2" {
		return fmt.Errorf("%s: engine %q", at, spec.Target.Template.EngineVersion)
	}
	c.secrets[at] = map[string]string{}
	for key, source := range spec.Target.Template.Data {
		text, err := execute(source, values)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		c.secrets[at][key] = text
	}
	return nil
}

// execute is the engine v2 of External Secrets, with what it takes of sprig.
func execute(source string, values map[string]string) (string, error) {
	replace := func(from, to, s string) string { return strings.ReplaceAll(s, from, to) }
	functions := template.FuncMap{"replace": replace, "urlquery": url.QueryEscape}
	parsed, err := template.New("").Option("missingkey=error").Funcs(functions).Parse(source)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = parsed.Execute(&b, values)
	return b.String(), err
}

// secret is the value behind a key of a Secret.
func (c *cluster) secret(namespace, name, key string) (string, error) {
	made, ok := c.secrets[namespace+"/"+name]
	if !ok {
		return canary(inCluster, name, key, ""), nil
	}
	v, ok := made[key]
	if !ok {
		return "", fmt.Errorf("the Secret %s has no key %q", name, key)
	}
	return v, nil
}

// environment is what the kubelet gives to the process.
func (c *cluster) environment(namespace string, pc podContainer) (map[string]string, error) {
	env := map[string]string{}
	for _, from := range pc.EnvFrom {
		var data map[string]string
		ok := false
		switch {
		case from.ConfigMapRef != nil:
			data, ok = c.configs[namespace+"/"+from.ConfigMapRef.Name]
		case from.SecretRef != nil:
			data, ok = c.secrets[namespace+"/"+from.SecretRef.Name]
		}
		if !ok {
			return nil, fmt.Errorf("container %s: envFrom names what is not there", pc.Name)
		}
		for k, v := range data {
			env[k] = v
		}
	}
	for _, e := range pc.Env {
		if e.ValueFrom == nil {
			env[e.Name] = expand(e.Value, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
			continue
		}
		v, err := c.secret(namespace, e.ValueFrom.SecretKeyRef.Name, e.ValueFrom.SecretKeyRef.Key)
		if err != nil {
			return nil, fmt.Errorf("container %s, %s: %w", pc.Name, e.Name, err)
		}
		env[e.Name] = v
	}
	return env, nil
}

// seenFile is a file in a container.
type seenFile struct {
	content string
	mode    int
}

// defaultMode is that of files of ConfigMaps and Secrets.
const defaultMode = 0o644

// files are those that the kubelet puts into a container, by path.
func (c *cluster) files(namespace string, spec podSpec, pc podContainer) (map[string]seenFile, error) {
	volumes := map[string]map[string]seenFile{}
	for _, v := range spec.Volumes {
		var items []volumeItem
		read := func(string) (string, error) { return "", nil }
		switch {
		case v.ConfigMap != nil:
			items = v.ConfigMap.Items
			read = func(key string) (string, error) {
				text, ok := c.configs[namespace+"/"+v.ConfigMap.Name][key]
				if !ok {
					return "", fmt.Errorf("the ConfigMap %s has no key %q", v.ConfigMap.Name, key)
				}
				return text, nil
			}
		case v.Secret != nil:
			items = v.Secret.Items
			read = func(key string) (string, error) { return c.secret(namespace, v.Secret.SecretName, key) }
		}
		volumes[v.Name] = map[string]seenFile{}
		for _, item := range items {
			text, err := read(item.Key)
			if err != nil {
				return nil, err
			}
			f := seenFile{text, defaultMode}
			if item.Mode != nil {
				f.mode = *item.Mode
			}
			volumes[v.Name][item.Path] = f
		}
	}
	out := map[string]seenFile{}
	for _, m := range pc.VolumeMounts {
		volume, ok := volumes[m.Name]
		if !ok {
			continue // a claim of each replica
		}
		if f, ok := volume[m.SubPath]; ok {
			out[path.Clean(m.MountPath)] = f
		} else if len(volume) > 0 {
			return nil, fmt.Errorf("container %s mounts %q of %s, which is not there", pc.Name, m.SubPath, m.Name)
		}
	}
	return out, nil
}

// expand is how Kubernetes reads the value of an item of env, and command and
// args: $(NAME) is a variable where there is one, $$ is $.
func expand(s string, value func(name string) (string, bool)) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		end := strings.IndexByte(s[i:], ')')
		switch {
		case s[i] == '$':
			b.WriteByte('$')
		case s[i] == '(' && end > 0:
			name := s[i+1 : i+end]
			v, ok := value(name)
			if !ok {
				v = "$(" + name + ")"
			}
			b.WriteString(v)
			i += end
		default:
			b.WriteString("$" + s[i:i+1])
		}
	}
	return b.String()
}
