// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Names of the files of a bundle of Timoni, and of a module of it.
const (
	bundleFile  = "bundle.cue"
	runtimeFile = "runtime.cue"
	timoniFile  = "timoni.cue"
)

// byteOrderMark may begin a text in UTF-8; CUE leaves it out.
const byteOrderMark = "\ufeff"

// Bundle is a bundle of Timoni that was found: a CUE file with the field bundle.
type Bundle struct {
	// File is the bundle; its location is that of its name.
	File spec.File
	// More are files that the user named beside it, which are unified with it.
	More []spec.File
	// Runtime is runtime.cue beside it, with the clusters; its Name is "" where there is
	// none.
	Runtime spec.File
	// argument is set for one that the command line names as a file.
	argument bool
}

// Files returns the files that are unified: File comes first.
func (b Bundle) Files() []spec.File { return append([]spec.File{b.File}, b.More...) }

// IsBundleFile reports whether a file has the name by which a folder is read as a bundle.
func IsBundleFile(name string) bool { return path.Base(name) == bundleFile }

// topLevel reports whether a field of that name begins a line. CUE is parsed where it is
// evaluated, behind limits: this only decides what kind of file it is.
func topLevel(name string, data []byte) bool {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	return regexp.MustCompile(`(?m)^(` + name + `|"` + name + `")[ \t]*:`).Match(data)
}

// isBundle reports whether a file called bundle.cue is one of Timoni.
func isBundle(data []byte) bool {
	return topLevel("bundle", data) && (bytes.Contains(data, []byte("apiVersion")) || bytes.Contains(data, []byte("instances")))
}

// refuseMisspelt refuses a CUE file with instances whose field bundle has a slip, and reports
// whether it did.
func (d *Discovery) refuseMisspelt(r *Root, rel string, data []byte) bool {
	const name, slips = "bundle", 2
	line := 0
	for text := range bytes.Lines(bytes.TrimPrefix(data, []byte(byteOrderMark))) {
		line++
		key, _, ok := bytes.Cut(text, []byte(":"))
		word := strings.TrimRight(strings.Trim(string(key), `"`), "\" \t")
		if ok && word != name && object.Distance(strings.ToLower(word), name) <= slips && bytes.Contains(data, []byte("instances")) {
			d.Fail(object.Pos{File: r.Display(rel), Line: line, Column: 1}, `did you mean "`+name+`"?`, fmt.Errorf("field %q is not known: a bundle of Timoni has the field %s", word, name))
			return true
		}
	}
	return false
}

// requireUTF8 refuses CUE in another encoding, which no reader of it knows. It reports whether the
// file is in UTF-8.
func (d *Discovery) requireUTF8(r *Root, rel string, data []byte) bool {
	if bytes.Equal(spec.UTF8(data), data) {
		return true
	}
	d.Fail(object.Pos{File: r.Display(rel)}, "save it as UTF-8", errors.New("the file is in UTF-16 or UTF-32: CUE is UTF-8"))
	return false
}

// addCUEFile adds a CUE file that a user named, which must be a bundle. Those of one command line
// are one bundle, as for timoni bundle build -f a.cue -f b.cue.
func (d *Discovery) addCUEFile(r *Root, rel string, pos object.Pos, argument bool) {
	data, err := r.read(rel, spec.MaxFile)
	switch {
	case err != nil:
		d.Fail(pos, "", err)
	case !d.requireUTF8(r, rel, data):
	case topLevel("bundle", data):
		one := slices.IndexFunc(d.Bundles, func(b Bundle) bool { return b.argument })
		if !argument || one < 0 {
			d.addBundle(r, rel, data, argument)
		} else if shown := r.Display(rel); d.locations[shown] == (Location{}) {
			d.locations[shown] = Location{r, path.Dir(rel)}
			d.Bundles[one].More = append(d.Bundles[one].More, spec.File{Name: shown, Data: data})
		}
	case topLevel("runtime", data):
		d.Fail(pos, "pass the bundle; runtime.cue beside it is read by itself, any other with --runtime FILE",
			errors.New("a runtime of Timoni holds no instances"))
	case d.refuseMisspelt(r, rel, data):
	default:
		d.Fail(pos, "pass its folder; a Timoni bundle has the field bundle at its top", errors.New("a .cue file is part of a package, not a spec"))
	}
}

// addBundleIn adds the bundle of a folder. It returns false if the folder has none. A folder with
// timoni.cue is a module, whatever else is in it.
func (d *Discovery) addBundleIn(r *Root, rel string) bool {
	if _, err := r.folder.Lstat(path.Join(rel, timoniFile)); err == nil {
		return false
	}
	name := path.Join(rel, bundleFile)
	data, err := r.read(name, spec.MaxFile)
	if err != nil || !isBundle(data) {
		if _, lstat := r.folder.Lstat(name); err != nil && lstat == nil {
			d.Fail(object.Pos{File: r.Display(name)}, "", err)
		}
		return err == nil && (!d.requireUTF8(r, name, data) || d.refuseMisspelt(r, name, data))
	}
	d.addBundle(r, name, data, false)
	return true
}

// ErrUnreadBundle is the error of a bundle that a search finds and does not read.
var ErrUnreadBundle = errors.New("the bundle is not read")

// refuseUnreadBundles refuses the bundles of a folder that are not read: any beside bundle.cue,
// and each in the folder of a project that does not name it.
func (d *Discovery) refuseUnreadBundles(r *Root, m found, hint string) (refused bool) {
	for _, name := range m.bundles {
		if shown := r.Display(name); d.locations[shown] == (Location{}) {
			d.Fail(object.Pos{File: shown}, hint, fmt.Errorf("%w: a folder is read for one, "+bundleFile+", and a project for those that it names", ErrUnreadBundle))
			refused = true
		}
	}
	return refused
}

// IsTimoni reports whether the folder of a tree holds a module of Timoni.
func IsTimoni(tree fs.FS, folder string) bool {
	_, err := fs.Stat(tree, path.Join(folder, timoniFile))
	return err == nil
}

// addBundle keeps a bundle with its runtime, once.
func (d *Discovery) addBundle(r *Root, rel string, data []byte, argument bool) {
	shown := r.Display(rel)
	if _, known := d.locations[shown]; known {
		return
	}
	out := Bundle{File: spec.File{Name: shown, Data: data}, argument: argument}
	d.locations[shown] = Location{r, path.Dir(rel)}
	name := path.Join(path.Dir(rel), runtimeFile)
	runtime, err := r.read(name, spec.MaxFile)
	switch {
	case err == nil: // One without the field runtime is refused where it is evaluated.
		out.Runtime = spec.File{Name: r.Display(name), Data: runtime}
	case !errors.Is(err, fs.ErrNotExist):
		d.Fail(object.Pos{File: r.Display(name)}, "", err)
	}
	d.Bundles = append(d.Bundles, out)
}

// ReadNamed reads a file that an option names. If the caller set no root, it is read from anywhere
// on disk, or from a pipe, and else below the root. Its Name is that in positions.
func (d *Discovery) ReadNamed(name string) (spec.File, error) {
	data, err := d.readNamed(name)
	return spec.File{Name: argPos(name).File, Data: data}, err
}
