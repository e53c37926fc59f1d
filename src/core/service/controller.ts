import type { Observation } from "#core/capability.ts";
import { SERVICE_EVENT_SOURCE } from "#core/contracts.ts";
import type {
  AskContext,
  Controller,
  DecisionContext,
  DoneWrite,
  Question,
  RejectedAction,
  Subject,
} from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { change, planEach, skip, toReference } from "#core/decisions.ts";
import { applyOperations } from "#core/json-patch.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { countHolders } from "#core/service/creation-order.ts";
import { decideAfterRejection, decideService, type ServiceFacts } from "#core/service/decide.ts";
import { hasLostTargets, isLosingLastTarget } from "#core/service/empty-targets.ts";
import { buildWarning, describeIssue, readRejection } from "#core/service/issue-decisions.ts";
import {
  LOAD_BALANCERS_KEY,
  measureReservation,
  type ReservationRequest,
} from "#core/service/load-balancer-quota.ts";
import {
  type Issue,
  LOAD_BALANCERS,
  type LoadBalancerAction,
  type LoadBalancerModel,
} from "#core/service/model.ts";
import { getIngress, hashContent, hashIngress } from "#core/service/needs-work.ts";
import { decidePhase } from "#core/service/phase.ts";
import type { Service } from "#core/service/service.ts";
import { formatHolderCount, parseStateAnnotation } from "#core/service/state-annotation.ts";
import { NODES_FOR_PROOF } from "#core/service/target-nodes.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { writeRollback } from "#core/service/writes.ts";

/** The cloud's answer about a Service's load balancer, with the actions done and rejected since. */
type Answer = Observation & {
  readonly done?: readonly DoneAction[];
  /** The last rejected action. Until the next observation, the load balancer only follows the nodes. */
  readonly rejected?: RejectedAction;
};

interface DoneAction {
  readonly action: LoadBalancerAction;
  readonly result: unknown;
}

/** The load balancer models, loaded on demand, by cloud name. */
export type LoadBalancerModels = Readonly<Record<string, () => Promise<LoadBalancerModel>>>;

/**
 * Creates the service-lb-controller, which manages load balancers of Services on every cloud with a model.
 */
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
    buildQuestion(service, context): Question | undefined {
      const model = modelOf(context);
      if (model === undefined) return undefined;
      const phase = decidePhase(service, model, context);
      switch (phase.kind) {
        case "asking":
          return { capability: LOAD_BALANCERS, ask: phase.desired.question };
        case "rejected":
          return phase.desired && { capability: LOAD_BALANCERS, ask: phase.desired.question };
        case "leaving":
        case "undoing":
          return { capability: LOAD_BALANCERS, ask: phase.question };
        default:
          return undefined;
      }
    },
    getStateReference(batch, context) {
      const model = modelOf(context);
      const isNeeded = (subject: Subject<Service, Answer>): boolean =>
        model !== undefined && needsNodes(subject, model, context);
      return batch.some(isNeeded) ? NODES_FOR_PROOF : undefined;
    },
    listReservationRequests: (batch, context) =>
      batch.flatMap((subject) => buildReservationRequest(subject, modelOf(context), context) ?? []),
    decide: (batch, context) =>
      planEach(batch.map((subject) => decideSubject(subject, modelOf(context), context))),
    contentHash: hashContent,
    applyResult: applyActionResult,
    applySharedResult: (subject, done, context) => applySharedActionResult(subject, done, modelOf(context)),
    decideRejected: (subject, refusal, context) =>
      decideRejected(subject, refusal, modelOf(context), context),
    applyRejection: ({ answer, ...subject }, rejected) => ({
      ...subject,
      answer: answer?.kind === "observed" ? { ...answer, rejected } : answer,
    }),
  };
}

/** The decision may remove targets, so the nodes must be listed first. */
function needsNodes(
  { object: service, answer }: Subject<Service, Answer>,
  model: LoadBalancerModel,
  context: AskContext,
): boolean {
  const phase = decidePhase(service, model, context);
  if (phase.kind !== "asking" && phase.kind !== "rejected") return false;
  const { desired } = phase;
  if (desired === undefined) return false;
  if (phase.kind === "asking" && isLosingLastTarget(service, desired, model)) return true;
  return (
    answer?.kind === "observed" &&
    hasLostTargets({ question: desired.question, observed: answer.state, model })
  );
}

/**
 * Returns what the decision may create that the cloud does not show: a load balancer, or listeners. Undefined
 * if it creates nothing.
 */
function buildReservationRequest(
  { object, answer }: Subject<Service, Answer>,
  model: LoadBalancerModel | undefined,
  context: AskContext,
): ReservationRequest | undefined {
  if (model === undefined || answer?.kind !== "observed") return undefined;
  const phase = decidePhase(object, model, context);
  if (phase.kind !== "asking") return undefined;
  const { settings } = context;
  const { question } = phase.desired;
  const amounts = measureReservation(question, answer.state, { model, settings });
  const isNew = amounts?.[LOAD_BALANCERS_KEY] !== undefined;
  if (amounts === undefined || (isNew && phase.withoutRoom !== undefined)) return undefined;
  if (model.planStep(question, answer.state, settings).kind !== "act") return undefined;
  const { uid, creationTimestamp: created } = object.metadata;
  return { uid, created, amounts };
}

function decideSubject(
  { object, answer }: Subject<Service, Answer>,
  model: LoadBalancerModel | undefined,
  context: DecisionContext,
): Decision {
  if (model !== undefined) {
    const facts = buildFacts(answer, model, context);
    const rejected = answer?.kind === "observed" ? answer.rejected : undefined;
    const rejection = rejected && readRejection(object, rejected, model, context.now);
    return decideAfterRejection(object, rejection, facts) ?? decideService(object, facts);
  }
  const message = `load balancers of the cloud "${context.settings.cloud.provider}" are not part of this version`;
  return skip(toReference(SERVICES, object), { code: "NotSupported", message });
}

/**
 * A resource that already exists, or no longer exists, is observed again. An issue that needs a person
 * becomes a Warning and a rare retry. Meanwhile an existing load balancer follows the nodes, unless the cloud
 * has already rejected another action since the observation.
 */
function decideRejected(
  { object: service, answer }: Subject<Service, Answer>,
  refusal: RejectedAction,
  model: LoadBalancerModel | undefined,
  context: DecisionContext,
): Decision | undefined {
  const rejection = readRejection(service, refusal, model, context.now);
  if (rejection === undefined || model === undefined) return rejection?.retry;
  const { retry, issue } = rejection;
  const isObserved = answer?.kind === "observed";
  const needsRollback = isObserved && model.needsRollback?.(refusal.action, answer.state) === true;
  const rollback =
    needsRollback && issue !== undefined ? startRollback(service, issue, model, context) : undefined;
  if (rollback !== undefined) return rollback;
  if (!isObserved || answer.rejected !== undefined) return retry;
  return decideAfterRejection(service, rejection, buildFacts(answer, model, context)) ?? retry;
}

/** The facts of a decision on the observation, updated with the results of our own actions. */
function buildFacts(
  answer: Answer | undefined,
  model: LoadBalancerModel,
  context: DecisionContext,
): ServiceFacts {
  const observed = answer?.kind === "observed" ? answer.state : undefined;
  return { model, answer: getObservation(answer, model), observed, context };
}

/** Returns the observation, updated with the results of our own actions. */
function getObservation(answer: Answer | undefined, model: LoadBalancerModel): Observation | undefined {
  if (answer?.kind !== "observed") return answer;
  const { state, done = [] } = answer;
  return {
    kind: "observed",
    state: done.reduce((before, { action, result }) => model.applyResult(before, action, result), state),
  };
}

/**
 * The cloud is not known here: the action is recorded, and applied to the observation at the next decision.
 */
function applyActionResult(
  subject: Subject<Service, Answer>,
  { write, result }: DoneWrite,
): Subject<Service, Answer> {
  if (write.on === "cluster") {
    return "patch" in write ? { ...subject, object: applyOperations(subject.object, write.patch) } : subject;
  }
  return withDone(subject, write, result);
}

/** Keeps the part of another Service's action that changes what all of them share. */
function applySharedActionResult(
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

/**
 * Records on a Service that its resources are being removed, because the cloud refused a later step. So no
 * actor creates them again before all are gone, even if an actor dies in between. Returns undefined, and
 * changes nothing, if the Service ever had a load balancer or if its phase is not `asking`.
 */
function startRollback(
  service: Service,
  issue: Issue,
  model: LoadBalancerModel,
  context: AskContext,
): Decision | undefined {
  const annotation = parseStateAnnotation(service);
  const isFirstAttempt =
    annotation?.state === "applying" && annotation.desired === "" && getIngress(service).length === 0;
  const phase = isFirstAttempt ? decidePhase(service, model, context) : undefined;
  if (phase?.kind !== "asking") return undefined;
  const { hashes, nodes } = phase.desired;
  const { code, field } = issue;
  const quotaHolders = countHolders(service, context.related);
  const write = writeRollback(service, {
    ...hashes,
    // A refused Service has no targets. The wire field `targets` holds how many other Services have a load
    // balancer.
    ...(quotaHolders === undefined ? {} : { targets: formatHolderCount(quotaHolders) }),
    state: "undoing",
    refused: { code, ...(field === undefined ? {} : { field }) },
    ingress: hashIngress([]),
    nodes: nodes.resourceVersion,
    at: context.now.toISOString(),
  });
  const because = { code, message: describeIssue(issue) };
  return change(toReference(SERVICES, service), [write], {
    because,
    events: [buildWarning(service, issue)],
  });
}
