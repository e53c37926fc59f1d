/**
 * The allowed number of nodes for a burst: enough for the failures of the third act, and few enough to watch.
 */
export const MIN_NODES = 130;
export const MAX_NODES = 2_000;
