import { LOAD_BALANCER_ANNOTATION } from "#core/contracts.ts";
import type { LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { SERVICE_NAME } from "./cluster.ts";
import { createLifeline, type Fate, type KillPoint, type Lifeline } from "./lifeline.ts";
import { buildOnStage, type CloudKeys, type Operation } from "./operation.ts";
import type { Stage } from "./stage.ts";

/** A fault while an operation runs. */
export type Disturbance =
  | { readonly kind: "none" }
  | { readonly kind: "killed"; readonly at: KillPoint; readonly hidden?: number }
  /** The k-th change of the cloud is rejected or loses its answer, and the process continues. */
  | { readonly kind: "throttled" | "answer lost"; readonly change: number }
  /** New resources are invisible to this many reads. */
  | { readonly kind: "hidden"; readonly reads: number }
  /** Two processes run the operation at the same time. */
  | { readonly kind: "two at once" };

/** The end state: the cloud, and the fields of the Services that do not differ between runs. */
export interface EndState {
  readonly cloud: readonly string[];
  readonly services: readonly unknown[];
}

/** The result of one run. */
export interface Run {
  readonly end: EndState;
  /** The changes of all processes in order, up to the `meanwhile` step. */
  readonly changes: Lifeline["changes"];
  /** Whether the intended disturbance happened. */
  readonly isDisturbed: boolean;
  /** Invocations until no work was left. */
  readonly invocations: number;
  /** Problems on the way; the end state is checked separately. */
  readonly issues: readonly string[];
}

/**
 * Every invocation that leaves work is followed by another; a Service that needs more than this does not
 * converge.
 */
const MOST_INVOCATIONS = 40;

/** The number of nodes before each operation. */
export const NODES = 2;

const THE_ONE = [SERVICE_NAME.name];

/** Prepares an empty stage up to the point where an operation is requested, but not begun. */
export async function arrange<World extends LoadBalancerWorld>(
  stage: Stage<World>,
  operation: Operation<World>,
): Promise<void> {
  await stage.objects.setNodes(stage.world.nodes.slice(0, NODES));
  if (operation.before !== undefined) {
    for (const service of buildOnStage(stage, operation.before)) await stage.objects.create(service);
    const cloud = buildOnStage(stage, operation.cloudBefore ?? operation.cloud ?? {});
    const { issues } = await settle(stage, { cloud, names: operation.names ?? THE_ONE });
    if (issues.length > 0) throw new Error(`${operation.name}: before it, ${issues.join(", ")}`);
  }
  await operation.change(stage);
}

/** Carries out an arranged operation. */
export async function play<World extends LoadBalancerWorld>(
  stage: Stage<World>,
  operation: Operation<World>,
  disturbance: Disturbance,
): Promise<Run> {
  const about = aboutOf(stage, operation);
  const reads = disturbance.kind === "hidden" ? disturbance.reads : undefined;
  stage.world.hideNew?.(reads ?? (disturbance.kind === "killed" ? (disturbance.hidden ?? 0) : 0));
  const lifeline = createLifeline(fateOf(disturbance));
  const first = [stage.invoke({ ...about, lifeline })];
  if (disturbance.kind === "two at once") first.push(stage.invoke({ ...about, lifeline }));
  await waitFor(stage, await Promise.all(first));
  await operation.meanwhile?.(stage);
  // The `meanwhile` step is another operation; its changes count where it is the operation under test.
  const settled = await settle(stage, operation.meanwhile === undefined ? { ...about, lifeline } : about);
  const issues = [...settled.issues];
  if (operation.needsAudits === true) issues.push(...(await auditAll(stage, operation)));
  // Shared resources stay until an audit has found them unused for a while.
  await stage.tidy(about.cloud);
  const end = { cloud: await stage.state(), services: await readEndState(stage, about.names) };
  return {
    end,
    changes: lifeline.changes,
    isDisturbed: disturbance.kind === "none" || !isFated(disturbance) || lifeline.hasMet(),
    invocations: settled.invocations + 1,
    issues,
  };
}

function isFated({ kind }: Disturbance): boolean {
  return kind === "killed" || kind === "throttled" || kind === "answer lost";
}

function fateOf(disturbance: Disturbance): Fate | undefined {
  switch (disturbance.kind) {
    case "killed":
      return { kind: "killed", at: disturbance.at };
    case "throttled":
    case "answer lost":
      return disturbance;
    default:
      return undefined;
  }
}

/** The first audit does the remaining work, the second finds nothing. */
const AUDITS = 2;

async function auditAll<World extends LoadBalancerWorld>(
  stage: Stage<World>,
  operation: Operation<World>,
): Promise<readonly string[]> {
  let issues: readonly string[] = [];
  // Audits come ten minutes later, when everything new is visible.
  stage.world.hideNew?.(0);
  for (let audits = 0; audits < AUDITS; audits += 1) issues = await audit(stage, aboutOf(stage, operation));
  return issues;
}

/**
 * Returns the problems of an end state. An immediate audit must find the desired state and change nothing,
 * and after the deletion of the Services nothing of theirs may remain. `before` lists the resources that
 * existed before the first Service.
 */
export async function inspect<World extends LoadBalancerWorld>(
  stage: Stage<World>,
  operation: Operation<World>,
  before: readonly string[],
): Promise<readonly string[]> {
  const about = aboutOf(stage, operation);
  const issues = [...(await audit(stage, about))];
  for (const name of about.names) {
    const object = stage.objects.named(name);
    if ((await object.read()) !== undefined) await object.delete();
  }
  issues.push(...(await settle(stage, about)).issues);
  await stage.tidy(about.cloud);
  const after = await stage.pieces();
  const left = after.filter((thing) => !before.includes(thing));
  const lost = before.filter((thing) => !after.includes(thing));
  return [
    ...issues,
    ...left.map((thing) => `left after the Service is gone: ${thing}`),
    ...lost.map((thing) => `lost after the Service is gone: ${thing}`),
  ];
}

/** The Services of an invocation, and the lifeline of its process. */
export interface About {
  readonly cloud: CloudKeys;
  readonly names: readonly string[];
  /** The lifeline of the first process, and of the later ones until it is killed. */
  readonly lifeline?: Lifeline;
}

function aboutOf<World extends LoadBalancerWorld>(stage: Stage<World>, operation: Operation<World>): About {
  return { cloud: buildOnStage(stage, operation.cloud ?? {}), names: operation.names ?? THE_ONE };
}

/** Invokes the function until no work is left. */
export async function settle<World extends LoadBalancerWorld>(
  stage: Stage<World>,
  { lifeline, ...about }: About,
): Promise<{ readonly invocations: number; readonly issues: readonly string[] }> {
  let last = "";
  for (let invocations = 1; invocations <= MOST_INVOCATIONS; invocations += 1) {
    const life = lifeline === undefined || lifeline.isKilled() ? {} : { lifeline };
    const invoked = await stage.invoke({ ...about, ...life });
    if (invoked.isKilled) continue;
    const reports = invoked.whole?.objects ?? [];
    const due = reports.filter(({ outcome }) => outcome !== "unchanged");
    if (due.length === 0) return { invocations, issues: [] };
    await waitFor(stage, [invoked]);
    last = due.map(({ outcome, because }) => `${outcome} ${because.code}: ${because.message}`).join("; ");
    if (due.every(({ outcome }) => outcome === "skipped"))
      return { invocations, issues: [`it is skipped: ${last}`] };
  }
  return {
    invocations: MOST_INVOCATIONS,
    issues: [`after ${MOST_INVOCATIONS} invocations there is something left: ${last}`],
  };
}

/** Advances the clock to the earliest due time; the cloud has finished its pending work by then. */
async function waitFor<World extends LoadBalancerWorld>(
  stage: Stage<World>,
  invoked: readonly Awaited<ReturnType<Stage["invoke"]>>[],
): Promise<void> {
  const delays = invoked
    .flatMap(({ whole }) => whole?.objects ?? [])
    .flatMap(({ afterSeconds }) => afterSeconds ?? []);
  if (delays.length === 0) return;
  stage.wait(Math.min(...delays));
  await stage.world.advance();
}

/** Runs an audit immediately and returns its problems: it must find the desired state and change nothing. */
export async function audit<World extends LoadBalancerWorld>(
  stage: Stage<World>,
  about: About,
): Promise<readonly string[]> {
  const lifeline = createLifeline();
  const { whole } = await stage.invoke({ ...about, lifeline, reason: "refresh" });
  const changed = lifeline.changes.map(({ what }) => what);
  if (changed.length > 0) return [`an audit right after changed ${changed.join(", ")}`];
  return (whole?.objects ?? [])
    .filter(({ outcome }) => outcome !== "unchanged")
    .map(
      ({ outcome, because }) => `an audit right after says ${outcome} ${because.code}: ${because.message}`,
    );
}

/** Returns the fields of the Services that do not differ between runs. */
export function readEndState<World extends LoadBalancerWorld>(
  { objects, world }: Stage<World>,
  names: readonly string[],
): Promise<unknown[]> {
  return Promise.all(
    names.map(async (name) => {
      const service = await objects.named(name).read();
      if (service === undefined) return "gone";
      const { metadata, spec, status } = service;
      const kindOf = (ingress: object): string => Object.keys(ingress).toSorted().join(" and ");
      return {
        type: spec.type,
        finalizers: metadata.finalizers ?? [],
        ingress: (status?.loadBalancer?.ingress ?? []).map(
          (ingress) => world.addressOf?.(ingress, metadata) ?? kindOf(ingress),
        ),
        mark: JSON.parse(metadata.annotations?.[LOAD_BALANCER_ANNOTATION] ?? "null")?.state,
      };
    }),
  );
}
