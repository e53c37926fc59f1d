import type { JoiningNodeOptions } from "#emulators/harness/joining-node.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { ServiceTraits } from "#test/clouds/load-balancer-world.ts";

/** An instance as its node must describe it. */
export interface StagedInstance {
  readonly name: string;
  readonly providerID: string;
  /** Types and addresses, such as `InternalIP 10.0.0.1`, in any order. */
  readonly addresses: readonly string[];
  readonly type: string | undefined;
  readonly region: string | undefined;
  /** Undefined where the cloud has no zones. */
  readonly zone: string | undefined;
  /** The instance's owner in the node's annotation; not compared if missing. */
  readonly origin?: string;
  /** Further facts from its kubelet. */
  readonly kubelet?: Pick<JoiningNodeOptions, "nodeIP" | "labels">;
}

/** Load balancers of a fake cloud. */
export interface StagedLoadBalancers {
  /** A Service of each kind of load balancer, by name; default: one plain Service. */
  readonly services?: Readonly<Record<string, ServiceTraits>>;
  /** Returns everything about load balancers of any owner: equal before a Service and after its deletion. */
  outline(admin: Transport): Promise<readonly string[]>;
  /** Completes all work in progress. */
  advance(admin: Transport): Promise<void>;
}

/** A fake cloud for a whole control plane. */
export interface StagedCloud {
  /** The value of `--cloud-provider`. */
  readonly provider: string;
  /** The value of `--cloud-config`. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Manifests of infra/ for a real API server of this cloud's clusters, in addition to the common ones and
   * that of the provider's `ingress`.
   */
  readonly manifests?: readonly string[];
  /** Secrets that must not appear in logs or in the cluster. */
  readonly secrets?: readonly string[];
  /** Creates an operator's objects in the cluster before the start. */
  prepare?(admin: Transport): Promise<void>;
  /** Adds an instance of the cluster. */
  add(): StagedInstance;
  /**
   * Removes the instance. Without this function the cloud reports no missing instance, and nodes stay in any
   * state of their kubelets.
   */
  remove?(instance: StagedInstance): void;
  /** Requests that have reached the API. */
  requests(): number;
  /** The load balancers of the cloud, or the tests that cover them instead. */
  readonly loadBalancers?: StagedLoadBalancers | string;
  /** Throws if a request came that the real API would have rejected as invalid. */
  close(): Promise<void>;
}
