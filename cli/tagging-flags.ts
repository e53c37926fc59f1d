import type { ConfigurationFault } from "#cli/configuration-error.ts";
import type { ClusterEntry } from "#config/cluster.ts";
import type { ControllerName } from "#core/event.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { TaggingSettings } from "#core/settings.ts";
import { taggingWatch } from "#core/tagging/watch.ts";

/** The flags about tags of instances, as typed. */
export interface TaggingFlags {
  readonly tags?: string | undefined;
  readonly resources?: string | undefined;
}

/** A cluster's `tagging:` as a clusters file with the same settings has it. */
export type WrittenTagging = NonNullable<ClusterEntry["tagging"]>;

/** Reads the given flags, and nothing for missing ones, because a cluster's hash covers what is written. */
export function readTaggingFlags(
  { tags: written, resources: list }: TaggingFlags,
  controllers: readonly ControllerName[],
  faults: ConfigurationFault[],
): WrittenTagging | undefined {
  if (written === undefined && controllers.includes(taggingWatch.name))
    faults.push({
      name: "--tags",
      message: `is required with the controller ${taggingWatch.name}: KEY=VALUE`,
    });
  if (written === undefined && list === undefined) return undefined;
  const tags = written === undefined ? undefined : parsePairs(written, faults);
  const resources = list?.split(",");
  const parsed = TaggingSettings.safeParse({ tags, resources });
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
}

/** Parses pairs in the stock controller's format: the first `=` of each ends the key. */
function parsePairs(written: string, faults: ConfigurationFault[]): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const pair of written.split(",")) {
    const end = pair.indexOf("=");
    if (end > 0) pairs[pair.slice(0, end)] = pair.slice(end + 1);
    else
      faults.push({
        name: "--tags",
        message: `"${sanitizeText(pair)}" is no tag; write KEY=VALUE, with a comma between`,
      });
  }
  return pairs;
}
