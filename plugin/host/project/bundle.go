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

// bundles adds the bundles of Timoni to the texts.
type bundles struct {
	report *Report
	texts  *Texts
}

// topLevelField matches a field at the top of a CUE file: its name, and its value up to the next
// line that is not indented. bundleVersion and bundleInstances match fields of a bundle in it.
var (
	topLevelField   = regexp.MustCompile(`(?m)^"?(\w+)"?[ \t]*:(.*(?:\n(?:[ \t}].*)?)*)`)
	bundleVersion   = regexp.MustCompile(`\bapiVersion"?[ \t]*:`)
	bundleInstances = regexp.MustCompile(`\binstances"?[ \t]*:`)
)

// addCUEFile adds a CUE file that a user named, which must be a bundle. The files of a command line
// are parts of one bundle, as for timoni bundle build -f a.cue -f b.cue.
func (bs *bundles) addCUEFile(r *Root, rel string, pos object.Pos, argument bool) {
	data, err := r.read(rel, spec.MaxFile)
	if err != nil {
		bs.report.Fail(pos, "", err)
		return
	}
	if !bs.requireUTF8(r, rel, data) {
		return
	}

	// The first file is the bundle, and further files are unified with it.
	if topLevel("bundle", data) {
		first := slices.IndexFunc(bs.texts.Bundles, func(b Bundle) bool { return b.argument })
		if !argument || first < 0 {
			bs.addBundle(r, rel, data, argument)
		} else if shown := r.Display(rel); !bs.texts.knows(shown) {
			bs.texts.locations[shown] = Location{r, path.Dir(rel)}
			bs.texts.Bundles[first].More = append(bs.texts.Bundles[first].More, spec.File{Name: shown, Data: data})
		}
		return
	}

	// Any other file is refused, with the likely reason.
	if topLevel("runtime", data) {
		const hint = "pass the bundle; runtime.cue beside it is read by itself, any other with --runtime FILE"
		bs.report.Fail(pos, hint, errors.New("a runtime of Timoni holds no instances"))
		return
	}
	if !bs.refuseMisspelt(r, rel, data) {
		const hint = "pass its folder; a Timoni bundle has the field bundle at its top"
		bs.report.Fail(pos, hint, errors.New("a .cue file is part of a package, not a spec"))
	}
}

// addBundleIn adds the bundle of a folder. It returns false if the folder has no bundle. A folder
// with timoni.cue is a module, whatever else is in it.
func (bs *bundles) addBundleIn(r *Root, rel string) bool {
	if _, err := r.folder.Lstat(path.Join(rel, timoniFile)); err == nil {
		return false
	}
	name := path.Join(rel, bundleFile)
	data, err := r.read(name, spec.MaxFile)
	if err != nil || !isBundle(data) {
		if _, lstat := r.folder.Lstat(name); err != nil && lstat == nil {
			bs.report.Fail(object.Pos{File: r.Display(name)}, "", err)
		}
		return err == nil && (!bs.requireUTF8(r, name, data) || bs.refuseMisspelt(r, name, data))
	}
	bs.addBundle(r, name, data, false)
	return true
}

// addBundle keeps a bundle with its runtime, once.
func (bs *bundles) addBundle(r *Root, rel string, data []byte, argument bool) {
	shown := r.Display(rel)
	if bs.texts.knows(shown) {
		return
	}
	out := Bundle{File: spec.File{Name: shown, Data: data}, argument: argument}
	bs.texts.locations[shown] = Location{r, path.Dir(rel)}
	name := path.Join(path.Dir(rel), runtimeFile)
	runtime, err := r.read(name, spec.MaxFile)
	switch {
	case err == nil: // A file without the field runtime is refused where it is evaluated.
		out.Runtime = spec.File{Name: r.Display(name), Data: runtime}
	case !errors.Is(err, fs.ErrNotExist):
		bs.report.Fail(object.Pos{File: r.Display(name)}, "", err)
	}
	bs.texts.Bundles = append(bs.texts.Bundles, out)
}

// refuseMisspelt refuses a CUE file whose field bundle has a slip, and reports whether it did. The
// field must have all that a bundle has: a package may have a field bundles, or handle, of its own.
func (bs *bundles) refuseMisspelt(r *Root, rel string, data []byte) bool {
	const name, slips = "bundle", 2
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))

	// A field may be written in parts: bundel: apiVersion: "v1alpha1", and bundel: instances: {}.
	values := map[string]string{}
	for _, match := range topLevelField.FindAllSubmatchIndex(data, -1) {
		word := string(data[match[2]:match[3]])
		if word == name || object.Distance(strings.ToLower(word), name) > slips {
			continue
		}
		values[word] += string(data[match[4]:match[5]])
		if !bundleVersion.MatchString(values[word]) || !bundleInstances.MatchString(values[word]) {
			continue
		}
		pos := object.Pos{File: r.Display(rel), Line: 1 + bytes.Count(data[:match[0]], []byte("\n")), Column: 1}
		bs.report.Fail(pos, `did you mean "`+name+`"?`, fmt.Errorf("field %q is not known: a bundle of Timoni has the field %s", word, name))
		return true
	}
	return false
}

// requireUTF8 refuses CUE in another encoding, which no reader of CUE knows. It reports whether the
// file is in UTF-8.
func (bs *bundles) requireUTF8(r *Root, rel string, data []byte) bool {
	if bytes.Equal(spec.UTF8(data), data) {
		return true
	}
	bs.report.Fail(object.Pos{File: r.Display(rel)}, "save it as UTF-8", errors.New("the file is in UTF-16 or UTF-32: CUE is UTF-8"))
	return false
}

// refuseUnreadBundles refuses the bundles of a folder that are not read: each bundle beside
// bundle.cue, and each bundle in the folder of a project that does not name it. It reports whether
// there was such a bundle.
func (bs *bundles) refuseUnreadBundles(r *Root, m found, hint string) (refused bool) {
	for _, name := range m.bundles {
		if shown := r.Display(name); !bs.texts.knows(shown) {
			err := fmt.Errorf("%w: a folder is read for one, "+bundleFile+", and a project for those that it names", ErrUnreadBundle)
			bs.report.Fail(object.Pos{File: shown}, hint, err)
			refused = true
		}
	}
	return refused
}
