import type { Settings } from "#core/settings.ts";

/** The capability of a cloud that the tagging controller uses. */
export const TAGS = "tags";

/** Tags of a resource, by key. */
export type Tags = Readonly<Record<string, string>>;

/** What the cloud's `tags` is asked (as `Question.ask`): live resources of the cluster alone are answered. */
export interface TagsQuestion {
  /** Resources of nodes, by id. */
  readonly ids: readonly string[];
  /** And those that carry a tag of this key, whosever node they are. */
  readonly mark: string;
}

/** The `state` of an observation; a resource that is not here has ended, is not there, or is somebody else's. */
export interface TagsState {
  readonly resources: Readonly<Record<string, Tags>>;
}

/** The action that gives tags to resources. */
export const TAG = "tag";
export interface TagParameters {
  readonly ids: readonly string[];
  readonly tags: Tags;
}

/** The action that takes tags from resources, where they still have these values; its parameters are the same. */
export const UNTAG = "untag";

/** What an action comes to: every resource that is not named was done. */
export interface TagsResult {
  /** By id, what the cloud has against it. */
  readonly refused: Readonly<Record<string, string>>;
}

/** What tags of nodes' resources are on one cloud: pure functions. */
export interface TaggingModel {
  /** The id of the resource that a provider ID names; undefined where it names none that has tags. */
  resourceOf(providerID: string): string | undefined;
  /** What a node's label says once its resource has these tags; the stock controller's, so that each sees what the other did. */
  checksum(tags: Tags): string;
  /** The key of the tag in which a resource says which of its tags are ours. */
  mark(settings: Settings): string;
  /** These tags, and the one that says that they are ours. */
  marked(tags: Tags, settings: Settings): Tags;
  /**
   * The keys of those tags of a resource that are ours, the mark included; none where it has no mark. A tag whose value somebody else has set
   * is not ours any more.
   */
  owned(tags: Tags, settings: Settings): readonly string[];
}
