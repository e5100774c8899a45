// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	packageurl "github.com/package-url/packageurl-go"

	"github.com/ropewalk/ropewalk/deploy"
)

// writeSBOMs writes a list of components for each program and platform, in CycloneDX 1.6. What
// a program is made of stands in the program itself.
func (r *release) writeSBOMs() error {
	for _, key := range slices.Sorted(maps.Keys(r.programs)) {
		platform, name, _ := strings.Cut(key, " ")
		modules, err := modulesOf(r.programs[key])
		if err != nil {
			return err
		}
		data, err := r.bom(cyclonedx.Component{Type: cyclonedx.ComponentTypeApplication, Name: name, PackageURL: r.purl(name)}, modules)
		if err != nil {
			return err
		}
		if err := r.write(name+"_"+strings.ReplaceAll(platform, "/", "_")+".cdx.json", data); err != nil {
			return err
		}
	}
	return nil
}

// writeImageSBOM writes the components of the image of a platform: its packages, its programs
// and their modules.
func (r *release) writeImageSBOM(platform string, packages []debianPackage) error {
	var components []cyclonedx.Component
	for _, p := range packages {
		purl := packageurl.NewPackageURL(packageurl.TypeDebian, "debian", p.name, p.version,
			packageurl.QualifiersFromMap(map[string]string{"arch": p.arch, "distro": debianSuite}), "").ToString()
		components = append(components, cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, Name: p.name, Version: p.version, PackageURL: purl, BOMRef: purl})
	}
	for _, name := range imagePrograms() {
		modules, err := modulesOf(r.programs[platform+" "+name])
		if err != nil {
			return err
		}
		own := cyclonedx.Component{Type: cyclonedx.ComponentTypeApplication, Name: name, Version: r.Version, PackageURL: r.purl(name), BOMRef: r.purl(name)}
		components = append(components, append(modules, own)...)
	}
	data, err := r.bom(cyclonedx.Component{Type: cyclonedx.ComponentTypeContainer, Name: deploy.Image}, components)
	if err != nil {
		return err
	}
	return r.write("image_"+strings.ReplaceAll(platform, "/", "_")+".cdx.json", data)
}

func (r *release) purl(program string) string {
	return packageurl.NewPackageURL(packageurl.TypeGolang, "github.com/ropewalk", "ropewalk", r.Version, nil, "cmd/"+program).ToString()
}

// bom writes a document about a component; it has no serial number, so that the same release has
// the same bytes.
func (r *release) bom(of cyclonedx.Component, components []cyclonedx.Component) ([]byte, error) {
	slices.SortFunc(components, func(a, b cyclonedx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	components = slices.CompactFunc(components, func(a, b cyclonedx.Component) bool { return a.BOMRef == b.BOMRef })
	of.Version, of.BOMRef = r.Version, cmp.Or(of.PackageURL, of.Name)
	doc := cyclonedx.NewBOM()
	doc.Metadata = &cyclonedx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &of}
	doc.Components = &components
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(doc, cyclonedx.SpecVersion1_6)
	return out.Bytes(), err
}

// modulesOf reads the modules that a program was linked of, and the standard library.
func modulesOf(program string) ([]cyclonedx.Component, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	version := strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go")
	out := []cyclonedx.Component{module("stdlib", version)}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		out = append(out, module(m.Path, m.Version))
	}
	return out, nil
}

func module(path, version string) cyclonedx.Component {
	namespace, name := "", path
	if i := strings.LastIndex(path, "/"); i >= 0 {
		namespace, name = path[:i], path[i+1:]
	}
	purl := packageurl.NewPackageURL(packageurl.TypeGolang, namespace, name, version, nil, "").ToString()
	return cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: purl, BOMRef: purl}
}
