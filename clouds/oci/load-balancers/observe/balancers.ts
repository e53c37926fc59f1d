import type { Outcome } from "#clouds/http/outcome.ts";
import type { LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { Observing } from "#clouds/oci/load-balancers/observe/observe.ts";
import type { Sought } from "#clouds/oci/load-balancers/observe/sought.ts";
import type { ListedBalancer, OciState, SeenBalancer } from "#clouds/oci/load-balancers/state.ts";
import { isOfCluster } from "#clouds/oci/load-balancers/tags.ts";
import { ok } from "#clouds/outcome.ts";

/** More Services than this are looked for in lists of all load balancers: then pages are fewer than Services. */
const FEW = 2;

/** So many of one name are told. */
const MAX_NAMED = 5;

/** What did not come about a while ago is tried again. */
const FAILED_MS = 60_000;

/** The load balancers that have the names of a Service's. */
export async function findBalancers(
  sought: Sought,
  services: number,
  observing: Observing,
): Promise<Outcome<Pick<OciState, "found" | "several">>> {
  const { cluster } = observing;
  const found: SeenBalancer[] = [];
  const several: string[] = [];
  for (const kind of sought.kinds) {
    const listed = await listedOf(kind, sought, services, observing);
    if (listed.kind === "fault") return listed;
    const live = listed.value.filter(({ lifecycleState }) => !ENDED.has(lifecycleState));
    const ours = live.filter(({ freeformTags }) => isOfCluster(freeformTags ?? undefined, cluster));
    // Where one is ours, what others call alike is theirs alone: nobody takes a load balancer from a Service by its name.
    const [one, ...others] = ours.length > 0 ? ours : live.slice(0, 1);
    if (one === undefined) continue;
    if (others.length > 0) {
      several.push(...[one, ...others].map(({ id }) => id).slice(0, MAX_NAMED));
      continue;
    }
    const seen = await lookAt(kind, one, observing);
    if (seen.kind === "fault") return seen;
    found.push(seen.value);
  }
  return ok({ found, ...(several.length > 0 ? { several } : {}) });
}

const ENDED: ReadonlySet<string> = new Set(["DELETED", "TERMINATED"]);

async function listedOf(
  kind: LoadBalancerKind,
  { names }: Sought,
  services: number,
  { compartments, reads }: Observing,
): Promise<Outcome<readonly ListedBalancer[]>> {
  const all: ListedBalancer[] = [];
  for (const compartment of compartments) {
    const listed = await reads.balancers(kind, compartment, services > FEW ? undefined : names[kind]);
    if (listed.kind === "fault") return listed;
    all.push(...listed.value.filter(({ displayName }) => displayName === names[kind]));
  }
  return ok(all);
}

async function lookAt(
  kind: LoadBalancerKind,
  { id, compartmentId }: ListedBalancer,
  { reads, wallClock }: Observing,
): Promise<Outcome<SeenBalancer>> {
  // In this order: what nothing is at when its work requests are listed is afterwards shown as they have left it.
  const work =
    kind === "lb" ? await workOf(id, { reads }) : await networkWorkOf(id, compartmentId, { reads });
  if (work.kind === "fault") return work;
  const read = await reads.balancer(kind, id);
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

/** Types of work requests about network security groups: `UpdateNetworkSecurityGroups` and `UPDATE_NSGS`. */
const CHANGES_GROUPS = /nsg|network_?security_?group/i;

/** As much of OCI's own words as is repeated. */
const MAX_WORDS = 300;

/** A work request of either kind, in one form. */
interface Work {
  readonly type: string;
  readonly state: string;
  readonly accepted: string;
  readonly finished: string;
  readonly words: string;
}

async function workOf(id: string, { reads }: Pick<Observing, "reads">): Promise<Outcome<readonly Work[]>> {
  const listed = await reads.workRequests(id);
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

async function networkWorkOf(
  id: string,
  compartment: string,
  { reads }: Pick<Observing, "reads">,
): Promise<Outcome<readonly Work[]>> {
  const listed = await reads.networkWorkRequests(compartment);
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
