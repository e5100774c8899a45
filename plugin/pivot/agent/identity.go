// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link"
)

// enrolled waits until the agent has a certificate. The key is written before it is used: a
// token is for one key.
func (a *Agent) enrolled(ctx context.Context) error {
	const most = time.Minute
	for pause := time.Second; ; pause = min(2*pause, most) {
		err := a.enrol(ctx)
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // The agent is being stopped.
		}
		a.Log.Info("not enrolled", "reason", err.Error(), "again", pause.String())
		wait(ctx, pause)
	}
}

func (a *Agent) enrol(ctx context.Context) error {
	secret, err := a.secret(ctx)
	if err != nil {
		return err
	}
	if len(secret.Data["tls.key"]) == 0 {
		if secret, err = a.makeKey(ctx, secret); err != nil {
			return err
		}
	}
	credentials, err := enrol.DecodeCredentials(secret.Data)
	if err != nil {
		return fmt.Errorf("secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	token := string(secret.Data[bootstrap.TokenKey])
	if credentials.Certificate != nil && (token == "" || credentials.Valid(a.Now()) == nil) {
		a.identity.Store(credentials)
		return nil
	}
	if token == "" {
		return fmt.Errorf("secret %s/%s has no token: make a new one on the parent (spec.agent.rejoin), and put it there", secret.Namespace, secret.Name)
	}
	got, err := a.registration(secret).Enrol(ctx, credentials, token)
	if err != nil {
		return err
	}
	return a.keep(ctx, got)
}

// makeKey adds a key to what the parent gave.
func (a *Agent) makeKey(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	key, err := enrol.NewKey()
	if err != nil {
		return nil, err
	}
	trust, err := enrol.ParseTrust(secret.Data["ca.crt"], bootstrap.Pins(secret.Data))
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	data, err := (&enrol.Credentials{Key: key, Trust: trust}).Encode()
	if err != nil {
		return nil, err
	}
	maps.Copy(secret.Data, data)
	return secret, a.Client.Update(ctx, secret)
}

// keep writes credentials to the Secret, and takes the token away.
func (a *Agent) keep(ctx context.Context, credentials *enrol.Credentials) error {
	secret, err := a.secret(ctx)
	if err != nil {
		return err
	}
	data, err := credentials.Encode()
	if err != nil {
		return err
	}
	maps.Copy(secret.Data, data)
	delete(secret.Data, bootstrap.TokenKey)
	if err := a.Client.Update(ctx, secret); err != nil {
		return err
	}
	a.identity.Store(credentials)
	a.Log.Info("the agent has a certificate", "notAfter", credentials.Certificate.NotAfter.UTC().Format(time.RFC3339))
	return nil
}

// renew asks for a new certificate in time.
func (a *Agent) renew(ctx context.Context) error {
	credentials := a.identity.Load()
	if credentials == nil || a.Now().Before(credentials.RenewAt()) {
		return nil
	}
	secret, err := a.secret(ctx)
	if err != nil {
		return err
	}
	ask := a.registration(secret)
	if token := string(secret.Data[bootstrap.TokenKey]); token != "" {
		// A user has put a new one there, or a machine has put the spent one back.
		got, err := ask.Enrol(ctx, credentials, token)
		var refused *enrol.Refusal
		if err == nil || !errors.As(err, &refused) {
			return cmp.Or(err, a.keepIf(ctx, got))
		}
		a.Log.Info("the token in the Secret is refused: the certificate is renewed without it", "reason", err.Error())
	}
	got, err := ask.Renew(ctx, credentials)
	return cmp.Or(err, a.keepIf(ctx, got))
}

// keepIf keeps credentials where there are any.
func (a *Agent) keepIf(ctx context.Context, credentials *enrol.Credentials) error {
	if credentials == nil {
		return nil
	}
	return a.keep(ctx, credentials)
}

func (a *Agent) secret(ctx context.Context) (*corev1.Secret, error) {
	var s corev1.Secret
	err := a.Client.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: enrol.AgentSecret}, &s)
	return &s, err
}

func (a *Agent) registration(secret *corev1.Secret) enrol.Client {
	return enrol.Client{Endpoint: string(secret.Data[bootstrap.EndpointKey]), Now: a.Now}
}

// parent is where the next session goes.
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
