/** Where the record of a fleet is: one document that is compared and swapped. */
export interface RecordStore {
  /** As an operator writes it, for messages and logs. */
  readonly name: string;
  /** The document as it is now, and no copy of what it was; rejects with `RecordError` where nobody can tell. */
  read(signal: AbortSignal): Promise<StoredRecord>;
  /**
   * Puts a document in the place of the one of this version, or where there is none without one. False: somebody else was first, and nothing
   * was written. Rejects with `RecordError` where it is not known to be written.
   */
  swap(text: string, version: string | undefined, signal: AbortSignal): Promise<boolean>;
}

/** What is there. One that nothing was ever written to is empty. */
export type StoredRecord =
  | { readonly kind: "absent" }
  | { readonly kind: "stored"; readonly text: string; readonly version: string };

/** The record cannot be read or written; the words say why, and what to do. */
export class RecordError extends Error {
  override readonly name = "RecordError";
}
