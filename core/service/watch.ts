import type { Watch } from "#core/controller.ts";
import { SERVICES } from "#core/resources/resource.ts";
import {
  type ClassSettings,
  ingressOf,
  needsWork,
  seenHash,
  wantsLoadBalancer,
} from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { parseService, snapshotOf } from "#core/service/snapshot.ts";
import { relatedNodes } from "#core/service/target-nodes.ts";
import { relatedServices } from "#core/service/turn.ts";

/** The service-lb-controller, as far as it watches: Services of type LoadBalancer, and those that were. */
export const serviceWatch: Watch<Service> = {
  name: "service-lb-controller",
  aliases: ["service"],
  // Who runs the stock controller for it beside this one must not be surprised.
  onByDefault: false,
  functionName: "service",
  resource: SERVICES,
  scope: "object",
  invocations: 2,
  deletes: true,
  parse: parseService,
  snapshot: snapshotOf,
  needsWork: (service, { settings }) => needsWork(service, settings),
  demand: (service, { settings }) => seenHash(service, settings),
  related: [relatedNodes, relatedServices],
  looks: {
    // What somebody writes on a Service that matters makes it need work: no drift is left to be looked for.
    fingerprint: () => "",
    everySeconds: 600,
    whenRelatedChange: true,
  },
  delays: [
    {
      metric: "serverless_ccm_load_balancer_delay_seconds",
      help: "Seconds after a Service's creation, or its coming to want one, until the address of its load balancer was in its status.",
      waits: isWithoutAddress,
      counts: "first",
      until: "shown",
    },
  ],
  waiting: {
    metric: "serverless_ccm_waiting_services",
    help: "Services of type LoadBalancer without an address, by the code of their last report and by age.",
    waits: isWithoutAddress,
  },
};

function isWithoutAddress(service: Service, settings?: ClassSettings): boolean {
  return wantsLoadBalancer(service, settings) && ingressOf(service).length === 0;
}
