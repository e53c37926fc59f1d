import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import type { AskContext, Controller, DecisionContext, RelatedObjects, Subject } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { createServiceController } from "#core/service/controller.ts";
import type {
  LoadBalancerAction,
  LoadBalancerModel,
  LoadBalancerQuestion,
  LoadBalancerStep,
  TargetNode,
} from "#core/service/model.ts";
import { Service } from "#core/service/service.ts";
import { snapshotOf } from "#core/service/snapshot.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";

export const NOW = new Date("2026-03-01T12:00:00Z");
export const SETTINGS: Settings = { ...DEFAULT_SETTINGS, cloud: { provider: "shelf" } };
export const HOSTNAME = "lb.example.com";
export const FINALIZERS = [LOAD_BALANCER_FINALIZER];

/** The moment so many seconds before. */
export function secondsAgo(seconds: number): string {
  return new Date(NOW.getTime() - seconds * 1_000).toISOString();
}

/** A Service of type LoadBalancer of five seconds ago, with the difference. */
export function service(
  difference: {
    readonly metadata?: Partial<Service["metadata"]>;
    readonly spec?: Partial<Service["spec"]>;
    readonly status?: Service["status"];
  } = {},
): Service {
  return Service.parse({
    metadata: {
      namespace: "default",
      name: "web",
      uid: "uid-web",
      resourceVersion: "100",
      creationTimestamp: secondsAgo(5),
      ...difference.metadata,
    },
    spec: { type: "LoadBalancer", ports: [{ port: 80, nodePort: 30_080 }], ...difference.spec },
    status: difference.status ?? { loadBalancer: {} },
  });
}

/** What the cloud of these tests keeps of a Service: what it asks for, and its targets. */
export interface Shelf {
  readonly wish: string;
  readonly targets: readonly string[];
}

/** How the model of these tests answers, where it is not as it would. */
export interface Script {
  before?: LoadBalancerStep | undefined;
  next?: LoadBalancerStep | undefined;
  /** Whether the load balancer was seen; seen without it. */
  shows?: boolean | "at once" | undefined;
  problem?: ReturnType<NonNullable<LoadBalancerModel["problemOf"]>>;
  isShared?: boolean;
  hasNoTargets?: true;
  /** Whether targets follow the nodes while something else is refused; they stay without it. */
  follows?: boolean | Extract<LoadBalancerStep, { readonly kind: "wait" }>;
  /** Whether what was made goes again, where there was nothing before. */
  isUndone?: boolean;
}

/** A cloud of one shelf for each Service: put up, then filled, each an action. */
export function shelfModel(script: Script = {}): LoadBalancerModel {
  const desired: LoadBalancerModel["desired"] = ({ spec }) => JSON.stringify(spec.ports);
  const targetOf: LoadBalancerModel["targetOf"] = ({ providerID }) => providerID;
  const next = (
    { service, wanted, nodes, onlyTargets }: LoadBalancerQuestion,
    observed: unknown,
  ): LoadBalancerStep => {
    const shelf = observed as Shelf | null;
    const target = service.metadata.uid;
    const act = (action: string, parameters: Record<string, unknown>): LoadBalancerStep => ({
      kind: "act",
      because: { code: action, message: target },
      actions: [{ action, target, parameters }],
    });
    if (!wanted) return shelf === null ? { kind: "settled", ingress: [], warnings: [] } : act("TakeDown", {});
    const wish = desired(service, SETTINGS);
    const targets = nodes.flatMap((node) => targetOf(node, service) ?? []);
    if (shelf === null) return act("PutUp", { wish });
    if (shelf.wish !== wish) return act("Fill", { wish, targets });
    if (shelf.targets.join() !== targets.join())
      return { ...act("Fill", { wish, targets }), ...(onlyTargets === true ? { onlyTargets } : {}) };
    return { kind: "settled", ingress: [{ hostname: HOSTNAME }], warnings: [] };
  };
  return {
    before: () => script.before as ReturnType<LoadBalancerModel["before"]>,
    next: (question, observed) => script.next ?? next(question, observed),
    fold: (_observed, action, result) => (action.action === "TakeDown" ? null : result),
    ...(script.isShared === undefined ? {} : { isShared: () => script.isShared === true }),
    ...(script.follows !== undefined
      ? {
          followNodes: ({ service, nodes }: LoadBalancerQuestion, observed: unknown) => {
            const shelf = observed as Shelf | null;
            if (shelf === null) return undefined;
            if (typeof script.follows === "object") return script.follows;
            const targets = nodes.flatMap((node) => targetOf(node, service) ?? []);
            const parameters = { wish: shelf.wish, targets };
            const isSame = shelf.targets.join() === targets.join();
            return isSame ? [] : [{ action: "Fill", target: service.metadata.uid, parameters }];
          },
        }
      : {}),
    ...(script.hasNoTargets === true ? { hasNoTargets: true } : {}),
    ...(script.shows === "at once" ? { showsAtOnce: true } : {}),
    ...(typeof script.shows === "boolean" ? { shows: () => script.shows === true } : {}),
    problemOf: () => script.problem,
    undoes: (_action, observed) => script.isUndone === true && observed === null,
    desired,
    targetOf,
  };
}

/** What the shelf is after an action. */
export function done({ action, parameters }: LoadBalancerAction): Shelf | null {
  if (action === "TakeDown") return null;
  return { wish: String(parameters["wish"]), targets: (parameters["targets"] ?? []) as string[] };
}

/** The related lists of an event. */
export function related(
  nodes: readonly TargetNode[] = [{ name: "a", providerID: "i-a" }],
  services: readonly Service[] = [],
  resourceVersion = "500",
): RelatedObjects {
  const project = serviceWatch.related.find(({ resource }) => resource.name === "services")?.project;
  return {
    nodes: { resourceVersion, items: nodes },
    services: { resourceVersion, items: services.flatMap((each) => project?.(each) ?? []) },
  };
}

/** What a decision is made under, with the difference. */
export function context(difference: Partial<DecisionContext> = {}): DecisionContext {
  return { reason: "watch", now: NOW, related: related(), settings: SETTINGS, ...difference };
}

/** The same so many seconds later, and where the API server lists these nodes and no others. */
export function listing(
  nodes: readonly TargetNode[],
  seconds = 0,
  difference: Partial<DecisionContext> = {},
): DecisionContext {
  return context({
    now: new Date(NOW.getTime() + seconds * 1_000),
    related: related(nodes),
    listed: { kind: "list", items: nodes.map((target) => ({ target })) },
    count: { kind: "count", count: nodes.length },
    ...difference,
  });
}

export type ServiceController = ReturnType<typeof createServiceController>;

/** The controller with the model of these tests, loaded. */
export async function controllerWith(script: Script = {}): Promise<ServiceController> {
  const controller = createServiceController({ shelf: async () => shelfModel(script) });
  await controller.load?.("shelf");
  return controller;
}

/** The one decision on a subject. */
export function decideOn(
  controller: ServiceController,
  subject: Pick<Subject<Service>, "object"> & { readonly answer?: unknown },
  asked: AskContext = context(),
): Decision {
  const whole = { hint: undefined, answer: undefined, ...subject } as Parameters<
    Controller["decide"]
  >[0][number];
  const plan = (controller as unknown as Controller).decide([whole], asked);
  if (plan.kind !== "each" || plan.decisions[0] === undefined) throw new Error("no decision");
  return plan.decisions[0];
}

/** A Service and a shelf after all rounds: until nothing is changed any more, at most so often. */
export async function converged(
  object: Service,
  shelf: Shelf | null,
  asked: AskContext = context(),
  script: Script = {},
): Promise<{
  readonly object: Service;
  readonly shelf: Shelf | null;
  readonly decisions: readonly Decision[];
}> {
  const controller = await controllerWith(script);
  const decisions: Decision[] = [];
  let state = shelf;
  let subject: Parameters<NonNullable<ServiceController["fold"]>>[0] = {
    object,
    hint: undefined,
    answer: controller.asks(object, asked) === undefined ? undefined : { kind: "observed", state },
  };
  for (let round = 0; round < 10; round += 1) {
    const decision = decideOn(controller, subject, asked);
    decisions.push(decision);
    if (decision.kind !== "change") return { object: subject.object, shelf: state, decisions };
    for (const write of decision.writes) {
      if (write.on === "cloud") state = done(write);
      const result = write.on === "cloud" ? state : undefined;
      subject = controller.fold?.(subject, { write, result }) ?? subject;
    }
  }
  throw new Error("it does not end");
}

/** A Service whose load balancer is there, as all rounds left it. */
export async function served(difference: Parameters<typeof service>[0] = {}): Promise<Service> {
  return snapshotOf((await converged(service(difference), null)).object);
}

/** The text of our annotation. */
export function annotationOf({ metadata }: Service): string | undefined {
  return metadata.annotations?.[LOAD_BALANCER_ANNOTATION];
}

/** The Service with another text there. */
export function withAnnotation(object: Service, text: string): Service {
  const annotations = { ...object.metadata.annotations, [LOAD_BALANCER_ANNOTATION]: text };
  return { ...object, metadata: { ...object.metadata, annotations } };
}
