import * as z from "zod";
import type { ActionResult, Capability, ObservationsResult } from "#clouds/cloud.ts";
import { type ClusterObjects, NO_CLUSTER_OBJECTS } from "#clouds/cluster-objects.ts";
import { createMeter } from "#clouds/http/meter.ts";
import type { KeepalivedCloudConfig } from "#clouds/keepalived/config.ts";
import { Assignment, type Change, findLowestFreeAddress } from "#clouds/keepalived/load-balancers/change.ts";
import { getRequestedAddress, type Observed } from "#clouds/keepalived/load-balancers/model.ts";
import {
  findHolder,
  formatValue,
  type StoredVipAssignments,
} from "#clouds/keepalived/load-balancers/vip-assignments.ts";
import {
  createVipStore,
  type OnRequest,
  type StoreResult,
} from "#clouds/keepalived/load-balancers/vip-store.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { HoldingsQuestion, type HoldingsState } from "#core/service/holdings.ts";
import { Service } from "#core/service/service.ts";

const Question = z.object({ service: Service });

/**
 * Creates the capability `loadBalancers` for addresses that keepalived announces: entries in the ConfigMap.
 */
export function createLoadBalancers(
  config: KeepalivedCloudConfig,
  objects: ClusterObjects | undefined,
): Capability {
  const { namespace, configMap: name, serviceCIDR } = config;
  const keeper = createVipStore(objects ?? NO_CLUSTER_OBJECTS, { namespace, name }, serviceCIDR);
  return {
    async observe(questions, { signal }): Promise<ObservationsResult> {
      const meter = createMeter();
      const audit = (question: unknown) => HoldingsQuestion.safeParse(question).data;
      // No account holds anything that a cluster could leave behind.
      if (objects === undefined && questions.every((each) => audit(each) !== undefined))
        return { answers: questions.map(() => NO_HOLDINGS), usage: meter.usage() };
      if (signal.aborted) return { answers: questions.map(() => ABORTED), usage: meter.usage() };
      const found = questions.length === 0 ? undefined : await keeper.read(signal, countRequests(meter));
      if (found?.kind === "error" && found.code === "Throttled") meter.throttled();
      const isFull =
        found?.kind === "ledger" && findLowestFreeAddress(found.ledger, serviceCIDR) === undefined;
      const answers = questions.map((question): Observation => {
        if (found === undefined || found.kind === "error") return found ?? NO_HOLDINGS;
        const ofAll = audit(question);
        if (ofAll !== undefined) {
          if (found.kind === "ledger") return { kind: "observed", state: listHoldings(found.ledger, ofAll) };
          return found.kind === "missing"
            ? NO_HOLDINGS
            : { kind: "error", code: "Invalid", message: found.message };
        }
        const service = Question.safeParse(question).data?.service;
        if (service === undefined) return RUBBISH;
        if (found.kind !== "ledger") return { kind: "observed", state: found satisfies Observed };
        return { kind: "observed", state: buildObservation(found.ledger, service, isFull) };
      });
      return { answers, usage: meter.usage() };
    },
    async act(action, { signal }): Promise<ActionResult> {
      const meter = createMeter();
      const change = parseChange(action);
      if (change === undefined) {
        const message = `keepalived has no action ${action.action}, or not with these parameters`;
        return { answer: { kind: "error", code: "Invalid", message }, usage: meter.usage() };
      }
      const kept = await keeper.change(change, signal, countRequests(meter));
      if (kept.kind === "error" && kept.code === "Throttled") meter.throttled();
      return { answer: toActionAnswer(kept), usage: meter.usage() };
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

function countRequests(meter: { called(operation: string): void }): OnRequest {
  return (operation) => meter.called(operation);
}

/** Builds the observation of one Service from the ConfigMap. */
function buildObservation(
  assignments: StoredVipAssignments,
  service: Service,
  isPoolFull: boolean,
): Observed {
  const { uid } = service.metadata;
  const own = assignments.entries.find((entry) => entry.uid === uid) ?? null;
  const holder = findHolder(assignments, getRequestedAddress(service) ?? own?.ip ?? "");
  // The entry of an earlier Service with the same name no longer has an owner.
  const isOthers = holder !== undefined && holder.uid !== uid && !isOfName(service, holder);
  return {
    kind: "ledger",
    own,
    isShown: own !== null && assignments.data[own.ip] === formatValue(own),
    holder: isOthers ? formatServiceName(holder) : null,
    isFull: isPoolFull && !assignments.entries.some((entry) => isOfName(service, entry)),
  };
}

interface ServiceName {
  readonly serviceNamespace: string;
  readonly serviceName: string;
}

function isOfName({ metadata: { namespace, name } }: Service, entry: ServiceName): boolean {
  return entry.serviceNamespace === namespace && entry.serviceName === name;
}

function formatServiceName({ serviceNamespace, serviceName }: ServiceName): string {
  return `${serviceNamespace}/${serviceName}`;
}

/** Lists all lines except those without a Service, whose existence cannot be checked. */
function listHoldings(
  { entries, marks }: StoredVipAssignments,
  { auditAt }: HoldingsQuestion,
): HoldingsState {
  const holdings = entries.flatMap((entry) => {
    const { uid, ip } = entry;
    const plainUid = uid.replaceAll("-", "");
    if (plainUid === "") return [];
    const about = { kind: "address", id: uid, name: ip, service: formatServiceName(entry) };
    if (auditAt === undefined) return [about];
    return [{ ...about, uid: plainUid, ...(Object.hasOwn(marks, uid) ? { mark: marks[uid] } : {}) }];
  });
  return { holdings };
}

const MarkParameters = z.strictObject({ text: z.string().optional() });

function parseChange({ action, target: uid, parameters }: CloudAction): Change | undefined {
  switch (action) {
    case "AssignAddress":
      return Assignment.safeParse({ ...parameters, kind: "assign", uid }).data;
    case "ReleaseAddress":
      return { kind: "release", uid };
    case "MarkAddress": {
      const marking = MarkParameters.safeParse(parameters).data;
      return marking && { kind: "mark", uid, text: marking.text };
    }
    default:
      return undefined;
  }
}

/** Reasons are issue codes and the address's owner. */
function toActionAnswer(kept: StoreResult): ActionAnswer {
  switch (kept.kind) {
    case "done":
      return { kind: "done", result: kept.entry };
    case "in-use": {
      const holder = formatServiceName(kept.holder);
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
