/** A parameter, whose value is one cluster's entry. */
export interface Parameter {
  /** With its whole path. */
  readonly name: string;
  readonly value: string;
  /** SSM's word: `String`, `StringList` or `SecureString`. */
  readonly type: string;
  /** When it was written last, in milliseconds since the epoch. */
  readonly modifiedAt?: number | undefined;
}

/** A page of the parameters right under a path; empty ones may be followed by others. */
export interface ParameterPage {
  readonly parameters: readonly Parameter[];
  /** Where the next page begins; undefined after the last one. */
  readonly next: string | undefined;
}

/** The calls of SSM that are in use. All reject with the platform's own error, whose `name` is its code. */
export interface ParameterStore {
  list(path: string, next: string | undefined, signal?: AbortSignal): Promise<ParameterPage>;
  /** Undefined where there is none of the name. */
  get(name: string, signal?: AbortSignal): Promise<Parameter | undefined>;
  /** Those of at most ten names that there are. */
  getMany(names: readonly string[], signal?: AbortSignal): Promise<readonly Parameter[]>;
}

/** Names that SSM takes in one request. */
export const MAX_NAMES_AT_ONCE = 10;
