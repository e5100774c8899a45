// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
)

// PEM types of keys.
const (
	pemPKCS8     = "PRIVATE KEY"
	pemSEC1      = "EC PRIVATE KEY"
	pemParams    = "EC PARAMETERS" // what openssl ecparam -genkey writes before the key
	pemSigstore  = "ENCRYPTED SIGSTORE PRIVATE KEY"
	pemCosign    = "ENCRYPTED COSIGN PRIVATE KEY" // what cosign 1 wrote
	pemPublic    = "PUBLIC KEY"
	pemEncrypted = "ENCRYPTED PRIVATE KEY"

	maxKey = 64 << 10
)

const wantKeys = "ECDSA on P-256 or P-384, or Ed25519, is wanted"

// Signer signs statements with a private key.
type Signer struct {
	private crypto.Signer
	public  publicKey
}

// GenerateKey makes a key pair, ECDSA on P-256, which every verifier knows: a
// PKCS #8 private key that is not encrypted, and a PKIX public key, in PEM.
func GenerateKey() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	signer, err := newSigner(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemPKCS8, Bytes: der}), signer.PublicKey(), nil
}

// ParsePrivateKey reads one private key in PEM: PKCS #8 or SEC 1 (RFC 5915), or encrypted as cosign
// does (scrypt and NaCl secretbox around PKCS #8). password is called only for an encrypted key,
// and may be nil for other keys. An error is ErrKey or ErrPassword, or comes from password.
func ParsePrivateKey(data []byte, password func() ([]byte, error)) (*Signer, error) {
	block, err := decodePrivateBlock(data)
	if err != nil {
		return nil, err
	}

	// The type of the block says how the key is encoded, and whether it is encrypted.
	der := block.Bytes
	switch block.Type {
	case pemPKCS8:
	case pemSEC1:
		key, err := x509.ParseECPrivateKey(der)
		if err != nil {
			return nil, refuse(ErrKey, "private key: no SEC 1 in its PEM block: is the file complete?")
		}
		return newSigner(key)
	case pemSigstore, pemCosign:
		der, err = decrypt(der, password)
		if err != nil {
			return nil, err
		}
	case pemPublic:
		return nil, refuse(ErrKey, "private key: this is a public key: give the other file of the pair")
	case pemEncrypted:
		return nil, refuse(ErrKey, "private key: encrypted PKCS #8 is not read: "+
			`decrypt it with "openssl pkcs8 -in KEY -out NEW", or encrypt it with "cosign import-key-pair --key NEW"`)
	default:
		return nil, refuse(ErrKey, fmt.Sprintf("private key: a PEM block %q is not read: "+wantKeys+", as %q or %q",
			block.Type, pemPKCS8, pemSigstore))
	}

	// All that is left is PKCS #8, decrypted by now.
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, refuse(ErrKey, "private key: no PKCS #8 in its PEM block: is the file complete?")
	}
	return newSigner(key)
}

// decodePrivateBlock returns the only PEM block that may hold a private key. The error is
// ErrKey.
func decodePrivateBlock(data []byte) (*pem.Block, error) {
	if len(data) > maxKey {
		return nil, refuse(ErrKey, fmt.Sprintf("private key: larger than %d bytes", maxKey))
	}
	block, remaining := pem.Decode(data)
	if block != nil && block.Type == pemParams {
		block, remaining = pem.Decode(remaining)
	}
	if block == nil {
		return nil, refuse(ErrKey, `private key: no PEM block "-----BEGIN … PRIVATE KEY-----"`)
	}
	if len(bytes.TrimSpace(remaining)) > 0 {
		return nil, refuse(ErrKey, "private key: unexpected data after the PEM block: give a file with one key")
	}
	return block, nil
}

func decrypt(ciphertext []byte, password func() ([]byte, error)) ([]byte, error) {
	if password == nil {
		return nil, refuse(ErrPassword, "private key: it is encrypted: give its password")
	}
	secret, err := password()
	if err != nil {
		return nil, err
	}
	plain, err := encrypted.Decrypt(ciphertext, secret)
	if err != nil {
		// The library does not tell a wrong password from altered content.
		return nil, refuse(ErrPassword, "private key: it cannot be decrypted: the password is wrong, or the file was altered")
	}
	return plain, nil
}

func newSigner(key any) (*Signer, error) {
	private, ok := key.(crypto.Signer)
	if !ok {
		return nil, refuse(ErrKey, fmt.Sprintf("private key: %T cannot sign: %s", key, wantKeys))
	}
	public, err := newPublicKey(private.Public())
	if err != nil {
		return nil, err
	}
	return &Signer{private: private, public: public}, nil
}

// PublicKey returns the public key in PEM (PKIX), which [ParsePublicKeys] reads.
func (s *Signer) PublicKey() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemPublic, Bytes: s.public.der})
}

// Hint returns the name of the key: the SHA-256 of its PKIX form in base64, as Sigstore has
// it.
func (s *Signer) Hint() string { return s.public.hint }

// publicKey is a key that signatures can be checked with.
type publicKey struct {
	key  crypto.PublicKey
	der  []byte
	hint string
	// hashes are the digests that ECDSA may have signed, the first when we sign; nil is the message
	// itself, for Ed25519.
	hashes []crypto.Hash
}

func newPublicKey(key crypto.PublicKey) (publicKey, error) {
	out := publicKey{key: key}
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			out.hashes = []crypto.Hash{crypto.SHA256}
		case elliptic.P384():
			// Sigstore clients signed SHA-256 with every curve until 2025.
			out.hashes = []crypto.Hash{crypto.SHA384, crypto.SHA256}
		default:
			return publicKey{}, refuse(ErrKey, fmt.Sprintf("key: the curve %s is not supported: %s", k.Params().Name, wantKeys))
		}
	case ed25519.PublicKey:
	default:
		return publicKey{}, refuse(ErrKey, fmt.Sprintf("key: %T is not supported: %s", key, wantKeys))
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return publicKey{}, refuse(ErrKey, "key: it has no PKIX form")
	}
	sum := sha256.Sum256(der)
	out.der, out.hint = der, base64.StdEncoding.EncodeToString(sum[:])
	return out, nil
}

// signed reports whether the key made the signature of message.
func (k publicKey) signed(message, signature []byte) bool {
	switch key := k.key.(type) {
	case *ecdsa.PublicKey:
		for _, h := range k.hashes {
			if ecdsa.VerifyASN1(key, sum(h, message), signature) {
				return true
			}
		}
	case ed25519.PublicKey:
		return ed25519.Verify(key, message, signature)
	}
	return false
}

func sum(hash crypto.Hash, message []byte) []byte {
	h := hash.New()
	h.Write(message)
	return h.Sum(nil)
}
