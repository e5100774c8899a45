// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// calls replaces the functions of templates that give another result at each call, or
// depend on what is outside of the chart. What they give depends on a seed and on how many
// of them were called before, so that equal seeds give equal results.
type calls struct {
	seed uint64
	// stop is the name of a function whose first call fails, to find out where it stands, and
	// stopAt the number of such a call, counted from 1.
	stop   string
	stopAt int
	// until, where it is set, is the last call that seed is for: later ones have the seed 0.
	until int
	// made are the names of the functions that were called.
	made []string
	// looked says that lookup was called.
	looked bool
}

// Reasons for which a template ends. They carry the message of the chart.
type (
	requiredError struct{ text string }
	failError     struct{ text string }
)

func (e *requiredError) Error() string { return e.text }
func (e *failError) Error() string     { return e.text }

var errStop = errors.New("stopped")

// certificate has the fields of the certificate of sprig.
type certificate struct{ Cert, Key string }

// call counts a call of the function called name, and returns the source of its result. It fails
// with errStop at the call that c stops at.
func (c *calls) call(name string) (*rand.Rand, error) {
	c.made = append(c.made, name)
	if name == c.stop || len(c.made) == c.stopAt {
		return nil, errStop
	}
	seed := c.seed
	if c.until > 0 && len(c.made) > c.until {
		seed = 0
	}
	return rand.New(rand.NewPCG(seed, uint64(len(c.made)))), nil //nolint:gosec // it stands for randomness, and is never used
}

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	// longest limits the characters of a random text.
	longest = 1 << 20
)

// text returns n random characters of alphabet.
func (c *calls) text(name, alphabet string, n int) (string, error) {
	r, err := c.call(name)
	if err != nil {
		return "", err
	}
	if n < 0 || n > longest {
		return "", fmt.Errorf("a length of %d is out of range", n)
	}
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[r.IntN(len(alphabet))])
	}
	return b.String(), nil
}

// now returns a moment, which differs at each call.
func (c *calls) now(name string) (time.Time, error) {
	r, err := c.call(name)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(r.Int64N(4e9), r.Int64N(1e9)).UTC(), nil
}

// functions returns the functions that replace functions of Helm and sprig.
func (c *calls) functions() template.FuncMap {
	// These have errors that are recognized later, or results in a fixed order.
	funcs := template.FuncMap{
		"required": func(text string, v any) (any, error) {
			if v == nil || v == "" {
				return v, &requiredError{text}
			}
			return v, nil
		},
		"fail": func(text string) (string, error) { return "", &failError{text} },
		"lookup": func(_, _, _, _ string) (map[string]any, error) {
			c.looked = true
			if c.stop == "lookup" {
				return nil, errStop
			}
			return map[string]any{}, nil
		},
		"keys": func(all ...map[string]any) (out []string) {
			for _, m := range all {
				out = append(out, slices.Sorted(maps.Keys(m))...)
			}
			return out
		},
		"values": func(m map[string]any) (out []any) {
			for _, k := range slices.Sorted(maps.Keys(m)) {
				out = append(out, m[k])
			}
			return out
		},
		"toDate":     func(layout, text string) time.Time { t, _ := time.ParseInLocation(layout, text, time.UTC); return t },
		"mustToDate": func(layout, text string) (time.Time, error) { return time.ParseInLocation(layout, text, time.UTC) },
	}

	// Random functions and dates give another result at each call.
	c.addRandom(funcs)
	c.addDates(funcs)
	return funcs
}

// addRandom adds the functions whose results are random: texts, numbers and certificates.
func (c *calls) addRandom(funcs template.FuncMap) {
	// Texts and numbers come from the source of the call.
	for name, alphabet := range map[string]string{
		"randAlphaNum": letters + digits, "randAlpha": letters, "randNumeric": digits, "randAscii": letters + digits + "!#%&+-./:;<=>?@^_~",
	} {
		funcs[name] = func(n int) (string, error) { return c.text(name, alphabet, n) }
	}
	funcs["randBytes"] = func(n int) (string, error) {
		text, err := c.text("randBytes", letters+digits, n)
		return base64.StdEncoding.EncodeToString([]byte(text)), err
	}
	funcs["randInt"] = func(least, most int) (int, error) {
		r, err := c.call("randInt")
		if err != nil || least >= most {
			return least, err
		}
		return least + r.IntN(most-least), nil
	}
	funcs["shuffle"] = func(text string) (string, error) {
		r, err := c.call("shuffle")
		if err != nil {
			return "", err
		}
		runes := []rune(text)
		r.Shuffle(len(runes), func(i, j int) { runes[i], runes[j] = runes[j], runes[i] })
		return string(runes), nil
	}
	funcs["uuidv4"] = func() (string, error) {
		text, err := c.text("uuidv4", digits+"abcdef", 32)
		if err != nil {
			return "", err
		}
		return text[:8] + "-" + text[8:12] + "-4" + text[13:16] + "-a" + text[17:20] + "-" + text[20:], nil
	}

	// Keys and certificates are random texts too: it is enough that they differ.
	for _, name := range []string{"bcrypt", "encryptAES", "genPrivateKey"} {
		funcs[name] = func(...string) (string, error) { return c.text(name, letters+digits, 60) }
	}
	funcs["htpasswd"] = func(user, _ string) (string, error) {
		text, err := c.text("htpasswd", letters+digits, 60)
		return user + ":" + text, err
	}
	for _, name := range []string{"genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey"} {
		funcs[name] = func(...any) (any, error) {
			text, err := c.text(name, letters+digits, 120)
			return certificate{Cert: "-----BEGIN CERTIFICATE-----\n" + text + "\n-----END CERTIFICATE-----\n", Key: text}, err
		}
	}
	build := reflect.ValueOf(sprig.TxtFuncMap()["buildCustomCert"])
	funcs["buildCustomCert"] = func(cert, key string) (any, error) {
		if len(c.made) > 0 {
			return certificate{Cert: cert, Key: key}, nil // It may be one of those above.
		}
		out := build.Call([]reflect.Value{reflect.ValueOf(cert), reflect.ValueOf(key)})
		err, _ := out[1].Interface().(error)
		return out[0].Interface(), err
	}
}

// addDates adds the functions whose results depend on the time.
func (c *calls) addDates(funcs template.FuncMap) {
	// A given date is formatted; any other value stands for the present.
	original := sprig.TxtFuncMap()
	funcs["now"] = func() (time.Time, error) { return c.now("now") }
	inZone, _ := original["dateInZone"].(func(string, any, string) string)
	date := func(name, layout string, at any, zone string) (string, error) {
		switch at.(type) {
		case time.Time, *time.Time, int64, int, int32:
			return inZone(layout, at, zone), nil
		}
		// Anything else is the present.
		now, err := c.now(name)
		return inZone(layout, now, zone), err
	}
	const day = "2006-01-02"
	funcs["date"] = func(layout string, at any) (string, error) { return date("date", layout, at, "UTC") }
	funcs["htmlDate"] = func(at any) (string, error) { return date("htmlDate", day, at, "UTC") }
	funcs["htmlDateInZone"] = func(at any, zone string) (string, error) { return date("htmlDateInZone", day, at, zone) }
	for _, name := range []string{"dateInZone", "date_in_zone"} {
		funcs[name] = func(layout string, at any, zone string) (string, error) { return date(name, layout, at, zone) }
	}

	// These count from the present.
	funcs["ago"] = func(any) (string, error) {
		now, err := c.now("ago")
		return (time.Duration(now.Unix()) * time.Second).String(), err
	}
	round, _ := original["durationRound"].(func(any) string)
	funcs["durationRound"] = func(of any) (string, error) {
		if _, ok := of.(time.Time); !ok {
			return round(of), nil
		}
		now, err := c.now("durationRound")
		return round(now.Unix()), err
	}
}
