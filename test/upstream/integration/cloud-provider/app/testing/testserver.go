// Package testing starts serverless-ccm where tests start the stock cloud-controller-manager.
package testing

import (
	"context"
	"fmt"
	"strings"
	"testing"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/bridge"
)

const cloudProviderFlag = "--cloud-provider="

// TearDownFunc ends a test server.
type TearDownFunc func()

// TestServer is a running cloud-controller-manager.
type TestServer struct {
	TearDownFn TearDownFunc
}

// StartTestServerOrDie starts `serverless-ccm run` with the test's flags, and waits until it is ready. The cloud is the one
// that the test registered under the name in --cloud-provider.
func StartTestServerOrDie(t *testing.T, ctx context.Context, flags []string) *TestServer {
	t.Helper()
	cloud, others, err := takeCloud(flags)
	if err != nil {
		t.Fatalf("failed to launch server: %v", err)
	}
	process, err := bridge.Start(cloud, "kubernetes", others)
	if err != nil {
		t.Fatalf("failed to launch server: %v", err)
	}
	if err := process.WaitUntilReady(ctx); err != nil {
		process.Stop()
		t.Fatalf("failed to launch server: %v", err)
	}
	return &TestServer{TearDownFn: process.Stop}
}

// takeCloud returns the test's cloud and the other flags.
func takeCloud(flags []string) (cloudprovider.Interface, []string, error) {
	name, others := "", []string{}
	for _, flag := range flags {
		if value, ok := strings.CutPrefix(flag, cloudProviderFlag); ok {
			name = value
		} else {
			others = append(others, flag)
		}
	}
	cloud, err := cloudprovider.GetCloudProvider(name, nil)
	if err != nil {
		return nil, nil, err
	}
	if cloud == nil {
		return nil, nil, fmt.Errorf("the test registered no cloud %q", name)
	}
	return cloud, others, nil
}
