import type { HealthCheck, Listener } from "@aws-sdk/client-elastic-load-balancing";
import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { Annotations } from "#clouds/aws/load-balancers/annotations/table.ts";
import type { LoadBalancerConfiguration } from "#clouds/aws/load-balancers/configuration.ts";
import type { ClassicLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { Issue, LoadBalancerAction } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Reads the health check of instances, or why it is invalid. A classic load balancer has one health check, on
 * its first port.
 */
export function readHealthCheck(
  { spec, metadata }: Service,
  annotations: Annotations,
  [first]: readonly Listener[],
  configuration: LoadBalancerConfiguration,
): HealthCheck | Issue {
  const base = getDefaultHealthCheck(spec, annotations, first?.InstancePort ?? 0, configuration);
  const protocol = annotations["healthcheck-protocol"] ?? base.protocol;
  const annotatedPort = annotations["healthcheck-port"];
  const port = annotatedPort === undefined || annotatedPort === "traffic-port" ? base.port : annotatedPort;
  const path = annotations["healthcheck-path"] ?? base.path;
  const interval = annotations["healthcheck-interval"] ?? 10;
  const timeout = annotations["healthcheck-timeout"] ?? Math.min(5, interval - 1);
  if (timeout >= interval) {
    const field = formatAnnotationName("healthcheck-timeout");
    return {
      code: "InvalidAnnotation",
      field,
      value: metadata.annotations?.[field],
      allowed: `less than the interval, which is ${interval} seconds`,
    };
  }
  return {
    Target: `${protocol}:${port}${protocol === "HTTP" || protocol === "HTTPS" ? path : ""}`,
    Interval: interval,
    Timeout: timeout,
    HealthyThreshold: annotations["healthcheck-healthy-threshold"] ?? 2,
    UnhealthyThreshold: annotations["healthcheck-unhealthy-threshold"] ?? 6,
  };
}

/** Plans a change if the health check differs from the desired one. */
export function planHealthCheck(
  { loadBalancer }: ClassicLoadBalancerState,
  desired: HealthCheck,
): readonly LoadBalancerAction[] {
  const actual = loadBalancer.HealthCheck;
  const isSame =
    canonicalizeTarget(actual?.Target) === canonicalizeTarget(desired.Target) &&
    actual?.Interval === desired.Interval &&
    actual?.Timeout === desired.Timeout &&
    actual?.HealthyThreshold === desired.HealthyThreshold &&
    actual?.UnhealthyThreshold === desired.UnhealthyThreshold;
  if (isSame) return [];
  const name = loadBalancer.LoadBalancerName ?? "";
  return [
    buildAction("elb:ConfigureHealthCheck", name, { LoadBalancerName: name, HealthCheck: { ...desired } }),
  ];
}

interface HealthCheckDefaults {
  readonly protocol: "TCP" | "SSL" | "HTTP";
  readonly port: number;
  /** Only for HTTP and HTTPS. */
  readonly path: string;
}

/** kube-proxy's own port and path, which report whether it runs on a node. */
const KUBE_PROXY = { port: 10_256, path: "/healthz" };

/** Returns the health check's target if no annotation sets it. */
function getDefaultHealthCheck(
  { externalTrafficPolicy, healthCheckNodePort }: Service["spec"],
  annotations: Annotations,
  trafficPort: number,
  configuration: LoadBalancerConfiguration,
): HealthCheckDefaults {
  if (externalTrafficPolicy === "Local" && healthCheckNodePort) {
    const isTraffic = annotations["healthcheck-port"] === "traffic-port";
    return { protocol: "HTTP", port: isTraffic ? trafficPort : healthCheckNodePort, path: "/healthz" };
  }
  if (configuration.clusterServiceLoadBalancerHealthProbeMode === "Shared") {
    return {
      protocol: "HTTP",
      port: configuration.clusterServiceSharedLoadBalancerHealthProbePort ?? KUBE_PROXY.port,
      path: configuration.clusterServiceSharedLoadBalancerHealthProbePath ?? KUBE_PROXY.path,
    };
  }
  const backend = annotations["backend-protocol"];
  const protocol = backend === "https" || backend === "ssl" ? "SSL" : "TCP";
  return { protocol, port: trafficPort, path: "/" };
}

/** Normalizes the protocol: the stock controller passes it on as written. */
function canonicalizeTarget(target = ""): string {
  const colon = target.indexOf(":");
  return target.slice(0, colon).toUpperCase() + target.slice(colon);
}
