import { randomBytes } from "node:crypto";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { type CacheLimits, createConnectionCache } from "#functions/parts/connection-cache.ts";
import { openDeployedClusters } from "#functions/parts/deployed-clusters.ts";
import {
  type Ec2EventResult,
  type Ec2EventsDependencies,
  requestResync,
} from "#functions/parts/ec2-events/request-resync.ts";
import { parseStateChange } from "#functions/parts/ec2-events/state-change.ts";
import { logToStandardOutput } from "#functions/parts/log-report.ts";
import { createDeadline, type FunctionContext } from "#functions/parts/platform-function.ts";
import { openStopReader } from "#functions/parts/read-stop.ts";
import type { OpenDeployment } from "#platforms/platform.ts";

/** The handler that the platform calls; rejects with `Ec2EventRejected`, or if the clusters are unknown. */
export type Ec2EventsFunction = (event: unknown, context: FunctionContext) => Promise<Ec2EventResult>;

/** Creates the function for EventBridge events; it returns counts and logs the details. */
export function createEc2EventsFunction(world: Ec2EventsDependencies): Ec2EventsFunction {
  return async (event, context) => {
    const { signal } = createDeadline(context);
    const { awsRequestId: requestId, invokedFunctionArn } = context;
    try {
      const change = parseStateChange(event);
      return await requestResync(change, world, { ownAccount: parseAccount(invokedFunctionArn), signal });
    } catch (error) {
      const code = error instanceof Error ? error.name : "Error";
      world.log({
        level: "error",
        event: "InvocationFailed",
        requestId,
        code,
        message: getErrorMessage(error),
      });
      throw error;
    }
  };
}

/** Parses `arn:aws:lambda:<region>:<account>:function:<name>`. */
function parseAccount(arn: string | undefined): string | undefined {
  return arn?.split(":")[4];
}

/** Clusters with a cached connection in a warm function. */
const CACHE: CacheLimits = { most: 32 };

/** Invocations at a time. */
const MAX_SOCKETS = 16;

/** The last part of this function's name; all functions of a deployment share the prefix. */
const OWN_NAME = "ec2-events";

/**
 * Creates the dependencies of the deployed function: clusters from CLUSTERS_FILE, EC2, and the node-lifecycle
 * function of the same deployment.
 */
export function createEc2EventsDependencies(
  environment: Readonly<Record<string, string | undefined>>,
  openDeployment: OpenDeployment,
  cache = CACHE,
): Ec2EventsDependencies {
  const { clusters, judgeAddress } = openDeployedClusters(environment);
  const identity = `ec2-events-${randomBytes(4).toString("hex")}`;
  let events = 0;
  let aws: ReturnType<Ec2EventsDependencies["aws"]> | undefined;
  return {
    clusters: () => clusters.all(),
    api: createConnectionCache({ role: OWN_NAME, ...cache, answersAlone: false, judgeAddress }),
    aws() {
      aws ??= import("#clouds/aws/locate-instance.ts").then(
        ({ createLocator, parseInstanceId: instanceIdOf }) => ({
          ...createLocator(),
          instanceIdOf,
        }),
      );
      return aws;
    },
    invoker: openDeployment(environment, OWN_NAME).createInvoker({
      functionName: () => nodeLifecycleWatch.functionName,
      maxInFlight: MAX_SOCKETS,
    }),
    nextEventId({ name }) {
      events += 1;
      return `${name.slice(0, 96)}.${identity}.${events}`;
    },
    readStop: openStopReader(environment),
    log: logToStandardOutput,
  };
}
