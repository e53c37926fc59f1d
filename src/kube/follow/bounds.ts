/** The limits of a list or watch of one resource; a request that exceeds them is ended. */
export interface FollowBounds {
  /** Objects of the resource that the relay follows. */
  readonly objects: number;
  /** Bytes kept of these objects, as JSON. */
  readonly objectBytes: number;
  readonly pageBytes: number;
  /** JSON values of a page, counted by opening and separating characters. */
  readonly pageValues: number;
  readonly listBytes: number;
  readonly listPages: number;
  readonly listSeconds: number;
  readonly watchLineBytes: number;
  /**
   * Sustained rate of a cluster's watch events. A burst of ten seconds' worth, and of eight for each object,
   * is allowed.
   */
  readonly watchEventsPerSecond: number;
  /** Malformed objects of one list or watch request before it is ended. */
  readonly malformedObjects: number;
}

/** Several times the needs of 10,000 nodes of 15 KB. */
export const DEFAULT_BOUNDS: FollowBounds = {
  objects: 10_000,
  objectBytes: 32 * 1024 * 1024,
  pageBytes: 8 * 1024 * 1024,
  pageValues: 500_000,
  listBytes: 512 * 1024 * 1024,
  listPages: 1_000,
  listSeconds: 600,
  watchLineBytes: 4 * 1024 * 1024,
  watchEventsPerSecond: 500,
  malformedObjects: 100,
};
