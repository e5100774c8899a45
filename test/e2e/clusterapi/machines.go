// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemorycache "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// state is what the cloud has of one Cluster.
type state struct {
	// Machines are the times of creation by name, exact to the nanosecond.
	Machines map[string]time.Time `json:"machines"`
	// Journal is all that happened, the oldest first.
	Journal []entry `json:"journal"`
}

// entry is one machine that was created or deleted.
type entry struct {
	Time  time.Time `json:"time"`
	Event string    `json:"event"`
	Name  string    `json:"name"`
}

// journal keeps what happened by the name of the resource group, which is NAMESPACE/NAME
// of the Cluster.
type journal struct {
	mu      sync.Mutex
	entries map[string][]entry
}

func (j *journal) add(group, event string, object client.Object) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries[group] = append(j.entries[group], entry{time.Now(), event, object.GetName()})
}

func (j *journal) of(group string) []entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]entry{}, j.entries[group]...)
}

// OnCreate is called after a machine was created.
func (j *journal) OnCreate(group string, o client.Object) { j.add(group, "created", o) }

// OnUpdate does nothing: a machine stays the same.
func (j *journal) OnUpdate(string, client.Object, client.Object) {}

// OnDelete is called after a machine was deleted.
func (j *journal) OnDelete(group string, o client.Object) { j.add(group, "deleted", o) }

// OnGeneric does nothing: machines are not synchronised with anything.
func (j *journal) OnGeneric(string, client.Object) {}

// serve answers until ctx is done.
func serve(ctx context.Context, address string, cache inmemorycache.Cache) error {
	events := &journal{entries: map[string][]entry{}}
	informer, err := cache.GetInformer(ctx, &cloudv1.CloudMachine{})
	if err != nil {
		return err
	}
	if err := informer.AddEventHandler(events); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /clusters/{namespace}/{name}", func(w http.ResponseWriter, r *http.Request) {
		group := r.PathValue("namespace") + "/" + r.PathValue("name")
		answer := state{Machines: map[string]time.Time{}, Journal: events.of(group)}
		var list cloudv1.CloudMachineList
		// The resource group is not there before the Cluster has infrastructure.
		if cache.List(group, &list) == nil {
			for _, m := range list.Items {
				answer.Machines[m.Name] = m.CreationTimestamp.Time
			}
		}
		_ = json.NewEncoder(w).Encode(answer) // the client may have gone
	})
	mux.HandleFunc("DELETE /clusters/{namespace}/{name}/{machine}", func(w http.ResponseWriter, r *http.Request) {
		machine := &cloudv1.CloudMachine{ObjectMeta: metav1.ObjectMeta{Name: r.PathValue("machine")}}
		if err := cache.Delete(r.PathValue("namespace")+"/"+r.PathValue("name"), machine); err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
		}
	})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_ = server.Close() // it ends with the process anyway
	}()
	return server.Serve(listener)
}
