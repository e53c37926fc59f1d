import { LOAD_BALANCER_ANNOTATION } from "#core/contracts.ts";
import type { LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { SERVICE_NAME } from "./cluster.ts";
import { createLifeline, type Fate, type KillPoint, type Lifeline } from "./lifeline.ts";
import { type CloudKeys, madeOn, type Operation } from "./operation.ts";
import type { Stage } from "./stage.ts";

/** What goes wrong while an operation is carried out. */
export type Disturbance =
  | { readonly kind: "none" }
  | { readonly kind: "killed"; readonly at: KillPoint; readonly hidden?: number }
  /** The k-th change of the cloud is refused, or broken off, and the process lives on. */
  | { readonly kind: "throttled" | "answer lost"; readonly change: number }
  /** All that is new is invisible to so many reads. */
  | { readonly kind: "hidden"; readonly reads: number }
  /** Two processes carry it out at the same time. */
  | { readonly kind: "two at once" };

/** What there is at the end: the cloud, and what of the Services is not theirs alone. */
export interface EndState {
  readonly cloud: readonly string[];
  readonly services: readonly unknown[];
}

/** What one run came to. */
export interface Run {
  readonly end: EndState;
  /** What was changed, by one process after the other, up to what is done meanwhile. */
  readonly changes: Lifeline["changes"];
  /** Whether what was to disturb it came to pass. */
  readonly isDisturbed: boolean;
  /** Invocations until nothing was left to be done. */
  readonly invocations: number;
  /** What went wrong on the way, beside where it ended. */
  readonly problems: readonly string[];
}

/** An invocation that is not the last is followed by another one; a Service that needs more than this is not converging. */
const MOST_INVOCATIONS = 40;

/** The nodes before each operation. */
export const NODES = 2;

const THE_ONE = [SERVICE_NAME.name];

/** Brings a stage on which no Service is to where an operation has been asked for, and nobody has begun to carry it out. */
export async function arrange<World extends LoadBalancerWorld>(
  stage: Stage<World>,
  operation: Operation<World>,
): Promise<void> {
  await stage.objects.setNodes(stage.world.nodes.slice(0, NODES));
  if (operation.before !== undefined) {
    for (const service of madeOn(stage, operation.before)) await stage.objects.create(service);
    const cloud = madeOn(stage, operation.cloudBefore ?? operation.cloud ?? {});
    const { problems } = await settle(stage, { cloud, names: operation.names ?? THE_ONE });
    if (problems.length > 0) throw new Error(`${operation.name}: before it, ${problems.join(", ")}`);
  }
  await operation.change(stage);
}

/** Carries out an operation that was arranged for. */
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
  // What is done meanwhile is another operation, whose changes are counted where it is one.
  const settled = await settle(stage, operation.meanwhile === undefined ? { ...about, lifeline } : about);
  const problems = [...settled.problems];
  if (operation.needsAudits === true) problems.push(...(await auditAll(stage, operation)));
  // What load balancers share stays until an audit has found it unused for a while.
  await stage.tidy(about.cloud);
  const end = { cloud: await stage.state(), services: await endOf(stage, about.names) };
  return {
    end,
    changes: lifeline.changes,
    isDisturbed: disturbance.kind === "none" || !isFated(disturbance) || lifeline.hasMet(),
    invocations: settled.invocations + 1,
    problems,
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

/** The first does what is left, the second finds nothing. */
const AUDITS = 2;

async function auditAll<World extends LoadBalancerWorld>(
  stage: Stage<World>,
  operation: Operation<World>,
): Promise<readonly string[]> {
  let problems: readonly string[] = [];
  // They come ten minutes later, when all that was made is seen.
  stage.world.hideNew?.(0);
  for (let audits = 0; audits < AUDITS; audits += 1) problems = await audit(stage, aboutOf(stage, operation));
  return problems;
}

/**
 * What is wrong with what an operation has come to: an audit right after finds all as it is to be, and changes nothing, and once the
 * Services are gone so is all that was made for them. `before` is what there was before the first one, in pieces.
 */
export async function inspect<World extends LoadBalancerWorld>(
  stage: Stage<World>,
  operation: Operation<World>,
  before: readonly string[],
): Promise<readonly string[]> {
  const about = aboutOf(stage, operation);
  const problems = [...(await audit(stage, about))];
  for (const name of about.names) {
    const object = stage.objects.named(name);
    if ((await object.read()) !== undefined) await object.delete();
  }
  problems.push(...(await settle(stage, about)).problems);
  await stage.tidy(about.cloud);
  const after = await stage.pieces();
  const left = after.filter((thing) => !before.includes(thing));
  const lost = before.filter((thing) => !after.includes(thing));
  return [
    ...problems,
    ...left.map((thing) => `left after the Service is gone: ${thing}`),
    ...lost.map((thing) => `lost after the Service is gone: ${thing}`),
  ];
}

/** What an invocation is about, and whose life it is of. */
export interface About {
  readonly cloud: CloudKeys;
  readonly names: readonly string[];
  /** Of the process that does it, and of those after it until it is killed. */
  readonly lifeline?: Lifeline;
}

function aboutOf<World extends LoadBalancerWorld>(stage: Stage<World>, operation: Operation<World>): About {
  return { cloud: madeOn(stage, operation.cloud ?? {}), names: operation.names ?? THE_ONE };
}

/** Invokes the function until nothing is left to be done. */
export async function settle<World extends LoadBalancerWorld>(
  stage: Stage<World>,
  { lifeline, ...about }: About,
): Promise<{ readonly invocations: number; readonly problems: readonly string[] }> {
  let last = "";
  for (let invocations = 1; invocations <= MOST_INVOCATIONS; invocations += 1) {
    const life = lifeline === undefined || lifeline.isKilled() ? {} : { lifeline };
    const invoked = await stage.invoke({ ...about, ...life });
    if (invoked.isKilled) continue;
    const reports = invoked.whole?.objects ?? [];
    const due = reports.filter(({ outcome }) => outcome !== "unchanged");
    if (due.length === 0) return { invocations, problems: [] };
    await waitFor(stage, [invoked]);
    last = due.map(({ outcome, because }) => `${outcome} ${because.code}: ${because.message}`).join("; ");
    if (due.every(({ outcome }) => outcome === "skipped"))
      return { invocations, problems: [`it is skipped: ${last}`] };
  }
  return {
    invocations: MOST_INVOCATIONS,
    problems: [`after ${MOST_INVOCATIONS} invocations there is something left: ${last}`],
  };
}

/** Until what is due again soonest is due; what the cloud is at is done by then. */
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

/** An audit right after finds all as it is to be, and changes nothing. */
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

/** What of Services does not differ from life to life. */
export function endOf<World extends LoadBalancerWorld>(
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
