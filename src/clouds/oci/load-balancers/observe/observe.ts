import type { Outcome } from "#clouds/http/outcome.ts";
import type { LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
import { observeNetwork } from "#clouds/oci/load-balancers/observe/network.ts";
import type { ObserveContext, ServiceQuery } from "#clouds/oci/load-balancers/observe/service-query.ts";
import type {
  InstanceAddresses,
  ListedBalancer,
  ObservedBalancer,
  OciState,
} from "#clouds/oci/load-balancers/state.ts";
import { isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import { ok, toObservation } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";

/** Services whose details are read in parallel. */
const AT_ONCE = 4;

/** Observes the load balancers of Services; undefined for a Service whose uid gives no valid name. */
export async function observeLoadBalancers(
  queries: readonly (ServiceQuery | undefined)[],
  addresses: Outcome<Readonly<Record<string, InstanceAddresses>>>,
  context: ObserveContext,
): Promise<readonly Observation[]> {
  const answers = new Map<ServiceQuery, Observation>();
  const waiting = queries.filter((each) => each !== undefined);
  const services = waiting.length;
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      answers.set(next, toObservation(await readState(next, services, addresses, context)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return queries.map((each) => (each === undefined ? INVALID_QUESTION : (answers.get(each) ?? UNANSWERED)));
}

async function readState(
  query: ServiceQuery,
  services: number,
  addresses: Outcome<Readonly<Record<string, InstanceAddresses>>>,
  context: ObserveContext,
): Promise<Outcome<OciState>> {
  if (addresses.kind === "fault" && query.instances.length > 0) return addresses;
  const allAddresses = addresses.kind === "ok" ? addresses.value : {};
  const ownAddresses = query.instances.flatMap((id) =>
    allAddresses[id] === undefined ? [] : [[id, allAddresses[id]] as const],
  );
  const balancers = await findBalancers(query, services, context);
  if (balancers.kind === "fault") return balancers;
  const hasLoadBalancer = balancers.value.found.length > 0;
  const state = { ...balancers.value, addresses: Object.fromEntries(ownAddresses) };
  // No change of its groups and rules is known.
  if (query.onlyTargets && hasLoadBalancer) return ok({ ...state, groups: [], named: {}, subnets: {} });
  const network = await observeNetwork(query, balancers.value.found, context);
  return network.kind === "fault" ? network : ok({ ...state, ...network.value });
}

const INVALID_QUESTION: Observation = {
  kind: "error",
  code: "Invalid",
  message: "no question about a Service, or its uid holds something that no load balancer's name may hold",
};

const UNANSWERED: Observation = { kind: "error", code: "Unavailable", message: "OCI: no answer" };

/**
 * More Services than this are found in lists of all load balancers, which then have fewer pages than there
 * are Services.
 */
const FEW = 2;

/** Maximum load balancers of one name that are reported. */
const MAX_NAMED = 5;

/** A failed change is retried after this time. */
const FAILED_MS = 60_000;

/** Finds the load balancers with a Service's names. */
async function findBalancers(
  query: ServiceQuery,
  services: number,
  context: ObserveContext,
): Promise<Outcome<Pick<OciState, "found" | "several">>> {
  const { cluster } = context;
  const found: ObservedBalancer[] = [];
  const several: string[] = [];
  for (const kind of query.kinds) {
    const listed = await listBalancers(kind, query, services, context);
    if (listed.kind === "fault") return listed;
    const existing = listed.value.filter(({ lifecycleState }) => !ENDED.has(lifecycleState));
    const ours = existing.filter(({ freeformTags }) => isOfCluster(freeformTags ?? undefined, cluster));
    // If one is ours, foreign ones with the same name are ignored: a name alone takes no load balancer away
    // from a Service.
    const [one, ...others] = ours.length > 0 ? ours : existing.slice(0, 1);
    if (one === undefined) continue;
    if (others.length > 0) {
      several.push(...[one, ...others].map(({ id }) => id).slice(0, MAX_NAMED));
      continue;
    }
    const observed = await observeBalancer(kind, one, context);
    if (observed.kind === "fault") return observed;
    found.push(observed.value);
  }
  return ok({ found, ...(several.length > 0 ? { several } : {}) });
}

const ENDED: ReadonlySet<string> = new Set(["DELETED", "TERMINATED"]);

async function listBalancers(
  kind: LoadBalancerKind,
  { names }: ServiceQuery,
  services: number,
  { compartments, reads }: ObserveContext,
): Promise<Outcome<readonly ListedBalancer[]>> {
  const all: ListedBalancer[] = [];
  for (const compartment of compartments) {
    const listed = await reads.listBalancers(kind, compartment, services > FEW ? undefined : names[kind]);
    if (listed.kind === "fault") return listed;
    all.push(...listed.value.filter(({ displayName }) => displayName === names[kind]));
  }
  return ok(all);
}

async function observeBalancer(
  kind: LoadBalancerKind,
  { id, compartmentId }: ListedBalancer,
  { reads, wallClock }: ObserveContext,
): Promise<Outcome<ObservedBalancer>> {
  // In this order: if no work request is in progress when they are listed, a later read shows their final
  // result.
  const work =
    kind === "lb"
      ? await readWorkRequests(id, { reads })
      : await readNetworkWorkRequests(id, compartmentId, { reads });
  if (work.kind === "fault") return work;
  const read = await reads.readBalancer(kind, id);
  if (read.kind === "fault") return read;
  const isBusy = work.value.some(({ state }) => !FINISHED_STATES.has(state));
  const [last] = work.value.toSorted((one, other) => (one.accepted < other.accepted ? 1 : -1));
  const hasChangedGroups = work.value.some(({ type }) => CHANGES_GROUPS.test(type));
  const isRecent = last?.state === "FAILED" && wallClock() - Date.parse(last.finished) < FAILED_MS;
  return ok({
    ...{ kind, ...read.value, isBusy },
    ...(hasChangedGroups ? { changedGroups: true } : {}),
    ...(isRecent ? { failure: last.message } : {}),
  });
}

/** Types of work requests for network security groups: `UpdateNetworkSecurityGroups` and `UPDATE_NSGS`. */
const CHANGES_GROUPS = /nsg|network_?security_?group/i;

/** Maximum length of OCI's message that is repeated. */
const MAX_MESSAGE_LENGTH = 300;

/** A work request of either type, in one format. */
interface WorkRequestSummary {
  readonly type: string;
  readonly state: string;
  readonly accepted: string;
  readonly finished: string;
  readonly message: string;
}

async function readWorkRequests(
  id: string,
  { reads }: Pick<ObserveContext, "reads">,
): Promise<Outcome<readonly WorkRequestSummary[]>> {
  const listed = await reads.listWorkRequests(id);
  if (listed.kind === "fault") return listed;
  return ok(
    listed.value.map(
      ({ type, lifecycleState, timeAccepted, timeFinished, errorDetails, message: summary }) => {
        const details = (errorDetails ?? []).flatMap((each) => each.message ?? []).join("; ");
        const message = `a work request failed: ${(details || (summary ?? "OCI does not say why")).slice(0, MAX_MESSAGE_LENGTH)}`;
        const times = { accepted: timeAccepted ?? "", finished: timeFinished ?? "" };
        return { type: type ?? "", state: lifecycleState, ...times, message };
      },
    ),
  );
}

async function readNetworkWorkRequests(
  id: string,
  compartment: string,
  { reads }: Pick<ObserveContext, "reads">,
): Promise<Outcome<readonly WorkRequestSummary[]>> {
  const listed = await reads.listNetworkWorkRequests(compartment);
  if (listed.kind === "fault") return listed;
  return ok(
    listed.value
      .filter(({ resources }) => resources?.some(({ identifier }) => identifier === id))
      .map(({ status, operationType, timeAccepted, timeFinished }) => {
        const message = `the work request ${operationType} failed`;
        const times = { accepted: timeAccepted ?? "", finished: timeFinished ?? "" };
        return { type: operationType, state: status, ...times, message };
      }),
  );
}

const FINISHED_STATES: ReadonlySet<string> = new Set(["SUCCEEDED", "FAILED", "CANCELED"]);
