// The floor: what a cluster's API server allows at best. It watches nodes and writes to each that carries the uninitialized
// taint what a controller would write, from a table made beforehand; it asks no cloud, decides nothing and retries nothing
// but refused writes. Only the standard library, so that nothing stands between it and the server.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	taintKey     = "node.cloudprovider.kubernetes.io/uninitialized"
	metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// What is written to one node; the same values that the instance has.
type entry struct {
	ProviderID  string              `json:"providerID"`
	Addresses   []map[string]string `json:"addresses"`
	Labels      map[string]string   `json:"labels"`
	Annotations map[string]string   `json:"annotations"`
}

type node struct {
	Metadata struct {
		Name            string            `json:"name"`
		UID             string            `json:"uid"`
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		ProviderID string `json:"providerID"`
		Taints     []struct {
			Key string `json:"key"`
		} `json:"taints"`
	} `json:"spec"`
	Status struct {
		Addresses json.RawMessage `json:"addresses"`
	} `json:"status"`
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

type floor struct {
	server     string
	client     *http.Client
	relay      string
	functions  string
	table      map[string]entry
	withEvents bool
	work       chan node
	seen       map[string]bool
}

func main() {
	server := flag.String("server", "", "https://host:port of the API server")
	ca := flag.String("certificate-authority", "", "file with its authority, PEM")
	relayToken := flag.String("relay-token-file", "", "token that may list and watch nodes")
	functionsToken := flag.String("functions-token-file", "", "token that may patch nodes")
	tableFile := flag.String("table", "", "JSON: node name to what is written to it")
	workers := flag.Int("workers", 32, "nodes written at a time")
	withEvents := flag.Bool("events", false, "write one Event a node too")
	flag.Parse()

	var table map[string]entry
	must(json.Unmarshal(read(*tableFile), &table))
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(read(*ca)) {
		log.Fatalf("%s holds no certificate", *ca)
	}
	f := &floor{
		server: *server,
		client: &http.Client{Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots},
			ForceAttemptHTTP2: true,
		}},
		relay:      strings.TrimSpace(string(read(*relayToken))),
		functions:  strings.TrimSpace(string(read(*functionsToken))),
		table:      table,
		withEvents: *withEvents,
		work:       make(chan node, 100_000),
		seen:       map[string]bool{},
	}
	var writers sync.WaitGroup
	for range *workers {
		writers.Go(func() {
			for n := range f.work {
				f.write(n)
			}
		})
	}
	f.watchForever()
}

// Lists once, then watches, from the last version seen on whenever the server ends a watch.
func (f *floor) watchForever() {
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Items []node `json:"items"`
	}
	body, status := f.send("GET", "/api/v1/nodes", "", f.relay, nil)
	if status != http.StatusOK {
		log.Fatalf("listing nodes answered %d: %s", status, body)
	}
	must(json.Unmarshal(body, &list))
	for _, n := range list.Items {
		f.take(n)
	}
	fmt.Println("listed")
	version := list.Metadata.ResourceVersion
	for {
		version = f.watch(version)
	}
}

func (f *floor) watch(version string) string {
	path := "/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=" + url.QueryEscape(version)
	request, err := http.NewRequest("GET", f.server+path, nil)
	must(err)
	request.Header.Set("Authorization", "Bearer "+f.relay)
	response, err := f.client.Do(request)
	if err != nil {
		time.Sleep(50 * time.Millisecond)
		return version
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		log.Fatalf("watching nodes answered %d", response.StatusCode)
	}
	lines := bufio.NewReaderSize(response.Body, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return version
		}
		var event struct {
			Type   string `json:"type"`
			Object node   `json:"object"`
		}
		must(json.Unmarshal(line, &event))
		if event.Type == "ERROR" {
			log.Fatalf("the watch ended: %s", line)
		}
		version = event.Object.Metadata.ResourceVersion
		if event.Type == "ADDED" || event.Type == "MODIFIED" {
			f.take(event.Object)
		}
	}
}

func (f *floor) take(n node) {
	if f.seen[n.Metadata.UID] {
		return
	}
	for _, taint := range n.Spec.Taints {
		if taint.Key == taintKey {
			f.seen[n.Metadata.UID] = true
			f.work <- n
			return
		}
	}
}

func (f *floor) write(n node) {
	values, known := f.table[n.Metadata.Name]
	if !known {
		log.Fatalf("node %s is not in the table", n.Metadata.Name)
	}
	path := "/api/v1/nodes/" + n.Metadata.Name
	f.patch(path+"/status?fieldManager=floor", addressesOf(n, values))
	f.patch(path+"?fieldManager=floor", initializationOf(n, values))
	if f.withEvents {
		f.record(n)
	}
}

func addressesOf(n node, values entry) []operation {
	var before any
	if len(n.Status.Addresses) > 0 {
		before = n.Status.Addresses
	}
	return []operation{
		{"test", "/metadata/uid", n.Metadata.UID},
		{"test", "/status/addresses", before},
		{"add", "/status/addresses", values.Addresses},
	}
}

func initializationOf(n node, values entry) []operation {
	operations := []operation{{"test", "/metadata/uid", n.Metadata.UID}}
	for key, value := range values.Labels {
		operations = append(operations, operation{"add", "/metadata/labels/" + escape(key), value})
	}
	if n.Spec.ProviderID == "" {
		operations = append(operations, operation{"add", "/spec/providerID", values.ProviderID})
	}
	if n.Metadata.Annotations == nil && len(values.Annotations) > 0 {
		operations = append(operations, operation{"add", "/metadata/annotations", values.Annotations})
	} else {
		for key, value := range values.Annotations {
			operations = append(operations, operation{"add", "/metadata/annotations/" + escape(key), value})
		}
	}
	for index := len(n.Spec.Taints) - 1; index >= 0; index-- {
		if n.Spec.Taints[index].Key == taintKey {
			path := fmt.Sprintf("/spec/taints/%d", index)
			operations = append(operations, operation{"test", path + "/key", taintKey}, operation{Op: "remove", Path: path})
		}
	}
	return operations
}

func (f *floor) patch(path string, operations []operation) {
	body, err := json.Marshal(operations)
	must(err)
	for {
		answer, status := f.send("PATCH", path, "application/json-patch+json", f.functions, body)
		switch status {
		case http.StatusOK:
			return
		case http.StatusTooManyRequests:
			time.Sleep(time.Second)
		default:
			log.Fatalf("PATCH %s answered %d: %s", path, status, answer)
		}
	}
}

func (f *floor) record(n node) {
	now := time.Now().UTC().Format(time.RFC3339)
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       map[string]string{"name": n.Metadata.Name + ".floor", "namespace": "default"},
		"involvedObject": map[string]string{"apiVersion": "v1", "kind": "Node", "name": n.Metadata.Name, "uid": n.Metadata.UID},
		"type":           "Normal", "reason": "Synced", "message": "Node synced successfully",
		"source":             map[string]string{"component": "cloud-node-controller"},
		"reportingComponent": "cloud-node-controller", "reportingInstance": "floor",
		"firstTimestamp": now, "lastTimestamp": now, "count": 1,
	})
	must(err)
	answer, status := f.send("POST", "/api/v1/namespaces/default/events", "application/json", f.functions, body)
	if status != http.StatusCreated && status != http.StatusConflict && status != http.StatusTooManyRequests {
		log.Fatalf("POST of an Event answered %d: %s", status, answer)
	}
}

func (f *floor) send(method, path, contentType, token string, body []byte) ([]byte, int) {
	request, err := http.NewRequest(method, f.server+path, bytes.NewReader(body))
	must(err)
	request.Header.Set("Authorization", "Bearer "+token)
	if method == "GET" {
		request.Header.Set("Accept", "application/json")
	} else {
		request.Header.Set("Accept", metadataOnly)
		request.Header.Set("Content-Type", contentType)
	}
	response, err := f.client.Do(request)
	must(err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	must(err)
	return answer, response.StatusCode
}

func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

func read(file string) []byte {
	content, err := os.ReadFile(file)
	must(err)
	return content
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
