// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// defaultSize is that of a claim for a volume that names no size: volumes of Docker have
// none.
const defaultSize = "1Gi"

// volumes sets the mounts of a service and the resources that they need.
func (s *service) volumes() {
	for _, v := range s.get("volumes").items() {
		v.only("type", "source", "target", "read_only", "consistency", "bind", "volume", "tmpfs", "image")
		target := v.get("target").text()
		switch kind := v.get("type"); kind.text() {
		case "bind":
			s.bind(v, target)
		case "tmpfs":
			s.scratch(v, target, "Memory", v.at("tmpfs", "size").bytes())
		case "volume", "":
			if source := v.get("source"); source.given() {
				s.claim(v, source, target)
			} else {
				s.scratch(v, target, "", object.Value{})
			}
		default:
			kind.fail("", "a mount of type %q has no counterpart", kind.Text)
		}
	}
	for _, t := range s.get("tmpfs").items() {
		target, options, _ := strings.Cut(t.text(), ":")
		size := object.Value{}
		for option := range strings.SplitSeq(options, ",") {
			if n, ok := strings.CutPrefix(option, "size="); ok {
				size = part{t.reading, text(n, t.Pos), t.path}.bytes()
			}
		}
		s.scratch(t, target, "Memory", size)
	}
	if p := s.get("shm_size"); p.given() {
		s.scratch(p, "/dev/shm", "Memory", p.bytes())
	}
	s.configs()
	s.secrets()
}

// bind is a mount of a path of the host. That of a file of the project that is only read
// becomes a file of the workload.
func (s *service) bind(v part, target string) {
	source := v.get("source")
	name := source.text()
	at := source
	at.Pos = v.Pos
	switch {
	case path.IsAbs(name) || strings.HasPrefix(name, "~") || strings.Contains(name, `\`):
		at.fail("use a named volume, a config, or put it into the image", "a mount of the path %q of a host has no counterpart: pods have no host of their own", name)
	case !v.get("read_only").flag():
		at.fail("put it into the image, use a named volume, or write "+name+":"+target+":ro for a file that is only read", "a mount of the folder or file %q of the project cannot be written from a pod", name)
	default:
		if _, err := s.project.Read(name); err != nil {
			at.fail("put a folder into the image, or mount its files one by one", "%q: %v", name, err)
			return
		}
		s.file(v, target, fields{{Name: "source", Pos: v.Pos, Value: text(name, v.Pos)}}, part{})
	}
}

// file adds a file to the container.
func (s *service) file(at part, target string, content fields, mode part) {
	if mode.given() {
		const octal = 8
		n, err := strconv.ParseInt(cmp.Or(mode.Text, "0"), 10, 16)
		if mode.Kind == object.KindString {
			n, err = strconv.ParseInt(mode.Text, octal, 16)
		}
		if err != nil || n < 0 || n > 0o777 {
			mode.fail("write 0444, or the mode that it is", "expected a file mode, from 0 to 0777")
		} else {
			content.put("mode", text("0"+leftPad(strconv.FormatInt(n, octal)), mode.Pos))
		}
	}
	content.put("noExpand", boolean(true, at.Pos))
	s.files = append(s.files, object.Member{Name: target, Pos: at.Pos, Value: content.value(at.Pos)})
}

func leftPad(digits string) string { return strings.Repeat("0", max(0, 3-len(digits))) + digits }

// mount mounts a resource of type volume, of which sub is the part that is meant. The
// resource is called as the author called it; of two whose labels are one, the second gets a
// hash.
func (s *service) mount(at part, called, target, sub string, readOnly bool, resource object.Value) {
	name := label(called)
	if other, taken := s.called[name]; taken && other != called {
		name = label(called + "-" + object.ShortHash(called))
	}
	if _, known := s.called[name]; !known {
		s.called[name] = called
		s.resources.put(name, resource)
	}
	var f fields
	f.put("source", text("${resources."+name+"}", at.Pos))
	if sub != "" {
		f.put("path", text(sub, at.Pos))
	}
	if readOnly {
		f.put("readOnly", boolean(true, at.Pos))
	}
	s.mounted = append(s.mounted, object.Member{Name: target, Pos: at.Pos, Value: f.value(at.Pos)})
}

// scratch mounts space that lives as long as the pod.
func (s *service) scratch(at part, target, medium string, limit object.Value) {
	var params fields
	if medium != "" {
		params.put("medium", text(medium, at.Pos))
	}
	params.put("sizeLimit", limit)
	s.mount(at, "scratch-"+strings.Trim(target, "/"), target, "", false,
		pairs(at.Pos, "type", text("volume", at.Pos), "params", params.value(at.Pos)))
}

// claim mounts a named volume: a claim of each replica, one for all services that mount it,
// or one that is there already.
func (s *service) claim(at, source part, target string) {
	name := source.text()
	all := s.app.root.get("volumes")
	if !all.has(name) {
		source.Pos = at.Pos
		source.fail("declare it under volumes", "there is no volume %q", name)
		return
	}
	v := all.get(name)
	v.only("name", "external", "driver", "driver_opts", "labels")
	sub := strings.TrimPrefix(at.at("volume", "subpath").text(), "/")
	readOnly := at.get("read_only").flag()
	resource := fields{{Name: "type", Pos: v.Pos, Value: text("volume", v.Pos)}}
	if external := v.get("external"); external.Kind == object.KindMap || external.flag() {
		claim := cmp.Or(v.get("name").text(), external.get("name").text(), name)
		resource.put("params", pairs(v.Pos, "claimName", text(claim, v.Pos)))
		s.mount(at, name, target, sub, readOnly, resource.value(v.Pos))
		return
	}
	users := s.app.mounts[name]
	if len(users) > 1 {
		id := strings.Trim(s.app.root.app+"-"+name, "-")
		for _, other := range memberNames(all) {
			if other < name && label(other) == label(name) {
				id += "-" + object.ShortHash(name)
				break
			}
		}
		resource.put("id", text(label(id), v.Pos))
	}
	if users[0] == s {
		v.checkDriver(len(users))
	}
	if n, _ := s.scale().integer(0); n > 1 && len(users) == 1 {
		source.Pos = at.Pos
		source.warn("", "each of the %d replicas has a claim of its own: in Compose they share one volume", n)
	}
	params := v.get("x-ropewalk").Value
	if params.Kind != object.KindMap {
		params = object.Value{Kind: object.KindMap, Pos: v.Pos}
	}
	if _, ok := params.Get("size"); !ok {
		params = pairs(v.Pos, "size", v.size(s, users[0] == s)).Merge(params)
	}
	if class := cmp.Or(s.kompose["volume.storage-class-name"].Text, v.at("labels", "kompose.volume.storage-class-name").Text); class != "" {
		params = pairs(v.Pos, "storageClass", text(class, v.Pos)).Merge(params)
	}
	resource.put("params", params)
	s.mount(at, name, target, sub, readOnly, resource.value(v.Pos))
}

// size is that of the claim of a volume; first is set for the first service that mounts it.
func (v part) size(s *service, first bool) object.Value {
	if size, ok := s.kompose["volume.size"]; ok {
		return text(size.text(), size.Pos)
	}
	for _, at := range []part{v.at("labels", "kompose.volume.size"), v.at("driver_opts", "size")} {
		if at.given() {
			return text(at.text(), at.Pos)
		}
	}
	if first {
		v.warn("write x-ropewalk: {size: 10Gi}", "the volume names no size: its claim asks for "+defaultSize)
	}
	return text(defaultSize, v.Pos)
}

// checkDriver reports drivers that lead to a place of a host or of a network.
func (v part) checkDriver(users int) {
	if users > 1 {
		v.warn("write x-ropewalk: {storageClass: …} for a class that allows it", "%d services mount the volume: its claim asks for ReadWriteMany", users)
	}
	driver, options := v.get("driver"), v.get("driver_opts")
	if driver.given() && driver.text() != "local" {
		driver.fail("remove it, and write x-ropewalk: {storageClass: …}", "drivers of Docker have no counterpart: %q", driver.Text)
	}
	if device := options.get("device"); device.given() {
		device.fail("write external: true and name for a claim that is there", "a volume of the device %q has no counterpart", device.text())
	}
}

// granted is the config or secret that an item of a service names, with its target.
func (s *service) granted(p part, kind, folder string) (of part, name, target string) {
	p.only("source", "target", "uid", "gid", "mode")
	name = p.get("source").text()
	all := s.app.root.get(kind)
	if !all.has(name) {
		at := p.get("source")
		at.fail(object.Suggest(name, memberNames(all)), "there is no %s %q", strings.TrimSuffix(kind, "s"), name)
		return part{}, name, ""
	}
	target = cmp.Or(p.get("target").text(), name)
	if !path.IsAbs(target) {
		target = path.Join(folder, target)
	}
	for _, owner := range []string{"uid", "gid"} {
		if at := p.get(owner); at.given() {
			at.warn("", "the owner of a file has no meaning in Kubernetes: files belong to root and are readable")
		}
	}
	return all.get(name), name, target
}

func memberNames(p part) []string {
	var out []string
	for _, m := range p.Members {
		out = append(out, m.Name)
	}
	return out
}

// configs sets the files of configs: with their content, from the project, or in a
// ConfigMap that is there already.
func (s *service) configs() {
	for _, p := range s.get("configs").items() {
		c, name, target := s.granted(p, "configs", "/")
		if !c.given() {
			continue
		}
		c.only("name", "external", "file", "content", "environment", "labels", "template_driver")
		switch file, content, variable := c.get("file"), c.get("content"), c.get("environment"); {
		case c.get("external").given():
			s.existing(p, c, name, target, "configMap")
		case file.given():
			s.file(p, target, fields{{Name: "source", Pos: file.Pos, Value: file.Value}}, p.get("mode"))
		case variable.given():
			value, ok := s.scope.get(variable.text())
			if !ok {
				variable.missing(variable.Text)
			}
			s.file(p, target, fields{{Name: "content", Pos: variable.Pos, Value: text(value, variable.Pos)}}, p.get("mode"))
		default:
			s.file(p, target, fields{{Name: "content", Pos: content.Pos, Value: text(content.text(), content.Pos)}}, p.get("mode"))
		}
	}
}

// secrets sets the mounts of secrets. Their values are never read: each is a key of a
// Secret that is there already.
func (s *service) secrets() {
	for _, p := range s.get("secrets").items() {
		c, name, target := s.granted(p, "secrets", "/run/secrets")
		if !c.given() {
			continue
		}
		c.only("name", "external", "file", "environment", "labels", "driver", "driver_opts", "template_driver")
		if c.get("external").given() || c.get("x-ropewalk").given() {
			s.existing(p, c, name, target, "secret")
			continue
		}
		c.fail("write external: true, and name for the Secret that holds it under the key "+strconv.Quote(name)+"; or a provider under x-ropewalk of the service",
			"a secret from a file or a variable would be in the render")
	}
}

// existing mounts one key of a Secret or ConfigMap that is there already: name and key
// stand in x-ropewalk, or they are those of Compose.
func (s *service) existing(p, c part, name, target, kind string) {
	x := c.get("x-ropewalk")
	x.only("name", "key")
	called := cmp.Or(x.get("name").text(), c.get("name").text(), c.at("external", "name").text(), name)
	if label(called) != called {
		c.fail("write x-ropewalk: {name: "+label(called)+", key: "+name+"}, or the one that it is", "%q is not the name of an object of Kubernetes", called)
	}
	s.mount(p, kind+"-"+name, target, cmp.Or(x.get("key").text(), name), true, pairs(c.Pos, "type", text("volume", c.Pos),
		"params", pairs(c.Pos, kind+"Name", text(called, c.Pos))))
}
