import { buildInvalidAnnotation } from "#clouds/digitalocean/load-balancers/annotations/read-annotations.ts";
import {
  type Annotations,
  formatAnnotationName,
  type LoadBalancerType,
} from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { ForwardingRule } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service, ServicePort } from "#core/service/service.ts";

/** A value read from a Service, or why it cannot be served. */
export type Built<Value> =
  | { readonly kind: "built"; readonly value: Value }
  | { readonly kind: "refused"; readonly issue: Issue };

/** Inputs of the rules. */
export interface ForwardingOptions {
  readonly service: Service;
  readonly annotations: Annotations;
  readonly type: LoadBalancerType;
  /** The certificate that the annotations name. */
  readonly certificateId: string | undefined;
}

/** Builds the rules by which a load balancer forwards to nodes: one per port, and one more for HTTP/3. */
export function buildRules(options: ForwardingOptions): Built<readonly ForwardingRule[]> {
  const { spec } = options.service;
  const rules: ForwardingRule[] = [];
  const ports = spec.ports ?? [];
  if (ports.length === 0) return reject({ code: "NoPorts", field: "spec.ports" });
  for (const [index, port] of ports.entries()) {
    const rule = buildRule(port, `spec.ports[${index}]`, options);
    if (rule.kind === "refused") return rule;
    rules.push(rule.value);
  }
  const http3 = buildHttp3Rule(options);
  if (http3?.kind === "refused") return http3;
  return { kind: "built", value: http3 === undefined ? rules : [...rules, http3.value] };
}

/** Builds the result of a rejected value. */
export function reject(issue: Issue): Extract<Built<never>, { readonly kind: "refused" }> {
  return { kind: "refused", issue };
}

function buildRule(
  port: ServicePort,
  field: string,
  { service, annotations, type, certificateId }: ForwardingOptions,
): Built<ForwardingRule> {
  const { protocol, port: entryPort, nodePort } = port;
  if (protocol !== "TCP" && protocol !== "UDP") {
    const allowed = "TCP or UDP";
    return reject({ code: "UnsupportedProtocol", field: `${field}.protocol`, value: protocol, allowed });
  }
  if (entryPort >= FIRST_RESERVED && entryPort <= LAST_RESERVED) {
    const allowed = `any except ${FIRST_RESERVED} to ${LAST_RESERVED}, which load balancers reserve`;
    return reject({ code: "InvalidField", field: `${field}.port`, value: String(entryPort), allowed });
  }
  if (type === "REGIONAL_NETWORK") return accept(buildPlainRule(protocol, entryPort, entryPort));
  if (!nodePort) return reject({ code: "NoNodePort", field: `${field}.nodePort` });
  if (protocol === "UDP") return accept(buildPlainRule(protocol, entryPort, nodePort));
  const entry = selectProtocol(entryPort, annotations);
  const rule = {
    ...buildPlainRule(protocol, entryPort, nodePort),
    entry_protocol: entry,
    target_protocol: entry,
  };
  if (entry !== "https" && entry !== "http2") return accept(rule);
  if (annotations["tls-passthrough"] === true) return accept({ ...rule, tls_passthrough: true });
  if (certificateId !== undefined)
    return accept({ ...rule, target_protocol: "http", certificate_id: certificateId });
  const allowed = `the id of a certificate, or ${formatAnnotationName("tls-passthrough")}, as port ${entryPort} is ${entry}`;
  return reject(buildInvalidAnnotation("certificate-id", service.metadata.annotations, allowed));
}

/** Selects a port's protocol: that of the last list that names it, else the default of all ports. */
function selectProtocol(port: number, annotations: Annotations): string {
  const http2 = annotations["http2-ports"] ?? [];
  if (http2.includes(port)) return "http2";
  if (listTlsPorts(annotations, http2).includes(port)) return "https";
  if (annotations["http-ports"]?.includes(port)) return "http";
  return annotations.protocol ?? "tcp";
}

/** With a certificate or TLS passthrough, the TLS port is 443 by default. */
function listTlsPorts(annotations: Annotations, http2: readonly number[]): readonly number[] {
  const tlsPorts = annotations["tls-ports"];
  if (tlsPorts !== undefined) return tlsPorts;
  const hasTls =
    annotations["tls-passthrough"] === true ||
    annotations["certificate-id"] !== undefined ||
    annotations["certificate-name"] !== undefined;
  return hasTls && !http2.includes(HTTPS) ? [HTTPS] : [];
}

function buildHttp3Rule({
  service,
  annotations,
  type,
  certificateId,
}: ForwardingOptions): Built<ForwardingRule> | undefined {
  const http3Port = annotations["http3-port"];
  if (http3Port === undefined || type === "REGIONAL_NETWORK") return undefined;
  const port = service.spec.ports?.find(({ port, protocol }) => port === http3Port && protocol === "TCP");
  if (port === undefined || !port.nodePort || certificateId === undefined) {
    const allowed = "a TCP port of the Service that has a node port";
    return reject(buildInvalidAnnotation("http3-port", service.metadata.annotations, allowed));
  }
  return accept({
    ...buildPlainRule("UDP", http3Port, port.nodePort),
    entry_protocol: "http3",
    target_protocol: "http",
    certificate_id: certificateId,
  });
}

function buildPlainRule(protocol: "TCP" | "UDP", entryPort: number, targetPort: number): ForwardingRule {
  const lowerCase = protocol === "UDP" ? "udp" : "tcp";
  return {
    entry_protocol: lowerCase,
    entry_port: entryPort,
    target_protocol: lowerCase,
    target_port: targetPort,
    certificate_id: "",
    tls_passthrough: false,
  };
}

function accept(value: ForwardingRule): Built<ForwardingRule> {
  return { kind: "built", value };
}

const HTTPS = 443;

/** The API rejects ports from here on as entry ports. */
const FIRST_RESERVED = 50_053;
const LAST_RESERVED = 50_055;
