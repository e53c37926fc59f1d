import * as z from "zod";
import { cloudKind } from "#clouds/kind.ts";
import { parseCidr } from "#core/cidr.ts";
import { faultOfLabelKey, faultOfLabelValue } from "#core/label-syntax.ts";
import { isReservedLabel } from "#core/node/labels.ts";

/** The label by which a node's host name is known where its kubelet reports none. */
export const HOSTNAME_LABEL = "kubernetes.io/hostname";

/** What nodes that are alike are said to be. */
export const NodeRule = z
  .strictObject({
    /** Names of nodes; `*` stands for any run of characters, `?` for one. */
    names: z
      .array(z.string().regex(/^[a-z0-9.*?-]{1,253}$/, "a name of nodes such as rack-1-*"))
      .min(1)
      .max(100)
      .optional(),
    /** Networks that one of the node's IP addresses is in. */
    networks: z
      .array(
        z
          .string()
          .refine((text) => parseCidr(text) !== undefined, "a network such as 10.1.0.0/16 or fd00:1::/64"),
      )
      .min(1)
      .max(100)
      .optional(),
    region: labelValue("a region").optional(),
    zone: labelValue("a zone").optional(),
    instanceType: labelValue("an instance type").optional(),
    /** Beyond type, zone and region; a label that the node has already stays as it is. */
    labels: z
      .record(
        z
          .string()
          .refine((key) => faultOfLabelKey(key) === undefined, "a label's key such as example.com/rack")
          .refine(
            (key) => !isReservedLabel(key),
            "not a key of Kubernetes' own: use region, zone and instanceType for these",
          ),
        labelValue("a label's value"),
      )
      .refine((labels) => Object.keys(labels).length <= 20, "at most 20 labels")
      .optional(),
  })
  .refine(({ names, networks }) => names !== undefined || networks !== undefined, {
    message: "names or networks is required: which nodes the rule is about; names: ['*'] is about all",
    path: ["names"],
  });
export type NodeRule = z.output<typeof NodeRule>;

/** Nodes of a cluster on machines that no cloud's API knows of: bare metal, or somebody's own hypervisor. */
export const NoCloudConfig = z.strictObject({
  provider: z.literal("no-cloud"),
  /** The first that is about a node says what it is; of a node that none is about nothing is said. */
  rules: z.array(NodeRule).max(200).optional(),
});
export type NoCloudConfig = z.output<typeof NoCloudConfig>;

export const noCloud = cloudKind({
  provider: "no-cloud",
  config: NoCloudConfig,
  environment: {},
  credentialSource: () => "nowhere: it needs none",
  quotaKey: () => "",
  doubts: ({ rules = [] }) => {
    const all = rules.findIndex(({ names, networks }) => networks === undefined && names?.includes("*"));
    if (all === -1 || all === rules.length - 1) return [];
    return [`rules[${all}] is about all nodes: what stands after it is about none`];
  },
  labelPrefixes: [],
  labelsOf: ({ rules = [] }) => [...new Set(rules.flatMap(({ labels = {} }) => Object.keys(labels)))],
  nodeKeysOf: () => [HOSTNAME_LABEL],
  vouchesForAddresses: () => false,
  async load(config) {
    const { createNoCloud } = await import("#clouds/no-cloud/cloud.ts");
    return createNoCloud(config);
  },
});

function labelValue(what: string): z.ZodString {
  const message = `${what} that can be a label: at most 63 letters, digits, '-', '_' and '.'`;
  return z
    .string()
    .min(1, message)
    .refine((text) => faultOfLabelValue(text) === undefined, message);
}
