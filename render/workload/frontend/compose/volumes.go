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

// defaultSize is the size of a claim for a volume without a size: volumes of Docker have no size.
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
func (s *service) addFile(mounted document.Part, target string, content builder.Fields, mode document.Part) {
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
	content.Put("noExpand", object.BoolAt(true, mounted.Pos))
	s.files = append(s.files, object.Member{Name: target, Pos: mounted.Pos, Value: content.Value(mounted.Pos)})
}

func leftPad(digits string) string { return strings.Repeat("0", max(0, 3-len(digits))) + digits }

// mount mounts a resource of type volume, or the part of it that sub names. The resource has the
// name that the author gave it. If two names have one label, the second gets a hash.
func (s *service) mount(mounted document.Part, volume, target, sub string, readOnly bool, resource object.Value) {
	name := builder.Label(volume)
	if existing, taken := s.names[name]; taken && existing != volume {
		name = builder.Label(volume + "-" + object.ShortHash(volume))
	}
	if _, added := s.names[name]; !added {
		s.names[name] = volume
		s.resources.Put(name, resource)
	}
	var f builder.Fields
	f.Put("source", object.TextAt("${resources."+name+"}", mounted.Pos))
	if sub != "" {
		f.Put("path", object.TextAt(sub, mounted.Pos))
	}
	if readOnly {
		f.Put("readOnly", object.BoolAt(true, mounted.Pos))
	}
	s.mounted = append(s.mounted, object.Member{Name: target, Pos: mounted.Pos, Value: f.Value(mounted.Pos)})
}

// mountScratch mounts space that lives as long as the pod.
func (s *service) mountScratch(mounted document.Part, target, medium string, limit object.Value) {
	var params builder.Fields
	if medium != "" {
		params.Put("medium", object.TextAt(medium, mounted.Pos))
	}
	params.Put("sizeLimit", limit)
	s.mount(mounted, "scratch-"+strings.Trim(target, "/"), target, "", false,
		builder.Pairs(mounted.Pos, "type", object.TextAt("volume", mounted.Pos), "params", params.Value(mounted.Pos)))
}

// mountNamed mounts a named volume: a claim of each replica, a claim for all services that mount it,
// or an existing claim.
func (s *service) mountNamed(mounted, source document.Part, target string) {
	name := source.Written()
	declared := s.app.root.At("volumes")
	if !declared.Has(name) {
		source.Pos = mounted.Pos
		reportUndeclared(declared, source, name, "declare it under volumes", "volume")
		return
	}

	// A claim that exists already has a name of its own.
	v := declared.At(name)
	sub := strings.TrimPrefix(mounted.At("volume", "subpath").Written(), "/")
	if external := v.At("external"); isExternal(v) {
		claim := cmp.Or(v.At("name").Written(), external.At("name").Written(), name)
		if plain := strings.ReplaceAll(claim, ".", "-"); builder.Label(plain) != plain {
			v.Fail("write name: "+builder.Label(claim)+", or the one that it has",
				"Kubernetes has no PersistentVolumeClaim %q: this is not the name of an object", claim)
		}
		s.mount(mounted, name, target, sub, mounted.Flag("read_only"), builder.Pairs(v.Pos, "type", object.TextAt("volume", v.Pos), "params",
			builder.Pairs(v.Pos, "claimName", object.TextAt(claim, v.Pos))))
		return
	}

	// Any other claim has a size, and perhaps a class.
	users := s.app.mounts[mountKey(mounted)]
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

	// Two volumes with one label get different ids.
	id := name
	for _, other := range declared.MemberNames() {
		if other < name && builder.Label(other) == builder.Label(name) {
			id += "-" + object.ShortHash(name)
			break
		}
	}
	s.mountClaim(mounted, v.Pos, [2]string{name, id}, target, sub, params)
}

// mountClaim mounts a claim with params: a claim of each replica, or a claim with an id for all
// services that mount it. A Job, and any other kind without claims of its own, has a claim with an id too.
func (s *service) mountClaim(mounted document.Part, pos object.Pos, names [2]string, target, sub string, params object.Value) {
	users := s.app.mounts[mountKey(mounted)]
	pods, _ := s.scale().Number()
	resource := builder.Fields{{Name: "type", Pos: pos, Value: object.TextAt("volume", pos)}}
	switch single := s.job || s.hasTemplate(); {
	case len(users) == 1 && !single && pods > 1:
		source := mounted.At("source")
		source.Pos = mounted.Pos
		source.Warn("", "each of the %d replicas has a claim of its own: in Compose they share one volume", pods)
	case len(users) == 1 && single && pods < 2: // Without modes a claim with an id is ReadWriteMany.
		params = builder.Pairs(pos, "accessModes", object.ListAt(pos, object.TextAt("ReadWriteOnce", pos))).Merge(params)
		fallthrough
	case len(users) > 1 || single:
		resource.Put("id", object.TextAt(builder.Label(strings.Trim(s.app.app+"-"+names[1], "-")), pos))
	}
	resource.Put("params", params)
	s.mount(mounted, names[0], target, sub, mounted.Flag("read_only"), resource.Value(pos))
}

// mountKey returns a key for the target of a mount: a named volume, or a path of a host.
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
	for _, field := range []document.Part{v.At("labels", "kompose.volume.size"), v.At("driver_opts", "size")} {
		if field.Given() {
			return object.TextAt(field.Written(), field.Pos)
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
		v.Warn("write x-ropewalk: {storageClass: …} for a class that allows it",
			"%d services mount the volume: its claim asks for ReadWriteMany", users)
	}
}

// checkDriver reports drivers that use a place of a host or of a network.
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
func (s *service) granted(p document.Part, kind, folder string) (source document.Part, name, target string) {
	name = p.At("source").Written()
	declared := s.app.root.At(kind)
	if !declared.Has(name) {
		reportUndeclared(declared, p.At("source"), name, object.Suggest(name, declared.MemberNames()), strings.TrimSuffix(kind, "s"))
		return document.Part{}, name, ""
	}
	target = cmp.Or(p.At("target").Written(), name)
	if !path.IsAbs(target) {
		target = path.Join(folder, target)
	}
	for _, owner := range []string{"uid", "gid"} {
		if field := p.At(owner); field.Given() {
			field.Warn("", "the owner of a file has no meaning in Kubernetes: files belong to root and are readable")
		}
	}
	return declared.At(name), name, target
}

// mountConfigs sets the files of configs: with their content, from the project, or in an existing
// ConfigMap.
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
			text := object.TextAt(content.Written(), content.Pos)
			s.addFile(p, target, builder.Fields{{Name: "content", Pos: content.Pos, Value: text}}, p.At("mode"))
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
			s.Failed++ // No other message shows its lines, which may hold the value.
		default:
			s.mountExisting(p, c, name, target, "secret")
		}
	}
}

// mountExisting mounts one key of an existing Secret or ConfigMap. Name and key stand in x-ropewalk;
// the defaults are the names of Compose. A secret that Compose reads itself is the Secret of that
// name in the cluster.
func (s *service) mountExisting(p, c document.Part, name, target, kind string) {
	x := c.At(extension)
	objectName := cmp.Or(x.At("name").Written(), c.At("name").Written(), c.At("external", "name").Written(), name)
	if !x.Given() && !isExternal(c) {
		objectName = builder.Label(objectName)
		command := "kubectl create secret generic " + objectName + " --from-file=" + name + "=" + cmp.Or(c.At("file").Written(), "FILE")
		c.Warn(command+", or write x-ropewalk: {name: …, key: …} for another Secret",
			"the value is not read: it comes from the Secret %q of the cluster, under the key %q", objectName, name)
	}
	if builder.Label(objectName) != objectName {
		object := map[string]string{"secret": "Secret", "configMap": "ConfigMap"}[kind]
		c.Fail("write x-ropewalk: {name: "+builder.Label(objectName)+", key: "+name+"}, or the one that it is",
			"Kubernetes has no %s %q: this is not the name of an object", object, objectName)
	}
	s.mount(p, kind+"-"+name, target, cmp.Or(x.At("key").Written(), name), true, builder.Pairs(c.Pos, "type", object.TextAt("volume", c.Pos),
		"params", builder.Pairs(c.Pos, kind+"Name", object.TextAt(objectName, c.Pos))))
}
