/** An instance as its node is to be told of it. */
export interface StagedInstance {
  readonly name: string;
  readonly providerID: string;
  /** Types and addresses, such as `InternalIP 10.0.0.1`, in any order. */
  readonly addresses: readonly string[];
  readonly type: string;
  readonly region: string;
  /** Undefined where the cloud has no zones. */
  readonly zone: string | undefined;
}

/** A fake cloud as a whole control plane meets it. */
export interface StagedCloud {
  /** Of `--cloud-config`. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string>>;
  /** An instance of the cluster's. */
  add(): StagedInstance;
  /** The instance is there no more. */
  remove(instance: StagedInstance): void;
  /** Requests that have reached the API. */
  requests(): number;
  /** What a cloud with load balancers has of them. */
  readonly loadBalancers?: {
    /** How many there are. */
    count(): number;
    /** Lets all that is under way come to its end. */
    advance(): void;
  };
  /** Throws where anything was asked that the real API would have refused as wrong. */
  close(): Promise<void>;
}
