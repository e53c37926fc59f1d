import type { Api, Turn } from "#clouds/http/api.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { ManagementServer } from "#clouds/rancher/kind.ts";
import { ApiGroup, CLUSTER_LABEL, Machine, MachinesPage } from "#clouds/rancher/machine.ts";
import { nearest } from "#core/nearest.ts";

/** Which Machines are a cluster's. */
export type MachineScope = Pick<ManagementServer, "cluster" | "namespace">;

/** The Machines of a cluster. */
export interface Machines {
  /** All of them, or a fault; one without a single Machine is a fault, too. */
  list(turn: Turn): Promise<Outcome<readonly Machine[]>>;
  /** Whether there is one; where there is none, a fault that names the clusters whose Machines stand in the namespace. */
  check(turn: Turn): Promise<Outcome<unknown>>;
}

const PAGE_SIZE = 500;
/** 20,000 Machines; a server that goes on beyond that is not believed. */
const MAX_PAGES = 40;

const GROUP = "/k8s/clusters/local/apis/cluster.x-k8s.io";

/**
 * A list is whole or a fault: absence from it is what nodes are deleted by. One without a single Machine is a fault, as that of an
 * imported cluster is, or of a name that is misspelt. Which version is served is asked once, and again where a list is not there.
 */
export function createMachines(api: Api, { cluster, namespace }: MachineScope): Machines {
  let served: string | undefined;

  const versionOf = async (turn: Turn): Promise<Outcome<string>> => {
    if (served !== undefined) return ok(served);
    const template = "GET /apis/cluster.x-k8s.io";
    const answer = await api.get({ operation: "GetApiGroup", template, path: GROUP }, turn);
    if (answer.kind === "fault") return explained(answer.fault);
    const group = ApiGroup.safeParse(answer.value).data;
    if (group === undefined) return fault("Unavailable", `${template}: the answer is no API group`);
    served = group.preferredVersion.version;
    return ok(served);
  };

  const ask = async (
    version: string,
    query: Record<string, string>,
    turn: Turn,
  ): Promise<Outcome<unknown>> => {
    const parameters = new URLSearchParams({ ...query, limit: String(PAGE_SIZE) });
    const path = `${GROUP}/${version}/namespaces/${namespace}/machines?${parameters}`;
    const answer = await api.get({ operation: "ListMachines", template: LIST, path }, turn);
    if (answer.kind === "ok") return answer;
    // What is not there any more may be the version: it is asked for anew next time.
    if (answer.fault.status === 404) served = undefined;
    return explained(answer.fault);
  };

  const pageOf = async (version: string, token: string, turn: Turn): Promise<Outcome<Page>> => {
    const query = {
      labelSelector: `${CLUSTER_LABEL}=${cluster}`,
      ...(token === "" ? {} : { continue: token }),
    };
    const answer = await ask(version, query, turn);
    return answer.kind === "ok" ? readPage(answer.value, cluster) : answer;
  };

  const list = async (turn: Turn): Promise<Outcome<readonly Machine[]>> => {
    const version = await versionOf(turn);
    if (version.kind === "fault") return version;
    const machines = new Map<string, Machine>();
    const tokens = new Set<string>();
    let token = "";
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const page = await pageOf(version.value, token, turn);
      if (page.kind === "fault") return page;
      for (const machine of page.value.machines) machines.set(machine.metadata.uid, machine);
      token = page.value.next;
      if (token === "") return machines.size > 0 ? ok([...machines.values()]) : none({ cluster, namespace });
      if (tokens.has(token)) return fault("Unavailable", `${LIST}: the token of the next page repeats`);
      tokens.add(token);
    }
    return fault("Unavailable", `${LIST}: more than ${MAX_PAGES} pages`);
  };

  return {
    list,
    async check(turn) {
      const version = await versionOf(turn);
      if (version.kind === "fault") return version;
      const first = await pageOf(version.value, "", turn);
      if (first.kind === "fault" || first.value.machines.length > 0) return first;
      // Rancher may be about to make the first one: it is no fault of the configuration for sure.
      const others = await ask(version.value, {}, turn);
      return none({ cluster, namespace }, others.kind === "ok" ? clustersIn(others.value) : []);
    },
  };
}

const LIST = "GET /apis/cluster.x-k8s.io/…/machines";

interface Page {
  readonly machines: readonly Machine[];
  /** Empty on the last one. */
  readonly next: string;
}

/** A Machine that cannot be read might be any, and one of another cluster shows that the server did not choose by the label. */
function readPage(body: unknown, cluster: string): Outcome<Page> {
  const page = MachinesPage.safeParse(body).data;
  if (page === undefined) return fault("Unavailable", `${LIST}: the answer is no list of Machines`);
  const machines: Machine[] = [];
  for (const item of page.items ?? []) {
    const machine = Machine.safeParse(item).data;
    if (machine === undefined) return fault("Unavailable", `${LIST}: an item is no Machine`);
    const { name, labels } = machine.metadata;
    if (machine.spec.clusterName !== cluster || labels?.[CLUSTER_LABEL] !== cluster) {
      const found = machine.spec.clusterName.slice(0, 100);
      return fault("Unavailable", `${LIST}: Machine ${name} is not of cluster ${cluster} but of ${found}`);
    }
    machines.push(machine);
  }
  return ok({ machines, next: page.metadata.continue ?? "" });
}

/** Whose Machines a page has, as far as it can be read. */
function clustersIn(body: unknown): string[] {
  const items = MachinesPage.safeParse(body).data?.items ?? [];
  const names = items.flatMap((item) => Machine.safeParse(item).data?.spec.clusterName.slice(0, 100) ?? []);
  return [...new Set(names)].toSorted();
}

function none({ cluster, namespace }: MachineScope, others: readonly string[] = []): Outcome<never> {
  const near = nearest(cluster, others);
  const perhaps = near === undefined ? "" : `, perhaps ${near}`;
  const known = others.length === 0 ? "" : `; it has those of ${others.slice(0, 5).join(", ")}`;
  return fault(
    "Unavailable",
    `${LIST}: namespace ${namespace} has no Machine of cluster ${cluster}${perhaps}${known}: see rancher.cluster and rancher.namespace, and set existence: none for a cluster that was imported`,
  );
}

/** Of a 404 Rancher itself says little. */
function explained(found: Fault): Outcome<never> {
  if (found.status !== 404) return { kind: "fault", fault: found };
  const message = `${found.message}; rancher.url has to be that of a Rancher with Cluster API`;
  return { kind: "fault", fault: { ...found, message } };
}
