import { ClustersFileError } from "#config/clusters-file.ts";

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

/** A thousand clusters are a hundred pages. */
const MAX_PAGES = 1_000;

/**
 * Lists all parameters directly under a path. Rejects if the list is incomplete, because an incomplete list
 * proves no absence.
 */
export async function listParameters(
  store: Pick<ParameterStore, "list">,
  path: string,
  signal?: AbortSignal,
): Promise<readonly Parameter[]> {
  const found: Parameter[] = [];
  let next: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await store.list(path, next, signal);
    found.push(...page.parameters);
    if (page.next === undefined) return found;
    next = page.next;
  }
  const message = `the list goes on beyond ${MAX_PAGES} pages; see whether the path is the one of clusters alone`;
  throw new ClustersFileError("TooLarge", `ssm:${path}`, [{ path: "", message }]);
}

/**
 * Converts a failed SSM request to a registry error. It uses the platform's code, because the message may
 * quote the request.
 */
export function toParametersError(registry: string, action: string, error: unknown): ClustersFileError {
  if (error instanceof ClustersFileError) return error;
  const code = error instanceof Error ? error.name : typeof error;
  const message = `${action} failed (${code}): ${REMEDIES[code] ?? OTHER}`;
  return new ClustersFileError("Unreadable", registry, [{ path: "", message }], error);
}

/** Returns the error for a path without parameters: more likely a wrong path than no clusters. */
export function createNoParametersError(registry: string): ClustersFileError {
  const message = "there is no parameter under this path; see the path and the region, or add a cluster";
  return new ClustersFileError("Invalid", registry, [{ path: "", message }]);
}

const OTHER = "see the network, the region and the identity of this process";

const REMEDIES: Readonly<Record<string, string>> = {
  AccessDeniedException: "allow the action on the path to the identity of this process",
  ThrottlingException:
    "the account asks SSM for more than its quota, by default 40 requests a second of GetParameter, GetParameters and GetParametersByPath together; the requests are retried less often; raise it with the service setting /ssm/parameter-store/high-throughput-enabled",
  CredentialsProviderError: "give this process credentials of AWS",
  ExpiredTokenException: "renew the credentials of this process",
  UnrecognizedClientException: "renew the credentials of this process",
};
