// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/auth/aws"
	"github.com/fluxcd/pkg/auth/azure"
	"github.com/fluxcd/pkg/auth/gcp"
	"github.com/fluxcd/pkg/cache"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/internal/lru"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/source"
)

// Bounds of the memory and the patience of an Identity.
const (
	// maxHolders limits the accounts with tokens in memory.
	maxHolders = 512
	// maxTokens limits the tokens of an account: a token of its cloud and a token of each
	// registry.
	maxTokens = 16
	// patience bounds the time in which a cloud gives credentials.
	patience = 30 * time.Second
)

// Identity logs in at the registries of clouds (spec.output.oci.provider) with tokens that hold for
// an hour or so: tokens of the account that a Transform acts as, else of the pod of the controller.
// It is safe for concurrent use.
//
// Tokens are in memory only, in the cache of fluxcd/pkg/auth, for four fifths of the
// time that they hold.
type Identity struct {
	reads    client.Client
	accounts bool

	// caches are by account, because that cache sends one request at a time: a cloud that does
	// not answer one tenant must not hold up the others.
	caches *lru.Cache[string, *cache.TokenCache]
	// google is held while the metadata server is asked.
	google chan struct{}
}

// NewIdentity returns an Identity that reads service accounts, and asks for their tokens, as
// reads. Without accounts (Flux's feature gate ObjectLevelWorkloadIdentity) only the controller's
// own identity is used, for Transforms that act as no account.
//
// The gate of the library is shared by the process. It is opened here and never closed: the field
// accounts limits an Identity.
func NewIdentity(reads client.Client, accounts bool) *Identity {
	if accounts && !auth.IsObjectLevelWorkloadIdentityEnabled() {
		auth.EnableObjectLevelWorkloadIdentity()
	}
	return &Identity{
		reads:    reads,
		accounts: accounts,
		caches:   lru.New[string, *cache.TokenCache](maxHolders),
		google:   make(chan struct{}, 1),
	}
}

// Fault says why an identity gives no credentials.
type Fault int

const (
	// Refused is by the cloud, by its annotations, or because there is no such account:
	// it may pass, without an event.
	Refused Fault = iota
	// Denied is by the API server: the controller may not ask for tokens.
	Denied
	// Disabled is by the feature gate.
	Disabled
	// Misplaced means that the registry does not belong to the provider.
	Misplaced
	// Away means that the cloud, or the API server, does not answer. It comes with
	// source.ErrUnavailable.
	Away
)

// IdentityError is returned where the login that the spec asks for fails.
type IdentityError struct {
	Fault   Fault
	message string
}

// Unwrap returns source.ErrUnavailable if a server does not answer.
func (e *IdentityError) Unwrap() error {
	if e.Fault == Away {
		return source.ErrUnavailable
	}
	return nil
}

// Error returns one sentence, without anything that a cloud or an API server gave to log in with.
func (e *IdentityError) Error() string { return "spec.output.oci.provider: " + e.message }

// identityError returns the error of a login.
func identityError(fault Fault, format string, args ...any) error {
	return &IdentityError{Fault: fault, message: fmt.Sprintf(format, args...)}
}

// cloud reports whether the provider of an output gives credentials here.
func cloud(out *v1alpha1.OCIOutput) bool {
	switch out.Provider {
	case aws.ProviderName, azure.ProviderName, gcp.ProviderName:
		return true
	}
	return false
}

// providerOf returns the provider of the library for a cloud.
func (i *Identity) providerOf(cloud string) auth.ArtifactRegistryCredentialsProvider {
	switch cloud {
	case aws.ProviderName:
		return aws.Provider{}
	case azure.ProviderName:
		return azure.Provider{}
	case gcp.ProviderName:
		return google{slot: i.google}
	}
	return nil
}

// holder is the account that logs in.
type holder struct{ namespace, account string }

// String returns the name of the holder for messages.
func (h holder) String() string {
	if h.account == "" {
		return "the controller itself"
	}
	return fmt.Sprintf("ServiceAccount %q", h.account)
}

// login returns the name and the password for a repository, which is host/name.
func (i *Identity) login(ctx context.Context, provider, name string, account holder) (map[string][]byte, error) {
	// Some logins are refused before any server is asked.
	if account.account != "" && !i.accounts {
		const format = "login at %s as %s needs a feature gate: start the controller with --feature-gates=%s=true, " +
			"or set spec.output.oci.pushSecretRef"
		return nil, identityError(Disabled, format, provider, account, auth.FeatureGateObjectLevelWorkloadIdentity)
	}
	cloud := i.providerOf(provider)
	host, _, _ := strings.Cut(name, "/")
	if _, err := cloud.ParseArtifactRepository(name); err != nil {
		return nil, identityError(Misplaced, "%q is not a registry of %s: set the provider of that registry, or generic with pushSecretRef", host, provider)
	}

	// The tokens of an account are kept for that account alone.
	tokens, err := i.cache(account)
	if err != nil {
		return nil, err
	}
	opts := []auth.Option{auth.WithCache(*tokens, cache.InvolvedObject{})}
	if account.account != "" {
		opts = append(opts,
			auth.WithClient(i.reads),
			auth.WithServiceAccountNamespace(account.namespace),
			auth.WithServiceAccountName(account.account))
	}

	// The cache would log the answer of a cloud as it is.
	loginCtx, cancel := context.WithTimeout(logr.NewContext(ctx, logr.Discard()), patience)
	defer cancel()
	credentials, err := auth.GetArtifactRegistryCredentials(loginCtx, cloud, name, opts...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, refusal(err, provider, host, account)
	}
	pair, err := credentials.Authorization()
	if err != nil || pair.Username == "" || pair.Password == "" {
		return nil, identityError(Refused, "%s gives %s no credentials for %q: it answers without any", provider, account, host)
	}
	return map[string][]byte{"username": []byte(pair.Username), "password": []byte(pair.Password)}, nil
}

// cache returns the cache for the tokens of an account.
func (i *Identity) cache(account holder) (*cache.TokenCache, error) {
	key := account.namespace + "/" + account.account
	if account.account == "" {
		key = ""
	}
	if c, ok := i.caches.Get(key); ok {
		return c, nil
	}
	c, err := cache.NewTokenCache(maxTokens)
	if err != nil {
		return nil, err
	}
	i.caches.Put(key, c, 1)
	return c, nil
}

// refusal returns an error of the library for people, without the prefixes of libraries, and without
// words that might be tokens.
func refusal(err error, provider, host string, account holder) error {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return identityError(Denied,
			"the controller may not read %s or create its tokens: grant it the rights for workload identity, see the guide", account)
	case apierrors.IsNotFound(err) && account.account != "":
		return identityError(Refused, "%s does not exist in namespace %q: create it", account, account.namespace)
	case isAway(err):
		// A server that shuts down may repeat the request in its answer.
		why := fmt.Sprintf("%s gives %s no credentials for %q", provider, account, host)
		switch known := remote.Explain(err, why); {
		case errors.Is(known, source.ErrUnavailable):
			return identityError(Away, "%s", known)
		case errors.Is(known, source.ErrHostKey):
			return identityError(Refused, "%s", known)
		}
		return identityError(Away, "%s: try again later", remote.Explain(errors.New(opaque(unwrapped(err).Error())), why))
	}

	// The cloud has refused.
	err = unwrapped(err)
	advice := "see that its annotations are right, and that the cloud trusts it"
	if account.account == "" {
		advice = "see that its pod has an identity there, or name a serviceAccountName"
	}
	// Azure draws lines between the parts of an answer.
	text := strings.ReplaceAll(err.Error(), strings.Repeat("-", 80), "")
	why := remote.Explain(errors.New(opaque(text)), fmt.Sprintf("%s gives %s no credentials for %q", provider, account, host))
	return identityError(Refused, "%s: %s", why, advice)
}

// isAway reports whether an error means that a server does not answer, or not now: a cloud's, or
// the API server.
func isAway(err error) bool {
	for _, isOf := range []func(error) bool{
		apierrors.IsInternalError, apierrors.IsServerTimeout, apierrors.IsTimeout, apierrors.IsTooManyRequests, apierrors.IsServiceUnavailable,
	} {
		if isOf(err) {
			return true
		}
	}

	// The clouds answer with a status, if they answer.
	var (
		amazon    interface{ HTTPStatusCode() int }
		microsoft *azidentity.AuthenticationFailedError
		status    int
	)
	switch {
	case errors.As(err, &amazon):
		status = amazon.HTTPStatusCode()
	case errors.As(err, &microsoft) && microsoft.RawResponse != nil:
		status = microsoft.RawResponse.StatusCode
	}
	if _, text, ok := strings.Cut(err.Error(), "oauth2/google: status code "); ok {
		_, _ = fmt.Sscanf(text, "%d", &status) // It stays 0 if there is no number.
	}
	if status != 0 {
		return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
	}
	if errors.As(err, new(*url.Error)) || errors.As(err, new(*net.OpError)) || errors.Is(err, context.DeadlineExceeded) {
		return true // There was no answer.
	}

	// The libraries of some clouds keep the text of an error alone.
	broken := []string{
		": EOF", "unexpected EOF", syscall.ECONNREFUSED.Error(), syscall.ECONNRESET.Error(),
		"no such host", "i/o timeout", "TLS handshake timeout",
	}
	return slices.ContainsFunc(broken, func(end string) bool { return strings.HasSuffix(err.Error(), end) })
}

// unwrapped returns an error without the prefixes of libraries.
func unwrapped(err error) error {
	for strings.HasPrefix(err.Error(), "failed to ") && errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}

// shortestSecret is the length of the secret keys of AWS.
const shortestSecret = 40

// opaque hides the words in a text that look like keys and tokens of clouds, because some servers
// repeat the request: long words of letters of both cases and digits, and JSON Web Tokens. Names of
// roles, identifiers of requests and digests do not look so.
func opaque(text string) string {
	var out strings.Builder
	for text != "" {
		end := runOf(text)
		if end == 0 {
			_, size := utf8.DecodeRuneInString(text)
			out.WriteString(text[:size])
			text = text[size:]
			continue
		}
		word := text[:end]
		if looksSecret(word) {
			word = "***"
			// A dot is followed by the next part of the same token.
			for strings.HasPrefix(text[end:], ".") {
				end += 1 + runOf(text[end+1:])
			}
		}
		out.WriteString(word)
		text = text[end:]
	}
	return out.String()
}

// looksSecret reports whether a word may be a key or a token.
func looksSecret(word string) bool {
	isWebToken := strings.Contains(word, "eyJ")
	hasBothCases := strings.ContainsFunc(word, unicode.IsUpper) && strings.ContainsFunc(word, unicode.IsLower)
	isKey := hasBothCases && len(word) >= shortestSecret && strings.ContainsFunc(word, unicode.IsDigit)
	return isWebToken || isKey
}

// runOf returns the length of the beginning of a text that may be a token, in bytes.
func runOf(text string) int {
	if end := strings.IndexFunc(text, func(r rune) bool { return !inToken(r) }); end >= 0 {
		return end
	}
	return len(text)
}

// inToken reports whether a rune is of the alphabets of base64, or of percent encoding.
func inToken(r rune) bool {
	isLetter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return isLetter || strings.ContainsRune("0123456789+/=_-%", r)
}
