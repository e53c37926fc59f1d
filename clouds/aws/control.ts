import type { AwsCluster } from "#clouds/aws/belonging.ts";
import { describePage } from "#clouds/aws/describe-instances.ts";
import { isLive, liveFilters } from "#clouds/aws/live.ts";
import { isOurs, isUnseen, type Resolutions } from "#clouds/aws/resolution.ts";
import type { Session } from "#clouds/aws/session.ts";

/**
 * The id of an instance or a network interface of the cluster that was there to be seen: whatever was not found with it was
 * looked for in the right place. Of the batch itself where it found one; else one page is asked for, which may well be empty.
 * Undefined where there is none, where it cannot be told, and where nothing of the batch was missed.
 */
export async function findControl(
  resolutions: Resolutions,
  session: Session,
  cluster: AwsCluster,
): Promise<string | undefined> {
  const all = [...resolutions.values()];
  // What is somebody else's is treated as what is not there: how long it takes must not tell the two apart.
  if (!all.some(isUnseen)) return undefined;
  for (const resolution of all) {
    if (resolution.kind === "instance" && isLive(resolution.found)) return resolution.found.id;
    if (resolution.kind === "interface" && resolution.eni.NetworkInterfaceId)
      return resolution.eni.NetworkInterfaceId;
  }
  const page = await describePage(session, liveFilters(cluster), PAGE_SIZE);
  if (page.kind === "fault") return undefined;
  return page.value.found.find((found) => isLive(found) && isOurs(found, cluster))?.id;
}

/** A VPC may be shared with other clusters, whose instances prove nothing. */
const PAGE_SIZE = 20;
