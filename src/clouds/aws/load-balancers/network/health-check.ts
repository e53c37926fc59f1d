import { buildInvalidAnnotation } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { Annotations } from "#clouds/aws/load-balancers/annotations/table.ts";
import type { LoadBalancerConfiguration } from "#clouds/aws/load-balancers/configuration.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** The health check of targets, one for all ports of a Service. */
export interface HealthCheck {
  readonly protocol: "TCP" | "HTTP" | "HTTPS";
  readonly port: string;
  /** Only for HTTP and HTTPS. */
  readonly path?: string | undefined;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly healthyThreshold: number;
  readonly unhealthyThreshold: number;
}

/** Reads the health check of a Service's targets, or why it is invalid. */
export function readHealthCheck(
  { spec }: Service,
  annotations: Annotations,
  configuration: LoadBalancerConfiguration,
): HealthCheck | Issue {
  const isLocal = spec.externalTrafficPolicy === "Local";
  if (isLocal && !spec.healthCheckNodePort)
    return {
      code: "InvalidField",
      field: "spec.healthCheckNodePort",
      value: String(spec.healthCheckNodePort ?? ""),
      allowed: "a port, where externalTrafficPolicy is Local",
    };
  const { protocol, port, path } = selectHealthCheckEndpoint({ spec }, annotations, configuration);
  const threshold = isLocal ? 2 : 3;
  const intervalSeconds = annotations["healthcheck-interval"] ?? (isLocal ? 10 : 30);
  // AWS's defaults, which the stock controller does not send.
  const timeoutSeconds =
    annotations["healthcheck-timeout"] ?? Math.min(protocol === "HTTP" ? 6 : 10, intervalSeconds);
  if (timeoutSeconds > intervalSeconds)
    return buildInvalidAnnotation(
      "healthcheck-timeout",
      String(timeoutSeconds),
      `at most the interval, which is ${intervalSeconds} seconds`,
    );
  return {
    protocol,
    port,
    ...(protocol === "TCP" ? {} : { path }),
    intervalSeconds,
    timeoutSeconds,
    healthyThreshold: annotations["healthcheck-healthy-threshold"] ?? threshold,
    unhealthyThreshold: annotations["healthcheck-unhealthy-threshold"] ?? threshold,
  };
}

/** kube-proxy's own port and path, which report whether it runs on a node. */
export const KUBE_PROXY = { port: 10_256, path: "/healthz" };

function selectHealthCheckEndpoint(
  { spec }: Pick<Service, "spec">,
  annotations: Annotations,
  configuration: LoadBalancerConfiguration,
): Required<Pick<HealthCheck, "protocol" | "port">> & { readonly path: string } {
  const isLocal = spec.externalTrafficPolicy === "Local";
  // As in the stock controller, annotations have no effect in this mode.
  if (!isLocal && configuration.clusterServiceLoadBalancerHealthProbeMode === "Shared") {
    return {
      protocol: "HTTP",
      port: String(configuration.clusterServiceSharedLoadBalancerHealthProbePort ?? KUBE_PROXY.port),
      path: configuration.clusterServiceSharedLoadBalancerHealthProbePath ?? KUBE_PROXY.path,
    };
  }
  const annotatedProtocol = annotations["healthcheck-protocol"];
  return {
    // SSL is a value for classic load balancers, rejected earlier.
    protocol:
      annotatedProtocol === undefined || annotatedProtocol === "SSL"
        ? isLocal
          ? "HTTP"
          : "TCP"
        : annotatedProtocol,
    port: String(annotations["healthcheck-port"] ?? (isLocal ? spec.healthCheckNodePort : "traffic-port")),
    path: annotations["healthcheck-path"] ?? (isLocal ? "/healthz" : "/"),
  };
}
