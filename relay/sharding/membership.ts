/** Which replicas share the clusters of a home, as one of them sees it. */
export interface Membership {
  /** The name of this one. */
  readonly self: string;
  /** Those that live, this one among them, in the order of their names; undefined until that is known for the first time. */
  replicas(): readonly string[] | undefined;
  /** Whether the others cannot hear of this one any more, so that they follow its clusters, too; it goes on with what it knew last. */
  isCutOff(): boolean;
  /** Calls the listener whenever other replicas live than before; answers with how to end that. */
  onChange(listener: () => void): () => void;
  /** Tells the others that this one follows nothing any more; resolves when they can know, or after a few seconds. */
  leave(): Promise<void>;
}

/** What there is to tell of a membership. */
export type MembershipNote =
  | { readonly kind: "changed"; readonly replicas: readonly string[] }
  /** It has not been heard by the others for a while, or never yet; what failed last. */
  | { readonly kind: "cut-off"; readonly message: string; readonly wasHeard: boolean }
  | { readonly kind: "back" }
  /** Another process has the name of this one. */
  | { readonly kind: "name-taken"; readonly holder: string };
