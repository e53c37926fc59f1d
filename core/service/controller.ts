import type { Observation } from "#core/capability.ts";
import { SERVICE_EVENT_SOURCE } from "#core/contracts.ts";
import type {
  AskContext,
  Controller,
  DecisionContext,
  DoneWrite,
  Question,
  RefusedAction,
  Subject,
} from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { each, referenceTo, skip } from "#core/decisions.ts";
import { patched } from "#core/json-patch.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { decideService } from "#core/service/decide.ts";
import { losesLastTarget } from "#core/service/empty-targets.ts";
import { NODES_FOR_PROOF } from "#core/service/listed-nodes.ts";
import { losesTargets } from "#core/service/lost-targets.ts";
import { LOAD_BALANCERS, type LoadBalancerAction, type LoadBalancerModel } from "#core/service/model.ts";
import { hashContent } from "#core/service/needs-work.ts";
import { LOAD_BALANCER_COUNT, type PlaceRequest } from "#core/service/places.ts";
import type { Service } from "#core/service/service.ts";
import { placeTaken, standingOf } from "#core/service/standing.ts";
import { refusal, unanswered } from "#core/service/trouble.ts";
import { startUndoing } from "#core/service/undo.ts";
import { serviceWatch } from "#core/service/watch.ts";

/** What the cloud says of a Service's load balancer, and what we have done since. */
type Answer = Observation & { readonly done?: readonly Done[] };

interface Done {
  readonly action: LoadBalancerAction;
  readonly result: unknown;
}

/** Loads what load balancers are on a cloud, by the cloud's name. */
export type LoadBalancerModels = Readonly<Record<string, () => Promise<LoadBalancerModel>>>;

/** The service-lb-controller: load balancers of Services, on each cloud that has a model of them. */
export function createServiceController(models: LoadBalancerModels): Controller<Service, Answer> {
  const loaded = new Map<string, LoadBalancerModel>();
  const modelOf = ({ settings }: AskContext): LoadBalancerModel | undefined =>
    loaded.get(settings.cloud.provider);
  return {
    ...serviceWatch,
    eventSource: SERVICE_EVENT_SOURCE,
    async load(provider) {
      const load = Object.hasOwn(models, provider) ? models[provider] : undefined;
      if (load !== undefined && !loaded.has(provider)) loaded.set(provider, await load());
    },
    asks(service, context): Question | undefined {
      const model = modelOf(context);
      if (model === undefined) return undefined;
      const standing = standingOf(service, model, context);
      switch (standing.kind) {
        case "asking":
          return { capability: LOAD_BALANCERS, ask: standing.wish.question };
        case "refused":
          return standing.wish && { capability: LOAD_BALANCERS, ask: standing.wish.question };
        case "leaving":
        case "undoing":
          return { capability: LOAD_BALANCERS, ask: standing.question };
        default:
          return undefined;
      }
    },
    stateOf(batch, context) {
      const model = modelOf(context);
      const isNeeded = (subject: Subject<Service, Answer>): boolean =>
        model !== undefined && needsNodes(subject, model, context);
      return batch.some(isNeeded) ? NODES_FOR_PROOF : undefined;
    },
    placesFor: (batch, context) =>
      batch.flatMap((subject) => requestFor(subject, modelOf(context), context) ?? []),
    decide: (batch, context) =>
      each(batch.map((subject) => decideSubject(subject, modelOf(context), context))),
    contentHash: hashContent,
    fold: folded,
    foldOther: (subject, done, context) => foldedOther(subject, done, modelOf(context)),
    refused: (subject, refusal, context) => refusedAction(subject, refusal, modelOf(context), context),
  };
}

/** Whether the decision may take targets away, so that the nodes are listed before. */
function needsNodes(
  { object: service, answer }: Subject<Service, Answer>,
  model: LoadBalancerModel,
  context: AskContext,
): boolean {
  const standing = standingOf(service, model, context);
  if (standing.kind !== "asking" && standing.kind !== "refused") return false;
  const { wish } = standing;
  if (wish === undefined) return false;
  if (standing.kind === "asking" && losesLastTarget(service, wish, model)) return true;
  return (
    answer?.kind === "observed" && losesTargets({ question: wish.question, observed: answer.state, model })
  );
}

/** What the decision may make that the cloud does not show: a load balancer, or listeners of one; undefined where it makes none. */
function requestFor(
  { object, answer }: Subject<Service, Answer>,
  model: LoadBalancerModel | undefined,
  context: AskContext,
): PlaceRequest | undefined {
  if (model === undefined || answer?.kind !== "observed") return undefined;
  const standing = standingOf(object, model, context);
  if (standing.kind !== "asking") return undefined;
  const { settings } = context;
  const { question } = standing.wish;
  const takes = placeTaken(question, answer.state, { model, settings });
  const isNew = takes?.[LOAD_BALANCER_COUNT] !== undefined;
  if (takes === undefined || (isNew && standing.needsPlace === true)) return undefined;
  if (model.next(question, answer.state, settings).kind !== "act") return undefined;
  const { uid, creationTimestamp: created } = object.metadata;
  return { uid, created, takes };
}

function decideSubject(
  { object, answer }: Subject<Service, Answer>,
  model: LoadBalancerModel | undefined,
  context: DecisionContext,
): Decision {
  if (model !== undefined) {
    const seen = answer?.kind === "observed" ? answer.state : undefined;
    return decideService(object, { model, answer: observed(answer, model), seen, context });
  }
  const message = `load balancers of the cloud "${context.settings.cloud.provider}" are not part of this version`;
  return skip(referenceTo(SERVICES, object), { code: "NotSupported", message });
}

/** What is there already, or not any more, is observed anew; what somebody has to mend is told, and tried seldom. */
function refusedAction(
  { object: service, answer: known }: Subject<Service, Answer>,
  { action, answer }: RefusedAction,
  model: LoadBalancerModel | undefined,
  context: AskContext,
): Decision | undefined {
  const { kind, reason, message } = answer;
  // Whatever the cloud's word for it looks like: a throttle passes, and so does what we gave up ourselves.
  if (answer.kind === "error" && (answer.code === "Throttled" || answer.code === "Aborted"))
    return unanswered(service, answer, context.now);
  const problem = model?.problemOf?.(action, { kind, reason }, service);
  if (problem === undefined) {
    if (answer.kind === "conflict") return undefined;
    if (answer.code !== "Invalid") return unanswered(service, answer, context.now);
  }
  const told = { detail: message, ...(problem ?? { code: "LoadBalancerRefused" }) };
  const before = known?.kind === "observed" ? known.state : undefined;
  const isUndone = before !== undefined && model?.undoes?.(action, before) === true;
  const undone = isUndone ? startUndoing(service, told, model, context) : undefined;
  return undone ?? refusal(service, told, context.now);
}

/** What there is by now, as far as the results of our own actions tell. */
function observed(answer: Answer | undefined, model: LoadBalancerModel): Observation | undefined {
  if (answer?.kind !== "observed") return answer;
  const { state, done = [] } = answer;
  return {
    kind: "observed",
    state: done.reduce((before, { action, result }) => model.fold(before, action, result), state),
  };
}

/** Which cloud it is does not matter yet: what was done is kept, and folded into what was observed when that is decided on. */
function folded(subject: Subject<Service, Answer>, { write, result }: DoneWrite): Subject<Service, Answer> {
  if (write.on === "cluster") {
    return "patch" in write ? { ...subject, object: patched(subject.object, write.patch) } : subject;
  }
  return withDone(subject, write, result);
}

/** Of what is done for another Service, what concerns all of them. */
function foldedOther(
  subject: Subject<Service, Answer>,
  { write, result }: DoneWrite,
  model: LoadBalancerModel | undefined,
): Subject<Service, Answer> {
  return write.on === "cloud" && model?.isShared?.(write) === true
    ? withDone(subject, write, result)
    : subject;
}

function withDone(
  subject: Subject<Service, Answer>,
  { action, target, parameters }: LoadBalancerAction,
  result: unknown,
): Subject<Service, Answer> {
  const { answer } = subject;
  if (answer?.kind !== "observed") return subject;
  const done = [...(answer.done ?? []), { action: { action, target, parameters }, result }];
  return { ...subject, answer: { ...answer, done } };
}
