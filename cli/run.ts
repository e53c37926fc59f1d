import * as z from "zod";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { readFunctionAccess } from "#cli/function-kubeconfigs.ts";
import { FUNCTION_TIMEOUT_MS } from "#cli/function-timeout.ts";
import { createInProcessInvoker } from "#cli/invoke-in-process.ts";
import { log, serve } from "#cli/serve.ts";
import { type Flags, readClusterSettings, readServingSettings } from "#cli/settings.ts";
import { sayDoubts, sayThatNothingIsReadAgain } from "#cli/start-notes.ts";
import { startTracing } from "#cli/start-tracing.ts";
import { sweepEveryMinute } from "#cli/sweep-every-minute.ts";
import { loadCloud } from "#clouds/kinds.ts";
import { faultsOf } from "#core/faults.ts";
import { messageOf } from "#core/message-of.ts";
import { controllerFunction } from "#functions/parts/controller-function.ts";
import { loadControllers } from "#functions/parts/controllers.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The flags of `run`, as typed. */
export interface RunFlags extends Flags {
  readonly functionKubeconfig?: readonly string[];
}

/** The function whose part `run` plays once a minute. */
const SWEEP = "sweep";

/** Relay and functions in this process, for one cluster, until a signal ends it. */
export async function run(flags: RunFlags): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const serving = readServingSettings(flags, faults);
  const functionAccess = await readFunctionAccess(flags.functionKubeconfig ?? [], faults);
  const { cluster, relayAccess, functionsAccess } = await readClusterSettings(flags, process.env, faults);
  sayThatNothingIsReadAgain();
  sayDoubts(cluster);
  const cloud = await loadCloud(cluster.cloud, { clusterName: cluster.name }).catch((cause) => {
    throw new ConfigurationError(faultsOfCloud(cause));
  });
  const tracing = await startTracing(process.env, log, "serverless-ccm");
  const shared = connect(functionsAccess);
  const own = new Map<string, Transport>(
    [...functionAccess].map(([name, access]) => [name, connect(access)] as const),
  );
  const dependenciesOf = (functionName: string): Dependencies => ({
    clusters: async (name) => (name === cluster.name ? cluster : undefined),
    cloud: async () => cloud,
    api: async () => own.get(functionName) ?? shared,
    now: () => new Date(),
    tracer: tracing.functions,
    // The relay's own lines are about the objects of a report; changes of the cloud are in no report.
    log: (line) => {
      if (line["event"] === "CloudAction") log(line);
    },
  });
  const controllers = await loadControllers(cluster.controllers);
  const functions = controllers.map(
    (controller) =>
      [controller.name, controllerFunction(controller, dependenciesOf(controller.functionName))] as const,
  );
  const transport = connect(relayAccess);
  const sweepApi = own.get(SWEEP) ?? shared;
  const invoker = tracing.invoker(createInProcessInvoker(new Map(functions), FUNCTION_TIMEOUT_MS));
  try {
    await serve({
      clusters: [{ cluster, transport }],
      invoker,
      sweep: (metrics) => sweepEveryMinute({ cluster, transport: sweepApi, invoker, log, metrics }),
      serving,
    });
  } finally {
    await Promise.all([...[shared, ...own.values()].map((api) => api.close()), cloud.close()]);
  }
}

function faultsOfCloud(cause: unknown): ConfigurationFault[] {
  if (cause instanceof z.ZodError) {
    return faultsOf(cause).map(({ path, message }) => ({ name: `the cloud's file, ${path}`, message }));
  }
  return [{ name: "--cloud-config", message: messageOf(cause) }];
}
