// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"net"
	"strconv"
	"strings"
	"unicode"
)

// parseInt reads digits.
func parseInt(text string) (int, error) { return strconv.Atoi(text) }

// sloppyIP reads an IP address in which numbers of IPv4 may have zeros before
// them, as Kubernetes takes them in formats (k8s.io/utils/net, ParseIPSloppy).
func sloppyIP(text string) net.IP {
	before, quad := "", text
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		before, quad = text[:i+1], text[i+1:]
	}
	if !strings.Contains(quad, ".") {
		return net.ParseIP(text)
	}
	parts := strings.Split(quad, ".")
	for i, part := range parts {
		if bare := strings.TrimLeft(part, "0"); bare != "" {
			parts[i] = bare
		} else if part != "" {
			parts[i] = "0"
		}
	}
	return net.ParseIP(before + strings.Join(parts, "."))
}

// sloppyCIDR reports whether text is an address of [sloppyIP] with the length
// of a prefix.
func sloppyCIDR(text string) bool {
	address, length, ok := strings.Cut(text, "/")
	ip := sloppyIP(address)
	if !ok || ip == nil || length == "" || strings.Trim(length, "0123456789") != "" {
		return false
	}
	bits := 128
	if !strings.Contains(address, ":") {
		bits = 32
	}
	n, err := strconv.Atoi(length)
	return err == nil && n <= bits
}

// isISBN10 checks the digits of an ISBN of ten, among spaces and dashes.
func isISBN10(text string) bool {
	digits := bare(text)
	if len(digits) != 10 || !allDigits(digits[:9]) || digits[9] != 'X' && !allDigits(digits[9:]) {
		return false
	}
	sum := 0
	for i, c := range []byte(digits) {
		value := int(c) - '0'
		if c == 'X' {
			value = 10
		}
		sum += (i + 1) * value
	}
	return sum%11 == 0
}

// isISBN13 checks the digits of an ISBN of thirteen.
func isISBN13(text string) bool {
	digits := bare(text)
	if len(digits) != 13 || !allDigits(digits) {
		return false
	}
	sum := 0
	for i, c := range []byte(digits[:12]) {
		sum += (1 + i%2*2) * (int(c) - '0')
	}
	return int(digits[12])-'0' == (10-sum%10)%10
}

// bare is text without spaces and dashes.
func bare(text string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(" \t\n\f\r-", c) {
			return -1
		}
		return c
	}, text)
}

func allDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// creditCard judges the number of a card by its issuer and its check digit,
// whatever stands between the digits.
func (f *Formats) creditCard(text string) bool {
	digits := strings.Map(func(c rune) rune {
		if c > unicode.MaxASCII || !unicode.IsDigit(c) {
			return -1
		}
		return c
	}, text)
	const issuers = `^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}` +
		`|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$`
	if !f.matches(issuers, digits) {
		return false
	}
	sum := 0
	for i := range len(digits) {
		value := int(digits[len(digits)-1-i]) - '0'
		if i%2 == 1 {
			value = value*2/10 + value*2%10
		}
		sum += value
	}
	return sum%10 == 0
}
