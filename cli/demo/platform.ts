import { buildWalk, recordAnswers, type Walk } from "#cli/demo/walk.ts";
import type { Cloud } from "#clouds/cloud.ts";
import type { Clusters } from "#config/cluster.ts";
import { Event } from "#core/event.ts";
import { nodeController } from "#core/node/controller.ts";
import { type FunctionEnvironment, startFunctionPlatform } from "#emulators/harness/function-platform.ts";
import { startLambda } from "#emulators/lambda/server.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { Transport } from "#kube/client/transport.ts";

/** A function platform that can be switched off and on. */
export interface DemoPlatform {
  readonly kind: "embedded" | "packaged";
  /** The value for AWS_ENDPOINT_URL_LAMBDA. */
  readonly url: string;
  readonly functionPrefix: string;
  /** Returns the walks of the batches so far, newest last; empty if the functions run in other processes. */
  walks(): readonly Walk[];
  turnOff(): Promise<void>;
  turnOn(): Promise<void>;
  close(): Promise<void>;
}

/** The dependencies of the functions of an embedded platform. */
export interface EmbeddedPlatformOptions {
  readonly clusters: Clusters;
  readonly cloud: Cloud;
  readonly api: Transport;
}

/** Lambda's timeout of a function, and the concurrency of an account, as deployed. */
const TIMEOUT_MS = 30_000;
const CONCURRENCY = 1_000;

/** The number of walks that are kept: the demo prints the first. */
const MAX_WALKS = 10;

/** Starts Lambda's Invoke API in this process, with the functions' sources behind it. */
export async function startEmbeddedPlatform(options: EmbeddedPlatformOptions): Promise<DemoPlatform> {
  const walks: Walk[] = [];
  const { cloud, take } = recordAnswers(options.cloud);
  const node = createControllerFunction(nodeController, {
    clusters: options.clusters,
    cloud: async () => cloud,
    api: async () => options.api,
    now: () => new Date(),
  });
  const server = await startLambda({
    functions: {
      "serverless-ccm-demo-node": async (event, context) => {
        const report = await node(event, context);
        const answers = take();
        if (walks.length < MAX_WALKS) walks.push(buildWalk(Event.parse(event), answers, report));
        return report;
      },
    },
    timeoutMs: TIMEOUT_MS,
    concurrency: CONCURRENCY,
  });
  return {
    kind: "embedded",
    url: server.url,
    functionPrefix: "serverless-ccm-demo-",
    walks: () => walks,
    turnOff: server.turnOff,
    turnOn: server.turnOn,
    close: async () => {
      await server.close();
      await cloud.close();
    },
  };
}

/** Starts the packaged functions of dist/ under serverless-offline. */
export async function startPackagedPlatform(
  folder: string,
  environment: FunctionEnvironment,
): Promise<DemoPlatform> {
  const platform = await startFunctionPlatform({ folder, environment });
  return {
    kind: "packaged",
    url: platform.url,
    functionPrefix: "serverless-ccm-dev-",
    walks: () => [],
    turnOff: () => platform.stop("SIGKILL"),
    turnOn: platform.start,
    close: platform.close,
  };
}
