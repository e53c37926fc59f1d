import type { ClusterObject } from "#core/cluster-object.ts";
import { CLUSTER } from "#core/cluster-object.ts";
import { SERVICE_EVENT_SOURCE } from "#core/contracts.ts";
import type { AskContext, Controller, RejectedAction, Subject } from "#core/controller.ts";
import { planEach, retry, toReference } from "#core/decisions.ts";
import { MAX_NAMED_ORPHANS, type ObjectReport, type Orphan } from "#core/report.ts";
import { NAMESPACES, SERVICES } from "#core/resources/resource.ts";
import type { LoadBalancerModels } from "#core/service/controller.ts";
import type { Holding, HoldingsQuestion } from "#core/service/holdings.ts";
import type { NoChangeDecision } from "#core/service/issue-decisions.ts";
import { LOAD_BALANCERS, type LoadBalancerModel } from "#core/service/model.ts";
import { buildAudit, isDropping, type OrphanAnswer } from "#core/service/orphans/audit.ts";
import { decideOrphans, LEFT_SECONDS } from "#core/service/orphans/decide.ts";
import { parseOrphanMark } from "#core/service/orphans/mark.ts";
import { orphanWatch } from "#core/service/orphans/watch.ts";

/** Creates the audit of load balancers whose Service no longer exists, for each cloud that can list them. */
export function createOrphanController(models: LoadBalancerModels): Controller<ClusterObject, OrphanAnswer> {
  const loaded = new Map<string, LoadBalancerModel>();
  const modelOf = ({ settings }: AskContext): LoadBalancerModel | undefined =>
    loaded.get(settings.cloud.provider);
  return {
    ...orphanWatch,
    eventSource: SERVICE_EVENT_SOURCE,
    countsReservations: true,
    async load(provider) {
      const load = Object.hasOwn(models, provider) ? models[provider] : undefined;
      if (load !== undefined && !loaded.has(provider)) loaded.set(provider, await load());
    },
    buildQuestion(_, context) {
      if (modelOf(context)?.orphans === undefined) return undefined;
      const ask: HoldingsQuestion = { holdings: true, auditAt: context.now.toISOString() };
      return { capability: LOAD_BALANCERS, ask };
    },
    // The number of Services matters only for the proof that one is gone.
    getStateReference(batch, context) {
      const model = modelOf(context);
      if (model?.orphans === undefined) return undefined;
      if (!context.settings.loadBalancers.deleteOrphaned && !isDropping(model)) return undefined;
      if (!batch.some((subject) => hasGone(subject, model, context))) return undefined;
      const { apiVersion, name } = NAMESPACES;
      return { apiVersion, name, at: CLUSTER.only, counted: SERVICES };
    },
    decide: (batch, context) =>
      planEach(batch.map(({ object, answer }) => decideOrphans(object, answer, modelOf(context), context))),
    // The cloud is not known here: the action is recorded, and applied at the next decision.
    applyResult(subject, done) {
      const { answer } = subject;
      if (answer?.kind !== "observed") return subject;
      return { ...subject, answer: { ...answer, done: [...(answer.done ?? []), done] } };
    },
    decideRejected: ({ object }, refusal) => decideRejected(object, refusal),
    listOrphans: ({ answer }, context) => listOrphans(answer, modelOf(context), context),
  };
}

/** A temporary failure, such as a group still in use, is retried once; then the next audit continues. */
function decideRejected(object: ClusterObject, { action, answer }: RejectedAction): NoChangeDecision {
  const message = `${action.action} ${action.target}: ${answer.message}`;
  const code = answer.kind === "conflict" ? "Conflict" : answer.code;
  const reference = toReference(NAMESPACES, object);
  if (code !== "Denied" && code !== "Invalid") return retry(reference, { code, message }, LEFT_SECONDS);
  return { kind: "skip", object: reference, because: { code, message } };
}

function hasGone(
  { answer }: Subject<ClusterObject, OrphanAnswer>,
  model: LoadBalancerModel,
  context: AskContext,
): boolean {
  const audit = buildAudit(answer, model, context);
  if (audit.kind === "unknown") return false;
  const { gone, replaced } = audit.orphans;
  return gone.length > 0 || (isDropping(model) && replaced.length > 0);
}

function listOrphans(
  answer: OrphanAnswer | undefined,
  model: LoadBalancerModel | undefined,
  context: AskContext,
): ObjectReport["orphans"] {
  if (model?.orphans === undefined) return undefined;
  const audit = buildAudit(answer, model, context);
  if (audit.kind === "unknown") return undefined;
  const { gone, replaced } = audit.orphans;
  const orphans = [
    ...gone.map((holding) => buildOrphan(holding, "ServiceGone")),
    ...replaced.map((holding) => buildOrphan(holding, "ServiceReplaced")),
  ];
  const isWhole = ({ isPart }: Holding): boolean => isPart === undefined;
  return {
    count: [...gone, ...replaced].filter(isWhole).length,
    named: orphans.slice(0, MAX_NAMED_ORPHANS),
  };
}

function buildOrphan({ kind, id, name, service = "", mark: text }: Holding, code: Orphan["code"]): Orphan {
  const mark = code === "ServiceGone" ? parseOrphanMark(text) : undefined;
  const orphanFacts = { kind, id, name, service, code };
  if (mark === undefined) return orphanFacts;
  const [since, deletedFrom] = [mark.sinceMs, mark.fromMs].map((ms) => new Date(ms).toISOString());
  return { ...orphanFacts, since, deletedFrom };
}
