import { createInProcessInvoker } from "#cli/run/in-process-functions.ts";
import { getSignInRole } from "#config/sign-in.ts";
import { WATCHES } from "#core/controllers.ts";
import { createAdmissionDependencies } from "#functions/parts/admission/admission-dependencies.ts";
import { createAdmissionFunction } from "#functions/parts/admission/admission-function.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { CONTROLLER_NAMES, groupByFunction, loadControllers } from "#functions/parts/controllers.ts";
import { createDeployedDependencies } from "#functions/parts/deployed-dependencies.ts";
import { openDeployedFleetBrake } from "#functions/parts/deployed-fleet-brake.ts";
import {
  createEc2EventsDependencies,
  createEc2EventsFunction,
} from "#functions/parts/ec2-events/ec2-events-function.ts";
import { openFunctionTracer } from "#functions/parts/function-tracer.ts";
import { createSweepDependencies, createSweepFunction } from "#functions/parts/sweep-function.ts";
import type { ServedFunction } from "#platforms/http/function-runner.ts";
import type { Webhook } from "#platforms/http/webhook-runner.ts";
import { FUNCTION_TIMEOUT_MS } from "#platforms/invoker.ts";
import type { Deployment, PlatformInvoker } from "#platforms/platform.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const SWEEP = "sweep";
const EC2_EVENTS = "ec2-events";

/** The function that API servers ask, and no relay. */
export const ADMISSION = "admission";

/**
 * The functions that can be served: those of controllers, the sweep, which needs something that invokes it every
 * minute, `ec2-events`, which needs EC2's events from EventBridge, and `admission`, which needs keys.
 */
export const SERVABLE_FUNCTIONS: readonly string[] = [
  ...new Set(WATCHES.map(({ functionName }) => functionName)),
  SWEEP,
  EC2_EVENTS,
  ADMISSION,
];

/**
 * Several invocations run at a time, unlike in a function of Lambda: what one still uses stays open longer than any
 * invocation runs.
 */
const CACHE = { most: 1_000, discardAfterMs: 2 * FUNCTION_TIMEOUT_MS };

/**
 * Loads functions by the environment, as on Lambda. The sweep and `ec2-events` invoke the others by `invoker`, or in
 * this process without it.
 */
export async function loadServedFunctions(
  names: readonly string[],
  environment: Environment,
  invoker: PlatformInvoker | undefined,
): Promise<ReadonlyMap<string, ServedFunction>> {
  const controllers = groupByFunction(await loadControllers(CONTROLLER_NAMES));
  const served = new Map<string, ServedFunction>();
  const openDeployment = (_: unknown, ownName: string): Deployment =>
    createDeployment(served, ownName, invoker);
  const invoked = names.filter((name) => name !== ADMISSION);
  await Promise.all(
    invoked.map(async (name) => {
      served.set(name, await loadFunction(name));
    }),
  );
  // In the order of the names, whichever was loaded first.
  return new Map(
    names.flatMap((name) => (served.has(name) ? [[name, served.get(name) as ServedFunction]] : [])),
  );

  async function loadFunction(name: string): Promise<ServedFunction> {
    if (name === SWEEP)
      return createSweepFunction(createSweepDependencies(environment, openDeployment, CACHE));
    if (name === EC2_EVENTS)
      return createEc2EventsFunction(createEc2EventsDependencies(environment, openDeployment, CACHE));
    const dependencies = createDeployedDependencies(getSignInRole(name), environment, CACHE);
    const [tracer] = await Promise.all([
      openFunctionTracer(name, environment, dependencies.log),
      dependencies.prepare(),
    ]);
    const fleetBrake = name === "node-lifecycle" ? openDeployedFleetBrake(environment) : undefined;
    return createControllerFunction(controllers.get(name) ?? [], { ...dependencies, fleetBrake, tracer });
  }
}

/** Loads what API servers ask at `/lb-service/CLUSTER/SIGNATURE`, as at a function URL of Lambda. */
export function loadWebhooks(names: readonly string[], environment: Environment): readonly Webhook[] {
  if (!names.includes(ADMISSION)) return [];
  const dependencies = createAdmissionDependencies(environment);
  const admission = createAdmissionFunction(dependencies);
  return [
    {
      pathPrefix: "/lb-service/",
      // Nothing is read from strangers.
      readsBody: (path) => dependencies.readPath(path)?.isSigned === true,
      answer: ({ method, path, headers, body }, context) =>
        admission({ rawPath: path, headers, body, requestContext: { http: { method } } }, context),
    },
  ];
}

/** Creates the deployment of functions over HTTP, as one of them sees it. */
function createDeployment(
  served: ReadonlyMap<string, ServedFunction>,
  ownName: string,
  invoker: PlatformInvoker | undefined,
): Deployment {
  const names = new Map(WATCHES.map(({ name, functionName }) => [name, functionName]));
  const inProcess = createInProcessInvoker(
    {
      get(controller) {
        const invoked = served.get(names.get(controller) ?? controller);
        return invoked && ((event, context) => invoked(event, { ...context, signal: NEVER }));
      },
    },
    FUNCTION_TIMEOUT_MS,
  );
  return {
    prefix: undefined,
    createInvoker: () => invoker ?? inProcess,
    async invokeItself(payload) {
      const itself = served.get(ownName);
      if (itself === undefined) throw new Error(`the function ${ownName} is not served here`);
      const deadline = performance.now() + FUNCTION_TIMEOUT_MS;
      const context = {
        awsRequestId: `${ownName}-shard`,
        getRemainingTimeInMillis: () => Math.max(0, deadline - performance.now()),
        signal: NEVER,
      };
      // It logs its own failures.
      void itself(payload, context).catch(() => undefined);
    },
  };
}

const NEVER = new AbortController().signal;
