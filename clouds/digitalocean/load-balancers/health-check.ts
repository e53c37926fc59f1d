import { buildInvalidAnnotation } from "#clouds/digitalocean/load-balancers/annotations/read-annotations.ts";
import type { Annotations } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { HealthCheck } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { type Built, reject } from "#clouds/digitalocean/load-balancers/forwarding.ts";
import type { Service } from "#core/service/service.ts";

/** The desired health check; without `proxy_protocol` the API's value stays. */
export type DesiredHealthCheck = Omit<HealthCheck, "proxy_protocol"> & { readonly proxy_protocol?: false };

/**
 * Builds the health check of nodes: kube-proxy on each node, or for local traffic the kubelet's port of the
 * Service; or a port of the Service if annotations name it.
 */
export function buildHealthCheck(service: Service, annotations: Annotations): Built<DesiredHealthCheck> {
  const numbers = {
    check_interval_seconds: annotations["healthcheck-check-interval-seconds"] ?? 3,
    response_timeout_seconds: annotations["healthcheck-response-timeout-seconds"] ?? 5,
    unhealthy_threshold: annotations["healthcheck-unhealthy-threshold"] ?? 3,
    healthy_threshold: annotations["healthcheck-healthy-threshold"] ?? 5,
  };
  if (annotations["override-health-check"] === undefined) {
    const { externalTrafficPolicy, healthCheckNodePort } = service.spec;
    const port = (externalTrafficPolicy === "Local" ? healthCheckNodePort : undefined) || KUBE_PROXY_PORT;
    const value = { protocol: "http", port, path: "/healthz", ...numbers, proxy_protocol: false } as const;
    return { kind: "built", value };
  }
  const port = selectHealthCheckPort(service, annotations);
  if (port.kind === "refused") return port;
  const path = annotations["healthcheck-path"];
  const protocol = annotations["healthcheck-protocol"] ?? (path === undefined ? "tcp" : "http");
  return { kind: "built", value: { protocol, port: port.value, path: path ?? "/", ...numbers } };
}

/** Selects the node port of the named port, or else of the first TCP port. */
function selectHealthCheckPort({ metadata, spec }: Service, annotations: Annotations): Built<number> {
  const checkedPort = annotations["healthcheck-port"];
  const port = spec.ports?.find(
    ({ protocol, port }) => protocol === "TCP" && (checkedPort === undefined || port === checkedPort),
  );
  if (port?.nodePort) return { kind: "built", value: port.nodePort };
  const allowed = "a TCP port of the Service that has a node port";
  return reject(buildInvalidAnnotation("healthcheck-port", metadata.annotations, allowed));
}

const KUBE_PROXY_PORT = 10_256;
