// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextsThatHoldASecretAreFoundWhateverTheyAreCalled(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://app:hunter2@db:5432/x":                 "password",
		"a=1;url=amqp://guest:guest@rabbit, b":             "password",
		"x://y z://u:p@w@host/":                            "password",
		"https://example.com/a:b@c":                        "",
		"https://user@example.com":                         "",
		"https://user:@example.com":                        "",
		"postgres://app:$(PASSWORD)@db":                    "",
		"postgres://app:<password>@db and https://u:***@x": "",
		"://u:p@x":                             "",
		"mailto:a@b.example, 12://":            "",
		"-----BEGIN RSA PRIVATE KEY-----\nabc": "key",
		"-----BEGIN CERTIFICATE-----\n\n-----BEGIN PRIVATE KEY-----": "key",
		"-----BEGIN CERTIFICATE-----\nPRIVATE KEY-----":              "",
		"-----BEGIN ": "",
	} {
		got := ""
		switch {
		case holdsPrivateKey(text):
			got = "key"
		case holdsPassword(text):
			got = "password"
		}
		require.Equal(t, want, got, "%q", text)
	}
}

func TestNamesThatSoundLikeASecret(t *testing.T) {
	for _, name := range []string{"DB_PASS", "MYSQL_PWD", "GITHUB_PAT", "smtp.pass", "API_KEY", "SECRET", "auth-token", "HASH_SALT"} {
		require.True(t, soundsSecret(name), name)
	}
	for _, name := range []string{"PASSES", "PATH", "COMPASS", "PA", "KEY", "PARTITION_KEY", "PATIENCE", "SALT_ROUNDS"} {
		require.False(t, soundsSecret(name), name)
	}
}

func TestASecretThatIsPartOfAURLIsFoundWhereItIsNotEscaped(t *testing.T) {
	user, password := dbUser(), dbPassword()
	for name, c := range map[string]struct {
		pieces []Piece
		want   *Secret
	}{
		"user and password":              {[]Piece{lit("pg://"), ref(user), lit(":"), ref(password), lit("@db/x")}, user},
		"a password after a plain user":  {[]Piece{lit("x pg://app:"), ref(password), lit("@db/x")}, password},
		"both escaped":                   {[]Piece{lit("pg://"), inURL(user), lit(":"), inURL(password), lit("@db/x")}, nil},
		"the second URL":                 {[]Piece{lit("a://b/ pg://"), inURL(user), lit("@h c://u:"), ref(password), lit("@d")}, password},
		"a whole URL":                    {[]Piece{ref(pgURI()), lit("?x=a@b")}, nil},
		"a path, a query and plain text": {[]Piece{lit("https://h/"), ref(user), lit("@x?"), ref(password), lit("@")}, nil},
		"a host":                         {[]Piece{lit("https://a@"), ref(user), lit("@")}, nil},
		"no end":                         {[]Piece{lit("pg://"), ref(user), lit(":"), ref(password)}, nil},
	} {
		require.Equal(t, c.want, unescaped(c.pieces), name)
	}
}
