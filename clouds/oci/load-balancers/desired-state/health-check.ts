import type { AnnotationSettings, LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { Service } from "#core/service/service.ts";

/** The health check of backends, in the API's terms. */
export interface DesiredHealthCheck {
  readonly protocol: "HTTP";
  readonly port: number;
  readonly urlPath: string;
  readonly retries: number;
  readonly intervalInMillis: number;
  readonly timeoutInMillis: number;
  readonly returnCode: number;
}

/** The port at which kube-proxy reports whether a node takes traffic of Services. */
const KUBE_PROXY_PORT = 10_256;

/** Builds the health check of a Service: its own node port for local traffic, else kube-proxy's. */
export function buildHealthCheck(
  kind: LoadBalancerKind,
  { spec }: Pick<Service, "spec">,
  annotationSettings: AnnotationSettings,
): DesiredHealthCheck {
  const isLocal = spec.externalTrafficPolicy === "Local";
  const interval =
    kind === "lb" ? annotationSettings.lbHealthCheckInterval : annotationSettings.nlbHealthCheckInterval;
  return {
    protocol: "HTTP",
    port: (isLocal ? spec.healthCheckNodePort : undefined) || KUBE_PROXY_PORT,
    urlPath: "/healthz",
    retries: annotationSettings.healthCheckRetries ?? 3,
    intervalInMillis: interval ?? 10_000,
    timeoutInMillis: annotationSettings.healthCheckTimeout ?? 3_000,
    returnCode: 200,
  };
}
