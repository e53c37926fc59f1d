import type { ReachableCluster } from "#cli/clusters/reach-cluster.ts";
import type { Diagnosis } from "#clouds/diagnosis.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import type { CheckResult } from "#core/check-result.ts";
import type { Identity } from "#core/identities.ts";
import type { Service } from "#core/service/service.ts";
import type { ApiRequest, ApiResponse } from "#kube/client/transport.ts";
import type { PlatformInvoker } from "#platforms/platform.ts";

/** One check of the doctor; its name precedes what it finds. */
export interface Check {
  readonly name: string;
  /** The checks, by name, that must not fail before: without them this one could find nothing new. */
  readonly needs?: readonly string[];
  /** Runs only if the cluster has this controller enabled; always without it. */
  readonly controller?: string;
  /** Runs the check. It rejects if it could not look, and is abandoned once the signal fires. */
  run(context: CheckContext, signal: AbortSignal): Promise<CheckResult>;
}

/** The finding of a check. */
export interface NamedFinding extends CheckResult {
  readonly check: string;
}

/** The input of checks: one cluster, with shared data that is read once. */
export interface CheckContext {
  readonly reached: ReachableCluster;
  /** Our identities that sign in to this cluster. */
  readonly signers: readonly Signer[];
  /** Sends a request as an identity; rejects if no answer came or the sign-in failed. */
  ask(role: SignInRole, request: ApiRequest): Promise<ApiResponse>;
  /** Lists the nodes, as projections; rejects if they cannot be listed. */
  nodes(): Promise<NodeList>;
  /** Lists our Services of type LoadBalancer; rejects if they cannot be listed. */
  services(): Promise<readonly ListedService[]>;
  /**
   * Diagnoses the cloud. Rejects if the cloud's configuration cannot be used; undefined if this cloud has no
   * diagnosis.
   */
  cloud(): Promise<Diagnosis | undefined>;
  /** The stop switch; undefined if none is configured. */
  readonly stopSwitch?: string | undefined;
  /** The functions' account of Lambda; undefined if none is configured. */
  readonly lambda?: LambdaReader | undefined;
  /** Asks functions over HTTP whether they may be invoked; undefined if none are configured. */
  readonly http?: Pick<PlatformInvoker, "dryRun"> | undefined;
  now(): Date;
}

/** The identities that share one sign-in to a cluster; `name` names all of them. */
export interface Signer {
  readonly name: string;
  readonly role: SignInRole;
  readonly identities: readonly Identity[];
}

/** The result of listing nodes. */
export interface NodeList {
  readonly nodes: readonly ListedNode[];
  /** Whether there were more nodes than the limit. */
  readonly isCut: boolean;
}

/** The fields of a node that checks read; a malformed field counts as missing. */
export interface ListedNode {
  readonly name: string;
  readonly providerID: string | undefined;
  readonly isUninitialized: boolean;
  /** Whether it names the instance that it was initialized from. */
  readonly isOurs: boolean;
  readonly createdAt: string | undefined;
}

/** A Service that has a load balancer of ours, or waits for one. */
export interface ListedService {
  readonly service: Service;
  readonly standing: "holds" | "waits";
}

/** The calls to Lambda; each rejects with the SDK's errors. */
export interface LambdaReader {
  /** Returns the account's concurrent executions, and those that no function reserves. */
  account(signal: AbortSignal): Promise<{ readonly total: number; readonly unreserved: number }>;
  /**
   * Returns the executions that a controller's function reserves; undefined if it shares those of the
   * account.
   */
  reserved(functionName: string, signal: AbortSignal): Promise<number | undefined>;
  /** Returns the name or ARN of a controller's function. */
  functionName(controller: string): string;
}
