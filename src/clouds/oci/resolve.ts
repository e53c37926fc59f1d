import type { CallContext } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { listCompartments, type OciCloudConfig } from "#clouds/oci/config.ts";
import { findByVnic, type VnicSources } from "#clouds/oci/find-by-vnic.ts";
import { findByName, findInstance, type InstanceList, type Inventory } from "#clouds/oci/inventory.ts";
import type { OciInstance } from "#clouds/oci/objects.ts";
import {
  buildAmbiguousFault,
  isAttached,
  type Query,
  type Resolution,
  toFailedResolution,
} from "#clouds/oci/query.ts";
import { fault } from "#clouds/outcome.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** Sources of instances, and how long a list proves that an instance exists. */
export interface Sources {
  readonly inventory: Inventory;
  readonly config: OciCloudConfig;
  readonly maxListAgeMs: number;
  readonly now: () => number;
}

/** The number of single reads that are cheaper than a list of unknown length. */
const FEW = 2;

/** Maximum single reads per batch: a wrong account must not cause a request for each of its nodes. */
export const MAX_READS = 10;

/**
 * Finds the instance of each query. It uses recent lists first, then a new list if names or more than a few
 * ids are left, then single reads. An unreadable instance counts as gone only if new lists lack it and show
 * others.
 */
export async function resolve(
  queries: ReadonlySet<Query>,
  sources: Sources,
  callContext: CallContext,
): Promise<ReadonlyMap<Query, Resolution>> {
  const { inventory, config, maxListAgeMs, now } = sources;
  const beganAt = now();
  const compartments = listCompartments(config);
  const lists = new Map<string, InstanceList>();
  let failure: Fault | undefined;

  for (const each of compartments) {
    const recent = inventory.instances.getRecent(each, beganAt - maxListAgeMs);
    if (recent !== undefined) lists.set(each, recent);
  }
  const findById = (id: string): OciInstance | undefined => findInstance(lists, id);
  const listOpenIds = (): Set<string> =>
    new Set([...queries].flatMap((query) => (query.kind === "id" && !findById(query.id) ? [query.id] : [])));
  const hasOpenName = (): boolean =>
    listNameQueries(queries).some(({ name }) => findByName(lists, name).length === 0);

  /** A joined read may have begun before recent changes; a second one is recent enough. */
  async function listAgain(since: number): Promise<void> {
    for (const each of compartments) {
      if (failure !== undefined) return;
      const listed = await inventory.instances.get(each, callContext, since);
      if (listed.kind === "fault") failure = listed.fault;
      else lists.set(each, listed.value);
    }
  }
  for (const since of [beganAt - maxListAgeMs, beganAt]) {
    if (failure === undefined && (hasOpenName() || listOpenIds().size > FEW)) await listAgain(since);
  }

  // A service that answers a list with an error gets no single reads either.
  const read: ReadResults =
    failure === undefined ? await readAll(listOpenIds(), inventory, callContext) : new Map();
  const needsProof = [...read.values()].some(
    (each) => each.kind === "ok" && !isOfCluster(each.value, config),
  );
  if (needsProof) await listAgain(beganAt);

  const chosen = new Map<string, OciInstance>();
  for (const { name } of failure === undefined ? listNameQueries(queries) : []) {
    const candidates = findByName(lists, name);
    if (candidates.length < 2) continue;
    const match = await chooseInVcn(
      candidates,
      { inventory, config, since: beganAt - maxListAgeMs },
      callContext,
    );
    if (match !== undefined) chosen.set(name, match);
  }
  const unnamed = new Set<string>();
  const resolutions = new Map<Query, Resolution>();
  for (const query of queries) {
    const resolution = buildResolution(query, { lists, read, chosen, failure, config });
    if (resolution !== undefined) resolutions.set(query, resolution);
    else if (query.kind === "name") unnamed.add(query.name);
  }
  if (unnamed.size === 0) return resolutions;
  const byVnic = await findByVnic(unnamed, lists, { inventory, config, since: beganAt }, callContext);
  for (const query of queries) {
    if (resolutions.has(query) || query.kind !== "name") continue;
    resolutions.set(query, byVnic.get(query.name) ?? ABSENT);
  }
  return resolutions;
}

function listNameQueries(queries: ReadonlySet<Query>): (Query & { readonly kind: "name" })[] {
  return [...queries].filter((query) => query.kind === "name");
}

type ReadResults = ReadonlyMap<string, Outcome<OciInstance | undefined>>;

const ABSENT: Resolution = { kind: "absent", message: "Oracle lists no instance of that name or address" };

const DEFERRED_READ: Outcome<never> = fault(
  "Unavailable",
  `no list shows it, and this batch has read ${MAX_READS} instances singly: the next batch looks for it again`,
);

interface SearchState {
  readonly lists: ReadonlyMap<string, InstanceList>;
  readonly read: ReadResults;
  /** By name, for names with several instances. */
  readonly chosen: ReadonlyMap<string, OciInstance>;
  readonly failure: Fault | undefined;
  readonly config: OciCloudConfig;
}

/** Undefined for a name without an instance. */
function buildResolution(query: Query, search: SearchState): Resolution | undefined {
  const { lists, read, failure } = search;
  switch (query.kind) {
    case "foreign":
      return toFailedResolution({ code: "ForeignProviderID", message: query.message });
    case "invalid":
      return toFailedResolution({ code: "InvalidProviderID", message: query.message });
    case "id": {
      const answer = read.get(query.id);
      if (answer?.kind === "fault") return answer;
      const instance = answer?.value ?? findInstance(lists, query.id);
      if (answer?.kind === "ok" && answer.value === undefined) return resolveAbsence(query, search);
      if (instance !== undefined) return { kind: "instance", instance, guess: false };
      return toFailedResolution(failure ?? { code: "Unavailable", message: "no answer" });
    }
    case "name": {
      const chosen = search.chosen.get(query.name);
      const [instance, ...others] = chosen === undefined ? findByName(lists, query.name) : [chosen];
      if (others.length > 0 && instance)
        return toFailedResolution(buildAmbiguousFault([instance, ...others].map(({ id }) => id)));
      if (instance !== undefined && failure === undefined)
        return { kind: "instance", instance, guess: false };
      if (failure !== undefined) return toFailedResolution(failure);
      const unreadable = [...lists.values()].some(({ value }) => value.unreadable > 0);
      return unreadable ? toFailedResolution(UNREADABLE) : undefined;
    }
  }
}

/**
 * Oracle gives one answer for missing and for invisible instances: only complete lists that show others prove
 * absence.
 */
function resolveAbsence(
  query: Query & { readonly kind: "id" },
  { lists, failure, config }: SearchState,
): Resolution {
  if (failure !== undefined) return toFailedResolution(failure);
  const all = listCompartments(config).map((each) => lists.get(each)?.value);
  if (all.some((each) => each === undefined || each.unreadable > 0)) return toFailedResolution(UNREADABLE);
  if (findInstance(lists, query.id) !== undefined)
    return toFailedResolution({
      code: "Unavailable",
      message: "a list shows it, but reading it failed: the next batch looks for it again",
    });
  // An instance in an unlisted compartment that can no longer be read also returns 404.
  const list = lists.get(query.compartment);
  if (list === undefined) {
    const compartment = sanitizeText(query.compartment, 128);
    const message = `it was in compartment ${compartment}, which is not configured: it may be gone or only invisible`;
    return toFailedResolution({ code: "Unavailable", message });
  }
  if (list.value.entries.length > 0)
    return { kind: "absent", message: "Oracle neither shows nor lists such an instance" };
  const message = `${query.compartment} lists no instances: it may be gone or only invisible`;
  return toFailedResolution({ code: "Unavailable", message });
}

const UNREADABLE: Fault = {
  code: "Unavailable",
  message: "the list of instances has entries that cannot be read, and one of them may be the node's",
};

async function readAll(
  ids: ReadonlySet<string>,
  inventory: Inventory,
  callContext: CallContext,
): Promise<ReadResults> {
  const all = [...ids];
  const read = all
    .slice(0, MAX_READS)
    .map(async (id) => [id, await inventory.readInstance(id, callContext)] as const);
  return new Map([
    ...(await Promise.all(read)),
    ...all.slice(MAX_READS).map((id) => [id, DEFERRED_READ] as const),
  ]);
}

/** The duration of an answer must not tell a foreign instance from a missing one. */
function isOfCluster(instance: OciInstance | undefined, config: OciCloudConfig): boolean {
  return instance !== undefined && listCompartments(config).includes(instance.compartmentId);
}

/** If more instances than this have the same name, the function chooses no instance. */
const MAX_CANDIDATES = 10;

/**
 * Chooses among instances with the same name the one with a VNIC in the cluster's VCN. Another cluster of the
 * compartment may use the same names. Undefined unless exactly one instance matches and the VCN of each is known.
 */
async function chooseInVcn(
  candidates: readonly OciInstance[],
  { inventory, config: { vcn }, since }: VnicSources,
  callContext: CallContext,
): Promise<OciInstance | undefined> {
  if (vcn === undefined || candidates.length > MAX_CANDIDATES) return undefined;
  const matches: OciInstance[] = [];
  for (const instance of candidates) {
    const listed = await inventory.attachments.get(instance.compartmentId, callContext, since);
    if (listed.kind === "fault") return undefined;
    const attached = listed.value.value.entries.filter(
      (each) => each.instanceId === instance.id && isAttached(each),
    );
    // An instance without a VNIC may belong to any cluster.
    if (attached.length === 0) return undefined;
    for (const { subnetId } of attached) {
      const found = subnetId === undefined ? undefined : await inventory.readVcn(subnetId, callContext);
      if (found?.kind !== "ok") return undefined;
      if (found.value !== vcn) continue;
      matches.push(instance);
      break;
    }
  }
  return matches.length === 1 ? matches[0] : undefined;
}
