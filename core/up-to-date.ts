// Apart from the schemas of decisions, as functions need this of them alone: making the schemas takes time at every cold start.

/** The code of a skip that says: nothing of ours is left to do on this object. It is reported as `unchanged`. */
export const UP_TO_DATE = "UpToDate";
