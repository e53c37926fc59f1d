// Package e2e runs specs of Kubernetes' end-to-end tests on one cloud-controller-manager: the one that
// k8s.io/cloud-provider/app/testing starts. The API server and kube-controller-manager are Kubernetes' own. The machines
// are those of a cloud in this process, and their kubelets only keep a status and a lease.
package e2e

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	cloudprovider "k8s.io/cloud-provider"
	ccmtesting "k8s.io/cloud-provider/app/testing"
	"k8s.io/klog/v2"
	apiservertesting "k8s.io/kubernetes/cmd/kube-apiserver/app/testing"
	kcmtesting "k8s.io/kubernetes/cmd/kube-controller-manager/app/testing"
	"k8s.io/kubernetes/test/e2e/framework"
	integration "k8s.io/kubernetes/test/integration/framework"

	// The specs.
	_ "k8s.io/kubernetes/test/e2e/cloud"
	_ "k8s.io/kubernetes/test/e2e/network"
)

// specs are parts of the names of the specs that run. The others of these packages need containers and networks.
var specs = []string{
	"should be deleted on API server if it doesn't exist in the cloud provider",
	"should handle load balancer cleanup finalizer for service",
}

func TestEndToEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Without the check of goroutines at the end, which takes ten minutes if one of kube-controller-manager's is left.
	integration.StartEtcd(klog.Background(), t, true)
	server := apiservertesting.StartTestServerOrDie(t, nil, integration.DefaultTestServerFlags(), integration.SharedEtcd())
	defer server.TearDownFn()
	kubeconfig := writeKubeconfig(t, server.ClientConfig)
	// It sees that a kubelet is silent.
	kcm := kcmtesting.StartTestServerOrDie(t, ctx, []string{
		"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--controllers=node-lifecycle-controller",
		"--node-monitor-grace-period=10s", "--node-monitor-period=1s",
	})
	defer kcm.TearDownFn()

	client := kubernetes.NewForConfigOrDie(server.ClientConfig)
	if err := applyState(ctx, client); err != nil {
		t.Fatal(err)
	}
	machines := newMachines(client)
	cloudprovider.RegisterCloudProvider("machines", machines.newCloud)
	ccm := ccmtesting.StartTestServerOrDie(t, ctx, []string{
		"--kubeconfig=" + kubeconfig, "--cloud-provider=machines", "--configure-cloud-routes=false",
		"--controllers=cloud-node-controller,cloud-node-lifecycle-controller,service-lb-controller",
	})
	defer ccm.TearDownFn()
	if err := machines.join(ctx); err != nil {
		t.Fatal(err)
	}
	defer machines.wait()
	defer cancel()

	for _, spec := range runSpecs(t, kubeconfig, machines) {
		t.Run(spec.FullText(), func(t *testing.T) {
			switch {
			case spec.State == types.SpecStateSkipped:
				t.Skip(spec.Failure.Message)
			case spec.Failed():
				t.Error(spec.Failure.Message)
			}
		})
	}
}

// runSpecs runs the chosen specs and returns their reports.
func runSpecs(t *testing.T, kubeconfig string, machines *machines) types.SpecReports {
	framework.RegisterProvider("aws", func() (framework.ProviderInterface, error) {
		return provider{machines: machines}, nil
	})
	flags := flag.NewFlagSet("e2e", flag.ContinueOnError)
	framework.RegisterCommonFlags(flags)
	framework.RegisterClusterFlags(flags)
	if err := flags.Parse([]string{"--kubeconfig=" + kubeconfig, "--provider=aws"}); err != nil {
		t.Fatal(err)
	}
	// Nothing in the cluster makes service accounts or removes namespaces.
	framework.TestContext.VerifyServiceAccount = false
	framework.TestContext.DeleteNamespace = false
	framework.AfterReadingAllFlags(&framework.TestContext)
	gomega.RegisterFailHandler(framework.Fail)

	var reports types.SpecReports
	ginkgo.ReportAfterSuite("chosen specs", func(report ginkgo.Report) {
		for _, spec := range report.SpecReports {
			if spec.LeafNodeType == types.NodeTypeIt && isChosen(spec) {
				reports = append(reports, spec)
			}
		}
	})
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.FocusStrings = quoteAll(specs)
	reporter.Succinct = true
	ginkgo.RunSpecs(t, "Kubernetes e2e", suite, reporter)
	if len(reports) != len(specs) {
		t.Fatalf("found %d specs of %d: %s", len(reports), len(specs), strings.Join(specs, "; "))
	}
	return reports
}

func isChosen(spec types.SpecReport) bool {
	for _, name := range specs {
		if strings.Contains(spec.FullText(), name) {
			return true
		}
	}
	return false
}

func writeKubeconfig(t *testing.T, config *rest.Config) string {
	written := clientcmdapi.NewConfig()
	written.Clusters["cluster"] = &clientcmdapi.Cluster{
		Server: config.Host, TLSServerName: config.ServerName, CertificateAuthorityData: config.CAData,
	}
	written.AuthInfos["user"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	// Its name is not the cluster's: the specs would override the server, and then lose the name for TLS.
	written.Contexts["context"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "user"}
	written.CurrentContext = "context"
	file, err := os.CreateTemp(t.TempDir(), "kubeconfig-")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := clientcmd.WriteToFile(*written, file.Name()); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}
