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
}

export interface PlatformInvokerOptions {
  /** Returns the deployed function that handles a controller's events, as an invocation names it. */
  readonly functionName: (controller: ControllerName) => string;
  /** The maximum number of concurrent invocations over all clusters, and of sockets. */
  readonly maxInFlight: number;
  /** The functions' region, of `findRegion`; by default the environment's. */
  readonly region?: string | undefined;
  /** How the process proves who it is, on a platform where its environment does not say so. */
  readonly access?: FunctionAccess | undefined;
}

/** What a caller of functions shows of itself, and by what it knows them. */
export interface FunctionAccess {
  /**
   * Returns the `authorization` header; undefined for none. `fresh` reads it again, because the last one was
   * refused. Rejects with a message that names the source and never its content.
   */
  authorization(options?: { readonly fresh?: boolean }): Promise<string | undefined>;
  /** Reads the certificates of a new connection; rejects as `authorization` does. */
  readTls(): Promise<CallerTls>;
}

/** As PEM. */
export interface CallerTls {
  /** The authority of the functions' certificates. Default: the system's authorities. */
  readonly ca?: string | undefined;
  /** The caller's own certificate and key. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
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

/**
 * Opens the deployment of the function that runs in this process. `ownName` is the function's name without the
 * deployment's prefix.
 */
export type OpenDeployment = (
  environment: Readonly<Record<string, string | undefined>>,
  ownName: string,
) => Deployment;

/** The functions that are deployed together. On a platform where functions have names, these share a prefix. */
export interface Deployment {
  /** The shared prefix; undefined if this function has a name without one. */
  readonly prefix: string | undefined;
  /** Creates an invoker of the deployment's functions; `functionName` returns a name without the prefix. */
  createInvoker(options: Pick<PlatformInvokerOptions, "functionName" | "maxInFlight">): Invoker;
  /**
   * Starts another invocation of this function, and does not wait for its end. Rejects if the platform does
   * not accept it.
   */
  invokeItself(payload: unknown, signal: AbortSignal): Promise<void>;
}
