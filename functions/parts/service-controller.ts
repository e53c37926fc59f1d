import { LOAD_BALANCER_MODELS } from "#clouds/providers.ts";
import { createServiceController } from "#core/service/controller.ts";
import { createOrphanController } from "#core/service/orphans/controller.ts";

/** The service-lb-controller for all clouds with load balancers. */
export const serviceController = createServiceController(LOAD_BALANCER_MODELS);

/** Its companion: the audit of load balancers whose Service no longer exists. */
export const orphanController = createOrphanController(LOAD_BALANCER_MODELS);
