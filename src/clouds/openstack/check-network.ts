import * as z from "zod";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Apis } from "#clouds/openstack/apis.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { findNearest } from "#core/nearest.ts";

/**
 * Checks whether the network exists: by one of the project's ports in it, which needs no more rights than
 * nodes do, else by the list of networks. If it is missing, the fault names the existing ones.
 */
export async function checkNetwork(
  apis: Apis,
  { id, project }: { readonly id: string; readonly project: string },
  callContext: CallContext,
): Promise<Outcome<unknown>> {
  const ports = await sendGet(
    apis,
    PORTS,
    { project_id: project, network_id: id, fields: "id", limit: "1" },
    callContext,
  );
  if (ports.kind === "fault") return ports;
  const portsInNetwork = Ports.safeParse(ports.value).data?.ports;
  if (portsInNetwork === undefined)
    return fault("Unavailable", `GET ${PORTS}: the answer is not a list of ports`);
  if (portsInNetwork.length > 0) return ok(undefined);
  const listed = await sendGet(apis, NETWORKS, { limit: String(PAGE_SIZE) }, callContext);
  if (listed.kind === "fault") return listed;
  const page = Networks.safeParse(listed.value).data;
  if (page === undefined)
    return fault("Unavailable", `GET ${NETWORKS}: the answer is not a list of networks`);
  if (page.networks.some((network) => network.id === id)) return ok(undefined);
  if (page.networks_links.some(({ rel }) => rel === "next"))
    return fault("Unavailable", `GET ${NETWORKS}: more than ${PAGE_SIZE} networks, the rest is not read`);
  return {
    kind: "fault",
    fault: { code: "Denied", key: "network-id", message: describeMissingNetwork(id, page.networks) },
  };
}

const PORTS = "/v2.0/ports";
const NETWORKS = "/v2.0/networks";
const PAGE_SIZE = 1_000;

const Ports = z.object({ ports: z.array(z.unknown()) });
const Network = z.object({ id: z.string().max(64), name: z.string().max(255) });
const Networks = z.object({
  networks: z.array(Network),
  networks_links: z.array(z.object({ rel: z.string() })).default([]),
});

function sendGet(
  apis: Apis,
  path: string,
  query: Record<string, string>,
  callContext: CallContext,
): Promise<Outcome<unknown>> {
  const operation = path === PORTS ? "ports_list" : "networks_list";
  const request = { operation, template: `GET ${path}`, path: `${path}?${new URLSearchParams(query)}` };
  return apis.get("network", request, callContext);
}

function describeMissingNetwork(id: string, networks: readonly z.output<typeof Network>[]): string {
  const nearest = findNearest(
    id,
    networks.map((network) => network.id),
  );
  const suggestion = nearest === undefined ? "" : `, perhaps ${nearest}`;
  const examples = networks.slice(0, MAX_SHOWN).map((network) => `${network.id} (${network.name})`);
  return `the project sees no network ${id}${suggestion}; it has ${examples.join(", ") || "none"}: check network-id, region and the user who signs in`;
}

const MAX_SHOWN = 5;
