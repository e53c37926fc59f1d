import * as z from "zod";
import { canonicalizeIp } from "#core/cidr.ts";
import type { Service } from "#core/service/service.ts";

/** URLs by action name, as the API currently offers them. */
const Actions = z.record(z.string(), z.string());

/**
 * The fields of a Rancher 1.x service that decisions use; `self` is where it is read, changed and deleted.
 */
const ServicePart = z.object({
  id: z.string(),
  name: z.string(),
  state: z.string(),
  self: z.string(),
  actions: Actions,
});

/** One node as a target of load balancers. */
export const External = ServicePart.extend({
  /** Ids of its users, as far as they were read. */
  consumers: z.array(z.string()).optional(),
});
export type External = z.output<typeof External>;

export const PortRule = z.object({
  sourcePort: z.int(),
  targetPort: z.int(),
  serviceId: z.string(),
  protocol: z.string(),
});
export type PortRule = z.output<typeof PortRule>;

export const Balancer = ServicePart.extend({
  /**
   * As requested, such as `80:80/tcp`; null if Rancher does not show them, which is no reason to delete
   * anything.
   */
  ports: z.array(z.string()).nullable(),
  portRules: z.array(PortRule),
  /** Its distinct addresses. */
  addresses: z.array(z.string()),
});
export type Balancer = z.output<typeof Balancer>;

/** An environment's resources of a Service. */
export const CattleState = z.object({
  stackId: z.string().nullable(),
  /** The image of load balancers; read if one may have to be created. */
  image: z.string().nullable(),
  /** The ones with the Service's name; there should be at most one. */
  balancers: z.array(Balancer),
  /** Ids of the load balancer's targets. */
  consumed: z.array(z.string()),
  /** All in the stack, for all Services, except those being removed. */
  externals: z.array(External),
  /** First addresses of hosts without a service in the stack, by node name. */
  hosts: z.record(z.string(), z.string()),
});
export type CattleState = z.output<typeof CattleState>;

/** The stack with all load balancers of a cluster. */
export const STACK = { name: "kubernetes-loadbalancers", externalId: "kubernetes-loadbalancers://" } as const;

/** The setting with the image of load balancers. */
export const IMAGE_SETTING = "lb.instance.image";

/** Formats the name of a Service's load balancer as the stock controller does. */
export function formatBalancerName({ metadata }: Service): string {
  return `lb-a${metadata.uid.replaceAll("-", "")}`;
}

/** Formats the name of a node's service: letters, digits and dashes, at most 63. */
export function formatExternalName(nodeName: string): string {
  return trimDashes(trimDashes(nodeName.replace(/[^A-Za-z0-9-]+/g, "-")).slice(0, 63));
}

function trimDashes(text: string): string {
  let [from, to] = [0, text.length];
  while (text[from] === "-") from += 1;
  while (to > from && text[to - 1] === "-") to -= 1;
  return text.slice(from, to);
}

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
