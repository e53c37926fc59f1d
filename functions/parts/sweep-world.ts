import { randomBytes } from "node:crypto";
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import type { Cluster } from "#config/cluster.ts";
import { WATCHES } from "#core/watches.ts";
import { createLambdaInvoker } from "#delivery/invoke-lambda.ts";
import { clustersOfHome } from "#functions/parts/clusters-of-home.ts";
import { keptConnections } from "#functions/parts/kept-connections.ts";
import { logToStandardOutput } from "#functions/parts/log-report.ts";
import { nameOfSibling } from "#functions/parts/name-of-sibling.ts";
import { stopLookOf } from "#functions/parts/stop-look-of.ts";
import type { SweepFunctionWorld } from "#functions/parts/sweep-function.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { MAX_SHARD_CLUSTERS } from "#sweep/payload.ts";
import { createSweepTurns } from "#sweep/sweep-cluster.ts";

/** Clusters for which a warm function keeps a connection: those of a shard. */
const MAX_KEPT = MAX_SHARD_CLUSTERS;

/** Sockets to Lambda at most; what is in flight is bounded by each cluster's limits. */
const MAX_SOCKETS = 100;

/** The functions' own time-out as serverless.yml deploys them, in milliseconds. */
const FUNCTION_TIMEOUT_MS = 30_000;

/** The relay sweeps where it writes: no function has a way there. */
const isReached = ({ writes }: Cluster): boolean => writes !== "relay";

/** A shard reads its clusters and what is stopped: some four requests of the 40 a second that SSM allows an account by default. */
const HAND_ON_EVERY_MS = 200;

/** What the platform answers an invocation that it has taken, and carries out by itself. */
const ACCEPTED = 202;

/** The ending of this function's own name; what stands before it stands before the names of the others, too. */
const OWN_NAME = "sweep";

/** All that a deployed sweep touches: clusters from the file that CLUSTERS_FILE names, the other functions beside it, and itself. */
export function sweepWorld(environment: Readonly<Record<string, string | undefined>>): SweepFunctionWorld {
  const { clusters, judgeAddress } = clustersOfHome(environment);
  const ownName = environment["AWS_LAMBDA_FUNCTION_NAME"] ?? OWN_NAME;
  const lambda = new LambdaClient({ maxAttempts: 3 });
  const names = new Map(WATCHES.map(({ name, functionName }) => [name, functionName]));
  return {
    clusters: async () => (await clusters.all()).filter(isReached),
    clustersNamed: async (names) => (await clusters.named(names)).filter(isReached),
    api: keptConnections({ role: OWN_NAME, most: MAX_KEPT, answersAlone: false, judgeAddress }),
    invoker: createLambdaInvoker({
      functionName: (controller) => nameOfSibling(ownName, OWN_NAME, names.get(controller) ?? controller),
      functionTimeoutMs: FUNCTION_TIMEOUT_MS,
      maxInFlight: MAX_SOCKETS,
    }),
    async handOn(shard, abortSignal) {
      const Payload = Buffer.from(JSON.stringify({ shard }));
      const command = new InvokeCommand({ FunctionName: ownName, InvocationType: "Event", Payload });
      const { StatusCode } = await lambda.send(command, { abortSignal });
      if (StatusCode !== ACCEPTED)
        throw new Error(`Lambda answered ${StatusCode} to an invocation of ${ownName}`);
    },
    handOnEveryMs: HAND_ON_EVERY_MS,
    stopOf: stopLookOf(environment, { readsAll: true }),
    clock: systemClock,
    random: Math.random,
    identity: `sweep-${randomBytes(4).toString("hex")}`,
    turns: createSweepTurns(systemClock),
    log: logToStandardOutput,
    functionPrefix: nameOfSibling(ownName, OWN_NAME, "") || undefined,
  };
}
