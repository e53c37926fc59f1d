import type { Service } from "#core/service/service.ts";
import type { AwsState } from "./aws-state.ts";
import { createLifeline, type KillPoint, type Lifeline } from "./lifeline.ts";
import type { Operation } from "./operation.ts";
import type { Stage } from "./stage.ts";

/** What goes wrong while an operation is carried out. */
export type Disturbance =
  | { readonly kind: "none" }
  | { readonly kind: "killed"; readonly at: KillPoint; readonly hidden?: number }
  /** The k-th change of the cloud is refused, or broken off, and the process lives on. */
  | { readonly kind: "throttled" | "answer lost"; readonly change: number }
  /** All that is new is invisible to so many describes. */
  | { readonly kind: "hidden"; readonly describes: number }
  /** Two processes carry it out at the same time. */
  | { readonly kind: "two at once" };

/** What there is at the end: the account, and what of the Service is not its alone. */
export interface EndState {
  readonly aws: AwsState;
  readonly service: unknown;
}

/** What one run came to. */
export interface Run {
  readonly end: EndState;
  /** What the first process changed. */
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
const NODES = 2;

/** Brings a stage on which no Service is to where an operation has been asked for, and nobody has begun to carry it out; the Service by then. */
export async function arrange(stage: Stage, operation: Operation): Promise<Service> {
  const { objects } = stage;
  const { cloud = {} } = operation;
  await objects.setNodes(stage.instances.slice(0, NODES));
  if (operation.before !== undefined) {
    const { before } = operation;
    await objects.create(typeof before === "function" ? before(stage) : before);
    const { problems } = await settle(stage, operation.cloudBefore ?? cloud);
    if (problems.length > 0) throw new Error(`${operation.name}: before it, ${problems.join(", ")}`);
  }
  const before = await objects.read();
  await operation.change(stage);
  const service = (await objects.read()) ?? before;
  if (service === undefined) throw new Error(`${operation.name}: there is no Service, before or after`);
  return service;
}

/** Carries out an operation that was arranged for. */
export async function play(
  stage: Stage,
  operation: Operation,
  { service, disturbance }: { readonly service: Service; readonly disturbance: Disturbance },
): Promise<Run> {
  const { cloud = {} } = operation;
  prepare(stage, disturbance);
  const lifeline = createLifeline(disturbance.kind === "killed" ? disturbance.at : undefined);
  const first = [stage.invoke({ lifeline, cloud })];
  if (disturbance.kind === "two at once") first.push(stage.invoke({ lifeline, cloud }));
  await Promise.all(first);
  const isDisturbed = wasDisturbed(stage, disturbance, lifeline);
  stage.moto.failures.drop();
  await operation.meanwhile?.(stage);
  const settled = await settle(stage, cloud);
  const problems = [...settled.problems];
  if (operation.needsAudits === true) problems.push(...(await auditAll(stage, operation)));
  const end = { aws: await stage.state(service), service: await endOf(stage, service) };
  return {
    end,
    changes: lifeline.changes,
    isDisturbed,
    invocations: settled.invocations + 1,
    problems,
  };
}

/** The first does what is left, the second finds nothing. */
const AUDITS = 2;

async function auditAll(stage: Stage, operation: Operation): Promise<readonly string[]> {
  let problems: readonly string[] = [];
  // They come ten minutes later, when all that was made is seen.
  stage.moto.hideNew(0);
  for (let audits = 0; audits < AUDITS; audits += 1) problems = await audit(stage, operation);
  return problems;
}

/**
 * What is wrong with what an operation has come to: an audit right after finds all as it is to be, and changes nothing, and once the
 * Service is gone so is all that was made for it. `before` is what there was before the Service.
 */
export async function inspect(
  stage: Stage,
  operation: Operation,
  before: AwsState,
): Promise<readonly string[]> {
  const problems = [...(await audit(stage, operation))];
  if ((await stage.objects.read()) !== undefined) {
    await stage.objects.delete();
    problems.push(...(await settle(stage, operation.cloud ?? {})).problems);
  }
  const after = await stage.outline();
  // The group that all load balancers of a cluster share stays with the cluster.
  const left = after.filter((thing) => !before.includes(thing) && !isOfCluster(thing));
  const lost = before.filter((thing) => !after.includes(thing));
  return [
    ...problems,
    ...left.map((thing) => `left after the Service is gone: ${thing}`),
    ...lost.map((thing) => `lost after the Service is gone: ${thing}`),
  ];
}

function isOfCluster(thing: string): boolean {
  return (
    thing.startsWith("security group k8s-backend-") || thing.includes("serverless-ccm.io/rule/nlb/backend")
  );
}

function prepare({ moto }: Stage, disturbance: Disturbance): void {
  switch (disturbance.kind) {
    case "throttled":
      moto.failures.plan({
        operation: "change",
        after: disturbance.change - 1,
        failure: { kind: "throttle" },
      });
      break;
    case "answer lost":
      moto.failures.plan({
        operation: "change",
        after: disturbance.change - 1,
        failure: { kind: "lose-answer" },
      });
      break;
    case "hidden":
      moto.hideNew(disturbance.describes);
      break;
    case "killed":
      moto.hideNew(disturbance.hidden ?? 0);
      break;
    case "none":
    case "two at once":
      break;
  }
}

function wasDisturbed({ moto }: Stage, disturbance: Disturbance, lifeline: Lifeline): boolean {
  switch (disturbance.kind) {
    case "killed":
      return lifeline.isKilled();
    case "throttled":
    case "answer lost":
      return moto.failures.left() === 0;
    default:
      return true;
  }
}

/** Invokes the function until nothing is left to be done. */
async function settle(
  stage: Stage,
  cloud: Readonly<Record<string, unknown>>,
): Promise<{ readonly invocations: number; readonly problems: readonly string[] }> {
  let last = "";
  for (let invocations = 1; invocations <= MOST_INVOCATIONS; invocations += 1) {
    const { report } = await stage.invoke({ cloud });
    if (report === undefined || report.outcome === "unchanged") return { invocations, problems: [] };
    stage.wait(report.afterSeconds ?? 0);
    last = `${report.outcome} ${report.because.code}: ${report.because.message}`;
    if (report.outcome === "skipped") return { invocations, problems: [`it is skipped: ${last}`] };
  }
  return {
    invocations: MOST_INVOCATIONS,
    problems: [`after ${MOST_INVOCATIONS} invocations there is something left: ${last}`],
  };
}

/** An audit right after finds all as it is to be, and changes nothing. */
async function audit(stage: Stage, { cloud = {} }: Operation): Promise<readonly string[]> {
  const lifeline = createLifeline();
  const { report } = await stage.invoke({ lifeline, reason: "refresh", cloud });
  const changed = lifeline.changes.map(({ what }) => what);
  const problems = changed.length > 0 ? [`an audit right after changed ${changed.join(", ")}`] : [];
  if (report !== undefined && report.outcome !== "unchanged" && changed.length === 0)
    problems.push(
      `an audit right after says ${report.outcome} ${report.because.code}: ${report.because.message}`,
    );
  return problems;
}

/** What of a Service does not differ from life to life. */
async function endOf({ objects }: Stage, { metadata: { uid } }: Service): Promise<unknown> {
  const service = await objects.read();
  if (service === undefined) return "gone";
  const bare = `a${uid.replaceAll("-", "")}`.slice(0, 32);
  const { metadata, spec, status } = service;
  return {
    type: spec.type,
    finalizers: metadata.finalizers ?? [],
    ingress: (status?.loadBalancer?.ingress ?? []).map(({ hostname }) =>
      hostname?.replaceAll(bare, "<load balancer>").replace(/-[0-9a-f]{16}\.|-\d+\./, "-<hash>."),
    ),
    mark: JSON.parse(metadata.annotations?.["serverless-ccm.io/load-balancer"] ?? "null")?.state,
  };
}
