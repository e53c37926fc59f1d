import * as z from "zod";
import type { Settings } from "#core/settings.ts";

/** Only for DigitalOcean: other clouds tag load balancers at creation, or not at all. */
const TagsSettings = z.object({ provider: z.literal("digitalocean"), clusterID: z.string().min(1) });

/** Returns the tag of a cluster's load balancers; undefined if they have no tag. */
export function formatClusterTag({ cloud }: Pick<Settings, "cloud">): string | undefined {
  const settings = TagsSettings.safeParse(cloud).data;
  return settings === undefined ? undefined : `k8s:${settings.clusterID}`;
}
