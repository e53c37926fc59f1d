// Command kubelet runs the kubelet's own code on kubemark's hollow machine: no container is started and no cgroup is made,
// but the node is registered, its status and lease are kept, and its certificates are asked for and served as on any machine.
//
// kubemark's own program knows no cloud provider, node IP or provider ID, and serves without TLS. This one changes what
// those flags of the real kubelet change, and adds the sign-in that the real one sets up before it runs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	remote "k8s.io/cri-client/pkg"
	fakeremote "k8s.io/cri-client/pkg/fake"
	"k8s.io/klog/v2"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubemark"
	utilflag "k8s.io/kubernetes/pkg/util/flag"

	v1 "k8s.io/api/core/v1"
)

// settings are the flags; where the kubelet has one of the same name it means the same.
type settings struct {
	nodeName            string
	nodeIP              string
	providerID          string
	address             string
	kubeconfig          string
	bootstrapKubeconfig string
	certificateFolder   string
	clientCAFile        string
	taints              []v1.Taint
	leaseSeconds        int
}

func main() {
	var s settings
	flag.StringVar(&s.nodeName, "hostname-override", "", "the node's name")
	flag.StringVar(&s.nodeIP, "node-ip", "", "as the kubelet's flag; empty for none")
	flag.StringVar(&s.providerID, "provider-id", "", "as the kubelet's flag; empty for none")
	flag.StringVar(&s.address, "address", "127.0.0.1", "where port 10250 is served")
	flag.StringVar(&s.kubeconfig, "kubeconfig", "", "written once the client certificate is there")
	flag.StringVar(&s.bootstrapKubeconfig, "bootstrap-kubeconfig", "", "to ask for the client certificate with")
	flag.StringVar(&s.certificateFolder, "cert-dir", "", "where certificates and keys are kept")
	flag.StringVar(&s.clientCAFile, "client-ca-file", "", "whose client certificates the server takes")
	flag.IntVar(&s.leaseSeconds, "node-lease-duration-seconds", 40, "renewed four times as often")
	flag.Func("register-with-taints", "key=value:effect, separated by commas", func(value string) error {
		return utilflag.RegisterWithTaintsVar{Value: &s.taints}.Set(value)
	})
	klog.InitFlags(nil)
	flag.Parse()
	// The kubelet goes on until it is killed; its context ends what waits.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintf(os.Stderr, "hollow kubelet of %s: %v\n", s.nodeName, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	name := types.NodeName(s.nodeName)
	if err := bootstrap.LoadClientCert(ctx, s.kubeconfig, s.bootstrapKubeconfig, s.certificateFolder, name); err != nil {
		return fmt.Errorf("asking for a client certificate: %w", err)
	}
	flags, config := configure(s)
	client, heartbeats, err := clients(s, config)
	if err != nil {
		return err
	}
	endpoint, err := fakeremote.GenerateEndpoint()
	if err != nil {
		return err
	}
	machine := fakeremote.NewFakeRemoteRuntime()
	if err := machine.Start(endpoint); err != nil {
		return fmt.Errorf("starting the container runtime's stand-in: %w", err)
	}
	defer machine.Stop()
	runtime, err := remote.NewRemoteRuntimeService(ctx, endpoint, 15*time.Second, noop.NewTracerProvider(), false)
	if err != nil {
		return err
	}
	cadvisor := &cadvisortest.Fake{NodeName: s.nodeName}
	hollow := kubemark.NewHollowKubelet(
		flags, config, client, heartbeats, cadvisor, machine.ImageService, runtime, cm.NewStubContainerManager())

	// What cmd/kubelet sets up and kubemark leaves out: TLS, and who may call.
	hollow.KubeletDeps.TLSOptions, err = kubeletapp.InitializeTLS(ctx, flags, config)
	if err != nil {
		return err
	}
	auth, watchCA, err := kubeletapp.BuildAuth(name, client, *config)
	if err != nil {
		return err
	}
	hollow.KubeletDeps.Auth = auth
	go watchCA(ctx.Done())

	go hollow.Run(ctx)
	<-ctx.Done()
	return nil
}

// configure changes kubemark's configuration to that of a kubelet of a cluster with an external cloud provider.
func configure(s settings) (*options.KubeletFlags, *kubeletconfig.KubeletConfiguration) {
	flags, config := kubemark.GetHollowKubeletConfig(&kubemark.HollowKubeletOptions{
		NodeName:           s.nodeName,
		KubeletPort:        10250,
		MaxPods:            110,
		RegisterWithTaints: s.taints,
	})
	flags.CloudProvider = "external"
	flags.NodeIP = s.nodeIP
	flags.CertDirectory = s.certificateFolder
	config.ProviderID = s.providerID
	config.Address = s.address
	config.NodeLeaseDurationSeconds = int32(s.leaseSeconds)
	config.ServerTLSBootstrap = true
	config.Authentication.Anonymous.Enabled = false
	config.Authentication.Webhook.Enabled = true
	config.Authentication.X509.ClientCAFile = s.clientCAFile
	config.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeWebhook
	// The machine's own packet filter is none of ours.
	config.MakeIPTablesUtilChains = false
	return flags, config
}

func clients(s settings, config *kubeletconfig.KubeletConfiguration) (*clientset.Clientset, *clientset.Clientset, error) {
	access, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	access.UserAgent = "hollow-kubelet"
	access.QPS = float32(config.KubeAPIQPS)
	access.Burst = int(config.KubeAPIBurst)
	client, err := clientset.NewForConfig(access)
	if err != nil {
		return nil, nil, err
	}
	// As cmd/kubelet does: heartbeats have a time limit and no limit of their rate.
	access.Timeout = min(config.NodeStatusUpdateFrequency.Duration, time.Duration(s.leaseSeconds)*time.Second)
	access.QPS = -1
	heartbeats, err := clientset.NewForConfig(access)
	return client, heartbeats, err
}
