import type { LoadBalancerKind, Said } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { Service } from "#core/service/service.ts";

/** How backends are found healthy, in the API's words. */
export interface WantedHealthCheck {
  readonly protocol: "HTTP";
  readonly port: number;
  readonly urlPath: string;
  readonly retries: number;
  readonly intervalInMillis: number;
  readonly timeoutInMillis: number;
  readonly returnCode: number;
}

/** Where kube-proxy says whether a node takes traffic of Services. */
const KUBE_PROXY_PORT = 10_256;

/** The health check of a Service: of its own node port where it asks for traffic of its own nodes alone, else kube-proxy's. */
export function healthCheckOf(
  kind: LoadBalancerKind,
  { spec }: Pick<Service, "spec">,
  said: Said,
): WantedHealthCheck {
  const isLocal = spec.externalTrafficPolicy === "Local";
  const interval = kind === "lb" ? said.lbHealthCheckInterval : said.nlbHealthCheckInterval;
  return {
    protocol: "HTTP",
    port: (isLocal ? spec.healthCheckNodePort : undefined) || KUBE_PROXY_PORT,
    urlPath: "/healthz",
    retries: said.healthCheckRetries ?? 3,
    intervalInMillis: interval ?? 10_000,
    timeoutInMillis: said.healthCheckTimeout ?? 3_000,
    returnCode: 200,
  };
}
