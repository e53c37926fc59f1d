import { randomBytes } from "node:crypto";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { createLambdaInvoker } from "#delivery/invoke-lambda.ts";
import { clustersOfHome } from "#functions/parts/clusters-of-home.ts";
import type { Ec2EventsWorld } from "#functions/parts/ec2-events/look-at-once.ts";
import { keptConnections } from "#functions/parts/kept-connections.ts";
import { logToStandardOutput } from "#functions/parts/log-report.ts";
import { nameOfSibling } from "#functions/parts/name-of-sibling.ts";
import { stopLookOf } from "#functions/parts/stop-look-of.ts";

/** Clusters for which a warm function keeps a connection. */
const MAX_KEPT = 32;

/** Invocations at a time. */
const MAX_SOCKETS = 16;

/** The functions' own time-out as serverless.yml deploys them, in milliseconds. */
const FUNCTION_TIMEOUT_MS = 30_000;

/** The ending of this function's own name; what stands before it stands before the names of the others, too. */
const OWN_NAME = "ec2-events";

/** All that the deployed function touches: clusters from the file that CLUSTERS_FILE names, EC2, and the function of the node lifecycle beside it. */
export function ec2EventsWorld(environment: Readonly<Record<string, string | undefined>>): Ec2EventsWorld {
  const { clusters, judgeAddress } = clustersOfHome(environment);
  const ownName = environment["AWS_LAMBDA_FUNCTION_NAME"] ?? OWN_NAME;
  const functionName = nameOfSibling(ownName, OWN_NAME, nodeLifecycleWatch.functionName);
  const identity = `ec2-events-${randomBytes(4).toString("hex")}`;
  let events = 0;
  let aws: ReturnType<Ec2EventsWorld["aws"]> | undefined;
  return {
    clusters: () => clusters.all(),
    api: keptConnections({ role: OWN_NAME, most: MAX_KEPT, answersAlone: false, judgeAddress }),
    aws() {
      aws ??= import("#clouds/aws/locate-instance.ts").then(({ createLocator, instanceIdOf }) => ({
        ...createLocator(),
        instanceIdOf,
      }));
      return aws;
    },
    invoker: createLambdaInvoker({
      functionName: () => functionName,
      functionTimeoutMs: FUNCTION_TIMEOUT_MS,
      maxInFlight: MAX_SOCKETS,
    }),
    nextEventId({ name }) {
      events += 1;
      return `${name.slice(0, 96)}.${identity}.${events}`;
    },
    stopOf: stopLookOf(environment),
    log: logToStandardOutput,
  };
}
