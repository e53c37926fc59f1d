import { createServiceController } from "#core/service/controller.ts";

/** The service-lb-controller, with what load balancers are on each cloud that has some; each is imported for its clusters alone. */
export const serviceController = createServiceController({
  aws: async () => (await import("#clouds/aws/load-balancers/model.ts")).awsLoadBalancerModel,
  memory: async () => (await import("#clouds/memory/load-balancer-model.ts")).memoryLoadBalancerModel,
});
