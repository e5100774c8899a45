// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/builder"
)

// defaultSize is that of a claim for a volume that names no size: volumes of Docker have
// none.
const defaultSize = "1Gi"

// mountVolumes sets the mounts of a service and the resources that they need.
func (s *service) mountVolumes() {
	for _, v := range s.List("volumes") {
		target := v.At("target").Written()
		switch kind := v.At("type"); kind.Written() {
		case "bind":
			s.mountPath(v, target)
		case "tmpfs":
			s.mountScratch(v, target, "Memory", bytes(v.At("tmpfs", "size")))
		case "volume", "":
			if source := v.At("source"); source.Given() {
				s.mountNamed(v, source, target)
			} else {
				s.mountScratch(v, target, "", object.Value{})
			}
		default:
			kind.Fail("", "a mount of type %q has no counterpart", kind.Text)
		}
	}

	// Short forms of mounts that live in memory.
	for _, t := range s.List("tmpfs") {
		target, options, _ := strings.Cut(t.Written(), ":")
		size := object.Value{}
		for option := range strings.SplitSeq(options, ",") {
			n, sized := strings.CutPrefix(option, "size=")
			if option != "" && !sized && !strings.HasPrefix(option, "mode=") {
				t.Warn("remove it", "the option %q of a tmpfs has no counterpart", option)
			}
			if sized {
				t.Value = object.TextAt(n, t.Pos)
				size = bytes(t)
			}
		}
		s.mountScratch(t, target, "Memory", size)
	}
	if p := s.At("shm_size"); p.Given() {
		s.mountScratch(p, "/dev/shm", "Memory", bytes(p))
	}

	// Configs and secrets are mounts too.
	s.mountConfigs()
	s.mountSecrets()
}

// addFile adds a file to the container.
func (s *service) addFile(at document.Part, target string, content builder.Fields, mode document.Part) {
	if mode.Given() {
		const octal = 8
		n, err := strconv.ParseInt(cmp.Or(mode.Text, "0"), 10, 16)
		if mode.Kind == object.KindString {
			n, err = strconv.ParseInt(mode.Text, octal, 16)
		}
		if err != nil || n < 0 || n > 0o777 {
			mode.Fail("write 0444, or the mode that it is", "expected a file mode, from 0 to 0777")
		} else {
			content.Put("mode", object.TextAt("0"+leftPad(strconv.FormatInt(n, octal)), mode.Pos))
		}
	}
	content.Put("noExpand", object.BoolAt(true, at.Pos))
	s.files = append(s.files, object.Member{Name: target, Pos: at.Pos, Value: content.Value(at.Pos)})
}

func leftPad(digits string) string { return strings.Repeat("0", max(0, 3-len(digits))) + digits }

// mount mounts a resource of type volume, or the part of it that sub names. The resource has the
// name that the author gave it. The second of two with one label gets a hash.
func (s *service) mount(at document.Part, called, target, sub string, readOnly bool, resource object.Value) {
	name := builder.Label(called)
	if other, taken := s.called[name]; taken && other != called {
		name = builder.Label(called + "-" + object.ShortHash(called))
	}
	if _, known := s.called[name]; !known {
		s.called[name] = called
		s.resources.Put(name, resource)
	}
	var f builder.Fields
	f.Put("source", object.TextAt("${resources."+name+"}", at.Pos))
	if sub != "" {
		f.Put("path", object.TextAt(sub, at.Pos))
	}
	if readOnly {
		f.Put("readOnly", object.BoolAt(true, at.Pos))
	}
	s.mounted = append(s.mounted, object.Member{Name: target, Pos: at.Pos, Value: f.Value(at.Pos)})
}

// mountScratch mounts space that lives as long as the pod.
func (s *service) mountScratch(at document.Part, target, medium string, limit object.Value) {
	var params builder.Fields
	if medium != "" {
		params.Put("medium", object.TextAt(medium, at.Pos))
	}
	params.Put("sizeLimit", limit)
	s.mount(at, "scratch-"+strings.Trim(target, "/"), target, "", false,
		builder.Pairs(at.Pos, "type", object.TextAt("volume", at.Pos), "params", params.Value(at.Pos)))
}

// mountNamed mounts a named volume: a claim of each replica, one for all services that mount it,
// or one that exists already.
func (s *service) mountNamed(at, source document.Part, target string) {
	name := source.Written()
	all := s.app.root.At("volumes")
	if !all.Has(name) {
		source.Pos = at.Pos
		reportUndeclared(all, source, name, "declare it under volumes", "volume")
		return
	}

	// A claim that exists already has a name of its own.
	v := all.At(name)
	sub := strings.TrimPrefix(at.At("volume", "subpath").Written(), "/")
	if external := v.At("external"); isExternal(v) {
		claim := cmp.Or(v.At("name").Written(), external.At("name").Written(), name)
		if plain := strings.ReplaceAll(claim, ".", "-"); builder.Label(plain) != plain {
			v.Fail("write name: "+builder.Label(claim)+", or the one that it has", "Kubernetes has no PersistentVolumeClaim %q: this is not the name of an object", claim)
		}
		s.mount(at, name, target, sub, at.Flag("read_only"), builder.Pairs(v.Pos, "type", object.TextAt("volume", v.Pos), "params",
			builder.Pairs(v.Pos, "claimName", object.TextAt(claim, v.Pos))))
		return
	}

	// Any other claim has a size, and perhaps a class.
	users := s.app.mounts[mountKey(at)]
	first := users[0] == s
	if first {
		checkDriver(v, len(users))
	}
	params := v.At(extension).Value
	if params.Kind != object.KindMap {
		params = object.Value{Kind: object.KindMap, Pos: v.Pos}
	}
	if _, ok := params.Get("size"); !ok {
		params = builder.Pairs(v.Pos, "size", size(v, s, first)).Merge(params)
	}
	if class := cmp.Or(s.kompose["volume.storage-class-name"].Text, v.At("labels", "kompose.volume.storage-class-name").Text); class != "" {
		params = builder.Pairs(v.Pos, "storageClass", object.TextAt(class, v.Pos)).Merge(params)
	}

	// Two volumes with one label stay two.
	id := name
	for _, other := range all.MemberNames() {
		if other < name && builder.Label(other) == builder.Label(name) {
			id += "-" + object.ShortHash(name)
			break
		}
	}
	s.mountClaim(at, v.Pos, [2]string{name, id}, target, sub, params)
}

// mountClaim mounts a claim with params: one of each replica, or one with an id for all services
// that mount it. A Job, and any other kind without replicas of its own, has one with an id too.
func (s *service) mountClaim(at document.Part, pos object.Pos, names [2]string, target, sub string, params object.Value) {
	users := s.app.mounts[mountKey(at)]
	pods, _ := s.scale().Number()
	resource := builder.Fields{{Name: "type", Pos: pos, Value: object.TextAt("volume", pos)}}
	switch one := s.job || s.hasTemplate(); {
	case len(users) == 1 && !one && pods > 1:
		source := at.At("source")
		source.Pos = at.Pos
		source.Warn("", "each of the %d replicas has a claim of its own: in Compose they share one volume", pods)
	case len(users) == 1 && one && pods < 2: // Without modes a claim with an id is ReadWriteMany.
		params = builder.Pairs(pos, "accessModes", object.ListAt(pos, object.TextAt("ReadWriteOnce", pos))).Merge(params)
		fallthrough
	case len(users) > 1 || one:
		resource.Put("id", object.TextAt(builder.Label(strings.Trim(s.app.app+"-"+names[1], "-")), pos))
	}
	resource.Put("params", params)
	s.mount(at, names[0], target, sub, at.Flag("read_only"), resource.Value(pos))
}

// mountKey returns a key for what a mount leads to: a named volume, or a path of a host.
func mountKey(v document.Part) string {
	source, _ := v.Get("source")
	if kind, _ := v.Get("type"); kind.Text == "bind" {
		return "bind " + source.Written()
	}
	return source.Written()
}

// size returns the size of the claim of a volume. The argument first says whether s is the first
// service that mounts it.
func size(v document.Part, s *service, first bool) object.Value {
	if size, ok := s.kompose["volume.size"]; ok {
		return object.TextAt(size.Written(), size.Pos)
	}
	for _, at := range []document.Part{v.At("labels", "kompose.volume.size"), v.At("driver_opts", "size")} {
		if at.Given() {
			return object.TextAt(at.Written(), at.Pos)
		}
	}
	if first {
		v.Warn("write x-ropewalk: {size: 10Gi}", "the volume names no size: its claim asks for "+defaultSize)
	}
	return object.TextAt(defaultSize, v.Pos)
}

// warnShared warns of a volume that several services mount.
func warnShared(v document.Part, users int) {
	if users > 1 {
		v.Warn("write x-ropewalk: {storageClass: …} for a class that allows it", "%d services mount the volume: its claim asks for ReadWriteMany", users)
	}
}

// checkDriver reports drivers that lead to a place of a host or of a network.
func checkDriver(v document.Part, users int) {
	warnShared(v, users)
	driver, options := v.At("driver"), v.At("driver_opts")
	if driver.Given() && driver.Written() != "local" {
		driver.Fail("remove it, and write x-ropewalk: {storageClass: …}", "drivers of Docker have no counterpart: %q", driver.Text)
	}
	if device := options.At("device"); device.Given() {
		device.Fail("write external: true and name for a claim that is there", "a volume of the device %q has no counterpart", device.Written())
	}
}

// granted returns the config or secret that an item of a service names, with its name and its
// target.
func (s *service) granted(p document.Part, kind, folder string) (of document.Part, name, target string) {
	name = p.At("source").Written()
	all := s.app.root.At(kind)
	if !all.Has(name) {
		reportUndeclared(all, p.At("source"), name, object.Suggest(name, all.MemberNames()), strings.TrimSuffix(kind, "s"))
		return document.Part{}, name, ""
	}
	target = cmp.Or(p.At("target").Written(), name)
	if !path.IsAbs(target) {
		target = path.Join(folder, target)
	}
	for _, owner := range []string{"uid", "gid"} {
		if at := p.At(owner); at.Given() {
			at.Warn("", "the owner of a file has no meaning in Kubernetes: files belong to root and are readable")
		}
	}
	return all.At(name), name, target
}

// mountConfigs sets the files of configs: with their content, from the project, or in a ConfigMap
// that exists already.
func (s *service) mountConfigs() {
	for _, p := range s.List("configs") {
		c, name, target := s.granted(p, "configs", "/")
		if !c.Given() {
			continue
		}
		switch file, content, variable := c.At("file"), c.At("content"), c.At("environment"); {
		case isExternal(c):
			s.mountExisting(p, c, name, target, "configMap")
		case file.Given():
			s.addFile(p, target, builder.Fields{{Name: "source", Pos: file.Pos, Value: file.Value}}, p.At("mode"))
		case variable.Given():
			value, ok := s.app.scope.get(variable.Written())
			if !ok {
				s.app.reportMissing(variable, variable.Text, true)
			}
			s.addFile(p, target, builder.Fields{{Name: "content", Pos: variable.Pos, Value: object.TextAt(value, variable.Pos)}}, p.At("mode"))
		default:
			s.addFile(p, target, builder.Fields{{Name: "content", Pos: content.Pos, Value: object.TextAt(content.Written(), content.Pos)}}, p.At("mode"))
		}
	}
}

// mountSecrets sets the mounts of secrets. Their values are never read: they would be in the
// render.
func (s *service) mountSecrets() {
	for _, p := range s.List("secrets") {
		c, name, target := s.granted(p, "secrets", "/run/secrets")
		switch {
		case !c.Given():
		case s.Known(object.Fields("secrets", name)):
			s.Failed++ // Nothing else is said of it: its lines may hold the value.
		default:
			s.mountExisting(p, c, name, target, "secret")
		}
	}
}

// mountExisting mounts one key of a Secret or ConfigMap that exists already. Name and key stand
// in x-ropewalk, or they are those of Compose. A secret that Compose reads itself is the Secret
// of that name in the cluster.
func (s *service) mountExisting(p, c document.Part, name, target, kind string) {
	x := c.At(extension)
	called := cmp.Or(x.At("name").Written(), c.At("name").Written(), c.At("external", "name").Written(), name)
	if !x.Given() && !isExternal(c) {
		called = builder.Label(called)
		c.Warn("kubectl create secret generic "+called+" --from-file="+name+"="+cmp.Or(c.At("file").Written(), "FILE")+", or write x-ropewalk: {name: …, key: …} for another Secret",
			"the value is not read: it comes from the Secret %q of the cluster, under the key %q", called, name)
	}
	if builder.Label(called) != called {
		c.Fail("write x-ropewalk: {name: "+builder.Label(called)+", key: "+name+"}, or the one that it is", "Kubernetes has no %s %q: this is not the name of an object", map[string]string{"secret": "Secret", "configMap": "ConfigMap"}[kind], called)
	}
	s.mount(p, kind+"-"+name, target, cmp.Or(x.At("key").Written(), name), true, builder.Pairs(c.Pos, "type", object.TextAt("volume", c.Pos),
		"params", builder.Pairs(c.Pos, kind+"Name", object.TextAt(called, c.Pos))))
}
