import { setTimeout as sleep } from "node:timers/promises";
import {
  DescribeLoadBalancersCommand,
  DescribeTargetGroupsCommand,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { PROGRAM } from "#bench/contenders/run.ts";
import { readUsage } from "#bench/process-usage.ts";
import type { Programs } from "#bench/programs.ts";
import type { Phase, ServicesMeasurement } from "#bench/services/measurement.ts";
import { getTargetDelays, type TargetOperation } from "#bench/services/target-delays.ts";
import { AWS_QUOTAS } from "#clouds/aws/quotas.ts";
import { type Clients, createClients } from "#test/clouds/aws/moto/clients.ts";
import type { MendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import { type ServicesStage, startServicesStage } from "#test/handover/services-stage.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";

/** A contender, and how it starts. */
export interface ServicesContender {
  readonly name: string;
  /** The factor by which its account's quotas exceed AWS's published ones. */
  readonly quotasTimes: number;
  start(stage: ServicesStage): Promise<unknown>;
  stop(stage: ServicesStage): Promise<void>;
}

const TUNED = ["--concurrent-service-syncs=50", "--kube-api-qps=1000", "--kube-api-burst=2000"];
const RAISED_TIMES = 10;

/** An operator's configuration for an account with higher quotas: ours stays within the configured ones. */
const RAISED = [
  "quotas:",
  ...Object.entries(AWS_QUOTAS).map(
    ([name, { burst, refillPerSecond }]) =>
      `  "${name}": { burst: ${burst * RAISED_TIMES}, refillPerSecond: ${refillPerSecond * RAISED_TIMES} }`,
  ),
];

/**
 * Ours with defaults, and with one security group for all load balancers; the stock controller with defaults,
 * with one worker, and tuned. Ours and the tuned one also run in an account whose quotas limit neither, where
 * each takes its own time. One worker never comes near a quota.
 */
export const SERVICES_CONTENDERS: readonly ServicesContender[] = [
  createOurContender("run", 1, []),
  createOurContender("run-shared-group", 1, ["sharedBackendSecurityGroup: true"]),
  createStockContender("stock-defaults", 1, []),
  createStockContender("stock-tuned", 1, TUNED),
  createOurContender("run-raised-quotas", RAISED_TIMES, RAISED),
  createStockContender("stock-tuned-raised-quotas", RAISED_TIMES, TUNED),
];

export interface ServicesBenchOptions {
  readonly programs: Programs;
  readonly moto: MotoProgram;
  readonly contender: ServicesContender;
  readonly services: number;
  readonly nodes: number;
  readonly joined: number;
  /** The maximum seconds of each part. */
  readonly timeoutSeconds: number;
}

/** After so long without a call all of AWS's buckets are full again. */
const QUOTAS_FULL_MS = 10_000;

/**
 * AWS allows 60 by default, enough for 29 Services of two ports with any controller; a hundred Services take
 * two each, and two exist before.
 */
const RULES_PER_SECURITY_GROUP = 250;

/** The latency of every call, as with a remote cloud. */
const LATENCY_MS = 60;

const NLB = { "service.beta.kubernetes.io/aws-load-balancer-type": "nlb" };

/** Runs one contender through all parts, on its own API server and account. */
export async function measureServices(options: ServicesBenchOptions): Promise<ServicesMeasurement> {
  const { programs, contender, services, nodes, joined } = options;
  const startedAt = new Date().toISOString();
  const stage = await startServicesStage(programs.controlPlane, programs.stock, options.moto, {
    hasPoints: true,
    rulesPerSecurityGroup: RULES_PER_SECURITY_GROUP,
  });
  const behind = createClients(stage.moto.motoUrl);
  const names = Array.from({ length: services }, (_, index) => `service-${index}`);
  try {
    await stage.join(nodes);
    stage.moto.setLatency(LATENCY_MS);
    stage.moto.failures.limit(
      QUOTAS.map(({ operation, tokens, perSecond }) => ({
        operation,
        tokens: tokens * contender.quotasTimes,
        perSecond: perSecond * contender.quotasTimes,
      })),
    );
    await contender.start(stage);

    const addressed = new Map<string, number>();
    const created = await measurePart(stage.moto, options, {
      begin: () => Promise.all(names.map((name) => stage.create(name, NLB))),
      async done(seconds) {
        for (const name of await stage.addressed()) if (!addressed.has(name)) addressed.set(name, seconds);
        return addressed.size;
      },
      all: services,
    });
    // Every following part starts with full quotas.
    await sleep(QUOTAS_FULL_MS);
    const gone = names.slice(0, Math.floor(services / 2));
    const deleted = await measurePart(stage.moto, options, {
      begin: () => Promise.all(gone.map((name) => stage.remove(name))),
      async done() {
        const left = new Set(await stage.names());
        return gone.filter((name) => !left.has(name)).length;
      },
      all: gone.length,
    });
    await sleep(QUOTAS_FULL_MS);

    const groups = (await listTargetGroups(behind)).length;
    const changedMs = new Map<string, number>();
    const delaysOf = (operation: TargetOperation) =>
      getTargetDelays(stage.moto.calls(), operation, changedMs);
    let ids: readonly string[] = [];
    const joining = await measurePart(stage.moto, options, {
      begin: async () => {
        ids = await stage.join(joined, (id) => changedMs.set(id, performance.now()));
      },
      done: async () => delaysOf("elbv2:RegisterTargets").length,
      all: groups * joined,
    });
    const joinedAfter = getPercentiles(delaysOf("elbv2:RegisterTargets"));
    await sleep(QUOTAS_FULL_MS);
    changedMs.clear();
    const excluding = await measurePart(stage.moto, options, {
      begin: async () => {
        const [one = ""] = ids;
        await stage.exclude(one);
        changedMs.set(one, performance.now());
      },
      done: async () => delaysOf("elbv2:DeregisterTargets").length,
      all: groups,
    });
    const excludedAfter = getPercentiles(delaysOf("elbv2:DeregisterTargets"));

    const pid = stage.pid();
    const usage = await readUsage(pid === undefined ? [] : [pid]);
    await contender.stop(stage);
    const times = [...addressed.values()].toSorted((one, other) => one - other);
    return {
      contender: contender.name,
      services,
      nodes,
      joined,
      startedAt,
      created: { ...created, ...getPercentiles(times) },
      deleted,
      joining: { ...joining, ...joinedAfter },
      excluding: { ...excluding, ...excludedAfter },
      orphans: await countOrphans(behind, (await stage.names()).length),
      ...usage,
    };
  } finally {
    behind.close();
    await stage.close();
  }
}

function createOurContender(name: string, quotasTimes: number, cloud: readonly string[]): ServicesContender {
  const start = (stage: ServicesStage) => stage.startOurs(PROGRAM, cloud);
  return { name, quotasTimes, start, stop: (stage) => stage.stopOurs() };
}

function createStockContender(
  name: string,
  quotasTimes: number,
  flags: readonly string[],
): ServicesContender {
  const start = (stage: ServicesStage) => stage.startStock(...flags);
  return { name, quotasTimes, start, stop: (stage) => stage.stopStock() };
}

/** A part of a run: it begins, and its items complete later. */
interface Part {
  begin(): Promise<unknown>;
  /** Returns how many are done, so many seconds after the beginning. */
  done(seconds: number): Promise<number>;
  readonly all: number;
}

async function measurePart(
  moto: MendedMoto,
  { timeoutSeconds }: ServicesBenchOptions,
  { begin, done, all }: Part,
): Promise<Phase> {
  moto.forgetCalls();
  const startedMs = performance.now();
  await begin();
  for (;;) {
    const seconds = (performance.now() - startedMs) / 1_000;
    const count = await done(seconds);
    if (count < all && seconds < timeoutSeconds) {
      await sleep(250);
      continue;
    }
    const throttled = moto
      .calls()
      .filter(({ code }) => code === "Throttling" || code === "RequestLimitExceeded");
    return {
      ...(count < all ? {} : { seconds }),
      done: count,
      calls: { ...moto.counts() },
      throttled: throttled.length,
    };
  }
}

/**
 * AWS's quotas, in the buckets of the proxy: those of single operations, and for Elastic Load Balancing one
 * each for describing, registering and changing.
 */
const QUOTAS = [
  ...(
    [
      "DescribeInstances",
      "DescribeSubnets",
      "DescribeRouteTables",
      "DescribeSecurityGroups",
      "CreateTags",
    ] as const
  ).map((name) => ({
    operation: `ec2:${name}`,
    tokens: AWS_QUOTAS[name].burst,
    perSecond: AWS_QUOTAS[name].refillPerSecond,
  })),
  ...(["AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"] as const).map((name) => ({
    operation: `ec2:${name}`,
    tokens: AWS_QUOTAS["ec2 resource-intensive"].burst,
    perSecond: AWS_QUOTAS["ec2 resource-intensive"].refillPerSecond,
  })),
  // Ours stays a little below these.
  { operation: "elbv2:registering", tokens: 20, perSecond: 4 },
  { operation: "elbv2:describing", tokens: 40, perSecond: 10 },
  { operation: "elbv2:changing", tokens: 40, perSecond: 10 },
];

async function listTargetGroups({ elbv2 }: Clients): Promise<readonly string[]> {
  const arns: string[] = [];
  for (let Marker: string | undefined; ; ) {
    const { TargetGroups = [], NextMarker } = await elbv2.send(new DescribeTargetGroupsCommand({ Marker }));
    arns.push(...TargetGroups.map(({ TargetGroupArn = "" }) => TargetGroupArn));
    if (!NextMarker) return arns;
    Marker = NextMarker;
  }
}

/**
 * Counts load balancers and target groups beyond those of the Services that are left, which have one and two.
 */
async function countOrphans(clients: Clients, services: number): Promise<number> {
  let balancers = 0;
  for (let Marker: string | undefined; ; ) {
    const page = await clients.elbv2.send(new DescribeLoadBalancersCommand({ Marker }));
    balancers += page.LoadBalancers?.length ?? 0;
    if (!page.NextMarker) break;
    Marker = page.NextMarker;
  }
  return balancers - services + (await listTargetGroups(clients)).length - 2 * services;
}

function getPercentiles(sorted: readonly number[]): {
  readonly p50Seconds?: number;
  readonly p99Seconds?: number;
} {
  const [p50Seconds, p99Seconds] = [getQuantile(sorted, 0.5), getQuantile(sorted, 0.99)];
  return {
    ...(p50Seconds === undefined ? {} : { p50Seconds }),
    ...(p99Seconds === undefined ? {} : { p99Seconds }),
  };
}

function getQuantile(sorted: readonly number[], q: number): number | undefined {
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}
