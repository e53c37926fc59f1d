import * as z from "zod";
import { cloudKind } from "#clouds/kind.ts";
import { HOSTNAME_LABEL } from "#clouds/no-cloud/kind.ts";
import { ObjectName } from "#clouds/object-name.ts";
import { parseCidr } from "#core/cidr.ts";

/** How keepalived passes packets on. */
export const ForwardMethod = z.enum(["NAT", "DR", "PROXY"]);
export type ForwardMethod = z.output<typeof ForwardMethod>;

/** A cluster whose load balancers are addresses that keepalived announces, as a ConfigMap of the cluster says. */
export const KeepalivedCloudConfig = z.strictObject({
  provider: z.literal("keepalived"),
  /** Of the ConfigMap. */
  namespace: ObjectName.prefault("kube-system"),
  /** Which has to be there; it is never made. */
  configMap: ObjectName,
  /** Addresses that Services get which name none. IPv4 alone: they are keys of the ConfigMap, which have no colon. */
  serviceCIDR: z
    .string()
    .refine((text) => parseCidr(text)?.family === 4, { error: "an IPv4 network such as 10.210.38.64/26" }),
  /** Of Services that name none; empty as none is written. */
  defaultForwardMethod: z.union([ForwardMethod, z.literal("")]).prefault(""),
  /** Whether a Service may name an address that is not in `serviceCIDR`. */
  outsidePool: z.enum(["allow", "refuse"]).prefault("allow"),
  /** Whether nodes are initialized by what their kubelets say, or left to others. */
  nodes: z.enum(["no-cloud", "none"]).prefault("no-cloud"),
});
export type KeepalivedCloudConfig = z.output<typeof KeepalivedCloudConfig>;

export const keepalived = cloudKind({
  provider: "keepalived",
  config: KeepalivedCloudConfig,
  environment: {
    namespace: ["KEEPALIVED_NAMESPACE"],
    configMap: ["KEEPALIVED_CONFIG_MAP"],
    serviceCIDR: ["KEEPALIVED_SERVICE_CIDR"],
    defaultForwardMethod: ["KEEPALIVED_DEFAULT_FORWARD_METHOD"],
  },
  credentialSource: () => "the cluster's own sign-in: there is no account of a cloud",
  quotaKey: () => "",
  labelPrefixes: [],
  nodeKeysOf: () => [HOSTNAME_LABEL],
  vouchesForAddresses: () => false,
  async load(config, options) {
    const { createKeepalivedCloud } = await import("#clouds/keepalived/cloud.ts");
    return createKeepalivedCloud(config, options);
  },
});
