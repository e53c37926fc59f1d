import * as z from "zod";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { type ControllerFlags, getText } from "#core/flags.ts";
import { isReservedTag } from "#core/reserved-tags.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The name of the controller. */
export const TAGGING = "tagging";

/** AWS allows 50 on a resource: ours, the mark that lists ours, and some of other owners. */
const MAX_TAGS = 40;

const RESERVED_TAG =
  "a tag whose key begins with aws:, kubernetes.io/ or serverless-ccm.io/, or is KubernetesCluster, says whose a resource is";

/** The tags for the cloud resources of nodes. */
export const TaggingSettings = z.strictObject({
  /** `--tags`. */
  tags: z
    .record(z.string().min(1).max(128), z.string().max(256))
    .refine((tags) => Object.keys(tags).length <= MAX_TAGS, { message: `at most ${MAX_TAGS} tags` })
    .superRefine((tags, context) => {
      for (const key of Object.keys(tags).filter(isReservedTag))
        context.addIssue({ code: "custom", path: [key], message: RESERVED_TAG });
    })
    .prefault({}),
  /** `--resources`. */
  resources: z.array(z.enum(["instance"])).prefault(["instance"]),
});
export type TaggingSettings = z.output<typeof TaggingSettings>;

/** The flags about tags of instances. */
export const taggingFlags: ControllerFlags = {
  key: "tagging",
  flags: [
    {
      option: "--tags <list>",
      help: "of instances, with the tagging controller: KEY=VALUE,KEY=VALUE",
      sets: "tagging.tags",
    },
    {
      option: "--resources <list>",
      help: "what gets them: instance (default: instance)",
      sets: "tagging.resources",
    },
  ],
  read(typed, { controllers, faults }) {
    const written = getText(typed, "tags");
    const list = getText(typed, "resources");
    if (written === undefined && controllers.includes(TAGGING))
      faults.push({
        name: "--tags",
        message: `is required with the controller ${TAGGING}: KEY=VALUE`,
      });
    if (written === undefined && list === undefined) return undefined;
    const tags = written === undefined ? undefined : parsePairs(written, faults);
    const parsed = TaggingSettings.safeParse({ tags, resources: list?.split(",") });
    if (parsed.success)
      return {
        ...(tags === undefined ? {} : { tags }),
        ...(list === undefined ? {} : { resources: parsed.data.resources }),
      };
    for (const { path, message } of parsed.error.issues) {
      const [flag, ...rest] = path;
      const what = rest.length === 0 ? "" : `"${sanitizeText(rest.join("."))}": `;
      faults.push({ name: `--${String(flag)}`, message: `${what}${message}` });
    }
    return undefined;
  },
};

/** Parses pairs in the stock controller's format: the first `=` of each ends the key. */
function parsePairs(written: string, faults: ConfigurationFault[]): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const pair of written.split(",")) {
    const end = pair.indexOf("=");
    if (end > 0) pairs[pair.slice(0, end)] = pair.slice(end + 1);
    else
      faults.push({
        name: "--tags",
        message: `"${sanitizeText(pair)}" is not a tag; write KEY=VALUE, with a comma between`,
      });
  }
  return pairs;
}
