package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/fake"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/utils/ptr"
)

const (
	machineCount = 5
	// heartbeat is the time between two renewals of a lease; the API server's clients tolerate several misses.
	heartbeat = time.Second
	// joinTimeout limits the wait for the controller's initialization of all nodes.
	joinTimeout = time.Minute
)

// machines are the instances of a cloud, each with a silent kubelet once it is gone.
type machines struct {
	client kubernetes.Interface
	mu     sync.Mutex
	// kubelets has a function for each living machine, which ends its kubelet.
	kubelets map[string]context.CancelFunc
	running  sync.WaitGroup
}

func newMachines(client kubernetes.Interface) *machines {
	return &machines{client: client, kubelets: map[string]context.CancelFunc{}}
}

// join starts the machines and waits until the controller has initialized their nodes.
func (m *machines) join(ctx context.Context) error {
	for i := range machineCount {
		kubelet, cancel := context.WithCancel(ctx)
		name := fmt.Sprintf("machine-%d", i)
		m.mu.Lock()
		m.kubelets[name] = cancel
		m.mu.Unlock()
		if err := m.register(ctx, name); err != nil {
			return err
		}
		m.running.Add(1)
		go func() {
			defer m.running.Done()
			wait.UntilWithContext(kubelet, func(ctx context.Context) { m.renew(ctx, name) }, heartbeat)
		}()
	}
	return wait.PollUntilContextTimeout(ctx, heartbeat, joinTimeout, true, func(ctx context.Context) (bool, error) {
		nodes, err := m.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, node := range nodes.Items {
			if len(node.Spec.Taints) > 0 || len(node.Status.Addresses) == 0 {
				return false, nil
			}
		}
		return true, nil
	})
}

// register creates the node as a kubelet with --cloud-provider=external does, and its lease.
func (m *machines) register(ctx context.Context, name string) error {
	now := metav1.Now()
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.NodeSpec{Taints: []v1.Taint{
			{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule},
		}},
		Status: v1.NodeStatus{Conditions: []v1.NodeCondition{
			{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now},
		}},
	}
	if _, err := m.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &name, LeaseDurationSeconds: ptr.To[int32](10), RenewTime: &metav1.MicroTime{Time: now.Time},
		},
	}
	_, err := m.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Create(ctx, lease, metav1.CreateOptions{})
	return err
}

func (m *machines) renew(ctx context.Context, name string) {
	leases := m.client.CoordinationV1().Leases(v1.NamespaceNodeLease)
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return
	}
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
	// The next heartbeat repeats what fails.
	_, _ = leases.Update(ctx, lease, metav1.UpdateOptions{})
}

// terminate removes a machine from the cloud; its kubelet falls silent.
func (m *machines) terminate(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	cancel, ok := m.kubelets[name]
	if !ok {
		return fmt.Errorf("no machine %q", name)
	}
	cancel()
	delete(m.kubelets, name)
	return nil
}

func (m *machines) exists(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.kubelets[name]
	return ok
}

// wait waits until all kubelets have ended.
func (m *machines) wait() {
	m.running.Wait()
}

// provider is what the specs know of the cloud.
type provider struct {
	framework.NullProvider
	machines *machines
}

func (p provider) DeleteNode(node *v1.Node) error {
	return p.machines.terminate(node.Name)
}

// cloud is what a cloud-controller-manager knows of the machines. Its load balancers are those of the fake cloud.
type cloud struct {
	*fake.Cloud
	machines *machines
}

func (m *machines) newCloud(io.Reader) (cloudprovider.Interface, error) {
	balancers := &fake.Cloud{ExternalIP: net.ParseIP("192.0.2.1"), Exists: true}
	return &cloud{Cloud: balancers, machines: m}, nil
}

func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return c, true
}

func (c *cloud) InstanceExists(_ context.Context, node *v1.Node) (bool, error) {
	return c.machines.exists(node.Name), nil
}

func (c *cloud) InstanceShutdown(context.Context, *v1.Node) (bool, error) {
	return false, nil
}

func (c *cloud) InstanceMetadata(_ context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	if !c.machines.exists(node.Name) {
		return nil, cloudprovider.InstanceNotFound
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID: "machines://" + node.Name,
		NodeAddresses: []v1.NodeAddress{
			{Type: v1.NodeInternalIP, Address: "192.0.2.10"},
			{Type: v1.NodeHostName, Address: node.Name},
		},
		Zone:   "zone-a",
		Region: "region-1",
	}, nil
}

// quoteAll makes regular expressions that match the texts.
func quoteAll(texts []string) []string {
	quoted := []string{}
	for _, text := range texts {
		quoted = append(quoted, regexp.QuoteMeta(text))
	}
	return quoted
}
