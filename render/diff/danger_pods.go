// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/ropewalk/ropewalk/render/object"
)

// hostPowers returns the access that the pods of an object have to their node.
func hostPowers(o object.Object) (out []string) {
	if o == nil {
		return nil
	}
	spec := podSpec(o)

	// The pod has namespaces and folders of the node.
	for _, name := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if spec[name] == true {
			out = append(out, name)
		}
	}
	for _, v := range list(spec["volumes"]) {
		m, _ := v.(map[string]any)
		if p, ok := m["hostPath"].(map[string]any); ok {
			out = append(out, fmt.Sprint("the path ", p["path"], " of the node"))
		}
	}

	// Its containers have privileges and capabilities.
	for _, field := range []string{"initContainers", "containers"} {
		for _, c := range list(spec[field]) {
			m, _ := c.(map[string]any)
			security, _ := m["securityContext"].(map[string]any)
			if security["privileged"] == true {
				out = append(out, fmt.Sprint("a privileged container ", m["name"]))
			}
			capabilities, _ := security["capabilities"].(map[string]any)
			for _, c := range texts(capabilities["add"]) {
				if slices.Contains([]string{"ALL", "SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE"}, c) {
					out = append(out, "the capability "+c)
				}
			}
		}
	}
	return out
}

// podSpec returns the spec of the pods of an object, or nil if it has no pods.
func podSpec(o object.Object) map[string]any {
	switch o.Ref().GroupKind() {
	case "Pod":
		return o.Map("spec")
	case "CronJob.batch":
		return o.Map("spec", "jobTemplate", "spec", "template", "spec")
	}
	return o.Map("spec", "template", "spec")
}

// containers returns all containers of an object, init containers first.
func containers(o object.Object) (out []map[string]any) {
	if o == nil {
		return nil
	}
	spec := podSpec(o)
	for _, field := range []string{"initContainers", "containers"} {
		for _, c := range list(spec[field]) {
			if m, ok := c.(map[string]any); ok {
				out = append(out, m)
			}
		}
	}
	return out
}

// images returns the images of an object that have a tag that moves, and those that go back. The
// argument before is nil if the object is new.
func images(before, after object.Object) (out []Danger) {
	old := map[string]string{}
	for _, c := range containers(before) {
		old[keyOf(c, "name")], _ = c["image"].(string)
	}
	for _, c := range containers(after) {
		image, _ := c["image"].(string)
		container := keyOf(c, "name")
		was, existed := old[container]
		if image == was {
			continue
		}

		// Without a digest, the image can change behind its tag.
		name, tag, digest := imageParts(image)
		oldName, oldTag, oldDigest := imageParts(was)
		switch {
		case digest != "":
		case oldDigest != "":
			out = append(out, danger(DangerImage,
				"the image of container %s is no longer pinned by a digest: %s can be moved to another image", container, image))
		case floats(tag):
			out = append(out, danger(DangerImage,
				"the image of container %s is %s, whose tag is moved from release to release: pin it by a version or a digest",
				container, image))
		}
		if existed && name == oldName && earlier(tag, oldTag) {
			out = append(out, danger(DangerImage, "the image of container %s goes back from %s to %s", container, oldTag, tag))
		}
	}
	return out
}

// imageParts returns the name of an image, its tag and its digest, which are "" if they are
// missing.
func imageParts(image string) (name, tag, digest string) {
	name, digest, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, tag = name[:i], name[i+1:]
	}
	return name, tag, digest
}

// floats reports whether a tag usually moves from release to release.
func floats(tag string) bool {
	return slices.Contains([]string{"", "latest", "stable", "main", "master", "dev", "edge", "nightly", "canary"}, tag)
}

// earlier reports whether both tags are versions, and one is earlier than the other.
func earlier(tag, than string) bool {
	v, err := utilversion.ParseGeneric(tag)
	w, errThan := utilversion.ParseGeneric(than)
	return err == nil && errThan == nil && v.LessThan(w)
}

// unused returns the Secrets and the claims that the pods of an object used before and use no
// more, and the keys that an ExternalSecret wrote.
func unused(before, after object.Object) []Danger {
	out := added(claims(after), claims(before), DangerData,
		"its pods no longer mount the PersistentVolumeClaim %s, and no longer see its data")
	places, names := map[string]bool{}, map[string]bool{}
	for _, is := range secrets(after) {
		places[is.place], names[is.text] = true, true
	}
	for _, was := range secrets(before) {
		// A Secret that is replaced by another Secret is a change like any other.
		if !places[was.place] && !names[was.text] {
			out = append(out, danger(DangerSecret, "its pods no longer use %s", was.text))
		}
	}
	keys := added(externalKeys(after), externalKeys(before), DangerSecret, "the key %s is no longer in the Secret that it makes")
	return append(out, keys...)
}

// claims returns the claims that the pods of an object mount.
func claims(o object.Object) (out []string) {
	for _, v := range list(podSpec(o)["volumes"]) {
		m, _ := v.(map[string]any)
		claim, _ := m["persistentVolumeClaim"].(map[string]any)
		if name, _ := claim["claimName"].(string); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// secretRef is a Secret, or a key of a Secret, and the place of the pods that refers to it.
type secretRef struct{ place, text string }

// secrets returns the Secrets that the pods of an object refer to, each once.
func secrets(o object.Object) (out []secretRef) {
	// A reference to a key counts apart from a reference to the complete Secret.
	seen := map[string]bool{}
	add := func(ref any, name, place string) {
		m, _ := ref.(map[string]any)
		text, _ := m[name].(string)
		if text == "" {
			return
		}
		text = "the Secret " + text
		if key, _ := m["key"].(string); key != "" {
			text = "the key " + key + " of " + text
		}
		if !seen[text] {
			seen[text] = true
			out = append(out, secretRef{place, text})
		}
	}

	// Containers read Secrets into their environment.
	for _, c := range containers(o) {
		for _, e := range list(c["env"]) {
			m, _ := e.(map[string]any)
			from, _ := m["valueFrom"].(map[string]any)
			add(from["secretKeyRef"], "name", keyOf(c, "name")+"/"+keyOf(m, "name"))
		}
		for i, e := range list(c["envFrom"]) {
			m, _ := e.(map[string]any)
			add(m["secretRef"], "name", keyOf(c, "name")+"["+number(i)+"]")
		}
	}

	// Pods mount Secrets, and pull images with them.
	spec := podSpec(o)
	for _, v := range list(spec["volumes"]) {
		m, _ := v.(map[string]any)
		add(m["secret"], "secretName", "volume "+keyOf(m, "name"))
		projected, _ := m["projected"].(map[string]any)
		for i, s := range list(projected["sources"]) {
			m, _ := s.(map[string]any)
			add(m["secret"], "name", "volume "+keyOf(v, "name")+"["+number(i)+"]")
		}
	}
	for i, s := range list(spec["imagePullSecrets"]) {
		add(s, "name", "pull "+number(i))
	}
	return out
}

// madeSecret returns the name of the Secret that an ExternalSecret or a SealedSecret makes.
func madeSecret(o object.Object) string {
	if name := o.Text("spec", "target", "name"); name != "" {
		return name
	}
	return o.Name()
}

// externalKeys returns the keys that an ExternalSecret lists.
func externalKeys(o object.Object) (out []string) {
	if o.Kind() != "ExternalSecret" {
		return nil
	}
	for _, d := range o.List("spec", "data") {
		m, _ := d.(map[string]any)
		if key, _ := m["secretKey"].(string); key != "" {
			out = append(out, key)
		}
	}
	return out
}
