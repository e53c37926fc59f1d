import * as z from "zod";
import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import { exposedServices } from "#core/digitalocean/exposed-service.ts";
import { serviceWatch } from "#core/service/watch.ts";
import type { Settings } from "#core/settings.ts";
import type { Watch } from "#core/watch.ts";

/** Only for DigitalOcean: other clouds tag load balancers at creation, or not at all. */
const TagsSettings = z.object({ provider: z.literal("digitalocean"), clusterID: z.string().min(1) });

/** The watch half of the tags controller: it checks a cluster as a whole at intervals. */
export const tagsWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: "service-lb-tags",
  functionName: serviceWatch.functionName,
  enablement: {
    companionOf: serviceWatch.name,
    isFor: (settings) => formatClusterTag(settings) !== undefined,
  },
  related: [exposedServices],
  rechecks: {
    resync: {
      // New load balancers are tagged at creation: this is for existing ones.
      fingerprint: () => "",
      everySeconds: 900,
    },
  },
};

/** Returns the tag of a cluster's load balancers; undefined if they have no tag. */
export function formatClusterTag({ cloud }: Pick<Settings, "cloud">): string | undefined {
  const settings = TagsSettings.safeParse(cloud).data;
  return settings === undefined ? undefined : `k8s:${settings.clusterID}`;
}
