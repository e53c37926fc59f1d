import { createInProcessInvoker } from "#cli/run/in-process-functions.ts";
import { getSignInRole } from "#config/sign-in.ts";
import { getFunctionName, WATCHES } from "#core/controllers.ts";
import { createAdmissionDependencies } from "#functions/parts/admission/admission-dependencies.ts";
import { createAdmissionFunction } from "#functions/parts/admission/admission-function.ts";
import {
  createAuditDependencies,
  createAuditFunction,
  identifyReporter,
} from "#functions/parts/audit/audit-function.ts";
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
import type { Webhook, WebhookRequest } from "#platforms/http/webhook-runner.ts";
import { FUNCTION_TIMEOUT_MS } from "#platforms/invoker.ts";
import type { Deployment, OpenDeployment, PlatformInvoker } from "#platforms/platform.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const SWEEP = "sweep";
const EC2_EVENTS = "ec2-events";

/** The functions that API servers ask, and no relay; each needs the operator's public keys in a variable. */
export const WEBHOOK_KEYS: Readonly<Record<string, string>> = {
  admission: "ADMISSION_PUBLIC_KEYS",
  audit: "AUDIT_PUBLIC_KEYS",
};

/**
 * The functions that can be served: those of controllers, the sweep, `ec2-events` and the webhooks. Something has to
 * invoke the sweep every minute. `ec2-events` needs EC2's events from EventBridge, and the webhooks need keys.
 */
export const SERVABLE_FUNCTIONS: readonly string[] = [
  ...new Set(WATCHES.map(({ functionName }) => functionName)),
  SWEEP,
  EC2_EVENTS,
  ...Object.keys(WEBHOOK_KEYS),
];

/**
 * Several invocations run at a time, unlike in a function of Lambda: what one still uses stays open longer than any
 * invocation runs.
 */
const CACHE = { most: 1_000, discardAfterMs: 2 * FUNCTION_TIMEOUT_MS };

/** What a process serves: functions by their names, and webhooks. */
interface Served {
  readonly functions: ReadonlyMap<string, ServedFunction>;
  readonly webhooks: readonly Webhook[];
}

/**
 * Loads functions by the environment, as on Lambda. The sweep, `ec2-events` and `audit` invoke the others by `invoker`,
 * or in this process without it.
 */
export async function loadServedFunctions(
  names: readonly string[],
  environment: Environment,
  invoker: PlatformInvoker | undefined,
): Promise<Served> {
  const controllers = groupByFunction(await loadControllers(CONTROLLER_NAMES));
  const served = new Map<string, ServedFunction>();
  const openDeployment = (_: unknown, ownName: string): Deployment =>
    createDeployment(served, ownName, invoker);
  const invoked = names.filter((name) => !Object.hasOwn(WEBHOOK_KEYS, name));
  await Promise.all(
    invoked.map(async (name) => {
      served.set(name, await loadFunction(name));
    }),
  );
  // In the order of the names, whichever was loaded first.
  const functions = new Map(
    names.flatMap((name) => (served.has(name) ? [[name, served.get(name) as ServedFunction]] : [])),
  );
  return {
    functions,
    webhooks: names.flatMap((name) => WEBHOOKS[name]?.(environment, openDeployment) ?? []),
  };

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

const WEBHOOKS: Readonly<
  Record<string, (environment: Environment, openDeployment: OpenDeployment) => Webhook>
> = {
  /** What API servers ask at `/lb-service/CLUSTER/SIGNATURE`, as at a function URL of Lambda. */
  admission(environment) {
    const dependencies = createAdmissionDependencies(environment);
    const admission = createAdmissionFunction(dependencies);
    return {
      pathPrefix: "/lb-service/",
      identify(path) {
        const read = dependencies.readPath(path);
        return read?.isSigned === true ? read.cluster : undefined;
      },
      answer: (request, context) => admission(toUrlRequest(request), context),
    };
  },
  /** What API servers report to at `/audit/CLUSTER`. */
  audit(environment, openDeployment) {
    const dependencies = createAuditDependencies(environment, openDeployment, { cache: CACHE });
    const audit = createAuditFunction(dependencies);
    return {
      pathPrefix: "/audit/",
      identify: (path, headers) => identifyReporter(dependencies, path, headers),
      answer: (request, context) => audit(toUrlRequest(request), context),
    };
  },
};

function toUrlRequest({ method, path, headers, body }: WebhookRequest) {
  return { rawPath: path, headers, body, requestContext: { http: { method } } };
}

/** Creates the deployment of functions over HTTP, as one of them sees it. */
function createDeployment(
  served: ReadonlyMap<string, ServedFunction>,
  ownName: string,
  invoker: PlatformInvoker | undefined,
): Deployment {
  const inProcess = createInProcessInvoker(
    {
      get(controller) {
        const invoked = served.get(getFunctionName(controller));
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
