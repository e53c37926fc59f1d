import type { ReachableCluster } from "#cli/reach-cluster.ts";
import type { Diagnosis } from "#clouds/diagnosis.ts";
import type { SignInRole } from "#config/sign-in.ts";
import type { Finding } from "#core/finding.ts";
import type { Identity } from "#core/identities.ts";
import type { Service } from "#core/service/service.ts";
import type { ApiRequest, ApiResponse } from "#kube/client/transport.ts";

/** One thing that is looked at, by a name that stands in front of what is found. */
export interface Check {
  readonly name: string;
  /** Checks that must not have failed, by name: without them this one could say nothing new. */
  readonly needs?: readonly string[];
  /** Looked at only where the cluster has this controller on; without it always. */
  readonly controller?: string;
  /** Rejects where it could not look; it is given up once the signal fires. */
  run(context: CheckContext, signal: AbortSignal): Promise<Finding>;
}

/** What a check found. */
export interface NamedFinding extends Finding {
  readonly check: string;
}

/** What checks look at: one cluster, with what several of them need read once. */
export interface CheckContext {
  readonly reached: ReachableCluster;
  /** Whoever of ours signs in to this cluster. */
  readonly signers: readonly Signer[];
  /** A request as somebody of ours; rejects where no answer came, or signing in is not possible. */
  ask(role: SignInRole, request: ApiRequest): Promise<ApiResponse>;
  /** The nodes, cut down; rejects where they cannot be listed. */
  nodes(): Promise<NodeList>;
  /** Services of type LoadBalancer that are ours; rejects where they cannot be listed. */
  services(): Promise<readonly ListedService[]>;
  /** Rejects where the cloud's configuration cannot be used; undefined where this cloud has nothing to look at. */
  cloud(): Promise<Diagnosis | undefined>;
  /** Where operators write down what is stopped; undefined where nothing says so. */
  readonly stopSwitch?: string | undefined;
  /** The functions' account of Lambda; undefined where none is configured. */
  readonly lambda: LambdaReader | undefined;
  now(): Date;
}

/** Those of ours who sign in to a cluster with the same; `name` names all of them. */
export interface Signer {
  readonly name: string;
  readonly role: SignInRole;
  readonly identities: readonly Identity[];
}

/** What a list of nodes showed. */
export interface NodeList {
  readonly nodes: readonly ListedNode[];
  /** Whether there were more than are looked at. */
  readonly isCut: boolean;
}

/** As much of a node as checks read; whatever is malformed counts as absent. */
export interface ListedNode {
  readonly name: string;
  readonly providerID: string | undefined;
  readonly isUninitialized: boolean;
  /** Whether it says which instance it was initialized from. */
  readonly isOurs: boolean;
  readonly createdAt: string | undefined;
}

/** A Service that has a load balancer of ours, or waits for one. */
export interface ListedService {
  readonly service: Service;
  readonly standing: "holds" | "waits";
}

/** What is asked of Lambda; each rejects with the SDK's errors. */
export interface LambdaReader {
  /** Of the account: executions at a time, and those that no function has for itself. */
  account(signal: AbortSignal): Promise<{ readonly total: number; readonly unreserved: number }>;
  /** Executions that the function of a controller has for itself; undefined where it shares those of the account. */
  reserved(functionName: string, signal: AbortSignal): Promise<number | undefined>;
  /** Name or ARN of a controller's function. */
  functionName(controller: string): string;
}
