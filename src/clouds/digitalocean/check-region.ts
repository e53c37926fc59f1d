import * as z from "zod";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { findNearest } from "#core/nearest.ts";

/** Lists all regions; one page is enough. */
export const REGIONS_PATH = "/v2/regions?per_page=200";
const REGIONS_TEMPLATE = "GET /v2/regions";

const RegionsPage = z.object({ regions: z.array(z.object({ slug: z.string() })).min(1) });

/**
 * Returns what is wrong with a region according to the list; undefined if nothing is, or if the body is no
 * list.
 */
export function checkRegionSlug(region: string, body: unknown): string | undefined {
  const slugs = RegionsPage.safeParse(body).data?.regions.map(({ slug }) => slug) ?? [region];
  if (slugs.includes(region)) return undefined;
  const nearest = findNearest(region, slugs);
  return `DigitalOcean has no region ${region}${nearest === undefined ? "" : `; perhaps ${nearest}`}`;
}

/** Checks whether DigitalOcean has the region; a fault of the configuration names its key. */
export async function checkRegion(
  api: Api,
  region: string,
  callContext: CallContext,
): Promise<Outcome<unknown>> {
  const request = { operation: "regions_list", template: REGIONS_TEMPLATE, path: REGIONS_PATH };
  const outcome = await api.get(request, callContext);
  if (outcome.kind === "fault")
    return { kind: "fault", fault: { ...outcome.fault, message: `region: ${outcome.fault.message}` } };
  const message = checkRegionSlug(region, outcome.value);
  return message === undefined
    ? outcome
    : { kind: "fault", fault: { code: "Denied", key: "region", message } };
}
