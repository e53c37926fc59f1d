import * as z from "zod";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { ManagementServer } from "#clouds/rancher/config.ts";
import { findNearest } from "#core/nearest.ts";

/** The criteria for a cluster's Machines. */
export type MachineScope = Pick<ManagementServer, "cluster" | "namespace">;

/** The Machines of a cluster. */
export interface Machines {
  /** Lists all of them, or returns a fault; an empty list is a fault too. */
  list(callContext: CallContext): Promise<Outcome<readonly Machine[]>>;
  /** Checks whether there is any; if not, the fault names the clusters with Machines in the namespace. */
  check(callContext: CallContext): Promise<Outcome<unknown>>;
}

const PAGE_SIZE = 500;

/** 20,000 Machines; a longer list is not trusted. */
const MAX_PAGES = 40;

const GROUP = "/k8s/clusters/local/apis/cluster.x-k8s.io";

/**
 * Creates the list. It is complete or a fault, because nodes are deleted by absence from it. An empty list is
 * a fault: the cluster may be imported, or its name misspelt. The served version is read once, and again if
 * the list returns 404.
 */
export function createMachines(api: Api, { cluster, namespace }: MachineScope): Machines {
  let servedVersion: string | undefined;

  const readVersion = async (callContext: CallContext): Promise<Outcome<string>> => {
    if (servedVersion !== undefined) return ok(servedVersion);
    const template = "GET /apis/cluster.x-k8s.io";
    const answer = await api.get({ operation: "GetApiGroup", template, path: GROUP }, callContext);
    if (answer.kind === "fault") return explainNotFound(answer.fault);
    const group = ApiGroup.safeParse(answer.value).data;
    if (group === undefined) return fault("Unavailable", `${template}: the answer is not an API group`);
    servedVersion = group.preferredVersion.version;
    return ok(servedVersion);
  };

  const sendList = async (
    version: string,
    query: Record<string, string>,
    callContext: CallContext,
  ): Promise<Outcome<unknown>> => {
    const parameters = new URLSearchParams({ ...query, limit: String(PAGE_SIZE) });
    const path = `${GROUP}/${version}/namespaces/${namespace}/machines?${parameters}`;
    const answer = await api.get({ operation: "ListMachines", template: LIST, path }, callContext);
    if (answer.kind === "ok") return answer;
    // The version may be missing: it is read again next time.
    if (answer.fault.status === 404) servedVersion = undefined;
    return explainNotFound(answer.fault);
  };

  const fetchPage = async (
    version: string,
    token: string,
    callContext: CallContext,
  ): Promise<Outcome<Page>> => {
    const query = {
      labelSelector: `${CLUSTER_LABEL}=${cluster}`,
      ...(token === "" ? {} : { continue: token }),
    };
    const answer = await sendList(version, query, callContext);
    return answer.kind === "ok" ? readPage(answer.value, cluster) : answer;
  };

  const listAll = async (callContext: CallContext): Promise<Outcome<readonly Machine[]>> => {
    const version = await readVersion(callContext);
    if (version.kind === "fault") return version;
    const machines = new Map<string, Machine>();
    const tokens = new Set<string>();
    let token = "";
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const page = await fetchPage(version.value, token, callContext);
      if (page.kind === "fault") return page;
      for (const machine of page.value.machines) machines.set(machine.metadata.uid, machine);
      token = page.value.next;
      if (token === "")
        return machines.size > 0 ? ok([...machines.values()]) : buildNoneFault({ cluster, namespace });
      if (tokens.has(token)) return fault("Unavailable", `${LIST}: the token of the next page repeats`);
      tokens.add(token);
    }
    return fault("Unavailable", `${LIST}: more than ${MAX_PAGES} pages`);
  };

  return {
    list: listAll,
    async check(callContext) {
      const version = await readVersion(callContext);
      if (version.kind === "fault") return version;
      const first = await fetchPage(version.value, "", callContext);
      if (first.kind === "fault" || first.value.machines.length > 0) return first;
      // Rancher may be about to create the first one, so this is not a proven fault of the configuration.
      const others = await sendList(version.value, {}, callContext);
      return buildNoneFault({ cluster, namespace }, others.kind === "ok" ? listClusters(others.value) : []);
    },
  };
}

const LIST = "GET /apis/cluster.x-k8s.io/…/machines";

interface Page {
  readonly machines: readonly Machine[];
  /** Empty on the last page. */
  readonly next: string;
}

/**
 * An unreadable Machine might be any, and one of another cluster shows that the server ignored the label
 * selector.
 */
function readPage(body: unknown, cluster: string): Outcome<Page> {
  const page = MachinesPage.safeParse(body).data;
  if (page === undefined) return fault("Unavailable", `${LIST}: the answer is not a list of Machines`);
  const machines: Machine[] = [];
  for (const item of page.items ?? []) {
    const machine = Machine.safeParse(item).data;
    if (machine === undefined) return fault("Unavailable", `${LIST}: an item is not a Machine`);
    const { name, labels } = machine.metadata;
    if (machine.spec.clusterName !== cluster || labels?.[CLUSTER_LABEL] !== cluster) {
      const found = machine.spec.clusterName.slice(0, 100);
      return fault("Unavailable", `${LIST}: Machine ${name} is not of cluster ${cluster} but of ${found}`);
    }
    machines.push(machine);
  }
  return ok({ machines, next: page.metadata.continue ?? "" });
}

/** Lists the clusters of a page's Machines, as far as they are readable. */
function listClusters(body: unknown): string[] {
  const items = MachinesPage.safeParse(body).data?.items ?? [];
  const names = items.flatMap((item) => Machine.safeParse(item).data?.spec.clusterName.slice(0, 100) ?? []);
  return [...new Set(names)].toSorted();
}

function buildNoneFault(
  { cluster, namespace }: MachineScope,
  others: readonly string[] = [],
): Outcome<never> {
  const nearest = findNearest(cluster, others);
  const suggestion = nearest === undefined ? "" : `, perhaps ${nearest}`;
  const otherClusters = others.length === 0 ? "" : `; it has those of ${others.slice(0, 5).join(", ")}`;
  return fault(
    "Unavailable",
    `${LIST}: namespace ${namespace} has no Machine of cluster ${cluster}${suggestion}${otherClusters}: see rancher.cluster and rancher.namespace, and set existence: none for a cluster that was imported`,
  );
}

/** Rancher itself says little about a 404. */
function explainNotFound(error: Fault): Outcome<never> {
  if (error.status !== 404) return { kind: "fault", fault: error };
  const message = `${error.message}; rancher.url must be the URL of a Rancher with Cluster API`;
  return { kind: "fault", fault: { ...error, message } };
}

/** A Machine's reference to its node; null counts as absent, as in Kubernetes. */
const NodeRef = z.object({ name: z.string().min(1), uid: z.string().nullish() });

/**
 * A Cluster API Machine, reduced to the fields that identify its owner; these are equal in v1beta1 and
 * v1beta2.
 */
export const Machine = z.object({
  metadata: z.object({
    name: z.string().min(1),
    uid: z.string().min(1),
    deletionTimestamp: z.string().nullish(),
    labels: z.record(z.string(), z.string()).nullish(),
  }),
  spec: z.object({ clusterName: z.string() }),
  status: z.object({ nodeRef: NodeRef.nullish() }).nullish(),
});
export type Machine = z.output<typeof Machine>;

/** A page of a list. Items are parsed one by one, so that a fault names its item. */
export const MachinesPage = z.object({
  kind: z.literal("MachineList"),
  metadata: z.object({ continue: z.string().nullish() }),
  items: z.array(z.unknown()).nullish(),
});

/** The versions of an API group. */
export const ApiGroup = z.object({
  kind: z.literal("APIGroup"),
  preferredVersion: z.object({ version: z.string().regex(/^v\d{1,3}((alpha|beta)\d{1,3})?$/) }),
});

/** The label with a Machine's cluster. */
export const CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name";
