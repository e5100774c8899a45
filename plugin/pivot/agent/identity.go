// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link"
)

// awaitEnrolment waits until the agent has a certificate. The key is written before it is used,
// because a token is good for a single key.
func (a *Agent) awaitEnrolment(ctx context.Context) error {
	const longest = time.Minute
	for pause := time.Second; ; pause = min(2*pause, longest) {
		err := a.enrol(ctx)
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // The agent is being stopped.
		}
		a.Log.Info("not enrolled", "reason", err.Error(), "again", pause.String())
		wait(ctx, pause)
	}
}

// enrol reads the credentials of the Secret, or redeems its token.
func (a *Agent) enrol(ctx context.Context) error {
	secret, err := a.secret(ctx)
	if err != nil {
		return err
	}
	token := string(secret.Data[bootstrap.TokenKey])
	if enrol.HasKey(secret.Data) {
		credentials, err := decodeSecret(secret)
		if err != nil {
			return err
		}
		if credentials.Certificate != nil && (token == "" || credentials.Valid(a.Now()) == nil) {
			a.identity.Store(credentials)
			return nil
		}
	}
	if token == "" {
		const format = "secret %s/%s has no token: make a new one on the parent (spec.agent.rejoin), and put it there"
		return fmt.Errorf(format, secret.Namespace, secret.Name)
	}
	return a.redeem(ctx, secret)
}

// redeem exchanges the token of the Secret for a certificate.
func (a *Agent) redeem(ctx context.Context, secret *corev1.Secret) (err error) {
	if !enrol.HasKey(secret.Data) {
		secret, err = a.makeKey(ctx, secret)
		if err != nil {
			return err
		}
	}
	token := string(secret.Data[bootstrap.TokenKey])
	credentials, err := a.exchange(ctx, secret, token)

	// A blocked key was stolen, and is of no use any more. The token is for a new key.
	if refused := (*enrol.Refusal)(nil); errors.As(err, &refused) && refused.Reason == enrol.KeyBlocked {
		secret, err = a.makeKey(ctx, secret)
		if err == nil {
			credentials, err = a.exchange(ctx, secret, token)
		}
	}
	if err != nil {
		return err
	}
	return a.keep(ctx, credentials, token)
}

// exchange sends a token to the parent, and returns the certificate for the key of the Secret.
func (a *Agent) exchange(ctx context.Context, secret *corev1.Secret, token string) (*enrol.Credentials, error) {
	credentials, err := decodeSecret(secret)
	if err != nil {
		return nil, err
	}
	return a.registration(secret).Enrol(ctx, credentials, token)
}

// decodeSecret reads the credentials of the Secret.
func decodeSecret(secret *corev1.Secret) (*enrol.Credentials, error) {
	credentials, err := enrol.DecodeCredentials(secret.Data)
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return credentials, nil
}

// makeKey writes a new key to the Secret, in place of an earlier key and its certificate.
func (a *Agent) makeKey(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	key, err := enrol.NewKey()
	if err != nil {
		return nil, err
	}
	trust, err := enrol.DecodeTrust(secret.Data)
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	data, err := (&enrol.Credentials{Key: key, Trust: trust}).Encode()
	if err != nil {
		return nil, err
	}
	delete(secret.Data, corev1.TLSCertKey)
	maps.Copy(secret.Data, data)
	err = a.Client.Update(ctx, secret)
	return secret, err
}

// keep writes credentials to the Secret, and removes the token that they were issued for, which may
// be "". Another token that a user has put there meanwhile stays.
func (a *Agent) keep(ctx context.Context, credentials *enrol.Credentials, token string) error {
	secret, err := a.secret(ctx)
	if err != nil {
		return err
	}
	data, err := credentials.Encode()
	if err != nil {
		return err
	}
	maps.Copy(secret.Data, data)
	if string(secret.Data[bootstrap.TokenKey]) == token {
		delete(secret.Data, bootstrap.TokenKey)
	}
	if err := a.Client.Update(ctx, secret); err != nil {
		return err
	}
	a.identity.Store(credentials)
	a.Log.Info("the agent has a certificate", "notAfter", credentials.Certificate.NotAfter.UTC().Format(time.RFC3339))
	return nil
}

// retryAfter is the time that the agent waits after a certificate was refused.
const retryAfter = time.Minute

// renew requests a new certificate in time, or at once if a user has put a new token into the
// Secret, or if the parent has other authorities than the agent trusts.
func (a *Agent) renew(ctx context.Context) (err error) {
	a.renewing.Lock()
	defer a.renewing.Unlock()

	// Without a certificate, or soon after a failure, there is nothing to renew.
	credentials := a.identity.Load()
	now := a.Now()
	if credentials == nil || now.Before(a.retry) {
		return nil
	}

	// Each failure delays the next attempt.
	secret, err := a.secret(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			a.retry = now.Add(retryAfter)
		}
	}()

	// A user has put a new token there. A machine may have put a spent token back.
	if token := string(secret.Data[bootstrap.TokenKey]); token != "" && token != a.spent {
		err = a.redeem(ctx, secret)
		if err == nil {
			return nil
		}
		if refused := (*enrol.Refusal)(nil); errors.As(err, &refused) && !refused.Temporary() {
			a.spent = token
		}
		err = fmt.Errorf("the token in secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}

	// Renew when the certificate is due, or when the parent has rotated its authorities. For each
	// bundle of authorities a single renewal is enough: its answer has the bundle, or no answer will.
	pins := a.link.Pins()
	isKnown := slices.Equal(pins, credentials.Trust.Pins) || slices.Equal(pins, a.followed)
	rotated := len(pins) > 0 && !isKnown
	if now.Before(credentials.RenewAt()) && !rotated {
		return err
	}
	renewed, failed := a.registration(secret).Renew(ctx, credentials)
	if failed != nil {
		return errors.Join(err, failed)
	}
	a.followed = pins
	return a.keep(ctx, renewed, a.spent)
}

// secret reads the Secret of the agent.
func (a *Agent) secret(ctx context.Context) (*corev1.Secret, error) {
	var s corev1.Secret
	err := a.Client.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: enrol.AgentSecret}, &s)
	return &s, err
}

// registration returns the client of the parent's registration endpoint.
func (a *Agent) registration(secret *corev1.Secret) enrol.Client {
	return enrol.Client{Endpoint: string(secret.Data[bootstrap.EndpointKey]), Now: a.Now}
}

// parent returns the address of the parent, and the credentials for the next session.
func (a *Agent) parent(ctx context.Context) (link.Parent, error) {
	secret, err := a.secret(ctx)
	if err != nil {
		return link.Parent{}, err
	}
	credentials := a.identity.Load()
	if credentials == nil {
		return link.Parent{}, errors.New("the agent is not enrolled")
	}
	if err := credentials.Valid(a.Now()); err != nil {
		return link.Parent{}, err
	}
	return link.Parent{Address: string(secret.Data[bootstrap.LinkKey]), TLS: credentials.TLS(a.Now)}, nil
}
