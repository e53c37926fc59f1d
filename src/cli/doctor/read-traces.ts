import { NODE_EVENT_SOURCE, NODE_LIFECYCLE_EVENT_SOURCE, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import { getMemberAt } from "#core/node-writers.ts";
import { parseJson } from "#core/parse-json.ts";
import { formatCollectionPath, formatObjectPath, LEASES, NODES } from "#core/resources/resource.ts";
import type { ClusterTraces } from "#core/second-ccm.ts";
import { MAX_OBJECT_VALUES } from "#kube/client/json-values.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";
import { type RequestFailure, toRequestFailure } from "#kube/follow/request-failure.ts";

/**
 * Traces of cloud-controller-managers, and what could not be read. If nodes cannot be listed, the whole read
 * fails.
 */
export type TracesResult =
  | { readonly kind: "traces"; readonly traces: ClusterTraces; readonly unread: readonly string[] }
  | RequestFailure;

/** Reads the input of `findSecondCcms`: all nodes, the Events of each source, and the Lease of the leader. */
export async function readTraces(transport: Transport, signal: AbortSignal): Promise<TracesResult> {
  const nodes = await listAll(transport, formatCollectionPath(NODES), toNodeTrace, signal, {
    clock: systemClock,
  });
  if (nodes.kind === "failed") return nodes;
  const events = await Promise.all(SOURCES.map((source) => readEvents(transport, source, signal)));
  const lease = await readLease(transport, signal);
  const unread = [...events, lease].flatMap((read) => (typeof read === "string" ? [read] : []));
  return {
    kind: "traces",
    traces: {
      nodes: nodes.items,
      events: events.flatMap((read) => (typeof read === "string" ? [] : read)),
      leases: typeof lease === "string" ? [] : lease,
    },
    unread: [...new Set(unread)],
  };
}

const SOURCES = [
  NODE_EVENT_SOURCE,
  NODE_LIFECYCLE_EVENT_SOURCE,
  "route_controller",
  "service-controller",
  "cloud-controller-manager",
];

/** One page of Events; they come in the order of their names, not of time. */
const MAX_EVENTS = 500;

/** Reduces a node to the fields that are checked. */
function toNodeTrace(node: unknown): unknown {
  const [managedFields, taints] = [
    getMemberAt(node, "metadata", "managedFields"),
    getMemberAt(node, "spec", "taints"),
  ];
  return { metadata: { managedFields }, spec: { taints } };
}

/** Reads the Events of one source, or why they are unavailable. */
async function readEvents(
  transport: Transport,
  source: string,
  signal: AbortSignal,
): Promise<readonly unknown[] | string> {
  const path = "/api/v1/events";
  const query = `?${new URLSearchParams({ fieldSelector: `source=${source}`, limit: String(MAX_EVENTS) })}`;
  const answer = await transport
    .send({ method: "GET", path: `${path}${query}`, compressed: true, signal, maxBytes: MAX_BYTES })
    .catch(() => undefined);
  if (answer?.status === 200) return parseItems(answer.body);
  const because = answer === undefined ? "no answer" : toRequestFailure(answer).message;
  return `Events cannot be listed: ${because}`;
}

async function readLease(transport: Transport, signal: AbortSignal): Promise<readonly unknown[] | string> {
  const path = formatObjectPath(LEASES, { namespace: SYSTEM_NAMESPACE, name: "cloud-controller-manager" });
  const answer = await transport
    .send({ method: "GET", path, signal, maxValues: MAX_OBJECT_VALUES })
    .catch(() => undefined);
  if (answer?.status === 200) return [parseJson(answer.body)];
  if (answer?.status === 404) return [];
  const because = answer === undefined ? "no answer" : toRequestFailure(answer).message;
  return `the Lease ${SYSTEM_NAMESPACE}/cloud-controller-manager cannot be read: ${because}`;
}

const MAX_BYTES = 8 * 1024 * 1024;

function parseItems(body: string): readonly unknown[] {
  const items = getMemberAt(parseJson(body), "items");
  return Array.isArray(items) ? items : [];
}
