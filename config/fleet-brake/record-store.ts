/** The store of a fleet's record: one document with compare-and-swap. */
export interface RecordStore {
  /** As an operator writes it, for messages and logs. */
  readonly name: string;
  /** Reads the current document, never a stale copy. Rejects with `RecordError` if it is unreadable. */
  read(signal: AbortSignal): Promise<StoredRecord>;
  /**
   * Replaces the document of this version, or creates it if `version` is undefined. Returns false if another
   * writer was first and nothing was written. Rejects with `RecordError` if the result of the write is
   * unknown.
   */
  swap(text: string, version: string | undefined, signal: AbortSignal): Promise<boolean>;
}

/** The stored document; empty if it was never written. */
export type StoredRecord =
  | { readonly kind: "absent" }
  | { readonly kind: "stored"; readonly text: string; readonly version: string };

/** The record cannot be read or written. The message says why and what to do. */
export class RecordError extends Error {
  override readonly name = "RecordError";
}
