// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/builder"
)

// Choices of hostPaths: what becomes of a mount of a path of the host that is no file of the
// project.
const (
	asClaim  = "claim"
	asConfig = "config"
	left     = "drop"
	choose   = "write x-ropewalk: {hostPaths: claim}, config or drop, in the service or at the top of the file"
)

// What a ConfigMap holds at most, and how many files of a folder go into one.
const (
	maxConfig      = 1_000_000
	maxConfigFiles = 100
)

var hostPaths = [...]string{asClaim, asConfig, left} //nolint:gochecknoglobals // a constant

// hostPaths returns the choice of the service, or that of the files. It returns "" if the mounts
// are to be refused. The result own is true if the service itself has the choice.
func (s *service) hostPaths() (choice string, own bool) {
	p := s.At(extension, "hostPaths")
	own = p.Given()
	if !own {
		p = s.app.root.At(extension, "hostPaths")
	}
	return p.Written(), own
}

// mountPath mounts a path of the host. A file of the project becomes a file of the workload. The
// field hostPaths decides what other paths become.
func (s *service) mountPath(v document.Part, target string) {
	source := v.At("source")
	name := source.Written()
	at := source
	at.Pos = v.Pos

	// What becomes of the mount depends on the path, the project and the choice of the author.
	choice, own := s.hostPaths()
	foreign := isForeign(name)
	file, err := s.app.project.Read(name)
	context := s.At("build", "context").Written()

	// The first case that fits counts: devices, files of the project, then what the author chose.
	switch {
	case foreign && isDevice(name):
		at.Fail("use a named volume, a config, or put it into the image", "a mount of the path %q of a host has no counterpart: pods have no host of their own", name)
	case !foreign && err == nil:
		if !v.Flag("read_only") {
			at.Warn("write "+name+":"+target+":ro", "the container can only read the file %q: in Compose it can write to it too", name)
		}
		s.mountFile(v, file, name, target)
	case choice == asConfig && !foreign && (own || name != context) && s.mountFolder(v, at, target):
	case !foreign && !own && context != "" && subpath.Within(name, context):
		at.Warn("move it to compose.override.yaml, which docker compose reads and this does not, or write x-ropewalk: {hostPaths: config} in the service for its files", "the mount of %q is left out: the image is built of that folder", name)
	case choice == left:
		at.Warn("", "the mount of %q of the host is left out: %q is what the image has there", name, target)
	case foreign && isClock(name) && choice != "":
		at.Warn("set the variable TZ", "the mount of %q of the host is left out: a pod has no clock of its host", name)
	case foreign && isSystem(name) && choice != "":
		at.Fail("write x-ropewalk: {hostPaths: drop} in the service", "the path %q is one of the system of a host, which no claim stands for", name)
	case choice != "":
		s.claimHost(v, at, target)
	case foreign:
		at.Fail("use a named volume, a config, or put it into the image; or "+choose,
			"a mount of the path %q of a host has no counterpart: pods have no host of their own", name)
	default:
		at.Fail("put a folder into the image, mount its files one by one, or use a named volume; or "+choose,
			"%q is not mounted from the project: %v", name, err)
	}
}

// mountFile mounts a file of the project. A script can be run, as it can be in the project, whose
// modes are not known here.
func (s *service) mountFile(at document.Part, file spec.File, name, target string) {
	mode := document.Part{}
	if strings.HasPrefix(string(file.Data), "#!") {
		mode.Value = object.TextAt("0755", at.Pos)
	}
	s.addFile(at, target, builder.Fields{{Name: "source", Pos: at.Pos, Value: object.TextAt(name, at.Pos)}}, mode)
}

// mountFolder mounts the files of a folder of the project, and reports whether there are any. A
// folder that is not committed is for data.
func (s *service) mountFolder(v, at document.Part, target string) bool {
	names, err := s.app.project.Below(at.Written(), maxConfigFiles)
	if err != nil || len(names) == 0 {
		return false
	}
	const hint = "put it into the image, or write x-ropewalk: {hostPaths: claim} in the service"
	if len(names) > maxConfigFiles {
		at.Fail(hint, "the folder %q has more than %d files, which are too many for a ConfigMap", at.Written(), maxConfigFiles)
		return true
	}

	// Each file is mounted by itself, and all of them have to fit into one ConfigMap.
	size := 0
	for _, name := range names {
		source := path.Join(at.Written(), name)
		file, err := s.app.project.Read(source)
		size += len(file.Data)
		switch {
		case err != nil:
			at.Fail("", "%q is not mounted from the project: %v", source, err)
		case !utf8.Valid(file.Data) || slices.Contains(file.Data, 0):
			at.Fail(hint, "the file %q is not text, which a ConfigMap of a workload holds", source)
		case size > maxConfig:
			at.Fail(hint, "the folder %q has more than %d bytes, which are too many for a ConfigMap", at.Written(), maxConfig)
			return true
		default:
			s.mountFile(v, file, source, path.Join(target, name))
		}
	}

	// A ConfigMap cannot be written to.
	if !v.Flag("read_only") {
		at.Warn("write "+at.Written()+":"+target+":ro", "the container can only read the files of %q, and sees nothing that the image has there", at.Written())
	}
	return true
}

// claimHost mounts a claim instead of a folder of the host: one for all services that mount the
// folder.
func (s *service) claimHost(v, at document.Part, target string) {
	name := at.Written()
	called := hostLabel(name)
	// Two folders of one label stay two, and so do a folder and a volume.
	taken := slices.ContainsFunc(s.app.root.At("volumes").MemberNames(), func(volume string) bool { return builder.Label(volume) == called })
	for key := range s.app.mounts {
		other, ok := strings.CutPrefix(key, "bind ")
		taken = taken || ok && other < name && hostLabel(other) == called
	}
	if taken {
		called += "-" + object.ShortHash(name)
	}
	users := s.app.mounts[mountKey(v)]
	if users[0] == s {
		names, err := s.app.project.Below(name, maxConfigFiles)
		if err == nil && len(names) > 0 && !isForeign(name) {
			at.Warn("write x-ropewalk: {hostPaths: config} in the service for its files", "the folder %q of the project becomes a claim, which begins empty: the container has none of the files that it holds, such as %q", name, names[0])
		} else {
			at.Warn("write a named volume with x-ropewalk: {size: 10Gi} for another size", "the folder %q of the host becomes a claim, which begins empty and asks for "+defaultSize, name)
		}
		warnShared(at, len(users))
	}
	s.mountClaim(v, v.Pos, [2]string{called, called}, target, "", builder.Pairs(v.Pos, "size", object.TextAt(defaultSize, v.Pos)))
}

// hostLabel returns the name of the claim for a path of the host.
func hostLabel(name string) string {
	return builder.Label("host-" + strings.TrimLeft(path.Clean(name), "/.~"))
}

// isForeign reports whether a path is one of the host, and of no file of the project.
func isForeign(name string) bool {
	return path.IsAbs(name) || strings.HasPrefix(name, "~") || strings.Contains(name, `\`)
}

// isDevice reports whether a path is a socket or a device, or a folder of those.
func isDevice(name string) bool {
	return path.Ext(name) == ".sock" || within(name, "/dev", "/run", "/var/run")
}

// isClock reports whether a path is that of the time zone of a host.
func isClock(name string) bool {
	return within(name, "/etc/localtime", "/etc/timezone", "/usr/share/zoneinfo")
}

// isSystem reports whether a path belongs to the system of a host.
func isSystem(name string) bool {
	return within(name, "/", "/etc", "/proc", "/sys", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/var/lib/docker", "/var/log")
}

// within reports whether a path is one of folders or below it. Below the root counts only the
// root itself.
func within(name string, folders ...string) bool {
	name = path.Clean(name)
	for _, f := range folders {
		if subpath.Within(name, f) {
			return true
		}
	}
	return false
}
