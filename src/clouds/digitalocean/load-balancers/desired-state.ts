import {
  buildInvalidAnnotation,
  readAnnotations,
} from "#clouds/digitalocean/load-balancers/annotations/read-annotations.ts";
import {
  ANNOTATION_PREFIX,
  type Annotations,
  DISOWN_ANNOTATION,
  ID_ANNOTATION,
  type LoadBalancerType,
} from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { ForwardingRule, HealthCheck } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { type Built, buildRules, reject } from "#clouds/digitalocean/load-balancers/forwarding.ts";
import { formatDefaultName, isDefaultName } from "#clouds/digitalocean/load-balancers/ownership.ts";
import { getConfiguration } from "#clouds/digitalocean/load-balancers/state.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import { readSourceRanges } from "#core/service/source-ranges.ts";
import type { Settings } from "#core/settings.ts";

/** The desired state of a load balancer in the API's terms, without targets and fixed settings. */
export interface DesiredState {
  readonly forwarding_rules: readonly ForwardingRule[];
  readonly health_check: DesiredHealthCheck;
  readonly sticky_sessions:
    | { readonly type: "none" }
    | { readonly type: "cookies"; readonly cookie_name: string; readonly cookie_ttl_seconds: number };
  readonly firewall: { readonly allow: readonly string[]; readonly deny: readonly string[] };
  readonly redirect_http_to_https: boolean;
  readonly enable_proxy_protocol: boolean;
  readonly enable_backend_keepalive: boolean;
  readonly disable_lets_encrypt_dns_records: boolean;
  /** Absent means one unit, the API's default. */
  readonly size_unit?: number;
  readonly size?: string;
  readonly http_idle_timeout_seconds?: number;
}

/** A parsed Service. */
export interface ServiceReading {
  readonly service: Service;
  readonly annotations: Annotations;
  readonly warnings: readonly Issue[];
}

/** Reads a Service's annotations. */
export function readService(service: Service): Built<ServiceReading> {
  const read = readAnnotations(service.metadata.annotations);
  if (read.kind === "refused") return read;
  const { annotations, warnings } = read;
  const { name } = annotations;
  if (name !== undefined && isDefaultName(name) && name !== formatDefaultName(service)) {
    const allowed = "a name that no other Service's load balancer has by its uid";
    return reject(buildInvalidAnnotation("name", service.metadata.annotations, allowed));
  }
  return { kind: "built", value: { service, annotations, warnings } };
}

/**
 * Builds the desired state of a load balancer of a type for a Service; `certificateId` is the certificate of
 * its annotations.
 */
export function buildDesiredState(
  { service, annotations }: ServiceReading,
  type: LoadBalancerType,
  certificateId: string | undefined,
): Built<DesiredState> {
  const rules = buildRules({ service, annotations, type, certificateId });
  if (rules.kind === "refused") return rules;
  const check = buildHealthCheck(service, annotations);
  if (check.kind === "refused") return check;
  const ranges = readSourceRanges(service);
  if (ranges.kind === "refused") return ranges;
  const sizeUnit = annotations["size-unit"];
  const size = annotations["size-slug"];
  const idle = annotations["http-idle-timeout-seconds"];
  const value: DesiredState = {
    forwarding_rules: rules.value,
    health_check: check.value,
    sticky_sessions: buildStickySessions(annotations),
    firewall: {
      allow: ranges.ranges?.map((range) => `cidr:${range}`) ?? annotations["allow-rules"] ?? [],
      deny: annotations["deny-rules"] ?? [],
    },
    redirect_http_to_https: annotations["redirect-http-to-https"] ?? false,
    enable_proxy_protocol: annotations["enable-proxy-protocol"] ?? false,
    enable_backend_keepalive: annotations["enable-backend-keepalive"] ?? false,
    disable_lets_encrypt_dns_records: annotations["disable-lets-encrypt-dns-records"] ?? false,
    ...(sizeUnit ? { size_unit: sizeUnit } : {}),
    ...(size === undefined ? {} : { size }),
    ...(idle === undefined ? {} : { http_idle_timeout_seconds: idle }),
  };
  return { kind: "built", value };
}

/** Whether the annotations name a certificate. */
export function hasCertificate(annotations: Annotations): boolean {
  return annotations["certificate-id"] !== undefined || annotations["certificate-name"] !== undefined;
}

function buildStickySessions(annotations: Annotations): DesiredState["sticky_sessions"] {
  const name = annotations["sticky-sessions-cookie-name"];
  const ttl = annotations["sticky-sessions-cookie-ttl"];
  return annotations["sticky-sessions-type"] === "cookies" && name !== undefined && ttl !== undefined
    ? { type: "cookies", cookie_name: name, cookie_ttl_seconds: ttl }
    : { type: "none" };
}

/** The desired health check; without `proxy_protocol` the API's value stays. */
type DesiredHealthCheck = Omit<HealthCheck, "proxy_protocol"> & { readonly proxy_protocol?: false };

/**
 * Builds the health check of nodes: kube-proxy on each node, or for local traffic the kubelet's port of the
 * Service; or a port of the Service if annotations name it.
 */
function buildHealthCheck(service: Service, annotations: Annotations): Built<DesiredHealthCheck> {
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

/**
 * Returns all parts of a Service and of the configuration that determine its load balancer, except targets.
 */
export function describeDesired(service: Service, settings: Settings): string {
  const { metadata, spec } = service;
  const { region, vpc, clusterID, defaultLoadBalancerType, allow } = getConfiguration(settings);
  const annotations = Object.entries(metadata.annotations ?? {}).filter(
    ([name]) => name.startsWith(ANNOTATION_PREFIX) || name === ID_ANNOTATION || name === DISOWN_ANNOTATION,
  );
  const ranges = readSourceRanges(service);
  return formatCanonicalJson({
    annotations: Object.fromEntries(annotations),
    ports: spec.ports?.map(({ protocol, port, nodePort }) => ({ protocol, port, nodePort })),
    local: spec.externalTrafficPolicy === "Local" ? spec.healthCheckNodePort : false,
    ranges: ranges.kind === "read" ? ranges.ranges : undefined,
    cloud: { region, vpc, clusterID, defaultLoadBalancerType, allow },
  });
}
