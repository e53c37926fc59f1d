import * as z from "zod";
import type { ActionResult, Capability, ObservationsResult } from "#clouds/cloud.ts";
import { type ClusterObjects, NO_CLUSTER_OBJECTS, type ObjectFault } from "#clouds/cluster-objects.ts";
import { createMeter, type Meter } from "#clouds/http/meter.ts";
import type { KubeVipCloudConfig } from "#clouds/kubevip/config.ts";
import {
  CHOOSE,
  type ChosenAddresses,
  choose,
  NOTHING_OBSERVED,
  type PoolState,
} from "#clouds/kubevip/load-balancers/choose.ts";
import {
  type Holder,
  IMPLEMENTATION_LABEL,
  KUBE_VIP,
  parseHolder,
} from "#clouds/kubevip/load-balancers/holders.ts";
import { createExpiringMap } from "#core/bounded-map.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { CONFIG_MAPS, SERVICES } from "#core/resources/resource.ts";
import { HoldingsQuestion, type HoldingsState } from "#core/service/holdings.ts";
import { Service } from "#core/service/service.ts";

const Question = z.object({ service: Service, wanted: z.boolean() });

const PoolConfigMap = z.object({ data: z.record(z.string(), z.string()).nullish() });

const AddressRequestSchema = z.strictObject({
  uid: z.string(),
  namespace: z.string(),
  ports: z.array(z.int()),
  ipFamilies: z.array(z.string()),
  ipFamilyPolicy: z.string().optional(),
});

/** Time for which a read is used for choices. */
const BELIEVED_MS = 30_000;

/**
 * Creates the capability `loadBalancers` for addresses that kube-vip announces. Pools are read from the
 * ConfigMap, and used addresses from the Services. One process never gives two Services the same address. The
 * controller writes the choice.
 */
export function createLoadBalancers(
  { namespace, configMap: name }: KubeVipCloudConfig,
  objects: ClusterObjects = NO_CLUSTER_OBJECTS,
  now: () => number,
): Capability {
  const reservations = createReservations(now);
  let last: { readonly observed: PoolState; readonly atMs: number } | undefined;

  async function read(signal: AbortSignal, meter: Meter): Promise<PoolState | ObjectFault> {
    const atMs = now();
    meter.called("ReadConfigMap");
    meter.called("ListServices");
    const [configMap, listed] = await Promise.all([
      objects.read(CONFIG_MAPS, { namespace, name }, signal),
      objects.list(SERVICES, `${IMPLEMENTATION_LABEL}=${KUBE_VIP}`, parseHolder, signal),
    ]);
    if (configMap.kind === "error") return countFault(configMap, meter);
    if (listed.kind === "error") return countFault(listed, meter);
    const stored = configMap.kind === "absent" ? null : PoolConfigMap.safeParse(configMap.object);
    if (stored?.success === false)
      return { kind: "error", code: "Unavailable", message: "an answer that is not a ConfigMap" };
    const holders = listed.items;
    for (const { uid, addresses } of holders) if (addresses.length > 0) reservations.drop(uid);
    const observed = { data: stored === null ? null : (stored.data.data ?? {}), holders, chosen: null };
    // Of two concurrent reads the later one knows more.
    if (last === undefined || last.atMs <= atMs) last = { observed, atMs };
    return observed;
  }

  async function chosen(parameters: unknown, signal: AbortSignal, meter: Meter): Promise<ActionAnswer> {
    const wanted = AddressRequestSchema.safeParse(parameters).data;
    if (wanted === undefined) return buildInvalid(`${CHOOSE} needs to know for which Service`);
    const isBelieved = last !== undefined && now() - last.atMs <= BELIEVED_MS;
    const known = isBelieved && last !== undefined ? last.observed : await read(signal, meter);
    if ("kind" in known) return known;
    if (known.data === null) return buildInvalid("the ConfigMap with the pools is missing", "NoPool");
    const choice = choose(known.data, wanted, [
      ...known.holders,
      ...reservations.listOthers(wanted.uid).map(toHolder),
    ]);
    if (choice.kind === "none") return buildInvalid(choice.message, choice.code);
    const { kind: _, ...result } = choice;
    reservations.reserve({ ...wanted, addresses: choice.addresses });
    return { kind: "done", result: result satisfies ChosenAddresses };
  }

  return {
    async observe(questions, { signal }): Promise<ObservationsResult> {
      const meter = createMeter();
      if (signal.aborted) return { answers: questions.map(() => ABORTED), usage: meter.usage() };
      const asked = questions.map((question) => Question.safeParse(question).data);
      const isAnyWanted = asked.some((question) => question?.wanted === true);
      const observed = isAnyWanted ? await read(signal, meter) : NOTHING_OBSERVED;
      const answers = questions.map((question, index): Observation => {
        // Addresses belong to the Services and leave nothing behind.
        if (HoldingsQuestion.safeParse(question).success) return { kind: "observed", state: NO_HOLDINGS };
        if (asked[index] === undefined) return RUBBISH;
        if (!asked[index].wanted) return { kind: "observed", state: NOTHING_OBSERVED };
        return "kind" in observed ? observed : { kind: "observed", state: observed };
      });
      return { answers, usage: meter.usage() };
    },
    async act({ action, parameters }: CloudAction, { signal }): Promise<ActionResult> {
      const meter = createMeter();
      const answer =
        action === CHOOSE
          ? await chosen(parameters, signal, meter)
          : buildInvalid(`kube-vip has no action ${action}`);
      return { answer, usage: meter.usage() };
    },
  };
}

const ABORTED: Observation = { kind: "error", code: "Aborted", message: "aborted before anything was read" };

const RUBBISH: Observation = { kind: "error", code: "Invalid", message: "a question about no Service" };

const NO_HOLDINGS: HoldingsState = { holdings: [] };

function countFault(fault: ObjectFault, meter: Meter): ObjectFault {
  if (fault.code === "Throttled") meter.throttled();
  return fault;
}

/** It will have the address soon. */
function toHolder(reserved: Pick<Holder, "uid" | "namespace" | "ports" | "addresses">): Holder {
  return { ...reserved, name: "", created: "" };
}

function buildInvalid(message: string, reason?: string): ActionAnswer {
  return { kind: "error", code: "Invalid", message, reason };
}

/** Addresses chosen for Services in this process that are not visible on them yet. */
interface Reservations {
  /** Lists the valid reservations of all other Services. */
  listOthers(uid: string): readonly Reservation[];
  reserve(reserved: Reservation): void;
  /** Drops a reservation that is visible on the Service or no longer needed. */
  drop(uid: string): void;
}

/** In the form of a Service that has the addresses. */
interface Reservation {
  readonly uid: string;
  readonly namespace: string;
  readonly ports: readonly number[];
  readonly addresses: readonly string[];
}

/** Any result of a choice has arrived by then: an invocation has 30 seconds. */
const HELD_MS = 60_000;

/** More Services than any batch has. */
const MAX_RESERVED = 5_000;

/**
 * Creates empty reservations. Other processes' choices are unknown here; a conflict is found when both are
 * written.
 */
function createReservations(now: () => number): Reservations {
  const held = createExpiringMap<string, Reservation>({ ttlMs: HELD_MS, limit: MAX_RESERVED, now });
  return {
    listOthers: (uid) => held.values().filter((each) => each.uid !== uid),
    reserve: (reserved) => held.set(reserved.uid, reserved),
    drop: (uid) => held.delete(uid),
  };
}
