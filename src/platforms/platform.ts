import type { ControllerName } from "#core/event.ts";
import type { Reason } from "#core/reason.ts";
import type { Invoker } from "#platforms/invoker.ts";

/**
 * A function platform as one value: everything that relay, sweep and the commands ask of the platform on which
 * the functions are deployed. Adding one is its folder and a line in `src/platforms/platforms.ts`.
 */
export interface FunctionPlatform {
  readonly name: string;
  /**
   * Resolves with the region of the functions: the given one, or the environment's. Rejects with a message that
   * names a missing or invalid region. A platform without regions resolves with undefined.
   */
  findRegion(given: string | undefined): Promise<string | undefined>;
  /** Creates an invoker for a process outside the platform, such as a relay. */
  createInvoker(options: PlatformInvokerOptions): PlatformInvoker;
  /**
   * Opens the deployment of the function that runs in this process. `ownName` is the function's name without
   * the deployment's prefix.
   */
  openDeployment(environment: Readonly<Record<string, string | undefined>>, ownName: string): Deployment;
}

export interface PlatformInvokerOptions {
  /** Returns the deployed function that handles a controller's events, as an invocation names it. */
  readonly functionName: (controller: ControllerName) => string;
  /** The maximum number of concurrent invocations over all clusters, and of sockets. */
  readonly maxInFlight: number;
  /** The functions' region, of `findRegion`; by default the environment's. */
  readonly region?: string | undefined;
}

/** An invoker that can also check whether a function may be invoked. */
export interface PlatformInvoker extends Invoker {
  /**
   * Checks without invoking. Resolves with undefined if the controller's function exists and may be invoked.
   * Otherwise the code is `RegionMissing`, `CredentialsMissing`, `CredentialsRefused`, `FunctionMissing`,
   * `Denied` or `Unreachable`, and the message says which function, what the platform says, and what to do.
   * Never rejects.
   */
  dryRun(controller: ControllerName, signal: AbortSignal): Promise<Reason | undefined>;
}

/** The functions that are deployed together; their names share a prefix. */
export interface Deployment {
  /** The shared prefix; undefined if this function has a name without one. */
  readonly prefix: string | undefined;
  /** Creates an invoker of the deployment's functions; `functionName` returns a name without the prefix. */
  createInvoker(options: Omit<PlatformInvokerOptions, "region">): Invoker;
  /**
   * Starts another invocation of this function, and does not wait for its end. Rejects if the platform does
   * not accept it.
   */
  invokeItself(payload: unknown, signal: AbortSignal): Promise<void>;
}
