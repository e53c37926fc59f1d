// Package service starts serverless-ccm's service controller where tests start the stock one.
package service

import (
	"context"
	"errors"
	"os"

	coreinformers "k8s.io/client-go/informers/core/v1"
	clientset "k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/bridge"
	"k8s.io/component-base/featuregate"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
)

// Controller is a service controller that has not started yet.
type Controller struct {
	cloud       cloudprovider.Interface
	kubeClient  clientset.Interface
	clusterName string
}

// New has the parameters of the stock controller. serverless-ccm has informers of its own.
func New(
	cloud cloudprovider.Interface,
	kubeClient clientset.Interface,
	_ coreinformers.ServiceInformer,
	_ coreinformers.NodeInformer,
	clusterName string,
	_ featuregate.FeatureGate,
) (*Controller, error) {
	if cloud == nil {
		return nil, errors.New("no cloud provider")
	}
	if _, ok := cloud.LoadBalancer(); !ok {
		return nil, errors.New("the cloud provider does not support load balancers")
	}
	return &Controller{cloud: cloud, kubeClient: kubeClient, clusterName: clusterName}, nil
}

// Run runs `serverless-ccm run` with its service controller alone, until the context ends. It panics if the program was
// never ready: a test that expects no call of the cloud would pass.
func (c *Controller) Run(ctx context.Context, _ int, _ *controllersmetrics.ControllerManagerMetrics) {
	server, kubeconfig, err := bridge.ServeClient(c.kubeClient)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	defer server.CloseClientConnections()
	defer os.Remove(kubeconfig)
	process, err := bridge.Start(c.cloud, c.clusterName, []string{"--kubeconfig=" + kubeconfig, "--controllers=service"})
	if err != nil {
		panic(err)
	}
	defer process.Stop()
	if err := process.WaitUntilReady(ctx); err != nil {
		panic(err)
	}
	<-ctx.Done()
}
