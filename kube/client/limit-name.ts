/**
 * What there may be no more of from one cluster; stable, as metrics, log lines and `/readyz` name them. Each is the key of the cluster's
 * `limits`, where it has one.
 */
export type LimitName =
  /** Objects of one resource that are followed. */
  | "objects"
  /** Objects of a page; as many as were asked for. */
  | "pageItems"
  | "pageBytes"
  /** JSON values of a page. */
  | "pageValues"
  /** Of a whole list. */
  | "listBytes"
  | "listPages"
  | "listSeconds"
  | "watchLineBytes"
  /** JSON values of a line of a watch. */
  | "watchLineValues"
  /** Pieces of a few bytes each, in which a watch arrives … */
  | "watchPieces"
  /** … or an answer. */
  | "answerPieces"
  /** Events that a watch brings in a second. */
  | "watchPace"
  | "malformedObjects"
  /** Of the answer to a write, or of an object that is read alone. */
  | "answerBytes"
  | "logLines"
  | "unresponsive";

/** A limit that is in force: something of the cluster is left out or waits because of it. */
export interface LimitInForce {
  readonly limit: LimitName;
  /** What was met, and what becomes of it. */
  readonly message: string;
}
