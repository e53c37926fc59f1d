import { ClustersFileError } from "#config/clusters-file.ts";

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
    "the account asks SSM for more than its quota, by default 40 requests a second of GetParameter, GetParameters and GetParametersByPath together; it is asked again, less often; raise it with the service setting /ssm/parameter-store/high-throughput-enabled",
  CredentialsProviderError: "give this process credentials of AWS",
  ExpiredTokenException: "renew the credentials of this process",
  UnrecognizedClientException: "renew the credentials of this process",
};
