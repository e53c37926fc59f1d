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

/** The capability of a cloud whose load balancers carry the cluster's tag. */
export const LOAD_BALANCER_TAGS = "loadBalancerTags";

/** The question about tags: which load balancers of these Services lack the tag. */
export const TagsQuestion = z.object({
  services: z.array(
    z.object({
      namespace: z.string(),
      name: z.string(),
      uid: z.string(),
      /** From the Service's annotation, which any tenant can write. */
      loadBalancerID: z.string().optional(),
    }),
  ),
});
export type TagsQuestion = z.output<typeof TagsQuestion>;

/** The observed tags of load balancers. */
export const TagsState = z.object({
  /** IDs of load balancers that lack the tag and belong to a Service by a fact that no tenant can write. */
  lacking: z.array(z.string()),
  /** Load balancers that lack the tag and that only an annotation names: `namespace/name: id`. */
  unproven: z.array(z.string()),
});
export type TagsState = z.output<typeof TagsState>;

/** The action of the capability, with its parameters; the target is the tag. */
export const TAG = "TagLoadBalancers";
export const TagParameters = z.strictObject({ ids: z.array(z.string()).min(1) });
