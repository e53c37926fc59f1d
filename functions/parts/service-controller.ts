import { createServiceController, type LoadBalancerModels } from "#core/service/controller.ts";
import { createOrphanController } from "#core/service/orphans/controller.ts";

/** What load balancers are on each cloud that has some; each is imported for its clusters alone. */
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

/** The service-lb-controller, with what load balancers are on each cloud that has some. */
export const serviceController = createServiceController(LOAD_BALANCER_MODELS);

/** The audit of load balancers whose Service has gone, beside it. */
export const orphanController = createOrphanController(LOAD_BALANCER_MODELS);
