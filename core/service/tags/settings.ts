import * as z from "zod";
import type { Settings } from "#core/settings.ts";

/** DigitalOcean's alone: elsewhere load balancers are tagged when they are made, or not at all. */
const TagsSettings = z.object({ provider: z.literal("digitalocean"), clusterID: z.string().min(1) });

/** The tag that the load balancers of a cluster carry; undefined where they carry none. */
export function clusterTagOf({ cloud }: Pick<Settings, "cloud">): string | undefined {
  const settings = TagsSettings.safeParse(cloud).data;
  return settings === undefined ? undefined : `k8s:${settings.clusterID}`;
}
