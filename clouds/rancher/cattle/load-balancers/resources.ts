import * as z from "zod";
import { Balancer, External, PortRule } from "#clouds/rancher/cattle/load-balancers/state.ts";
import { canonicalIp } from "#core/cidr.ts";

const Urls = z.record(z.string(), z.string());
/** Whatever is changed or deleted is so where it says itself that it is. */
const Links = z.object({ self: z.string().min(1) }).catchall(z.string());

/** What every service has; what is null counts as absent. */
const Shown = z.object({
  id: z.string().min(1),
  name: z.string(),
  state: z.string(),
  stackId: z.string(),
  links: Links,
  actions: Urls.nullish(),
});

/** An external service as the API shows it. */
export const ExternalService = Shown.transform(({ links, actions, ...facts }) => ({
  stackId: facts.stackId,
  consumedBy: links["consumedbyservices"] ?? "",
  external: External.parse({ ...facts, self: links.self, actions: actions ?? {} }),
}));
export type ExternalService = z.output<typeof ExternalService>;

/** A load balancer as the API shows it. */
export const LoadBalancerService = Shown.extend({
  launchConfig: z.object({ ports: z.array(z.string()).nullish() }).nullish(),
  // Rules that cannot be read, as somebody else's may be who works in the same stack, are other rules than ours.
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
      ...new Set((publicEndpoints ?? []).flatMap(({ ipAddress }) => canonicalIp(ipAddress ?? "") ?? [])),
    ],
  }),
}));
export type LoadBalancerService = z.output<typeof LoadBalancerService>;

export const Stack = z.object({ id: z.string().min(1) });
export const Setting = z.object({ value: z.string().min(1) });
export const Consumer = z.object({ id: z.string().min(1) });
