import type { Outcome } from "#clouds/http/outcome.ts";
import type { LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { ObserveContext, ServiceQuery } from "#clouds/oci/load-balancers/observe/service-query.ts";
import type { ListedBalancer, ObservedBalancer, OciState } from "#clouds/oci/load-balancers/state.ts";
import { isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import { ok } from "#clouds/outcome.ts";

/**
 * More Services than this are found in lists of all load balancers, which then have fewer pages than there
 * are Services.
 */
const FEW = 2;

/** Maximum load balancers of one name that are reported. */
const MAX_NAMED = 5;

/** A failed change is tried again after this time. */
const FAILED_MS = 60_000;

/** Finds the load balancers with a Service's names. */
export async function findBalancers(
  sought: ServiceQuery,
  services: number,
  observing: ObserveContext,
): Promise<Outcome<Pick<OciState, "found" | "several">>> {
  const { cluster } = observing;
  const found: ObservedBalancer[] = [];
  const several: string[] = [];
  for (const kind of sought.kinds) {
    const listed = await listBalancers(kind, sought, services, observing);
    if (listed.kind === "fault") return listed;
    const live = listed.value.filter(({ lifecycleState }) => !ENDED.has(lifecycleState));
    const ours = live.filter(({ freeformTags }) => isOfCluster(freeformTags ?? undefined, cluster));
    // If one is ours, foreign ones with the same name are ignored: a name alone takes no load balancer away
    // from a Service.
    const [one, ...others] = ours.length > 0 ? ours : live.slice(0, 1);
    if (one === undefined) continue;
    if (others.length > 0) {
      several.push(...[one, ...others].map(({ id }) => id).slice(0, MAX_NAMED));
      continue;
    }
    const seen = await observeBalancer(kind, one, observing);
    if (seen.kind === "fault") return seen;
    found.push(seen.value);
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
  const isBusy = work.value.some(({ state }) => !DONE.has(state));
  const [last] = work.value.toSorted((one, other) => (one.accepted < other.accepted ? 1 : -1));
  const hasChangedGroups = work.value.some(({ type }) => CHANGES_GROUPS.test(type));
  const isRecent = last?.state === "FAILED" && wallClock() - Date.parse(last.finished) < FAILED_MS;
  return ok({
    ...{ kind, ...read.value, isBusy },
    ...(hasChangedGroups ? { changedGroups: true } : {}),
    ...(isRecent ? { failure: last.words } : {}),
  });
}

/** Types of work requests for network security groups: `UpdateNetworkSecurityGroups` and `UPDATE_NSGS`. */
const CHANGES_GROUPS = /nsg|network_?security_?group/i;

/** Maximum length of OCI's message that is repeated. */
const MAX_WORDS = 300;

/** A work request of either type, in one format. */
interface Work {
  readonly type: string;
  readonly state: string;
  readonly accepted: string;
  readonly finished: string;
  readonly words: string;
}

async function readWorkRequests(
  id: string,
  { reads }: Pick<ObserveContext, "reads">,
): Promise<Outcome<readonly Work[]>> {
  const listed = await reads.listWorkRequests(id);
  if (listed.kind === "fault") return listed;
  return ok(
    listed.value.map(({ type, lifecycleState, timeAccepted, timeFinished, errorDetails, message }) => {
      const said = (errorDetails ?? []).flatMap((each) => each.message ?? []).join("; ");
      const words = `a work request failed: ${(said || (message ?? "OCI does not say why")).slice(0, MAX_WORDS)}`;
      const times = { accepted: timeAccepted ?? "", finished: timeFinished ?? "" };
      return { type: type ?? "", state: lifecycleState, ...times, words };
    }),
  );
}

async function readNetworkWorkRequests(
  id: string,
  compartment: string,
  { reads }: Pick<ObserveContext, "reads">,
): Promise<Outcome<readonly Work[]>> {
  const listed = await reads.listNetworkWorkRequests(compartment);
  if (listed.kind === "fault") return listed;
  return ok(
    listed.value
      .filter(({ resources }) => resources?.some(({ identifier }) => identifier === id))
      .map(({ status, operationType, timeAccepted, timeFinished }) => {
        const words = `the work request ${operationType} failed`;
        const times = { accepted: timeAccepted ?? "", finished: timeFinished ?? "" };
        return { type: operationType, state: status, ...times, words };
      }),
  );
}

const DONE: ReadonlySet<string> = new Set(["SUCCEEDED", "FAILED", "CANCELED"]);
