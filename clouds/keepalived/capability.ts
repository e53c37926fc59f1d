import * as z from "zod";
import type { ActionResult, Capability, ObservationsResult } from "#clouds/cloud.ts";
import { type ClusterObjects, NO_CLUSTER_OBJECTS } from "#clouds/cluster-objects.ts";
import { createMeter } from "#clouds/http/meter.ts";
import { Assignment, type Change, freeAddress } from "#clouds/keepalived/change.ts";
import { createKeeper, type Kept, type OnRequest } from "#clouds/keepalived/keeper.ts";
import type { KeepalivedCloudConfig } from "#clouds/keepalived/kind.ts";
import { holderOf, type StoredLedger, writtenValue } from "#clouds/keepalived/ledger.ts";
import { askedAddress, type Observed } from "#clouds/keepalived/model.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { HoldingsQuestion, type HoldingsState } from "#core/service/holdings.ts";
import { Service } from "#core/service/service.ts";

const Question = z.object({ service: Service });

/** The capability `loadBalancers` where keepalived announces addresses: entries in the ConfigMap. */
export function createLoadBalancers(
  config: KeepalivedCloudConfig,
  objects: ClusterObjects | undefined,
): Capability {
  const { namespace, configMap: name, serviceCIDR } = config;
  const keeper = createKeeper(objects ?? NO_CLUSTER_OBJECTS, { namespace, name }, serviceCIDR);
  return {
    async observe(questions, { signal }): Promise<ObservationsResult> {
      const meter = createMeter();
      const audit = (question: unknown) => HoldingsQuestion.safeParse(question).data;
      // Nothing of it stands in an account, where a cluster leaves something behind.
      if (objects === undefined && questions.every((each) => audit(each) !== undefined))
        return { answers: questions.map(() => NO_HOLDINGS), usage: meter.usage() };
      if (signal.aborted) return { answers: questions.map(() => ABORTED), usage: meter.usage() };
      const found = questions.length === 0 ? undefined : await keeper.read(signal, counting(meter));
      if (found?.kind === "error" && found.code === "Throttled") meter.throttled();
      const isFull = found?.kind === "ledger" && freeAddress(found.ledger, serviceCIDR) === undefined;
      const answers = questions.map((question): Observation => {
        if (found === undefined || found.kind === "error") return found ?? NO_HOLDINGS;
        const ofAll = audit(question);
        if (ofAll !== undefined) {
          if (found.kind === "ledger") return { kind: "observed", state: holdingsOf(found.ledger, ofAll) };
          return found.kind === "missing"
            ? NO_HOLDINGS
            : { kind: "error", code: "Invalid", message: found.message };
        }
        const service = Question.safeParse(question).data?.service;
        if (service === undefined) return RUBBISH;
        if (found.kind !== "ledger") return { kind: "observed", state: found satisfies Observed };
        return { kind: "observed", state: observedOf(found.ledger, service, isFull) };
      });
      return { answers, usage: meter.usage() };
    },
    async act(action, { signal }): Promise<ActionResult> {
      const meter = createMeter();
      const change = changeOf(action);
      if (change === undefined) {
        const message = `keepalived has no action ${action.action}, or not with these parameters`;
        return { answer: { kind: "error", code: "Invalid", message }, usage: meter.usage() };
      }
      const kept = await keeper.change(change, signal, counting(meter));
      if (kept.kind === "error" && kept.code === "Throttled") meter.throttled();
      return { answer: answerOf(kept), usage: meter.usage() };
    },
  };
}

const ABORTED: Observation = {
  kind: "error",
  code: "Aborted",
  message: "aborted before the ConfigMap was read",
};

const RUBBISH: Observation = { kind: "error", code: "Invalid", message: "a question about no Service" };

const NO_HOLDINGS: Observation = { kind: "observed", state: { holdings: [] } satisfies HoldingsState };

function counting(meter: { called(operation: string): void }): OnRequest {
  return (operation) => meter.called(operation);
}

/** What the ConfigMap says of one Service. */
function observedOf(ledger: StoredLedger, service: Service, isPoolFull: boolean): Observed {
  const { uid } = service.metadata;
  const own = ledger.entries.find((entry) => entry.uid === uid) ?? null;
  const holder = holderOf(ledger, askedAddress(service) ?? own?.ip ?? "");
  // What an earlier Service of its name had is nobody's any more.
  const isOthers = holder !== undefined && holder.uid !== uid && !isOfName(service, holder);
  return {
    kind: "ledger",
    own,
    isShown: own !== null && ledger.data[own.ip] === writtenValue(own),
    holder: isOthers ? nameOf(holder) : null,
    isFull: isPoolFull && !ledger.entries.some((entry) => isOfName(service, entry)),
  };
}

interface Named {
  readonly serviceNamespace: string;
  readonly serviceName: string;
}

function isOfName({ metadata: { namespace, name } }: Service, entry: Named): boolean {
  return entry.serviceNamespace === namespace && entry.serviceName === name;
}

function nameOf({ serviceNamespace, serviceName }: Named): string {
  return `${serviceNamespace}/${serviceName}`;
}

/** All lines but those that name no Service, of which nobody can tell whether it is there. */
function holdingsOf({ entries, marks }: StoredLedger, { auditAt }: HoldingsQuestion): HoldingsState {
  const holdings = entries.flatMap((entry) => {
    const { uid, ip } = entry;
    const plainUid = uid.replaceAll("-", "");
    if (plainUid === "") return [];
    const about = { kind: "address", id: uid, name: ip, service: nameOf(entry) };
    if (auditAt === undefined) return [about];
    return [{ ...about, uid: plainUid, ...(Object.hasOwn(marks, uid) ? { mark: marks[uid] } : {}) }];
  });
  return { holdings };
}

const Marking = z.strictObject({ text: z.string().optional() });

function changeOf({ action, target: uid, parameters }: CloudAction): Change | undefined {
  switch (action) {
    case "AssignAddress":
      return Assignment.safeParse({ ...parameters, kind: "assign", uid }).data;
    case "ReleaseAddress":
      return { kind: "release", uid };
    case "MarkAddress": {
      const marking = Marking.safeParse(parameters).data;
      return marking && { kind: "mark", uid, text: marking.text };
    }
    default:
      return undefined;
  }
}

/** Reasons are codes of problems, and whose address it is. */
function answerOf(kept: Kept): ActionAnswer {
  switch (kept.kind) {
    case "done":
      return { kind: "done", result: kept.entry };
    case "in-use": {
      const holder = nameOf(kept.holder);
      const message = `${kept.holder.ip} is the address of Service ${holder}`;
      return { kind: "error", code: "Invalid", reason: `AddressInUse ${holder}`, message };
    }
    case "exhausted":
      return { kind: "error", code: "Invalid", reason: "PoolExhausted", message: "no address is free" };
    case "missing":
      return { kind: "error", code: "Invalid", reason: "NoPool", message: kept.message };
    case "unreadable":
      return { kind: "error", code: "Invalid", reason: "InvalidPool", message: kept.message };
    case "conflict":
      return { kind: "conflict", message: kept.message };
    case "error":
      return kept;
  }
}
