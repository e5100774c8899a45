// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func TestAnExternalServiceSaysWhatItsURLOrItsPortsMean(t *testing.T) {
	for _, c := range []struct {
		name, fields string
		want         spec.ExternalService
		cidr         string
	}{
		{"a URL", `{url: "https://API.pay.example/v1?x=y"}`, spec.ExternalService{URL: "https://API.pay.example/v1?x=y", Host: "api.pay.example", Ports: []int{443}, Protocol: "https"}, ""},
		{"a URL with a port", `{url: "kafka://k.example.com:9093"}`, spec.ExternalService{URL: "kafka://k.example.com:9093", Host: "k.example.com", Ports: []int{9093}, Protocol: "kafka"}, ""},
		{"a scheme with a port of its own", `{url: "amqps://mq.example.com/shop"}`, spec.ExternalService{URL: "amqps://mq.example.com/shop", Host: "mq.example.com", Ports: []int{5671}, Protocol: "amqps"}, ""},
		{"a URL with an address", `{url: "http://[2001:DB8::1]:8080"}`, spec.ExternalService{URL: "http://[2001:DB8::1]:8080", Host: "2001:db8::1", Ports: []int{8080}, Protocol: "http"}, "2001:db8::1/128"},
		{"ports", `{host: smtp.example.com, ports: [587, 465]}`, spec.ExternalService{URL: "tcp://smtp.example.com:587", Host: "smtp.example.com", Ports: []int{587, 465}, Protocol: "tcp"}, ""},
		{"the port of HTTP", `{host: a.example.com, ports: [80]}`, spec.ExternalService{URL: "http://a.example.com:80", Host: "a.example.com", Ports: []int{80}, Protocol: "http"}, ""},
		{"the port of HTTPS, and a protocol", `{host: a.example.com, ports: [443], protocol: tls}`, spec.ExternalService{URL: "tls://a.example.com:443", Host: "a.example.com", Ports: []int{443}, Protocol: "tls"}, ""},
		{"a protocol", `{host: a.example.com, protocol: https}`, spec.ExternalService{URL: "https://a.example.com:443", Host: "a.example.com", Ports: []int{443}, Protocol: "https"}, ""},
		{"an address", `{host: "::ffff:192.0.2.7", ports: [53], protocol: udp}`, spec.ExternalService{URL: "udp://192.0.2.7:53", Host: "192.0.2.7", Ports: []int{53}, Protocol: "udp"}, "192.0.2.7/32"},
		{"no ports yet", `{host: a.example.com, protocol: tcp}`, spec.ExternalService{Host: "a.example.com", Protocol: "tcp"}, ""},
		{"no address yet", `{ports: [443]}`, spec.ExternalService{URL: "https://:443", Ports: []int{443}, Protocol: "https"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			docs, err := spec.Parse([]spec.File{{Name: "ropewalk.yaml", Data: []byte(projectHead + "  workloads: {externalServices: {it: " + c.fields + "}}\n")}})
			require.NoError(t, err)
			w, err := docs.Projects[0].Workloads("")
			require.NoError(t, err)
			got := w.ExternalServices["it"]
			require.Equal(t, 5, got.Pos.Line)
			require.Equal(t, c.cidr, got.CIDR())
			require.Equal(t, c.want.Host != "" && c.want.Ports != nil, got.Complete())
			got.Pos, c.want.Name = object.Pos{}, "it"
			require.Equal(t, c.want, got)
		})
	}
}

func TestAnEnvironmentChangesTakesAwayAndContradictsAnExternalService(t *testing.T) {
	docs, err := spec.Parse([]spec.File{{Name: "ropewalk.yaml", Data: []byte(projectHead + `
  workloads: {externalServices: {pay: {url: "https://pay.example"}, mail: {host: smtp.example.com, ports: [25]}}}
  environments:
    test: {workloads: {externalServices: {pay: {url: "https://sandbox.pay.example"}, mail: null}}}
    other: {workloads: {externalServices: {pay: {url: null, host: pay.example.com, ports: [8443]}}}}
    both: {workloads: {externalServices: {mail: {url: "smtp://u:hunter2@smtp.example.com:25"}}}}
`)}})
	require.ErrorContains(t, err, "the url has a user or a password")
	require.NotContains(t, err.Error(), "hunter2")

	test, err := docs.Projects[0].Workloads("test")
	require.NoError(t, err)
	require.Equal(t, "sandbox.pay.example", test.ExternalServices["pay"].Host)
	require.NotContains(t, test.ExternalServices, "mail")
	other, err := docs.Projects[0].Workloads("other")
	require.NoError(t, err)
	require.Equal(t, "tcp://pay.example.com:8443", other.ExternalServices["pay"].URL)
	_, err = docs.Projects[0].Workloads("both")
	require.ErrorContains(t, err, "ropewalk.yaml:6:82: spec: spec.workloads.externalServices.mail.host: the url says the host, the port and the protocol already")
	require.NotContains(t, err.Error(), "hunter2")
}
