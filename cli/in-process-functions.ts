import { FUNCTION_TIMEOUT_MS } from "#cli/function-timeout.ts";
import { createInProcessInvoker, type FunctionHandler } from "#cli/invoke-in-process.ts";
import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster, Clusters } from "#config/cluster.ts";
import type { FleetBrake } from "#config/fleet-brake/fleet-brake.ts";
import { type SignInRole, signInRoleOf } from "#config/sign-in.ts";
import type { ControllerName } from "#core/event.ts";
import type { Stop } from "#core/stop.ts";
import type { Invoker } from "#delivery/invoker.ts";
import { controllerFunction } from "#functions/parts/controller-function.ts";
import { loadControllers } from "#functions/parts/controllers.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import type { FunctionTracer } from "#functions/parts/function-tracer.ts";
import type { Transport } from "#kube/client/transport.ts";

export interface InProcessFunctionsOptions {
  /** Those whose events come, as whoever sends them knows them. */
  readonly clusters: Clusters;
  /** A cluster's API server, as the function that asks; whoever gives it closes it. */
  readonly api: (cluster: Cluster, role: SignInRole) => Promise<Transport>;
  /** A cluster's cloud; whoever gives it closes it. */
  readonly cloud: (cluster: Cluster) => Promise<Cloud>;
  /** Takes lines for the log. */
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  /** What operators have stopped for a cluster; nothing without it. Never rejects. */
  readonly stopOf?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
  /** What their spans go to; nothing is traced without it. */
  readonly tracer?: FunctionTracer | undefined;
  /** What lets deletions that nothing proves, over all clusters of a fleet; without it each cluster's own brake alone holds. */
  readonly fleetBrake?: FleetBrake | undefined;
}

/** The functions of all controllers in this process, for any number of clusters; each is loaded with its first event. */
export interface InProcessFunctions extends Invoker {
  /** Loads those of these controllers ahead of their events. */
  load(controllers: readonly ControllerName[]): Promise<void>;
}

/** Makes the functions; what they hold of clusters is their maker's. */
export function createInProcessFunctions(options: InProcessFunctionsOptions): InProcessFunctions {
  const functions = new Map<ControllerName, Promise<FunctionHandler | undefined>>();

  function dependenciesOf(functionName: string): Dependencies {
    const role = signInRoleOf(functionName);
    return {
      clusters: options.clusters,
      cloud: options.cloud,
      api: (cluster) => options.api(cluster, role),
      now: () => new Date(),
      ...(options.stopOf === undefined ? {} : { stopOf: options.stopOf }),
      tracer: options.tracer,
      fleetBrake: options.fleetBrake,
      // The relay's own lines are about the objects of a report; changes of the cloud are in no report.
      log: (line) => {
        if (line["event"] === "CloudAction" || line["event"] === "FleetBrakeEngaged") options.log(line);
      },
    };
  }

  async function load(name: ControllerName): Promise<FunctionHandler | undefined> {
    const controller = (await loadControllers([name])).find((each) => each.name === name);
    return controller && controllerFunction(controller, dependenciesOf(controller.functionName));
  }

  function functionOf(name: ControllerName): Promise<FunctionHandler | undefined> {
    const known = functions.get(name) ?? load(name);
    functions.set(name, known);
    return known;
  }

  return {
    ...createInProcessInvoker({ get: functionOf }, FUNCTION_TIMEOUT_MS),
    async load(controllers) {
      const all = await loadControllers(controllers);
      await Promise.all(all.map(({ name }) => functionOf(name)));
    },
  };
}
