import type { Tag } from "@aws-sdk/client-ec2";
import * as z from "zod";
import { faultOfLabelKey } from "#core/label-syntax.ts";
import { isReservedLabel } from "#core/node/labels.ts";
import { shown } from "#core/shown-text.ts";

/** What is kept of an instance's tags as labels of its node: a tag by its key, or a tag and the label that it becomes. */
export const LabelsFromTags = z
  .array(
    z
      .union([
        z.string().transform((tag) => ({ tag, label: tag })),
        z.strictObject({ tag: z.string(), label: z.string() }),
      ])
      .superRefine(({ tag, label }, context) => {
        const fault = faultOf(tag, label);
        if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
      }),
    { error: "a list of tag keys, or of tags and labels such as { tag: Team, label: example.com/team }" },
  )
  // EC2 has room for 50 tags on an instance.
  .max(50, "at most 50 labels from tags")
  .refine((all) => new Set(all.map(({ label }) => label)).size === all.length, {
    message: "a label stands here twice",
  });
export type LabelsFromTags = z.output<typeof LabelsFromTags>;

/** Labels for the tags that an instance has; a value that Kubernetes would refuse is left out when the label is to be written. */
export function labelsOfTags(tags: readonly Tag[] = [], wanted: LabelsFromTags = []): Record<string, string> {
  const values = new Map(tags.map(({ Key: key, Value: value = "" }) => [key, value]));
  return Object.fromEntries(
    wanted.flatMap(({ tag, label }): [string, string][] => {
      const value = values.get(tag);
      return value === undefined ? [] : [[label, value]];
    }),
  );
}

/** Labels that this cloud writes by itself. */
export const OWN_LABEL_PREFIX = "topology.k8s.aws/";

function faultOf(tag: string, label: string): string | undefined {
  if (tag === "" || tag.length > 128) return "a tag's key has 1 to 128 characters";
  const named = `the label "${shown(label, 64)}"`;
  if (isReservedLabel(label))
    return `${named} is refused: labels under kubernetes.io and k8s.io are Kubernetes' own`;
  if (label.startsWith(OWN_LABEL_PREFIX))
    return `${named} is refused: labels under ${OWN_LABEL_PREFIX} say what EC2 says`;
  const fault = faultOfLabelKey(label);
  if (fault === undefined) return undefined;
  const remedy = tag === label ? "; give the tag a label of its own: { tag: …, label: … }" : "";
  return `${named} is refused: ${fault}${remedy}`;
}
