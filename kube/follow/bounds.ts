/** What a list or a watch of one resource may bring; whoever brings more is not read on. */
export interface FollowBounds {
  /** Objects of the resource that are followed. */
  readonly objects: number;
  /** Of what is kept of them, as JSON. */
  readonly objectBytes: number;
  readonly pageBytes: number;
  /** JSON values of a page, by the signs that part or open them. */
  readonly pageValues: number;
  readonly listBytes: number;
  readonly listPages: number;
  readonly listSeconds: number;
  readonly watchLineBytes: number;
  /** That the watches of a cluster may bring for long; a burst of ten seconds' worth and of eight for each object goes through at once. */
  readonly watchEventsPerSecond: number;
  /** Of one list or watch request, before it is ended. */
  readonly malformedObjects: number;
}

/** Several times what 10,000 nodes of 15 KB take. */
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
