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

// The choices of hostPaths, for a mount of a path of the host that is not a file of the project.
const (
	asClaim    = "claim"
	asConfig   = "config"
	asNothing  = "drop"
	choiceHint = "write x-ropewalk: {hostPaths: claim}, config or drop, in the service or at the top of the file"
)

// The limits of a ConfigMap that holds the files of a folder.
const (
	maxConfig      = 1_000_000
	maxConfigFiles = 100
)

var hostPaths = [...]string{asClaim, asConfig, asNothing} //nolint:gochecknoglobals // a constant

// hostPaths returns the choice of the service, or the choice of the files. It returns "" if the
// mounts must be refused. The result isOwn is true if the service itself has the choice.
func (s *service) hostPaths() (choice string, isOwn bool) {
	p := s.At(extension, "hostPaths")
	isOwn = p.Given()
	if !isOwn {
		p = s.app.root.At(extension, "hostPaths")
	}
	return p.Written(), isOwn
}

// mountPath mounts a path of the host. A file of the project becomes a file of the workload. The
// field hostPaths decides about other paths.
func (s *service) mountPath(v document.Part, target string) {
	source := v.At("source")
	name := source.Written()
	mounted := source
	mounted.Pos = v.Pos

	// The mount depends on the path, the project and the choice of the author.
	choice, isOwn := s.hostPaths()
	foreign := isForeign(name)
	file, err := s.app.project.Read(name)
	context := s.At("build", "context").Written()

	// The first case that fits counts: devices, files of the project, then the choice of the author.
	switch {
	case foreign && isDevice(name):
		mounted.Fail("use a named volume, a config, or put it into the image",
			"a mount of the path %q of a host has no counterpart: pods have no host of their own", name)
	case !foreign && err == nil:
		if !v.Flag("read_only") {
			mounted.Warn("write "+name+":"+target+":ro", "the container can only read the file %q: in Compose it can write to it too", name)
		}
		s.mountFile(v, file, name, target)
	case choice == asConfig && !foreign && (isOwn || name != context) && s.mountFolder(v, mounted, target):
	case !foreign && !isOwn && context != "" && subpath.Within(name, context):
		mounted.Warn("move it to compose.override.yaml, which docker compose reads and this does not, "+
			"or write x-ropewalk: {hostPaths: config} in the service for its files",
			"the mount of %q is left out: the image is built of that folder", name)
	case choice == asNothing:
		mounted.Warn("", "the mount of %q of the host is left out: %q is what the image has there", name, target)
	case foreign && isClock(name) && choice != "":
		mounted.Warn("set the variable TZ", "the mount of %q of the host is left out: a pod has no clock of its host", name)
	case foreign && isSystem(name) && choice != "":
		mounted.Fail("write x-ropewalk: {hostPaths: drop} in the service",
			"the path %q is one of the system of a host, which no claim stands for", name)
	case choice != "":
		s.claimHost(v, mounted, target)
	case foreign:
		mounted.Fail("use a named volume, a config, or put it into the image; or "+choiceHint,
			"a mount of the path %q of a host has no counterpart: pods have no host of their own", name)
	default:
		mounted.Fail("put a folder into the image, mount its files one by one, or use a named volume; or "+choiceHint,
			"%q is not mounted from the project: %v", name, err)
	}
}

// mountFile mounts a file of the project. A script is executable, because it may be executable in
// the project, whose modes are not known here.
func (s *service) mountFile(mounted document.Part, file spec.File, name, target string) {
	mode := document.Part{}
	if strings.HasPrefix(string(file.Data), "#!") {
		mode.Value = object.TextAt("0755", mounted.Pos)
	}
	s.addFile(mounted, target, builder.Fields{{Name: "source", Pos: mounted.Pos, Value: object.TextAt(name, mounted.Pos)}}, mode)
}

// mountFolder mounts the files of a folder of the project, and reports whether it has any. A folder
// that is not committed is for data.
func (s *service) mountFolder(v, mounted document.Part, target string) bool {
	names, err := s.app.project.Below(mounted.Written(), maxConfigFiles)
	if err != nil || len(names) == 0 {
		return false
	}
	const hint = "put it into the image, or write x-ropewalk: {hostPaths: claim} in the service"
	if len(names) > maxConfigFiles {
		mounted.Fail(hint, "the folder %q has more than %d files, which are too many for a ConfigMap", mounted.Written(), maxConfigFiles)
		return true
	}

	// Each file is mounted by itself, and all of them have to fit into one ConfigMap.
	size := 0
	for _, name := range names {
		source := path.Join(mounted.Written(), name)
		file, err := s.app.project.Read(source)
		size += len(file.Data)
		switch {
		case err != nil:
			mounted.Fail("", "%q is not mounted from the project: %v", source, err)
		case !utf8.Valid(file.Data) || slices.Contains(file.Data, 0):
			mounted.Fail(hint, "the file %q is not text, which a ConfigMap of a workload holds", source)
		case size > maxConfig:
			mounted.Fail(hint, "the folder %q has more than %d bytes, which are too many for a ConfigMap", mounted.Written(), maxConfig)
			return true
		default:
			s.mountFile(v, file, source, path.Join(target, name))
		}
	}

	// A ConfigMap cannot be written to.
	if !v.Flag("read_only") {
		mounted.Warn("write "+mounted.Written()+":"+target+":ro",
			"the container can only read the files of %q, and sees nothing that the image has there", mounted.Written())
	}
	return true
}

// claimHost mounts a claim instead of a folder of the host: one for all services that mount the
// folder.
func (s *service) claimHost(v, mounted document.Part, target string) {
	name := mounted.Written()
	claim := hostLabel(name)
	// Two folders with one label get different names, and so do a folder and a volume.
	taken := slices.ContainsFunc(s.app.root.At("volumes").MemberNames(), func(volume string) bool { return builder.Label(volume) == claim })
	for key := range s.app.mounts {
		other, ok := strings.CutPrefix(key, "bind ")
		taken = taken || (ok && other < name && hostLabel(other) == claim)
	}
	if taken {
		claim += "-" + object.ShortHash(name)

		// The first service that mounts the folder warns of its content.
	}
	users := s.app.mounts[mountKey(v)]
	if users[0] == s {
		names, err := s.app.project.Below(name, maxConfigFiles)
		if err == nil && len(names) > 0 && !isForeign(name) {
			mounted.Warn("write x-ropewalk: {hostPaths: config} in the service for its files",
				"the folder %q of the project becomes a claim, which begins empty: "+
					"the container has none of the files that it holds, such as %q", name, names[0])
		} else {
			mounted.Warn("write a named volume with x-ropewalk: {size: 10Gi} for another size",
				"the folder %q of the host becomes a claim, which begins empty and asks for "+defaultSize, name)
		}
		warnShared(mounted, len(users))
	}
	s.mountClaim(v, v.Pos, [2]string{claim, claim}, target, "", builder.Pairs(v.Pos, "size", object.TextAt(defaultSize, v.Pos)))
}

// hostLabel returns the name of the claim for a path of the host.
func hostLabel(name string) string {
	return builder.Label("host-" + strings.TrimLeft(path.Clean(name), "/.~"))
}

// isForeign reports whether a path belongs to the host, and cannot be a file of the project.
func isForeign(name string) bool {
	return path.IsAbs(name) || strings.HasPrefix(name, "~") || strings.Contains(name, `\`)
}

// isDevice reports whether a path is a socket or a device, or a folder of devices.
func isDevice(name string) bool {
	return path.Ext(name) == ".sock" || within(name, "/dev", "/run", "/var/run")
}

// isClock reports whether a path holds the time zone of a host.
func isClock(name string) bool {
	return within(name, "/etc/localtime", "/etc/timezone", "/usr/share/zoneinfo")
}

// isSystem reports whether a path belongs to the system of a host.
func isSystem(name string) bool {
	return within(name, "/", "/etc", "/proc", "/sys", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/var/lib/docker", "/var/log")
}

// within reports whether a path equals a folder in folders or is below it. Nothing counts as below
// the root.
func within(name string, folders ...string) bool {
	name = path.Clean(name)
	for _, f := range folders {
		if subpath.Within(name, f) {
			return true
		}
	}
	return false
}
