// Package bridge starts serverless-ccm as a process in a test of Kubernetes, and lends it the test's cloud over HTTP.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
)

// The environment variables that the runner sets.
const (
	// nodeVariable has the path of Node.js.
	nodeVariable = "UPSTREAM_NODE"
	// programVariable has the path of the program: the CLI with the cloud of this package.
	programVariable = "UPSTREAM_PROGRAM"
	// logVariable has the path of a file for the output of the program.
	logVariable = "UPSTREAM_LOG"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
	pollInterval = 50 * time.Millisecond
)

// Process is a running `serverless-ccm run`.
type Process struct {
	command  *exec.Cmd
	lifeline io.Closer
	cloud    *httptest.Server
	folder   string
	ready    string
	exited   chan struct{}
}

// Start starts `run` with these flags on a test's cloud. The caller must call Stop.
func Start(cloud cloudprovider.Interface, clusterName string, flags []string) (*Process, error) {
	p := &Process{exited: make(chan struct{})}
	folder, err := os.MkdirTemp("", "upstream-")
	if err != nil {
		return nil, err
	}
	p.folder = folder
	p.cloud = httptest.NewServer(newCloudHandler(cloud, clusterName))
	if err := p.startCommand(clusterName, flags); err != nil {
		p.cloud.Close()
		_ = os.RemoveAll(folder)
		return nil, err
	}
	return p, nil
}

func (p *Process) startCommand(clusterName string, flags []string) error {
	cloudConfig := filepath.Join(p.folder, "cloud.yaml")
	if err := os.WriteFile(cloudConfig, []byte("instancesFile: "+p.cloud.URL+"\n"), 0o600); err != nil {
		return err
	}
	port, err := findFreePort()
	if err != nil {
		return err
	}
	p.ready = "http://127.0.0.1:" + port + "/readyz"
	log, err := os.OpenFile(os.Getenv(logVariable), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("%s names no file that can be written: %w", logVariable, err)
	}
	defer log.Close()
	args := append([]string{os.Getenv(programVariable), "run",
		"--cloud-provider=memory", "--cloud-config=" + cloudConfig, "--cluster-name=" + clusterName, "--port=" + port}, flags...)
	p.command = exec.Command(os.Getenv(nodeVariable), args...)
	// A file, not a pipe: a goroutine that copies a pipe ends only with the last process that holds it.
	p.command.Stdout, p.command.Stderr = log, log
	// The program ends with its standard input, so also if this process is killed.
	if p.lifeline, err = p.command.StdinPipe(); err != nil {
		return err
	}
	if err := p.command.Start(); err != nil {
		return fmt.Errorf("%s names no program that runs: %w", nodeVariable, err)
	}
	go func() {
		defer close(p.exited)
		if err := p.command.Wait(); err != nil {
			klog.ErrorS(err, "serverless-ccm ended", "log", os.Getenv(logVariable))
		}
	}()
	return nil
}

// WaitUntilReady waits until the program has listed the cluster and watches it.
func (p *Process) WaitUntilReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for !isOK(ctx, client, p.ready) {
		select {
		case <-p.exited:
			return errors.New("serverless-ccm ended before it was ready: see " + os.Getenv(logVariable))
		case <-ctx.Done():
			return fmt.Errorf("serverless-ccm was not ready in time (%w): see %s", ctx.Err(), os.Getenv(logVariable))
		case <-time.After(pollInterval):
		}
	}
	return nil
}

func isOK(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// Stop ends the program as an operator would, or kills it if that takes too long, and waits for its end.
func (p *Process) Stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		klog.Errorf("serverless-ccm did not end within %s of SIGTERM", stopTimeout)
		_ = p.command.Process.Kill()
		<-p.exited
	}
	_ = p.lifeline.Close()
	p.cloud.CloseClientConnections()
	p.cloud.Close()
	_ = os.RemoveAll(p.folder)
}

func findFreePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), nil
}
