import type { ControllerDescriptor } from "#core/descriptor.ts";
import { LoadBalancerSettings } from "#core/service/settings.ts";

export const serviceDescriptor = {
  name: "service-lb-controller",
  functionName: "service",
  // Off by default: an operator who runs the stock controller for Services in parallel must not be surprised.
  enablement: { aliases: ["service"] },
  cloudParts: ["load-balancers", "load-balancer-tags", "firewall"],
  settings: { loadBalancers: LoadBalancerSettings.prefault({}) },
} as const satisfies ControllerDescriptor;
