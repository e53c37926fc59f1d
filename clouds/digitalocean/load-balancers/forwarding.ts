import { annotationName } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import { invalidAnnotation } from "#clouds/digitalocean/load-balancers/annotations/read-annotations.ts";
import type { Annotations, LoadBalancerType } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { ForwardingRule } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service, ServicePort } from "#core/service/service.ts";

/** Something that can be read of a Service, or why it cannot be served. */
export type Built<Value> =
  | { readonly kind: "built"; readonly value: Value }
  | { readonly kind: "refused"; readonly problem: Problem };

/** On what rules depend. */
export interface Forwarding {
  readonly service: Service;
  readonly annotations: Annotations;
  readonly type: LoadBalancerType;
  /** The certificate that the annotations name. */
  readonly certificateId: string | undefined;
}

/** The rules by which a load balancer forwards to nodes, one for each port, and one more for HTTP/3. */
export function rulesOf(forwarding: Forwarding): Built<readonly ForwardingRule[]> {
  const { spec } = forwarding.service;
  const rules: ForwardingRule[] = [];
  const ports = spec.ports ?? [];
  if (ports.length === 0) return refused({ code: "NoPorts", field: "spec.ports" });
  for (const [index, port] of ports.entries()) {
    const rule = ruleOf(port, `spec.ports[${index}]`, forwarding);
    if (rule.kind === "refused") return rule;
    rules.push(rule.value);
  }
  const http3 = http3Of(forwarding);
  if (http3?.kind === "refused") return http3;
  return { kind: "built", value: http3 === undefined ? rules : [...rules, http3.value] };
}

/** What cannot be made. */
export function refused(problem: Problem): Extract<Built<never>, { readonly kind: "refused" }> {
  return { kind: "refused", problem };
}

function ruleOf(
  port: ServicePort,
  field: string,
  { service, annotations, type, certificateId }: Forwarding,
): Built<ForwardingRule> {
  const { protocol, port: entryPort, nodePort } = port;
  if (protocol !== "TCP" && protocol !== "UDP") {
    const allowed = "TCP or UDP";
    return refused({ code: "UnsupportedProtocol", field: `${field}.protocol`, value: protocol, allowed });
  }
  if (entryPort >= FIRST_RESERVED && entryPort <= LAST_RESERVED) {
    const allowed = `any but ${FIRST_RESERVED} to ${LAST_RESERVED}, which load balancers keep for themselves`;
    return refused({ code: "InvalidField", field: `${field}.port`, value: String(entryPort), allowed });
  }
  if (type === "REGIONAL_NETWORK") return built(plain(protocol, entryPort, entryPort));
  if (!nodePort) return refused({ code: "NoNodePort", field: `${field}.nodePort` });
  if (protocol === "UDP") return built(plain(protocol, entryPort, nodePort));
  const entry = protocolOf(entryPort, annotations);
  const rule = { ...plain(protocol, entryPort, nodePort), entry_protocol: entry, target_protocol: entry };
  if (entry !== "https" && entry !== "http2") return built(rule);
  if (annotations["tls-passthrough"] === true) return built({ ...rule, tls_passthrough: true });
  if (certificateId !== undefined)
    return built({ ...rule, target_protocol: "http", certificate_id: certificateId });
  const allowed = `the id of a certificate, or ${annotationName("tls-passthrough")}, as port ${entryPort} is ${entry}`;
  return refused(invalidAnnotation("certificate-id", service.metadata.annotations, allowed));
}

/** As by the default of all ports, or by the last list that names it. */
function protocolOf(port: number, annotations: Annotations): string {
  const http2 = annotations["http2-ports"] ?? [];
  if (http2.includes(port)) return "http2";
  if (tlsPortsOf(annotations, http2).includes(port)) return "https";
  if (annotations["http-ports"]?.includes(port)) return "http";
  return annotations.protocol ?? "tcp";
}

/** Whoever names a certificate, or has TLS passed through, means port 443, unless he says otherwise. */
function tlsPortsOf(annotations: Annotations, http2: readonly number[]): readonly number[] {
  const named = annotations["tls-ports"];
  if (named !== undefined) return named;
  const isMeant =
    annotations["tls-passthrough"] === true ||
    annotations["certificate-id"] !== undefined ||
    annotations["certificate-name"] !== undefined;
  return isMeant && !http2.includes(HTTPS) ? [HTTPS] : [];
}

function http3Of({
  service,
  annotations,
  type,
  certificateId,
}: Forwarding): Built<ForwardingRule> | undefined {
  const wanted = annotations["http3-port"];
  if (wanted === undefined || type === "REGIONAL_NETWORK") return undefined;
  const port = service.spec.ports?.find(({ port, protocol }) => port === wanted && protocol === "TCP");
  if (port === undefined || !port.nodePort || certificateId === undefined) {
    const allowed = "a TCP port of the Service that has a node port";
    return refused(invalidAnnotation("http3-port", service.metadata.annotations, allowed));
  }
  return built({
    ...plain("UDP", wanted, port.nodePort),
    entry_protocol: "http3",
    target_protocol: "http",
    certificate_id: certificateId,
  });
}

function plain(protocol: "TCP" | "UDP", entryPort: number, targetPort: number): ForwardingRule {
  const word = protocol === "UDP" ? "udp" : "tcp";
  return {
    entry_protocol: word,
    entry_port: entryPort,
    target_protocol: word,
    target_port: targetPort,
    certificate_id: "",
    tls_passthrough: false,
  };
}

function built(value: ForwardingRule): Built<ForwardingRule> {
  return { kind: "built", value };
}

const HTTPS = 443;

/** The API refuses them as entry ports. */
const FIRST_RESERVED = 50_053;
const LAST_RESERVED = 50_055;
