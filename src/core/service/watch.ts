import { SERVICES } from "#core/resources/resource.ts";
import { relatedServices } from "#core/service/creation-order.ts";
import { serviceDescriptor } from "#core/service/descriptor.ts";
import {
  type ClassSettings,
  getIngress,
  hashObservedService,
  needsLoadBalancer,
  needsWork,
} from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { parseService, projectService } from "#core/service/snapshot.ts";
import { relatedNodes } from "#core/service/target-nodes.ts";
import type { Watch } from "#core/watch.ts";

/** The watch half of the service-lb-controller: Services of type LoadBalancer, and those that were. */
export const serviceWatch: Watch<Service> = {
  name: serviceDescriptor.name,
  functionName: serviceDescriptor.functionName,
  resource: SERVICES,
  scope: "object",
  enablement: serviceDescriptor.enablement,
  invocations: 2,
  deletes: true,
  parse: parseService,
  snapshot: projectService,
  needsWork: (service, { settings }) => needsWork(service, settings),
  related: [relatedNodes, relatedServices],
  rechecks: {
    demand: (service, { settings }) => hashObservedService(service, settings),
    resync: {
      // A relevant change on a Service makes it need work, so there is no drift to detect.
      fingerprint: () => "",
      everySeconds: 600,
      whenRelatedChange: true,
    },
  },
  metrics: {
    delays: [
      {
        metric: "serverless_ccm_load_balancer_delay_seconds",
        help: "Seconds after a Service's creation, or its coming to want one, until the address of its load balancer was in its status.",
        isWaiting: isWithoutAddress,
        counts: "first",
        until: "shown",
      },
    ],
    waiting: {
      metric: "serverless_ccm_waiting_services",
      help: "Services of type LoadBalancer without an address, by the code of their last report and by age.",
      isWaiting: isWithoutAddress,
    },
  },
};

function isWithoutAddress(service: Service, settings?: ClassSettings): boolean {
  return needsLoadBalancer(service, settings) && getIngress(service).length === 0;
}
