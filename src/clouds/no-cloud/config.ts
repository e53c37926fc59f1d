import * as z from "zod";
import { parseCidr } from "#core/cidr.ts";
import { checkLabelKey, checkLabelValue } from "#core/label-syntax.ts";
import { isReservedLabel } from "#core/node/labels.ts";

/** The label with a node's host name, used if its kubelet reports none. */
export const HOSTNAME_LABEL = "kubernetes.io/hostname";

/** Properties of similar nodes. */
export const NodeRule = z
  .strictObject({
    /** Names of nodes; `*` matches any characters, `?` one. */
    names: z
      .array(z.string().regex(/^[a-z0-9.*?-]{1,253}$/, "a name of nodes such as rack-1-*"))
      .min(1)
      .max(100)
      .optional(),
    /** Networks, one of which must contain one of the node's IP addresses. */
    networks: z
      .array(
        z
          .string()
          .refine((text) => parseCidr(text) !== undefined, "a network such as 10.1.0.0/16 or fd00:1::/64"),
      )
      .min(1)
      .max(100)
      .optional(),
    region: buildLabelValueSchema("a region").optional(),
    zone: buildLabelValueSchema("a zone").optional(),
    instanceType: buildLabelValueSchema("an instance type").optional(),
    /** In addition to type, zone and region; a label that the node already has stays unchanged. */
    labels: z
      .record(
        z
          .string()
          .refine((key) => checkLabelKey(key) === undefined, "a label's key such as example.com/rack")
          .refine(
            (key) => !isReservedLabel(key),
            "not a key of Kubernetes' own: use region, zone and instanceType for these",
          ),
        buildLabelValueSchema("a label's value"),
      )
      .refine((labels) => Object.keys(labels).length <= 20, "at most 20 labels")
      .optional(),
  })
  .refine(({ names, networks }) => names !== undefined || networks !== undefined, {
    message: "names or networks is required: which nodes the rule is about; names: ['*'] is about all",
    path: ["names"],
  });
export type NodeRule = z.output<typeof NodeRule>;

/** A cluster whose nodes run on machines without a cloud API: bare metal, or a private hypervisor. */
export const NoCloudConfig = z.strictObject({
  provider: z.literal("no-cloud"),
  /** The first matching rule sets the node's properties; a node without a rule gets none. */
  rules: z.array(NodeRule).max(200).optional(),
});
export type NoCloudConfig = z.output<typeof NoCloudConfig>;

function buildLabelValueSchema(what: string): z.ZodString {
  const message = `${what} that can be a label: at most 63 letters, digits, '-', '_' and '.'`;
  return z
    .string()
    .min(1, message)
    .refine((text) => checkLabelValue(text) === undefined, message);
}
