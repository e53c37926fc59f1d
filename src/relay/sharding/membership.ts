/** The replicas that share the clusters of a registry, as one of them sees it. */
export interface Membership {
  /** The name of this replica. */
  readonly self: string;
  /**
   * Returns the names of the live replicas, this one included, in order; undefined until they are known for
   * the first time.
   */
  replicas(): readonly string[] | undefined;
  /**
   * Returns whether other replicas cannot see this one any more, so that they follow its clusters, too. It
   * continues with what it last knew.
   */
  isCutOff(): boolean;
  /** Calls the listener whenever the set of live replicas changes. Returns a function that ends that. */
  onChange(listener: () => void): () => void;
  /**
   * Tells the other replicas that this one follows nothing any more. Resolves when they can know, or after a
   * few seconds.
   */
  leave(): Promise<void>;
}

/** Everything that a membership reports. */
export type MembershipNote =
  | { readonly kind: "changed"; readonly replicas: readonly string[] }
  /** Other replicas have not seen this one for a while, or never; `message` is the last error. */
  | { readonly kind: "cut-off"; readonly message: string; readonly wasHeard: boolean }
  | { readonly kind: "back" }
  /** Another process uses the name of this one. */
  | { readonly kind: "name-taken"; readonly holder: string };

/**
 * Creates a membership from a fixed list that every replica was started with. No replica detects that another
 * is gone.
 */
export function createStaticMembership(self: string, replicas: readonly string[]): Membership {
  const names = [...new Set(replicas)].sort();
  return {
    self,
    replicas: () => names,
    isCutOff: () => false,
    onChange: () => () => {},
    leave: () => Promise.resolve(),
  };
}
