// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/artifact/statement"
)

// subject and other are digests of manifests.
var (
	subject = "sha256:" + strings.Repeat("a", 64)
	other   = "sha256:" + strings.Repeat("b", 64)
)

// keys makes a private key of each kind that is supported.
func keys(t testing.TB) map[string]crypto.Signer {
	t.Helper()
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return map[string]crypto.Signer{"P-256": p256, "P-384": p384, "Ed25519": ed}
}

func pkcs8(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func pair(t testing.TB) (*Signer, *Verifier) {
	t.Helper()
	private, public, err := GenerateKey()
	require.NoError(t, err)
	s, err := ParsePrivateKey(private, nil)
	require.NoError(t, err)
	v, err := ParsePublicKeys(public)
	require.NoError(t, err)
	return s, v
}

func stated(t testing.TB, subjects ...string) []byte {
	t.Helper()
	var list []statement.Subject
	for _, s := range subjects {
		list = append(list, statement.Subject{Name: s[:8], Digest: s})
	}
	data, err := statement.Signature(list...)
	require.NoError(t, err)
	return data
}

func TestWhatIsSignedIsVerifiedWithEachKindOfKey(t *testing.T) {
	for name, key := range keys(t) {
		t.Run(name, func(t *testing.T) {
			s, err := ParsePrivateKey(pkcs8(t, key), nil)
			require.NoError(t, err)
			v, err := ParsePublicKeys(s.PublicKey())
			require.NoError(t, err)

			bundle, err := s.Sign(stated(t, subject))
			require.NoError(t, err)
			require.NoError(t, v.Signature(bundle, subject))
			got, err := v.Bundle(bundle, subject)
			require.NoError(t, err)
			require.Equal(t, Statement{PredicateType: PredicateSignature, Predicate: json.RawMessage("{}"), Key: s.Hint()}, got)

			again, err := s.Sign(stated(t, subject))
			require.NoError(t, err)
			require.Equal(t, string(bundle), string(again), "signing again changes nothing")

			require.ErrorIs(t, v.Signature(bundle, other), ErrSignature)
		})
	}
}

// TestTheBundleStaysTheSameByteForByte has a key of its own on file: were the
// bytes to change with a release or with Go, each signed artifact would get a
// second signature.
func TestTheBundleStaysTheSameByteForByte(t *testing.T) {
	key, err := os.ReadFile("testdata/key.pem")
	require.NoError(t, err)
	s, err := ParsePrivateKey(key, nil)
	require.NoError(t, err)
	bundle, err := s.Sign(stated(t, subject))
	require.NoError(t, err)
	golden := filepath.Join("testdata", "bundle.json")
	if os.Getenv("ROPEWALK_UPDATE") != "" {
		require.NoError(t, os.WriteFile(golden, bundle, 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(bundle))
}

func TestOneOfSeveralKeysIsEnough(t *testing.T) {
	s, _ := pair(t)
	x, _ := pair(t)
	y, _ := pair(t)
	bundle, err := s.Sign(stated(t, subject))
	require.NoError(t, err)

	v, err := ParsePublicKeys(x.PublicKey(), append(y.PublicKey(), s.PublicKey()...))
	require.NoError(t, err)
	got, err := v.Bundle(bundle, subject)
	require.NoError(t, err)
	require.Equal(t, s.Hint(), got.Key)

	v, err = ParsePublicKeys(x.PublicKey(), y.PublicKey())
	require.NoError(t, err)
	_, err = v.Bundle(bundle, subject)
	require.ErrorIs(t, err, ErrSignature)
	require.ErrorContains(t, err, "pass the public key of the signer")
	require.ErrorContains(t, err, s.Hint())
}

func TestOneOfSeveralSubjectsIsEnough(t *testing.T) {
	s, v := pair(t)
	bundle, err := s.Sign(stated(t, other, subject))
	require.NoError(t, err)
	require.NoError(t, v.Signature(bundle, subject))
	require.NoError(t, v.Signature(bundle, other))
	require.ErrorIs(t, v.Signature(bundle, "sha256:"+strings.Repeat("c", 64)), ErrSignature)
}

func TestAnAttestationIsNoSignature(t *testing.T) {
	s, v := pair(t)
	sbom, err := statement.SBOM([]string{"nginx"}, statement.Subject{Digest: subject})
	require.NoError(t, err)
	bundle, err := s.Sign(sbom)
	require.NoError(t, err)

	got, err := v.Bundle(bundle, subject)
	require.NoError(t, err)
	require.Equal(t, statement.PredicateSBOM, got.PredicateType)
	require.Contains(t, string(got.Predicate), "CycloneDX")

	err = v.Signature(bundle, subject)
	require.ErrorIs(t, err, ErrSignature)
	require.ErrorContains(t, err, "attestation")
}

func TestAnAttestationMayBeLargerThanASignature(t *testing.T) {
	s, v := pair(t)
	large, err := statement.Graph([]byte(`{"a":"`+strings.Repeat("x", 2*MaxSignature)+`"}`), statement.Subject{Digest: subject})
	require.NoError(t, err)
	bundle, err := s.Sign(large)
	require.NoError(t, err)
	_, err = v.Bundle(bundle, subject)
	require.NoError(t, err)
	require.ErrorIs(t, v.Signature(bundle, subject), ErrMalformed, "it is refused before it is read")

	_, err = v.Bundle(make([]byte, MaxBundle+1), subject)
	require.ErrorIs(t, err, ErrMalformed)
	tooLarge, err := statement.Graph([]byte(`{"a":"`+strings.Repeat("x", MaxBundle)+`"}`), statement.Subject{Digest: subject})
	require.NoError(t, err)
	_, err = s.Sign(tooLarge)
	require.ErrorIs(t, err, ErrMalformed, "what cannot be verified is not signed")
}

// TestEveryChangedByteIsNoticed flips each byte of a bundle in turn.
func TestEveryChangedByteIsNoticed(t *testing.T) {
	s, v := pair(t)
	bundle, err := s.Sign(stated(t, subject))
	require.NoError(t, err)
	hint := strings.Index(string(bundle), s.Hint())
	for i := range bundle {
		changed := append([]byte(nil), bundle...)
		changed[i] ^= 1
		err := v.Signature(changed, subject)
		if i >= hint && i < hint+len(s.Hint()) {
			continue // a hint counts for nothing, so a wrong one harms nothing
		}
		require.Error(t, err, "byte %d: %s", i, changed[max(0, i-20):i+1])
	}
	for i := range bundle {
		require.Error(t, v.Signature(bundle[:i], subject), "cut after %d bytes", i)
	}
}

// TestThePayloadIsReadAfterItsSignature tells what was checked first by the
// error: a broken payload that nobody signed is not signed, not malformed.
func TestThePayloadIsReadAfterItsSignature(t *testing.T) {
	s, v := pair(t)
	x, _ := pair(t)
	mine := envelopeOf(t, s, []byte("no JSON"))
	_, err := v.Bundle(mine, subject)
	require.ErrorIs(t, err, ErrMalformed)
	_, err = v.Bundle(envelopeOf(t, x, []byte("no JSON")), subject)
	require.ErrorIs(t, err, ErrSignature)
}

// envelopeOf signs what Sign would not.
func envelopeOf(t testing.TB, s *Signer, payload []byte) []byte {
	t.Helper()
	signature, err := s.sign(preAuthEncoding(payloadType, payload))
	require.NoError(t, err)
	b := bundle{MediaType: BundleType, Envelope: envelope{Payload: payload, PayloadType: payloadType, Signatures: []envelopeSignature{{signature}}}}
	data, err := manifest.Encode(b)
	require.NoError(t, err)
	return data
}

func TestASignedStatementMustBeAboutTheSubject(t *testing.T) {
	s, v := pair(t)
	const head = `{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://sigstore.dev/cosign/sign/v1",`
	hex := subject[len("sha256:"):]
	for name, c := range map[string]struct {
		payload string
		is      error
	}{
		"no subject":               {head + `"predicate":{}}`, ErrSignature},
		"an empty list":            {head + `"subject":[]}`, ErrSignature},
		"another algorithm":        {head + `"subject":[{"digest":{"sha512":"` + hex + `"}}]}`, ErrSignature},
		"upper case":               {head + `"subject":[{"digest":{"sha256":"` + strings.ToUpper(hex) + `"}}]}`, ErrMalformed},
		"the digest twice":         {head + `"subject":[{"digest":{"sha256":"` + hex + `","sha256":"` + hex + `"}}]}`, ErrMalformed},
		"the subject twice":        {head + `"subject":[{"digest":{"sha256":"` + hex + `"}}],"subject":[]}`, ErrMalformed},
		"a name in another case":   {head + `"Subject":[{"digest":{"sha256":"` + hex + `"}}]}`, ErrSignature},
		"a subject of a string":    {head + `"subject":"` + hex + `"}`, ErrMalformed},
		"an unknown version":       {strings.Replace(head, "Statement/v1", "Statement/v2", 1) + `"subject":[{"digest":{"sha256":"` + hex + `"}}]}`, ErrMalformed},
		"too many subjects":        {head + `"subject":[` + strings.Repeat(`{"digest":{}},`, maxSubjects) + `{"digest":{"sha256":"` + hex + `"}}]}`, ErrMalformed},
		"something after the JSON": {head + `"subject":[{"digest":{"sha256":"` + hex + `"}}]} {}`, ErrMalformed},
		"no predicate type":        {`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"` + hex + `"}}]}`, ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, v.Signature(envelopeOf(t, s, []byte(c.payload)), subject), c.is)
		})
	}
	old := strings.Replace(head, "Statement/v1", "Statement/v0.1", 1) + `"subject":[{"digest":{"sha1":"x"}},{"digest":{"sha256":"` + hex + `"}}],"new":1}`
	require.NoError(t, v.Signature(envelopeOf(t, s, []byte(old)), subject), "the older version and unknown fields are fine")
}

func TestABundleIsReadStrictly(t *testing.T) {
	s, v := pair(t)
	good, err := s.Sign(stated(t, subject))
	require.NoError(t, err)
	change := func(old, replacement string) string {
		require.Contains(t, string(good), old)
		return strings.Replace(string(good), old, replacement, 1)
	}
	sig := `{"sig":"` + strings.SplitN(strings.SplitN(string(good), `{"sig":"`, 2)[1], `"`, 2)[0] + `"}`
	for name, c := range map[string]struct {
		data string
		is   error
		says string
	}{
		"empty":                       {"", ErrMalformed, "unexpected end of JSON input"},
		"a list":                      {"[]", ErrMalformed, "cannot unmarshal array"},
		"no fields":                   {"{}", ErrMalformed, `mediaType is ""`},
		"another media type":          {change("v0.3+json", "v0.4+json"), ErrMalformed, "v0.4+json"},
		"two signatures":              {change(sig, sig+","+sig), ErrMalformed, "exactly one signature"},
		"no signature":                {change(sig, ""), ErrMalformed, "exactly one signature"},
		"a good and a foreign one":    {change(sig, sig+`,{"sig":"AAAA"}`), ErrMalformed, "exactly one signature"},
		"an unknown field":            {change(`{"mediaType"`, `{"x":1,"mediaType"`), ErrMalformed, `unknown field "x"`},
		"a field in another case":     {change(`"dsseEnvelope"`, `"DSSEEnvelope"`), ErrMalformed, `unknown field "DSSEEnvelope"`},
		"an unknown envelope field":   {change(`"payload":`, `"Payload":"","payload":`), ErrMalformed, `unknown field "dsseEnvelope.Payload"`},
		"the payload twice":           {change(`"payload":`, `"payload":"e30=","payload":`), ErrMalformed, `duplicate field "dsseEnvelope.payload"`},
		"another payload type":        {change(payloadType, "text/plain"), ErrMalformed, "text/plain"},
		"base64 for URLs":             {change(sig, `{"sig":"-_-_"}`), ErrMalformed, "standard base64"},
		"base64 without padding":      {change(sig, `{"sig":"AAA"}`), ErrMalformed, "standard base64"},
		"base64 with a line break":    {change(sig, `{"sig":"AA\nAA"}`), ErrMalformed, "standard base64"},
		"something after it":          {string(good) + "{}", ErrMalformed, "after top-level value"},
		"no key":                      {change(`"publicKey"`, `"tlogEntries"`), ErrMalformed, "publicKey"},
		"no verification material":    {change(`"verificationMaterial":{"publicKey"`, `"verificationMaterial":null,"x":{"publicKey"`), ErrMalformed, "unknown"},
		"a certificate":               {change(`{"publicKey":{`, `{"certificate":{`), ErrSignature, "keyless signatures need"},
		"a chain beside the key":      {change(`{"publicKey":{`, `{"x509CertificateChain":{},"publicKey":{`), ErrSignature, "keyless signatures need"},
		"a message beside":            {change(`"dsseEnvelope"`, `"messageSignature":{},"dsseEnvelope"`), ErrMalformed, "cosign sign"},
		"another statement in it":     {change(`"payload":"`, `"payload":"e30="`+`,"payloadX":"`), ErrMalformed, "unknown"},
		"a payload type that is null": {change(`"`+payloadType+`"`, "null"), ErrMalformed, `payloadType is ""`},
	} {
		t.Run(name, func(t *testing.T) {
			err := v.Signature([]byte(c.data), subject)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
		})
	}
	for name, data := range map[string]string{
		"the media type of old":         change(BundleType, oldBundleType),
		"transparency log entries":      change(`{"publicKey":{`, `{"tlogEntries":[],"timestampVerificationData":null,"publicKey":{`),
		"a key without a hint":          change(`"hint":"`+s.Hint()+`"`, ""),
		"a key id in the envelope":      change(`{"sig":`, `{"keyid":"x","sig":`),
		"a certificate that is null":    change(`{"publicKey":{`, `{"certificate":null,"publicKey":{`),
		"white space around everything": " \n" + string(good) + "\n",
	} {
		require.NoError(t, v.Signature([]byte(data), subject), name)
	}
}

func TestAnEmptyVerifierVerifiesNothing(t *testing.T) {
	s, _ := pair(t)
	bundle, err := s.Sign(stated(t, subject))
	require.NoError(t, err)
	require.ErrorIs(t, new(Verifier).Signature(bundle, subject), ErrKey)
	require.ErrorIs(t, new(Verifier).Simple(nil, "", subject), ErrKey)
	_, v := pair(t)
	for _, bad := range []string{"", "latest", "sha256:", subject + "0", strings.ToUpper(subject), "sha512:" + subject[7:]} {
		require.ErrorIs(t, v.Signature(bundle, bad), ErrMalformed, bad)
	}
}

func TestWhatIsNoStatementIsNotSigned(t *testing.T) {
	s, _ := pair(t)
	for _, bad := range []string{"", "{}", `{"_type":"https://in-toto.io/Statement/v1","predicateType":"x","subject":[]}`, "null"} {
		_, err := s.Sign([]byte(bad))
		require.ErrorIs(t, err, ErrMalformed, bad)
	}
}

func TestSimpleSigningOfCosignIsVerified(t *testing.T) {
	payload := `{"critical":{"identity":{"docker-reference":"example.com/a"},"image":{"docker-manifest-digest":"` + subject +
		`"},"type":"cosign container image signature"},"optional":null}`
	for name, key := range keys(t) {
		t.Run(name, func(t *testing.T) {
			s, err := ParsePrivateKey(pkcs8(t, key), nil)
			require.NoError(t, err)
			v, err := ParsePublicKeys(s.PublicKey())
			require.NoError(t, err)
			sign := func(payload string) string {
				raw, err := s.sign([]byte(payload))
				require.NoError(t, err)
				return base64.StdEncoding.EncodeToString(raw)
			}
			check := func(payload, signed string) error { return v.Simple([]byte(payload), signed, subject) }
			require.NoError(t, check(payload, sign(payload)))
			require.ErrorIs(t, v.Simple([]byte(payload), sign(payload), other), ErrSignature)
			require.ErrorIs(t, check(payload, sign(payload+" ")), ErrSignature)
			require.ErrorIs(t, check(payload+" ", sign(payload)), ErrSignature)
			require.ErrorIs(t, check(payload, ""), ErrSignature)
			require.ErrorIs(t, check(payload, "%"), ErrMalformed)
			require.ErrorIs(t, check(payload, strings.Repeat("A", maxSimple+4)), ErrMalformed)
			require.ErrorIs(t, check(strings.Repeat(" ", MaxSignature+1), "AAAA"), ErrMalformed)
			for _, change := range [][2]string{
				{"cosign container image signature", "atomic container signature"},
				{`"critical":`, `"Critical":`},
				{`"image":`, `"image":{"docker-manifest-digest":"` + other + `"},"image":`},
				{`"type":`, `"kind":`},
				{subject, "latest"},
				{`{"critical"`, `[{"critical"`},
			} {
				require.Contains(t, payload, change[0])
				changed := strings.Replace(payload, change[0], change[1], 1)
				require.Error(t, check(changed, sign(changed)), changed)
			}
		})
	}
}

// TestOldClientsSignedSHA256OnP384 has a signature as Sigstore's clients made
// them before each curve got a hash of its own.
func TestOldClientsSignedSHA256OnP384(t *testing.T) {
	key := keys(t)["P-384"]
	s, err := ParsePrivateKey(pkcs8(t, key), nil)
	require.NoError(t, err)
	v, err := ParsePublicKeys(s.PublicKey())
	require.NoError(t, err)
	payload := []byte(`{"critical":{"image":{"docker-manifest-digest":"` + subject + `"},"type":"cosign container image signature"}}`)
	hash := sha256.Sum256(payload)
	raw, err := key.Sign(rand.Reader, hash[:], crypto.SHA256)
	require.NoError(t, err)
	require.NoError(t, v.Simple(payload, base64.StdEncoding.EncodeToString(raw), subject))
}

func TestASignerAndAVerifierServeManyAtOnce(t *testing.T) {
	s, v := pair(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			bundle, err := s.Sign(stated(t, subject))
			if err == nil {
				err = v.Signature(bundle, subject)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func BenchmarkSign(b *testing.B) {
	s, _ := pair(b)
	data := stated(b, subject)
	for b.Loop() {
		if _, err := s.Sign(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	s, v := pair(b)
	bundle, err := s.Sign(stated(b, subject))
	require.NoError(b, err)
	for b.Loop() {
		if err := v.Signature(bundle, subject); err != nil {
			b.Fatal(err)
		}
	}
}
