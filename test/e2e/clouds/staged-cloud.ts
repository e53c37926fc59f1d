import type { JoiningNodeOptions } from "#emulators/harness/joining-node.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { ServiceTraits } from "#test/clouds/load-balancer-world.ts";

/** An instance as its node is to be told of it. */
export interface StagedInstance {
  readonly name: string;
  readonly providerID: string;
  /** Types and addresses, such as `InternalIP 10.0.0.1`, in any order. */
  readonly addresses: readonly string[];
  readonly type: string | undefined;
  readonly region: string | undefined;
  /** Undefined where the cloud has no zones. */
  readonly zone: string | undefined;
  /** Whose instance it is, as the node's annotation says it; not compared without it. */
  readonly origin?: string;
  /** What else its kubelet says of it. */
  readonly kubelet?: Pick<JoiningNodeOptions, "nodeIP" | "labels">;
}

/** Load balancers of a fake cloud. */
export interface StagedLoadBalancers {
  /** A Service of each kind of load balancer, by name; one plain Service without it. */
  readonly services?: Readonly<Record<string, ServiceTraits>>;
  /** Everything of anybody's load balancers that there is: equal before a Service comes and after it has gone. */
  outline(admin: Transport): Promise<readonly string[]>;
  /** Lets all that is under way come to its end. */
  advance(admin: Transport): Promise<void>;
}

/** A fake cloud as a whole control plane meets it. */
export interface StagedCloud {
  /** Of `--cloud-provider`. */
  readonly provider: string;
  /** Of `--cloud-config`. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string>>;
  /** What of infra/ a real API server of a cluster on this cloud gets beside what every one has. */
  readonly manifests?: readonly string[];
  /** What nobody may log or write into the cluster. */
  readonly secrets?: readonly string[];
  /** Makes what an operator has in the cluster before anything runs. */
  prepare?(admin: Transport): Promise<void>;
  /** An instance of the cluster's. */
  add(): StagedInstance;
  /** The instance is there no more. Without it nobody is ever told, and nodes stay whatever their kubelets do. */
  remove?(instance: StagedInstance): void;
  /** Requests that have reached the API. */
  requests(): number;
  /** What a cloud with load balancers has of them, or by which tests they are played instead. */
  readonly loadBalancers?: StagedLoadBalancers | string;
  /** Throws where anything was asked that the real API would have refused as wrong. */
  close(): Promise<void>;
}
