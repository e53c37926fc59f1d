import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster, Clusters } from "#config/cluster.ts";
import type { FleetBrake } from "#config/fleet-brake/fleet-brake.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import { getSignInRole } from "#config/sign-in.ts";
import type { ControllerName } from "#core/event.ts";
import { Report } from "#core/report.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { Stop } from "#core/stop.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { loadControllers } from "#functions/parts/controllers.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import type { FunctionTracer } from "#functions/parts/function-tracer.ts";
import type { Transport } from "#kube/client/transport.ts";
import { FUNCTION_TIMEOUT_MS, type Invocation, type Invoker } from "#platforms/invoker.ts";

export interface InProcessFunctionsOptions {
  /** The clusters whose events arrive, as the sender knows them. */
  readonly clusters: Clusters;
  /** Returns the API server of a cluster with the function's identity; the provider closes it. */
  readonly api: (cluster: Cluster, role: SignInRole) => Promise<Transport>;
  /** Returns the cloud of a cluster; the provider closes it. */
  readonly cloud: (cluster: Cluster) => Promise<Cloud>;
  /** Writes a log line. */
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  /** Returns what operators have stopped for a cluster; nothing without it. Never rejects. */
  readonly readStop?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
  /** Receives the functions' spans; without it nothing is traced. */
  readonly tracer?: FunctionTracer | undefined;
  /**
   * Limits unproven deletions over all clusters of a fleet; without it only each cluster's own brake applies.
   */
  readonly fleetBrake?: FleetBrake | undefined;
}

/**
 * The functions of all controllers in this process, for any number of clusters; each is loaded with its first
 * event.
 */
export interface InProcessFunctions extends Invoker {
  /** Loads the functions of these controllers ahead of their events. */
  load(controllers: readonly ControllerName[]): Promise<void>;
}

/** Creates the functions; the caller owns the resources that they use. */
export function createInProcessFunctions(options: InProcessFunctionsOptions): InProcessFunctions {
  const functions = new Map<ControllerName, Promise<FunctionHandler | undefined>>();

  function dependenciesOf(functionName: string): Dependencies {
    const role = getSignInRole(functionName);
    return {
      clusters: options.clusters,
      cloud: options.cloud,
      api: (cluster) => options.api(cluster, role),
      now: () => new Date(),
      ...(options.readStop === undefined ? {} : { readStop: options.readStop }),
      tracer: options.tracer,
      fleetBrake: options.fleetBrake,
      // The relay's own log lines cover the objects of a report; cloud changes are in no report.
      log: (line) => {
        if (line["event"] === "CloudAction" || line["event"] === "FleetBrakeEngaged") options.log(line);
      },
    };
  }

  async function load(name: ControllerName): Promise<FunctionHandler | undefined> {
    const controller = (await loadControllers([name])).find((each) => each.name === name);
    return controller && createControllerFunction(controller, dependenciesOf(controller.functionName));
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

/** The part of Lambda's context that our functions use. */
interface FunctionContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/**
 * A function as the platform sees it: JSON in, JSON out. An error that it throws means a failed invocation.
 */
export type FunctionHandler = (event: unknown, context: FunctionContext) => Promise<unknown>;

/** The functions by their controllers; a `Map` implements it. */
interface FunctionsByController {
  get(controller: ControllerName): FunctionHandler | undefined | Promise<FunctionHandler | undefined>;
}

/**
 * Creates an invoker that runs the functions in this process by the platform's rules: it passes JSON, each
 * invocation has `timeoutMs`, and a thrown error becomes a `FunctionError`. A function that exceeds the limit
 * ends by its own deadline, and its objects stay in flight until then.
 */
export function createInProcessInvoker(functions: FunctionsByController, timeoutMs: number): Invoker {
  let invocations = 0;
  return {
    async invoke(event): Promise<Invocation> {
      invocations += 1;
      const deadline = performance.now() + timeoutMs;
      const context: FunctionContext = {
        awsRequestId: `in-process-${invocations}`,
        getRemainingTimeInMillis: () => Math.max(0, deadline - performance.now()),
      };
      try {
        const invoked = await functions.get(event.controller);
        if (invoked === undefined) return buildMissingInvocation(event.controller);
        const answer = await invoked(JSON.parse(JSON.stringify(event)), context);
        return parseInvocation(answer);
      } catch (error) {
        const message = getErrorMessage(error);
        return { kind: "failed", code: "FunctionError", message, settleMs: 0 };
      }
    },
    close: () => Promise.resolve(),
  };
}

function buildMissingInvocation(controller: ControllerName): Invocation {
  const message = `no function of this process carries out ${controller}`;
  return { kind: "failed", code: "Denied", message, settleMs: 0 };
}

function parseInvocation(answer: unknown): Invocation {
  const parsed = Report.safeParse(answer);
  if (parsed.success) return { kind: "report", report: parsed.data };
  return { kind: "failed", code: "BadReport", message: parsed.error.message.slice(0, 500), settleMs: 0 };
}
