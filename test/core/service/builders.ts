import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import type { AskContext, Controller, DecisionContext, RelatedObjects, Subject } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { createServiceController } from "#core/service/controller.ts";
import type {
  LoadBalancerAction,
  LoadBalancerModel,
  LoadBalancerQuestion,
  LoadBalancerSize,
  LoadBalancerStep,
  TargetNode,
} from "#core/service/model.ts";
import { Service } from "#core/service/service.ts";
import { projectService } from "#core/service/snapshot.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";

export const NOW = new Date("2026-03-01T12:00:00Z");
export const SETTINGS: Settings = { ...DEFAULT_SETTINGS, cloud: { provider: "shelf" } };
export const HOSTNAME = "lb.example.com";
export const FINALIZERS = [LOAD_BALANCER_FINALIZER];

/** The time a number of seconds earlier. */
export function getPastTime(seconds: number): string {
  return new Date(NOW.getTime() - seconds * 1_000).toISOString();
}

/** A Service of type LoadBalancer that is five seconds old, with overrides. */
export function buildService(
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
      creationTimestamp: getPastTime(5),
      ...difference.metadata,
    },
    spec: { type: "LoadBalancer", ports: [{ port: 80, nodePort: 30_080 }], ...difference.spec },
    status: difference.status ?? { loadBalancer: {} },
  });
}

/** A Service's state in the emulated cloud: its request, and its targets. */
export interface Shelf {
  readonly wish: string;
  readonly targets: readonly string[];
}

/** Overrides of the emulated model's answers. */
export interface Script {
  before?: LoadBalancerStep | undefined;
  next?: LoadBalancerStep | undefined;
  /** Whether the load balancer is visible; true by default. */
  shows?: boolean | "at once" | undefined;
  /** What a load balancer counts as; by default the cloud measures none. */
  size?: LoadBalancerSize;
  /** How lost targets are reported; by default a load balancer cannot lose targets. */
  lostTargets?: "by instance" | "without their nodes";
  issue?: ReturnType<NonNullable<LoadBalancerModel["toIssue"]>>;
  isShared?: boolean;
  hasNoTargets?: true;
  /** Whether targets follow the nodes while the Service is refused; by default they stay. */
  follows?: boolean | Extract<LoadBalancerStep, { readonly kind: "wait" }>;
  /** Whether created resources are removed again if nothing existed before. */
  isUndone?: boolean;
}

/** An emulated cloud with one shelf for each Service: one action puts it up, another one fills it. */
export function createShelfModel(script: Script = {}): LoadBalancerModel {
  const desired: LoadBalancerModel["describeDesired"] = ({ spec }) => JSON.stringify(spec.ports);
  const targetOf: LoadBalancerModel["getTarget"] = ({ providerID }) => providerID;
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
    precheck: () => script.before as ReturnType<LoadBalancerModel["precheck"]>,
    planStep: (question, observed) => script.next ?? next(question, observed),
    applyResult: (_observed, action, result) => (action.action === "TakeDown" ? null : result),
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
    ...(script.shows === "at once" ? { isImmediatelyVisible: true } : {}),
    ...(typeof script.shows === "boolean" ? { isVisible: () => script.shows === true } : {}),
    ...(script.size === undefined ? {} : { measure: () => script.size as LoadBalancerSize }),
    ...(script.lostTargets === undefined
      ? {}
      : {
          listLostTargets: ({ service, nodes }: LoadBalancerQuestion, observed: unknown) => {
            const wanted = nodes.map((node) => targetOf(node, service));
            const lost = ((observed as Shelf | null)?.targets ?? []).filter((each) => !wanted.includes(each));
            return script.lostTargets === "by instance" ? lost : lost.map(() => undefined);
          },
        }),
    toIssue: () => script.issue,
    needsRollback: (_action, observed) => script.isUndone === true && observed === null,
    describeDesired: desired,
    getTarget: targetOf,
  };
}

/** Returns the shelf after an action. */
export function getShelfAfter({ action, parameters }: LoadBalancerAction): Shelf | null {
  if (action === "TakeDown") return null;
  return { wish: String(parameters["wish"]), targets: (parameters["targets"] ?? []) as string[] };
}

/** Returns the related lists of an event. */
export function buildRelated(
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

/** Returns the context of a decision, with overrides. */
export function buildContext(difference: Partial<DecisionContext> = {}): DecisionContext {
  return { reason: "watch", now: NOW, related: buildRelated(), settings: SETTINGS, ...difference };
}

/** Returns the context a number of seconds later, in which the API server lists exactly these nodes. */
export function buildListing(
  nodes: readonly TargetNode[],
  seconds = 0,
  difference: Partial<DecisionContext> = {},
): DecisionContext {
  return buildContext({
    now: new Date(NOW.getTime() + seconds * 1_000),
    related: buildRelated(nodes),
    listed: { kind: "list", items: nodes.map((target) => ({ target })) },
    count: { kind: "count", count: nodes.length },
    ...difference,
  });
}

export type ServiceController = ReturnType<typeof createServiceController>;

/** The loaded controller with the emulated model. */
export async function createController(script: Script = {}): Promise<ServiceController> {
  const controller = createServiceController({ shelf: async () => createShelfModel(script) });
  await controller.load?.("shelf");
  return controller;
}

/** Returns the only decision on a subject. */
export function decideOn(
  controller: ServiceController,
  subject: Pick<Subject<Service>, "object"> & { readonly answer?: unknown },
  asked: AskContext = buildContext(),
): Decision {
  const whole = { hint: undefined, answer: undefined, ...subject } as Parameters<
    Controller["decide"]
  >[0][number];
  const plan = (controller as unknown as Controller).decide([whole], asked);
  if (plan.kind !== "each" || plan.decisions[0] === undefined) throw new Error("no decision");
  return plan.decisions[0];
}

/** Runs rounds until nothing changes, up to a maximum, and returns the Service and its shelf. */
export async function converge(
  object: Service,
  shelf: Shelf | null,
  asked: AskContext = buildContext(),
  script: Script = {},
): Promise<{
  readonly object: Service;
  readonly shelf: Shelf | null;
  readonly decisions: readonly Decision[];
}> {
  const controller = await createController(script);
  const decisions: Decision[] = [];
  let state = shelf;
  let subject: Parameters<NonNullable<ServiceController["applyResult"]>>[0] = {
    object,
    hint: undefined,
    answer: controller.buildQuestion(object, asked) === undefined ? undefined : { kind: "observed", state },
  };
  for (let round = 0; round < 10; round += 1) {
    const decision = decideOn(controller, subject, asked);
    decisions.push(decision);
    if (decision.kind !== "change") return { object: subject.object, shelf: state, decisions };
    for (const write of decision.writes) {
      if (write.on === "cloud") state = getShelfAfter(write);
      const result = write.on === "cloud" ? state : undefined;
      subject = controller.applyResult?.(subject, { write, result }) ?? subject;
    }
  }
  throw new Error("it does not end");
}

/** A Service with a load balancer, after all rounds. */
export async function buildServedService(
  difference: Parameters<typeof buildService>[0] = {},
): Promise<Service> {
  return projectService((await converge(buildService(difference), null)).object);
}

/** Returns the text of our annotation. */
export function getAnnotation({ metadata }: Service): string | undefined {
  return metadata.annotations?.[LOAD_BALANCER_ANNOTATION];
}

/** Returns the Service with another annotation text. */
export function setAnnotation(object: Service, text: string): Service {
  const annotations = { ...object.metadata.annotations, [LOAD_BALANCER_ANNOTATION]: text };
  return { ...object, metadata: { ...object.metadata, annotations } };
}
