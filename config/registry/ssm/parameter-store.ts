/** An SSM parameter whose value is one cluster's entry. */
export interface Parameter {
  /** With its full path. */
  readonly name: string;
  readonly value: string;
  /** SSM's type: `String`, `StringList` or `SecureString`. */
  readonly type: string;
  /** Time of the last write, in milliseconds since the epoch. */
  readonly modifiedAt?: number | undefined;
}

/** A page of the parameters directly under a path; an empty page may have a successor. */
export interface ParameterPage {
  readonly parameters: readonly Parameter[];
  /** Where the next page begins; undefined after the last one. */
  readonly next: string | undefined;
}

/** The SSM calls in use. All reject with the platform's own error, whose `name` is its code. */
export interface ParameterStore {
  list(path: string, next: string | undefined, signal?: AbortSignal): Promise<ParameterPage>;
  /** Undefined if the parameter is not found. */
  get(name: string, signal?: AbortSignal): Promise<Parameter | undefined>;
  /** Returns the existing ones of at most ten names. */
  getMany(names: readonly string[], signal?: AbortSignal): Promise<readonly Parameter[]>;
}

/** SSM's limit of names in one request. */
export const MAX_NAMES_AT_ONCE = 10;
