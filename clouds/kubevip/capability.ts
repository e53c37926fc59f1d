import * as z from "zod";
import type { ActionResult, Capability, ObservationsResult } from "#clouds/cloud.ts";
import { type ClusterObjects, NO_CLUSTER_OBJECTS, type ObjectFault } from "#clouds/cluster-objects.ts";
import { createMeter, type Meter } from "#clouds/http/meter.ts";
import { choose } from "#clouds/kubevip/choose.ts";
import { type Holder, holderOf } from "#clouds/kubevip/holders.ts";
import { IMPLEMENTATION_LABEL, KUBE_VIP } from "#clouds/kubevip/keys.ts";
import type { KubeVipCloudConfig } from "#clouds/kubevip/kind.ts";
import { CHOOSE, type Chosen, NOTHING_OBSERVED, type Observed } from "#clouds/kubevip/observed.ts";
import { createReservations } from "#clouds/kubevip/reservations.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { CONFIG_MAPS, SERVICES } from "#core/resources/resource.ts";
import { HoldingsQuestion, type HoldingsState } from "#core/service/holdings.ts";
import { Service } from "#core/service/service.ts";

const Question = z.object({ service: Service, wanted: z.boolean() });

const PoolConfigMap = z.object({ data: z.record(z.string(), z.string()).nullish() });

const Wanted = z.strictObject({
  uid: z.string(),
  namespace: z.string(),
  ports: z.array(z.int()),
  ipFamilies: z.array(z.string()),
  ipFamilyPolicy: z.string().optional(),
});

/** What was read is chosen by for so long; then it is read anew. */
const BELIEVED_MS = 30_000;

/**
 * The capability `loadBalancers` where kube-vip announces addresses: pools are read from the ConfigMap, who has which address from the
 * Services, and of one process no two Services are given the same. What is chosen the controller writes.
 */
export function createLoadBalancers(
  { namespace, configMap: name }: KubeVipCloudConfig,
  objects: ClusterObjects = NO_CLUSTER_OBJECTS,
  now: () => number,
): Capability {
  const reservations = createReservations(now);
  let last: { readonly observed: Observed; readonly atMs: number } | undefined;

  async function read(signal: AbortSignal, meter: Meter): Promise<Observed | ObjectFault> {
    const atMs = now();
    meter.called("ReadConfigMap");
    meter.called("ListServices");
    const [configMap, listed] = await Promise.all([
      objects.read(CONFIG_MAPS, { namespace, name }, signal),
      objects.list(SERVICES, `${IMPLEMENTATION_LABEL}=${KUBE_VIP}`, holderOf, signal),
    ]);
    if (configMap.kind === "error") return counted(configMap, meter);
    if (listed.kind === "error") return counted(listed, meter);
    const stored = configMap.kind === "absent" ? null : PoolConfigMap.safeParse(configMap.object);
    if (stored?.success === false)
      return { kind: "error", code: "Unavailable", message: "an answer that is no ConfigMap" };
    const holders = listed.items;
    for (const { uid, addresses } of holders) if (addresses.length > 0) reservations.drop(uid);
    const observed = { data: stored === null ? null : (stored.data.data ?? {}), holders, chosen: null };
    // Of two that are under way at the same time the one that began later knows more.
    if (last === undefined || last.atMs <= atMs) last = { observed, atMs };
    return observed;
  }

  async function chosen(parameters: unknown, signal: AbortSignal, meter: Meter): Promise<ActionAnswer> {
    const wanted = Wanted.safeParse(parameters).data;
    if (wanted === undefined) return invalid(`${CHOOSE} needs to know for which Service`);
    const isBelieved = last !== undefined && now() - last.atMs <= BELIEVED_MS;
    const known = isBelieved && last !== undefined ? last.observed : await read(signal, meter);
    if ("kind" in known) return known;
    if (known.data === null) return invalid("the ConfigMap with the pools is not there", "NoPool");
    const choice = choose(known.data, wanted, [
      ...known.holders,
      ...reservations.others(wanted.uid).map(asHolder),
    ]);
    if (choice.kind === "none") return invalid(choice.message, choice.code);
    const { kind: _, ...result } = choice;
    reservations.reserve({ ...wanted, addresses: choice.addresses });
    return { kind: "done", result: result satisfies Chosen };
  }

  return {
    async observe(questions, { signal }): Promise<ObservationsResult> {
      const meter = createMeter();
      if (signal.aborted) return { answers: questions.map(() => ABORTED), usage: meter.usage() };
      const asked = questions.map((question) => Question.safeParse(question).data);
      const isAnyWanted = asked.some((question) => question?.wanted === true);
      const observed = isAnyWanted ? await read(signal, meter) : NOTHING_OBSERVED;
      const answers = questions.map((question, index): Observation => {
        // What Services have is theirs, and nothing of it stays behind.
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
          : invalid(`kube-vip has no action ${action}`);
      return { answer, usage: meter.usage() };
    },
  };
}

const ABORTED: Observation = { kind: "error", code: "Aborted", message: "aborted before anything was read" };

const RUBBISH: Observation = { kind: "error", code: "Invalid", message: "a question about no Service" };

const NO_HOLDINGS: HoldingsState = { holdings: [] };

function counted(fault: ObjectFault, meter: Meter): ObjectFault {
  if (fault.code === "Throttled") meter.throttled();
  return fault;
}

/** It will be among those who have one in a moment. */
function asHolder(reserved: Pick<Holder, "uid" | "namespace" | "ports" | "addresses">): Holder {
  return { ...reserved, name: "", created: "" };
}

function invalid(message: string, reason?: string): ActionAnswer {
  return { kind: "error", code: "Invalid", message, reason };
}
