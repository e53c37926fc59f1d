/**
 * The limits on what one cluster may send; stable, because metrics, log lines and `/readyz` name them. Each
 * is the key in the cluster's `limits`, if it has one.
 */
export type LimitName =
  /** Objects of one resource that the relay follows. */
  | "objects"
  /** Objects of a page, as many as requested. */
  | "pageItems"
  | "pageBytes"
  /** JSON values of a page. */
  | "pageValues"
  /** Bytes of a whole list. */
  | "listBytes"
  | "listPages"
  | "listSeconds"
  | "watchLineBytes"
  /** JSON values of one watch line. */
  | "watchLineValues"
  /** Tiny chunks of a watch … */
  | "watchPieces"
  /** … or an answer. */
  | "answerPieces"
  /** Watch events a second. */
  | "watchPace"
  | "malformedObjects"
  /** Bytes of the answer to a write, or of a single object. */
  | "answerBytes"
  | "logLines"
  | "unresponsive";

/** A limit in force: some data of the cluster are left out or wait because of it. */
export interface LimitInForce {
  readonly limit: LimitName;
  /** The limit reached, and its effect. */
  readonly message: string;
}
