import type { Settings } from "#core/settings.ts";

/** The capability of a cloud that tags the resources of nodes. */
export const TAGS = "tags";

/** Tags of a resource, by key. */
export type Tags = Readonly<Record<string, string>>;

/**
 * The question to a cloud's `tags` (the `ask` of a `Question`). Answers contain only live resources of the
 * cluster.
 */
export interface TagsQuestion {
  /** IDs of the nodes' resources. */
  readonly ids: readonly string[];
  /** Also requests the resources with a tag of this key, of any node. */
  readonly mark: string;
}

/**
 * The `state` of an observation. A resource that is missing here is terminated, not found, or of another
 * owner.
 */
export interface TagsState {
  readonly resources: Readonly<Record<string, Tags>>;
}

/** The action that adds tags to resources. */
export const TAG = "tag";
export interface TagParameters {
  readonly ids: readonly string[];
  readonly tags: Tags;
}

/** The action that removes tags with unchanged values from resources; its parameters are those of `TAG`. */
export const UNTAG = "untag";

/** The result of an action: it succeeded for every resource that is not listed. */
export interface TagsResult {
  /** The cloud's reason, by resource ID. */
  readonly refused: Readonly<Record<string, string>>;
}

/** The tags of nodes' resources on one cloud, as pure functions. */
export interface NodeTagsModel {
  /** Returns the resource ID in a provider ID; undefined if it names no resource with tags. */
  getResource(providerID: string): string | undefined;
  /**
   * Returns the value of a node's label when its resource has these tags. It equals the stock controller's,
   * so that each recognizes the other's work.
   */
  checksum(tags: Tags): string;
  /** Returns the key of the tag that lists which tags of a resource are ours. */
  mark(settings: Settings): string;
  /** Returns these tags with the mark that lists them as ours. */
  marked(tags: Tags, settings: Settings): Tags;
  /**
   * Returns the keys of a resource's tags that are ours, the mark included; empty without a mark. A tag whose
   * value another owner has changed is no longer ours. `configured` are the cluster's desired tags.
   */
  owned(tags: Tags, configured: Tags, settings: Settings): readonly string[];
}
