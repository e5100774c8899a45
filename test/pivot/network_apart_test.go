// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package pivot

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/test/pivot/harness"
	"github.com/ropewalk/ropewalk/test/pivot/network"
)

// looks are the PivotClusters of a plane as they were seen last.
type looks struct {
	mu  sync.Mutex
	all map[string]*unstructured.Unstructured
}

// look looks at the PivotClusters of the parent again and again, for all agents together.
func (d *distant) look() *looks {
	l := &looks{}
	go func() {
		for tick := time.Tick(100 * time.Millisecond); d.t.Context().Err() == nil; <-tick {
			list, err := d.A.Client.Resource(pivotClusters()).List(d.t.Context(), metav1.ListOptions{})
			if err != nil {
				continue
			}
			all := map[string]*unstructured.Unstructured{}
			for i := range list.Items {
				all[list.Items[i].GetName()] = &list.Items[i]
			}
			l.mu.Lock()
			l.all = all
			l.mu.Unlock()
		}
	}()
	return l
}

// of is the PivotCluster of an agent.
func (l *looks) of(name string) *unstructured.Unstructured {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[name]
}

// session is the number of the last session of an agent, and whether there is one.
func (l *looks) session(name string) (number int64, connected bool) {
	return sessionOf(l.of(name))
}

// apart is a cluster without machines: an agent in a network namespace of its own, with a wire
// to the parent. Agents share plane B, each with a namespace of Kubernetes.
type apart struct {
	*distant

	looks *looks
	name  string
	at    *network.Namespace
	wire  *network.Wire
	agent *harness.Process
}

// apart is one whose agent was not given anything yet.
func (d *distant) apart(l *looks, n int, name string) *apart {
	d.t.Helper()
	a := &apart{distant: d, looks: l, name: name, at: network.New(d.t)}
	a.wire = network.Connect(d.t, fmt.Sprintf("wire%d", n), d.parentAt, a.at, cell, fmt.Sprintf("10.211.%d.2", n))
	a.at.Forward(d.t, loopbackOf(d.t, d.B.Kubeconfig))
	d.run(d.A, strings.ReplaceAll(d.document("sha256:"+strings.Repeat("0", 64)), "name: "+d.cluster.Name+"}", "name: "+name+"}"), "apply", "-f", "-")
	d.run(d.B, "{apiVersion: v1, kind: Namespace, metadata: {name: agent-"+name+"}}", "apply", "-f", "-")
	return a
}

// given has an agent what the script of a machine gives it: the Secret of the manifest. The
// link is at another address where one is given.
func (a *apart) given(link string) {
	a.t.Helper()
	secret := a.manifest()
	if link != "" {
		secret.Data["link"] = []byte(link)
	}
	a.write("agent-"+a.name, secret.Data)
}

// write writes the Secret of an agent.
func (a *apart) write(namespace string, data map[string][]byte) {
	a.t.Helper()
	text, err := yaml.Marshal(&corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ropewalk-agent"}, Data: data,
	})
	require.NoError(a.t, err)
	a.run(a.B, string(text), "apply", "--server-side", "--force-conflicts", "-f", "-")
}

// manifest fetches the manifest of the agent over the wire, with the token of now.
func (a *apart) manifest() *corev1.Secret {
	a.t.Helper()
	var text []byte
	harness.Await(a.t, 2*time.Minute, "the manifest of "+a.name, func() bool {
		enrol, err := kubernetesOf(a.t, a.A).CoreV1().Secrets("rw-"+a.name).Get(a.t.Context(), a.name+"-enrol", metav1.GetOptions{})
		if err == nil {
			text, err = a.fetch(enrol.Data)
		}
		return err == nil
	})
	documents := bytes.Split(text, []byte("\n---\n"))
	secret := &corev1.Secret{}
	require.NoError(a.t, yaml.Unmarshal(documents[len(documents)-1], secret))
	require.Equal(a.t, "ropewalk-agent", secret.Name)
	return secret
}

func (a *apart) fetch(enrol map[string][]byte) ([]byte, error) {
	authorities := x509.NewCertPool()
	require.True(a.t, authorities.AppendCertsFromPEM(enrol["ca.crt"]))
	client := &http.Client{Transport: &http.Transport{DialContext: a.at.Dial, TLSClientConfig: &tls.Config{RootCAs: authorities}, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, string(enrol["endpoint"])+"/v1/manifest", nil)
	require.NoError(a.t, err)
	request.Header.Set("Authorization", "Bearer "+string(enrol["token"]))
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status) // the token of before
	}
	return io.ReadAll(response.Body)
}

// secret is the Secret of the agent.
func (a *apart) secret() *corev1.Secret {
	a.t.Helper()
	s, err := kubernetesOf(a.t, a.B).CoreV1().Secrets("agent-"+a.name).Get(a.t.Context(), "ropewalk-agent", metav1.GetOptions{})
	require.NoError(a.t, err)
	return s
}

// start starts the agent, or another process with its Secret of a namespace.
func (a *apart) start(at *network.Namespace, namespace, kubeconfig string) *harness.Process {
	a.t.Helper()
	argv := at.Command(a.Program(a.t, "ropewalk-controller"), "--parts=agent", "--metrics-addr=0", "--health-addr=0")
	return a.Process(a.t, namespace, argv, "KUBECONFIG="+kubeconfig, "RUNTIME_NAMESPACE="+namespace)
}

// connected waits until the parent counts a session that is later than one, and returns its
// number.
func (a *apart) connected(later int64) int64 {
	a.t.Helper()
	var number int64
	harness.Await(a.t, 3*time.Minute, fmt.Sprintf("agent %s is connected, after session %d", a.name, later), func() bool {
		n, is := a.looks.session(a.name)
		number = n
		return is && n > later
	})
	return number
}

// lost waits until the agent is connected no more.
func (a *apart) lost() {
	a.t.Helper()
	harness.Await(a.t, 3*time.Minute, "agent "+a.name+" is lost", func() bool {
		_, is := a.looks.session(a.name)
		return !is
	})
}

// patch changes the PivotCluster on the parent.
func (a *apart) patch(spec string) {
	a.t.Helper()
	_, err := a.A.Client.Resource(pivotClusters()).
		Patch(a.t.Context(), a.name, types.MergePatchType, []byte(`{"spec":`+spec+`}`), metav1.PatchOptions{})
	require.NoError(a.t, err)
}

// key is the sum of the key that is enrolled.
func (a *apart) key() string {
	key, _, _ := unstructured.NestedString(a.looks.of(a.name).Object, "status", "enrolment", "publicKey")
	return key
}

// since is how long ago that was, for people.
func since(at time.Time) time.Duration { return time.Since(at).Round(10 * time.Millisecond) }

// memoryOf is how much memory a process has, and had at most.
func memoryOf(t testing.TB, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	var out []string
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); name == "VmRSS" || name == "VmHWM" {
			out = append(out, name+" "+strings.TrimSpace(value))
		}
	}
	return strings.Join(out, ", ")
}
