import type { ClusterObject } from "#core/cluster-object.ts";
import { CLUSTER } from "#core/cluster-object.ts";
import { SERVICE_EVENT_SOURCE } from "#core/contracts.ts";
import type { AskContext, Controller, RefusedAction, Subject } from "#core/controller.ts";
import { each, referenceTo, retry } from "#core/decisions.ts";
import { MAX_NAMED_ORPHANS, type ObjectReport, type Orphan } from "#core/report.ts";
import { NAMESPACES, SERVICES } from "#core/resources/resource.ts";
import type { LoadBalancerModels } from "#core/service/controller.ts";
import type { Holding, HoldingsQuestion } from "#core/service/holdings.ts";
import { LOAD_BALANCERS, type LoadBalancerModel } from "#core/service/model.ts";
import { auditOf, isDropping, type OrphanAnswer } from "#core/service/orphans/audit.ts";
import { decideOrphans, LEFT_SECONDS } from "#core/service/orphans/decide.ts";
import { markOfText } from "#core/service/orphans/mark.ts";
import { orphanWatch } from "#core/service/orphans/watch.ts";
import type { Undone } from "#core/service/trouble.ts";

/** The audit of load balancers whose Service has gone, on each cloud that can tell. */
export function createOrphanController(models: LoadBalancerModels): Controller<ClusterObject, OrphanAnswer> {
  const loaded = new Map<string, LoadBalancerModel>();
  const modelOf = ({ settings }: AskContext): LoadBalancerModel | undefined =>
    loaded.get(settings.cloud.provider);
  return {
    ...orphanWatch,
    eventSource: SERVICE_EVENT_SOURCE,
    countsPlaces: true,
    async load(provider) {
      const load = Object.hasOwn(models, provider) ? models[provider] : undefined;
      if (load !== undefined && !loaded.has(provider)) loaded.set(provider, await load());
    },
    asks(_, context) {
      if (modelOf(context)?.orphans === undefined) return undefined;
      const ask: HoldingsQuestion = { holdings: true, auditAt: context.now.toISOString() };
      return { capability: LOAD_BALANCERS, ask };
    },
    // How many Services there are matters to what is taken for gone, and to nothing else.
    stateOf(batch, context) {
      const model = modelOf(context);
      if (model?.orphans === undefined) return undefined;
      if (!context.settings.loadBalancers.deleteOrphaned && !isDropping(model)) return undefined;
      if (!batch.some((subject) => hasGone(subject, model, context))) return undefined;
      const { apiVersion, name } = NAMESPACES;
      return { apiVersion, name, at: CLUSTER.only, counted: SERVICES };
    },
    decide: (batch, context) =>
      each(batch.map(({ object, answer }) => decideOrphans(object, answer, modelOf(context), context))),
    // Which cloud it is does not matter yet: what was done is kept, and looked at when the rest is decided on.
    fold(subject, done) {
      const { answer } = subject;
      if (answer?.kind !== "observed") return subject;
      return { ...subject, answer: { ...answer, done: [...(answer.done ?? []), done] } };
    },
    refused: ({ object }, refusal) => afterRefusal(object, refusal),
    orphansOf: ({ answer }, context) => told(answer, modelOf(context), context),
  };
}

/** What passes by itself, such as a group that is in use for a while yet, is tried once more; then the next audit goes on. */
function afterRefusal(object: ClusterObject, { action, answer }: RefusedAction): Undone {
  const message = `${action.action} ${action.target}: ${answer.message}`;
  const code = answer.kind === "conflict" ? "Conflict" : answer.code;
  const reference = referenceTo(NAMESPACES, object);
  if (code !== "Denied" && code !== "Invalid") return retry(reference, { code, message }, LEFT_SECONDS);
  return { kind: "skip", object: reference, because: { code, message } };
}

function hasGone(
  { answer }: Subject<ClusterObject, OrphanAnswer>,
  model: LoadBalancerModel,
  context: AskContext,
): boolean {
  const audit = auditOf(answer, model, context);
  if (audit.kind === "unknown") return false;
  const { gone, replaced } = audit.found;
  return gone.length > 0 || (isDropping(model) && replaced.length > 0);
}

function told(
  answer: OrphanAnswer | undefined,
  model: LoadBalancerModel | undefined,
  context: AskContext,
): ObjectReport["orphans"] {
  if (model?.orphans === undefined) return undefined;
  const audit = auditOf(answer, model, context);
  if (audit.kind === "unknown") return undefined;
  const { gone, replaced } = audit.found;
  const orphans = [
    ...gone.map((holding) => orphanOf(holding, "ServiceGone")),
    ...replaced.map((holding) => orphanOf(holding, "ServiceReplaced")),
  ];
  const isWhole = ({ isPart }: Holding): boolean => isPart === undefined;
  return {
    count: [...gone, ...replaced].filter(isWhole).length,
    named: orphans.slice(0, MAX_NAMED_ORPHANS),
  };
}

function orphanOf({ kind, id, name, service = "", mark: text }: Holding, code: Orphan["code"]): Orphan {
  const mark = code === "ServiceGone" ? markOfText(text) : undefined;
  const told = { kind, id, name, service, code };
  if (mark === undefined) return told;
  const [since, deletedFrom] = [mark.sinceMs, mark.fromMs].map((ms) => new Date(ms).toISOString());
  return { ...told, since, deletedFrom };
}
