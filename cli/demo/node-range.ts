/** How many nodes a burst of the demo may have: enough for all that goes wrong in its third act, and no more than a screen is patient for. */
export const MIN_NODES = 130;
export const MAX_NODES = 2_000;
