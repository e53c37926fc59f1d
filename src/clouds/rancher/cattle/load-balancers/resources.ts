import * as z from "zod";
import { Balancer, External, PortRule } from "#clouds/rancher/cattle/load-balancers/state.ts";
import { canonicalizeIp } from "#core/cidr.ts";

const Urls = z.record(z.string(), z.string());
/** A resource is changed and deleted at its own link. */
const Links = z.object({ self: z.string().min(1) }).catchall(z.string());

/** Fields of every service; null counts as absent. */
const ServiceFields = z.object({
  id: z.string().min(1),
  name: z.string(),
  state: z.string(),
  stackId: z.string(),
  links: Links,
  actions: Urls.nullish(),
});

/** An external service in the API. */
export const ExternalService = ServiceFields.transform(({ links, actions, ...facts }) => ({
  stackId: facts.stackId,
  consumedBy: links["consumedbyservices"] ?? "",
  external: External.parse({ ...facts, self: links.self, actions: actions ?? {} }),
}));
export type ExternalService = z.output<typeof ExternalService>;

/** A load balancer in the API. */
export const LoadBalancerService = ServiceFields.extend({
  launchConfig: z.object({ ports: z.array(z.string()).nullish() }).nullish(),
  // Unreadable rules, possibly of others who use the same stack, count as rules that are not ours.
  lbConfig: z
    .object({ portRules: z.array(PortRule).nullish() })
    .nullish()
    .catch(null),
  publicEndpoints: z.array(z.object({ ipAddress: z.string().nullish() })).nullish(),
}).transform(({ links, actions, launchConfig, lbConfig, publicEndpoints, ...facts }) => ({
  stackId: facts.stackId,
  consumed: links["consumedservices"] ?? "",
  balancer: Balancer.parse({
    ...facts,
    self: links.self,
    actions: actions ?? {},
    ports: launchConfig?.ports ?? null,
    portRules: lbConfig?.portRules ?? [],
    addresses: [
      ...new Set((publicEndpoints ?? []).flatMap(({ ipAddress }) => canonicalizeIp(ipAddress ?? "") ?? [])),
    ],
  }),
}));
export type LoadBalancerService = z.output<typeof LoadBalancerService>;

export const Stack = z.object({ id: z.string().min(1) });
export const Setting = z.object({ value: z.string().min(1) });
export const Consumer = z.object({ id: z.string().min(1) });
