import * as z from "zod";

/** URLs by the name of what they do, as the API offers them at the moment. */
const Actions = z.record(z.string(), z.string());

/** What of a service of Rancher 1.x is decided on; `self` is where it is read, changed and deleted. */
const Part = z.object({
  id: z.string(),
  name: z.string(),
  state: z.string(),
  self: z.string(),
  actions: Actions,
});

/** One node, as load balancers send to it. */
export const External = Part.extend({
  /** Ids of what sends to it, as far as that was looked at. */
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

export const Balancer = Part.extend({
  /** As they were asked for, such as `80:80/tcp`; null where Rancher does not say, which is no reason to delete anything. */
  ports: z.array(z.string()).nullable(),
  portRules: z.array(PortRule),
  /** Addresses at which it is reached, each once. */
  addresses: z.array(z.string()),
});
export type Balancer = z.output<typeof Balancer>;

/** What an environment has of a Service. */
export const CattleState = z.object({
  stackId: z.string().nullable(),
  /** The image that load balancers run; read where one may have to be made. */
  image: z.string().nullable(),
  /** Those of the Service's name; there should be one at the most. */
  balancers: z.array(Balancer),
  /** Ids of what the load balancer sends to. */
  consumed: z.array(z.string()),
  /** All in the stack, for all Services, without those that are about to go. */
  externals: z.array(External),
  /** First addresses of hosts that have none in the stack yet, by the name of their node. */
  hosts: z.record(z.string(), z.string()),
});
export type CattleState = z.output<typeof CattleState>;
