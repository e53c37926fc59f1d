import { createServiceController, type LoadBalancerModels } from "#core/service/controller.ts";
import { createOrphanController } from "#core/service/orphans/controller.ts";

/** The load balancer models of each cloud; each is imported only for its clusters. */
export const LOAD_BALANCER_MODELS: LoadBalancerModels = {
  aws: async () => (await import("#clouds/aws/load-balancers/model.ts")).awsLoadBalancerModel,
  digitalocean: async () =>
    (await import("#clouds/digitalocean/load-balancers/model.ts")).digitalOceanLoadBalancerModel,
  keepalived: async () => (await import("#clouds/keepalived/model.ts")).keepalivedModel,
  kubevip: async () => (await import("#clouds/kubevip/model.ts")).kubeVipModel,
  memory: async () => (await import("#clouds/memory/load-balancer-model.ts")).memoryLoadBalancerModel,
  oci: async () => (await import("#clouds/oci/load-balancers/model.ts")).ociLoadBalancerModel,
  rancher: async () =>
    (await import("#clouds/rancher/cattle/load-balancers/model.ts")).cattleLoadBalancerModel,
};

/** The service-lb-controller with the load balancer models of each cloud. */
export const serviceController = createServiceController(LOAD_BALANCER_MODELS);

/** Its companion: the audit of load balancers whose Service no longer exists. */
export const orphanController = createOrphanController(LOAD_BALANCER_MODELS);
