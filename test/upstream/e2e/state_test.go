package e2e

import (
	"context"
	"os"
	"path/filepath"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// stateVariable has the path of infra/state, whose objects an operator of serverless-ccm creates.
const stateVariable = "UPSTREAM_STATE"

// applyState creates the objects of infra/state once their namespace exists. The stock controller ignores them.
func applyState(ctx context.Context, client kubernetes.Interface) error {
	var configMap v1.ConfigMap
	var lease coordinationv1.Lease
	for file, object := range map[string]any{"config-map.yaml": &configMap, "relay-lease.yaml": &lease} {
		text, err := os.ReadFile(filepath.Join(os.Getenv(stateVariable), file))
		if err != nil {
			return err
		}
		if err := yaml.UnmarshalStrict(text, object); err != nil {
			return err
		}
	}
	if err := wait.PollUntilContextTimeout(ctx, heartbeat, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Get(ctx, configMap.Namespace, metav1.GetOptions{})
		return err == nil, nil
	}); err != nil {
		return err
	}
	if _, err := client.CoreV1().ConfigMaps(configMap.Namespace).Create(ctx, &configMap, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := client.CoordinationV1().Leases(lease.Namespace).Create(ctx, &lease, metav1.CreateOptions{})
	return err
}
