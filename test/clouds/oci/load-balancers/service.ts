import {
  LB_PREFIX,
  NLB_PREFIX,
  OCI_PREFIX,
  RULE_MODE,
} from "#clouds/oci/load-balancers/annotations/table.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import { Service } from "#core/service/service.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";

export const UID = "0f0c3a52-6b1e-4f6e-9c39-0a1b2c3d4e5f";
export const COMPARTMENT = "ocid1.compartment.oc1..c1";
export const OTHER_COMPARTMENT = "ocid1.compartment.oc1..c2";
export const VCN = "ocid1.vcn.oc1.phx.v1";
export const SUBNET = "ocid1.subnet.oc1.phx.s1";
export const CLUSTER = "tenant-a";

/**
 * Returns full names of annotations for short ones: `lb:internal`, `oci:load-balancer-type`, `nlb:internal`.
 */
export function buildAnnotations(short: Readonly<Record<string, string>>): Record<string, string> {
  const prefixes: Readonly<Record<string, string>> = { lb: LB_PREFIX, oci: OCI_PREFIX, nlb: NLB_PREFIX };
  return Object.fromEntries(
    Object.entries(short).map(([name, value]) => {
      const [kind = "", rest = ""] = name.split(":");
      return [`${prefixes[kind]}${rest}`, value];
    }),
  );
}

/** Builds a Service with a port, without managed rules. */
export function buildService(
  said: Readonly<Record<string, string>> = {},
  spec: Readonly<Record<string, unknown>> = {},
  metadata: Readonly<Record<string, unknown>> = {},
): Service {
  return Service.parse({
    metadata: {
      namespace: "default",
      name: "web",
      uid: UID,
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      annotations: { [RULE_MODE]: "None", ...buildAnnotations(said) },
      ...metadata,
    },
    spec: { type: "LoadBalancer", ports: [{ protocol: "TCP", port: 80, nodePort: 30_080 }], ...spec },
  });
}

/** Builds such a Service for a network load balancer. */
export function buildNetworkService(
  said: Readonly<Record<string, string>> = {},
  spec: Readonly<Record<string, unknown>> = {},
): Service {
  return buildService({ "oci:load-balancer-type": "nlb", ...said }, spec);
}

/** Builds a cluster's settings, with keys of its cloud. */
export function buildSettings(cloud: Readonly<Record<string, unknown>> = {}): Settings {
  return {
    ...DEFAULT_SETTINGS,
    cluster: CLUSTER,
    cloud: {
      provider: "oci",
      compartment: COMPARTMENT,
      vcn: VCN,
      loadBalancer: { subnet1: SUBNET },
      ...cloud,
    },
  };
}

/** Builds a question about nodes whose labels are unknown. */
export function buildQuestion(
  service: Service,
  nodes: LoadBalancerQuestion["nodes"] = NODES,
): LoadBalancerQuestion {
  return { service, wanted: true, nodes };
}

export const NODES = [1, 2].map((number) => ({
  name: `node-${number}`,
  providerID: `oci://ocid1.instance.oc1.phx.i${number}`,
}));
