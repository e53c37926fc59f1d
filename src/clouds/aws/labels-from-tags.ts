import type { Tag } from "@aws-sdk/client-ec2";
import * as z from "zod";
import { checkLabelKey } from "#core/label-syntax.ts";
import { isReservedLabel } from "#core/node/labels.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** Tags of an instance that become labels of its node: a tag by its key, or a tag with the label's name. */
export const LabelsFromTags = z
  .array(
    z
      .union([
        z.string().transform((tag) => ({ tag, label: tag })),
        z.strictObject({ tag: z.string(), label: z.string() }),
      ])
      .superRefine(({ tag, label }, context) => {
        const fault = checkTagLabel(tag, label);
        if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
      }),
    { error: "a list of tag keys, or of tags and labels such as { tag: Team, label: example.com/team }" },
  )
  // EC2 allows 50 tags per instance.
  .max(50, "at most 50 labels from tags")
  .refine((all) => new Set(all.map(({ label }) => label)).size === all.length, {
    message: "a label is listed twice",
  });
export type LabelsFromTags = z.output<typeof LabelsFromTags>;

/**
 * Returns labels for the tags of an instance. Values that are invalid in Kubernetes are dropped later, when
 * the label is written.
 */
export function buildTagLabels(
  tags: readonly Tag[] = [],
  selection: LabelsFromTags = [],
): Record<string, string> {
  const values = new Map(tags.map(({ Key: key, Value: value = "" }) => [key, value]));
  return Object.fromEntries(
    selection.flatMap(({ tag, label }): [string, string][] => {
      const value = values.get(tag);
      return value === undefined ? [] : [[label, value]];
    }),
  );
}

/** Labels that this cloud writes itself. */
export const OWN_LABEL_PREFIX = "topology.k8s.aws/";

function checkTagLabel(tag: string, label: string): string | undefined {
  if (tag === "" || tag.length > 128) return "a tag's key has 1 to 128 characters";
  const named = `the label "${sanitizeText(label, 64)}"`;
  if (isReservedLabel(label))
    return `${named} is refused: labels under kubernetes.io and k8s.io are Kubernetes' own`;
  if (label.startsWith(OWN_LABEL_PREFIX))
    return `${named} is refused: labels under ${OWN_LABEL_PREFIX} are set from EC2's data`;
  const fault = checkLabelKey(label);
  if (fault === undefined) return undefined;
  const remedy = tag === label ? "; give the tag a label of its own: { tag: …, label: … }" : "";
  return `${named} is refused: ${fault}${remedy}`;
}
