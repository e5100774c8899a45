// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// version is a semantic version (semver.org, 2.0.0).
type version struct {
	numbers [3]uint64 // major, minor, patch
	pre     []string
	build   []string
}

func (*version) celType() *cel.Type { return semverType() }

// String writes the version.
func (v *version) String() string {
	text := fmt.Sprintf("%d.%d.%d", v.numbers[0], v.numbers[1], v.numbers[2])
	if len(v.pre) > 0 {
		text += "-" + strings.Join(v.pre, ".")
	}
	if len(v.build) > 0 {
		text += "+" + strings.Join(v.build, ".")
	}
	return text
}

func (v *version) equals(o any) ref.Val {
	other, ok := o.(*version)
	return types.Bool(ok && v.compare(other) == 0)
}

// compare orders versions; build metadata does not count.
func (v *version) compare(o *version) int {
	if c := slices.Compare(v.numbers[:], o.numbers[:]); c != 0 {
		return c
	}
	if len(v.pre) == 0 || len(o.pre) == 0 {
		// What has no identifiers is newer than what has some.
		return cmp.Compare(len(o.pre), len(v.pre))
	}
	return slices.CompareFunc(v.pre, o.pre, func(a, b string) int {
		m, isNumber := number(a)
		n, isNumberToo := number(b)
		switch {
		case isNumber && isNumberToo:
			return cmp.Compare(m, n)
		case isNumber:
			return -1
		case isNumberToo:
			return 1
		}
		return cmp.Compare(a, b)
	})
}

// number reads digits.
func number(text string) (uint64, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// parseVersion reads a version of exactly three numbers.
func parseVersion(text string) (*version, error) {
	v := &version{}
	core, build, hasBuild := strings.Cut(text, "+")
	core, pre, hasPre := strings.Cut(core, "-")
	if hasBuild {
		v.build = strings.Split(build, ".")
	}
	if hasPre {
		v.pre = strings.Split(pre, ".")
	}
	numbers := strings.Split(core, ".")
	if len(numbers) != 3 {
		return nil, errors.New("no major.minor.patch elements found")
	}
	for i, text := range numbers {
		n, ok := number(text)
		if !ok || len(text) > 1 && text[0] == '0' {
			return nil, fmt.Errorf("invalid number %q in version", text)
		}
		v.numbers[i] = n
	}
	for _, id := range v.pre {
		_, small := number(id)
		digits := strings.Trim(id, "0123456789") == ""
		if !identifier(id) || digits && (!small || len(id) > 1 && id[0] == '0') {
			return nil, fmt.Errorf("invalid prerelease %q in version", id)
		}
	}
	for _, id := range v.build {
		if !identifier(id) {
			return nil, fmt.Errorf("invalid build metadata %q in version", id)
		}
	}
	return v, nil
}

// identifier reports whether text may stand between the dots of a prerelease or
// of build metadata.
func identifier(text string) bool {
	return text != "" && strings.IndexFunc(text, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-'
	}) < 0
}

// normalVersion reads a version that may begin with a v, may lack the last
// numbers and may have zeros before them.
func normalVersion(text string) (*version, error) {
	parts := strings.SplitN(strings.TrimPrefix(text, "v"), ".", 3)
	for i, part := range parts {
		if len(part) < 2 {
			continue
		}
		part = strings.TrimLeft(part, "0")
		if part == "" || part[0] < '0' || part[0] > '9' {
			part = "0" + part
		}
		parts[i] = part
	}
	if len(parts) < 3 && strings.ContainsAny(parts[len(parts)-1], "+-") {
		return nil, errors.New("short version cannot contain PreRelease/Build meta data")
	}
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	return parseVersion(strings.Join(parts, "."))
}

// semverLibrary is semver, isSemver and what one may ask of a version.
func semverLibrary() []cel.EnvOption {
	read := func(text string, normalize bool) (*version, error) {
		if normalize {
			return normalVersion(text)
		}
		return parseVersion(text)
	}
	parse := func(text string, normalize bool) ref.Val {
		v, err := read(text, normalize)
		if err != nil {
			return types.WrapErr(err)
		}
		return box(v)
	}
	valid := func(text string, normalize bool) ref.Val {
		_, err := read(text, normalize)
		return types.Bool(err == nil)
	}
	text, textAndBool := []*cel.Type{cel.StringType}, []*cel.Type{cel.StringType, cel.BoolType}
	one, two := []*cel.Type{semverType()}, []*cel.Type{semverType(), semverType()}
	part := func(name string, i int) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("semver_"+name, one, cel.IntType, unary(func(v *version) ref.Val {
			// A larger number has no integer in CEL; the server lets it wrap.
			return types.Int(v.numbers[i]) //nolint:gosec // see above
		})))
	}
	return []cel.EnvOption{
		cel.Function("semver",
			cel.Overload("string_to_semver", text, semverType(), unary(func(t string) ref.Val { return parse(t, false) })),
			cel.Overload("string_bool_to_semver", textAndBool, semverType(), binary(parse))),
		cel.Function("isSemver",
			cel.Overload("is_semver_string", text, cel.BoolType, unary(func(t string) ref.Val { return valid(t, false) })),
			cel.Overload("is_semver_string_bool", textAndBool, cel.BoolType, binary(valid))),
		cel.Function("isGreaterThan", cel.MemberOverload("semver_is_greater_than", two, cel.BoolType,
			binary(func(v, o *version) ref.Val { return types.Bool(v.compare(o) > 0) }))),
		cel.Function("isLessThan", cel.MemberOverload("semver_is_less_than", two, cel.BoolType,
			binary(func(v, o *version) ref.Val { return types.Bool(v.compare(o) < 0) }))),
		cel.Function("compareTo", cel.MemberOverload("semver_compare_to", two, cel.IntType,
			binary(func(v, o *version) ref.Val { return types.Int(v.compare(o)) }))),
		part("major", 0), part("minor", 1), part("patch", 2),
	}
}
