package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// newCloudHandler serves a test's cloud: POST /instances asks about nodes, POST /load-balancers changes a load balancer.
// Each request calls the methods that the stock controllers call, so that a fake cloud records them.
func newCloudHandler(cloud cloudprovider.Interface, clusterName string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /instances", answerJSON(func(ctx context.Context, nodes []*v1.Node) ([]instance, error) {
		return findInstances(ctx, cloud, nodes)
	}))
	mux.HandleFunc("POST /load-balancers", answerJSON(func(ctx context.Context, asked balancerChange) (*v1.LoadBalancerStatus, error) {
		return changeBalancer(ctx, cloud, clusterName, asked)
	}))
	return mux
}

// instance is the answer about one node.
type instance struct {
	Exists   bool                            `json:"exists"`
	Shutdown bool                            `json:"shutdown"`
	Metadata *cloudprovider.InstanceMetadata `json:"metadata"`
	Error    string                          `json:"error"`
}

func findInstances(ctx context.Context, cloud cloudprovider.Interface, nodes []*v1.Node) ([]instance, error) {
	instances, ok := cloud.InstancesV2()
	if !ok {
		return nil, fmt.Errorf("the test's cloud has no InstancesV2")
	}
	found := []instance{}
	for _, node := range nodes {
		found = append(found, findInstance(ctx, instances, node))
	}
	return found, nil
}

func findInstance(ctx context.Context, instances cloudprovider.InstancesV2, node *v1.Node) instance {
	exists, err := instances.InstanceExists(ctx, node)
	if err != nil {
		return instance{Error: err.Error()}
	}
	if !exists {
		return instance{}
	}
	shutdown, err := isShutdown(ctx, instances, node)
	if err != nil {
		return instance{Error: err.Error()}
	}
	metadata, err := instances.InstanceMetadata(ctx, node)
	if err != nil {
		return instance{Error: err.Error()}
	}
	return instance{Exists: true, Shutdown: shutdown, Metadata: metadata}
}

// isShutdown asks only about nodes with a provider ID, as the stock lifecycle controller does.
func isShutdown(ctx context.Context, instances cloudprovider.InstancesV2, node *v1.Node) (bool, error) {
	if node.Spec.ProviderID == "" {
		return false, nil
	}
	return instances.InstanceShutdown(ctx, node)
}

// balancerChange is what serverless-ccm asks of the cloud.
type balancerChange struct {
	// Action is ensure, update (only targets), or delete.
	Action    string           `json:"action"`
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	UID       types.UID        `json:"uid"`
	Ports     []v1.ServicePort `json:"ports"`
	// ProviderIDs are those of the target nodes.
	ProviderIDs []string `json:"providerIDs"`
}

func changeBalancer(ctx context.Context, cloud cloudprovider.Interface, clusterName string, asked balancerChange) (*v1.LoadBalancerStatus, error) {
	balancer, ok := cloud.LoadBalancer()
	if !ok {
		return nil, fmt.Errorf("the test's cloud has no load balancers")
	}
	service := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: asked.Namespace, Name: asked.Name, UID: asked.UID},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: asked.Ports},
	}
	nodes := []*v1.Node{}
	for _, providerID := range asked.ProviderIDs {
		nodes = append(nodes, &v1.Node{Spec: v1.NodeSpec{ProviderID: providerID}})
	}
	switch asked.Action {
	case "ensure":
		return balancer.EnsureLoadBalancer(ctx, clusterName, service, nodes)
	case "update":
		return &v1.LoadBalancerStatus{}, balancer.UpdateLoadBalancer(ctx, clusterName, service, nodes)
	case "delete":
		return &v1.LoadBalancerStatus{}, balancer.EnsureLoadBalancerDeleted(ctx, clusterName, service)
	default:
		return nil, fmt.Errorf("unknown action %q", asked.Action)
	}
}

// answerJSON reads a question and writes its answer; an error becomes status 500 with its text.
func answerJSON[Question, Answer any](answer func(context.Context, Question) (Answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var question Question
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answered, err := answer(r.Context(), question)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answered)
	}
}
