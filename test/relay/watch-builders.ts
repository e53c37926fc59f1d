import * as z from "zod";
import { listFaults } from "#core/config-errors.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { NODES, type Resource } from "#core/resources/resource.ts";
import type { Watch } from "#core/watch.ts";

/** The resource of Services. */
export const SERVICES: Resource = { apiVersion: "v1", kind: "Service", name: "services", namespaced: true };

/** A Service, as the tests' own controller parses it. */
export const Service = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    creationTimestamp: z.string(),
  }),
  spec: z.object({
    /** The nodes that it reads; all without it. */
    nodes: z.array(z.string()).optional(),
    done: z.boolean().optional(),
    padding: z.string().optional(),
  }),
});
export type Service = z.output<typeof Service>;

/** A controller of Services that reads whether nodes are ready. */
export const serviceWatch: Watch<Service> = {
  name: "test-service-controller",
  functionName: "test-service",
  resource: SERVICES,
  scope: "object",
  parse(value) {
    const parsed = Service.safeParse(value);
    return parsed.success
      ? { kind: "object", object: parsed.data }
      : { kind: "malformed", faults: listFaults(parsed.error) };
  },
  snapshot: (service) => service,
  needsWork: ({ spec }) => spec.done !== true,
  related: [
    {
      resource: NODES,
      project(object) {
        const { metadata, spec, status } = object as {
          metadata: { name: string };
          spec: { padding?: string };
          status: { ready?: boolean };
        };
        if (status.ready === undefined) return undefined;
        return { name: metadata.name, ready: status.ready, padding: spec.padding };
      },
      reads: ({ spec }) => spec.nodes ?? "all",
    },
  ],
};

/** A second controller of nodes. */
export const otherNodeWatch: Watch = {
  ...nodeWatch,
  name: "test-node-controller",
  enablement: {},
  functionName: "test-node",
  metrics: { ...nodeWatch.metrics, delays: [] },
};
