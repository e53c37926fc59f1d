import type { Turn } from "#clouds/http/api.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { chooseInVcn } from "#clouds/oci/choose-in-vcn.ts";
import { findByVnic } from "#clouds/oci/find-by-vnic.ts";
import { type InstanceList, instanceIn, namedIn } from "#clouds/oci/instance-lists.ts";
import type { Inventory } from "#clouds/oci/inventory.ts";
import { compartmentsOf, type OciCloudConfig } from "#clouds/oci/kind.ts";
import type { OciInstance } from "#clouds/oci/objects.ts";
import type { Query } from "#clouds/oci/query.ts";
import { ambiguous, failed, type Resolution } from "#clouds/oci/resolution.ts";
import { fault } from "#clouds/outcome.ts";
import { shown } from "#core/shown-text.ts";

/** Where instances are looked for, and for how long a list is believed of what it shows. */
export interface Sources {
  readonly inventory: Inventory;
  readonly config: OciCloudConfig;
  readonly maxListAgeMs: number;
  readonly now: () => number;
}

/** So few are read singly even where it is not known how long a list would be. */
const FEW = 2;

/** The most that one batch reads singly: a wrong account must not become a request for each of its nodes. */
export const MAX_READS = 10;

/**
 * Finds out which instance each query means. First what lately was listed tells; then a list, where names or more than a few ids are
 * left; then the ids one by one. One that is not there to be read counts as gone only once fresh lists lack it that show others.
 */
export async function resolve(
  queries: ReadonlySet<Query>,
  sources: Sources,
  turn: Turn,
): Promise<ReadonlyMap<Query, Resolution>> {
  const { inventory, config, maxListAgeMs, now } = sources;
  const beganAt = now();
  const compartments = compartmentsOf(config);
  const lists = new Map<string, InstanceList>();
  let trouble: Fault | undefined;

  for (const each of compartments) {
    const recent = inventory.instances.recent(each, beganAt - maxListAgeMs);
    if (recent !== undefined) lists.set(each, recent);
  }
  const byId = (id: string): OciInstance | undefined => instanceIn(lists, id);
  const openIds = (): Set<string> =>
    new Set([...queries].flatMap((query) => (query.kind === "id" && !byId(query.id) ? [query.id] : [])));
  const hasOpenName = (): boolean => namesIn(queries).some(({ name }) => namedIn(lists, name).length === 0);

  /** Whoever joins a list that had begun before him does not know of what came since, and once more is enough. */
  async function listAgain(since: number): Promise<void> {
    for (const each of compartments) {
      if (trouble !== undefined) return;
      const listed = await inventory.instances.get(each, turn, since);
      if (listed.kind === "fault") trouble = listed.fault;
      else lists.set(each, listed.value);
    }
  }
  for (const since of [beganAt - maxListAgeMs, beganAt]) {
    if (trouble === undefined && (hasOpenName() || openIds().size > FEW)) await listAgain(since);
  }

  // A service that answers a list with an error is not asked for each of them either.
  const read: ReadResults = trouble === undefined ? await readAll(openIds(), inventory, turn) : new Map();
  const isToBeProved = [...read.values()].some(
    (each) => each.kind === "ok" && !isOfCluster(each.value, config),
  );
  if (isToBeProved) await listAgain(beganAt);

  const chosen = new Map<string, OciInstance>();
  for (const { name } of trouble === undefined ? namesIn(queries) : []) {
    const candidates = namedIn(lists, name);
    if (candidates.length < 2) continue;
    const one = await chooseInVcn(candidates, { inventory, config, since: beganAt - maxListAgeMs }, turn);
    if (one !== undefined) chosen.set(name, one);
  }
  const unnamed = new Set<string>();
  const resolutions = new Map<Query, Resolution>();
  for (const query of queries) {
    const resolution = resolutionOf(query, { lists, read, chosen, trouble, config });
    if (resolution !== undefined) resolutions.set(query, resolution);
    else if (query.kind === "name") unnamed.add(query.name);
  }
  if (unnamed.size === 0) return resolutions;
  const byVnic = await findByVnic(unnamed, lists, { inventory, config, since: beganAt }, turn);
  for (const query of queries) {
    if (resolutions.has(query) || query.kind !== "name") continue;
    resolutions.set(query, byVnic.get(query.name) ?? ABSENT);
  }
  return resolutions;
}

function namesIn(queries: ReadonlySet<Query>): (Query & { readonly kind: "name" })[] {
  return [...queries].filter((query) => query.kind === "name");
}

type ReadResults = ReadonlyMap<string, Outcome<OciInstance | undefined>>;

const ABSENT: Resolution = { kind: "absent", message: "Oracle lists no instance of that name or address" };

const LATER: Outcome<never> = fault(
  "Unavailable",
  `no list shows it, and this batch has read ${MAX_READS} instances singly: it is looked for again`,
);

interface Seen {
  readonly lists: ReadonlyMap<string, InstanceList>;
  readonly read: ReadResults;
  /** By name, where several instances have it. */
  readonly chosen: ReadonlyMap<string, OciInstance>;
  readonly trouble: Fault | undefined;
  readonly config: OciCloudConfig;
}

/** Undefined of a name that no instance has. */
function resolutionOf(query: Query, seen: Seen): Resolution | undefined {
  const { lists, read, trouble } = seen;
  switch (query.kind) {
    case "foreign":
      return failed({ code: "ForeignProviderID", message: query.message });
    case "invalid":
      return failed({ code: "InvalidProviderID", message: query.message });
    case "id": {
      const answer = read.get(query.id);
      if (answer?.kind === "fault") return answer;
      const instance = answer?.value ?? instanceIn(lists, query.id);
      if (answer?.kind === "ok" && answer.value === undefined) return absence(query, seen);
      if (instance !== undefined) return { kind: "instance", instance, guess: false };
      return failed(trouble ?? { code: "Unavailable", message: "no answer" });
    }
    case "name": {
      const one = seen.chosen.get(query.name);
      const [instance, ...others] = one === undefined ? namedIn(lists, query.name) : [one];
      if (others.length > 0 && instance) return failed(ambiguous([instance, ...others].map(({ id }) => id)));
      if (instance !== undefined && trouble === undefined)
        return { kind: "instance", instance, guess: false };
      if (trouble !== undefined) return failed(trouble);
      const unreadable = [...lists.values()].some(({ value }) => value.unreadable > 0);
      return unreadable ? failed(UNREADABLE) : undefined;
    }
  }
}

/** Oracle answers alike to what is gone and to what may not be seen: only lists that are whole, and show others, tell. */
function absence(query: Query & { readonly kind: "id" }, { lists, trouble, config }: Seen): Resolution {
  if (trouble !== undefined) return failed(trouble);
  const all = compartmentsOf(config).map((each) => lists.get(each)?.value);
  if (all.some((each) => each === undefined || each.unreadable > 0)) return failed(UNREADABLE);
  if (instanceIn(lists, query.id) !== undefined)
    return failed({
      code: "Unavailable",
      message: "it cannot be read, and a list shows it: it is looked for again",
    });
  // An instance of a compartment that is not listed, and may not be read any more, is answered with 404 as well.
  const list = lists.get(query.compartment);
  if (list === undefined) {
    const compartment = shown(query.compartment, 128);
    const message = `it was in compartment ${compartment}, which is not configured, so that "gone" and "not to be seen" cannot be told apart`;
    return failed({ code: "Unavailable", message });
  }
  if (list.value.entries.length > 0)
    return { kind: "absent", message: "Oracle neither shows nor lists such an instance" };
  const message = `${query.compartment} lists no instance at all, so that "gone" and "not to be seen" cannot be told apart`;
  return failed({ code: "Unavailable", message });
}

const UNREADABLE: Fault = {
  code: "Unavailable",
  message: "the list of instances has entries that cannot be read, and one of them may be the node's",
};

async function readAll(ids: ReadonlySet<string>, inventory: Inventory, turn: Turn): Promise<ReadResults> {
  const all = [...ids];
  const read = all.slice(0, MAX_READS).map(async (id) => [id, await inventory.instance(id, turn)] as const);
  return new Map([...(await Promise.all(read)), ...all.slice(MAX_READS).map((id) => [id, LATER] as const)]);
}

/** How long an answer takes must not tell an instance of somebody else's from none. */
function isOfCluster(instance: OciInstance | undefined, config: OciCloudConfig): boolean {
  return instance !== undefined && compartmentsOf(config).includes(instance.compartmentId);
}
