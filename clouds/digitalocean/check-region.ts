import * as z from "zod";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { nearest } from "#core/nearest.ts";

/** All regions there are: one page holds them. */
export const REGIONS_PATH = "/v2/regions?per_page=200";
const REGIONS_TEMPLATE = "GET /v2/regions";

const RegionsPage = z.object({ regions: z.array(z.object({ slug: z.string() })).min(1) });

/** What is wrong with a region, by the list of them; undefined where nothing is, or where the body is no list. */
export function faultOfRegion(region: string, body: unknown): string | undefined {
  const slugs = RegionsPage.safeParse(body).data?.regions.map(({ slug }) => slug) ?? [region];
  if (slugs.includes(region)) return undefined;
  const near = nearest(region, slugs);
  return `DigitalOcean has no region ${region}${near === undefined ? "" : `; perhaps ${near}`}`;
}

/** Whether DigitalOcean has the region; a fault of the configuration names its key. */
export async function checkRegion(api: Api, region: string, turn: Turn): Promise<Outcome<unknown>> {
  const request = { operation: "regions_list", template: REGIONS_TEMPLATE, path: REGIONS_PATH };
  const outcome = await api.get(request, turn);
  if (outcome.kind === "fault")
    return { kind: "fault", fault: { ...outcome.fault, message: `region: ${outcome.fault.message}` } };
  const message = faultOfRegion(region, outcome.value);
  return message === undefined
    ? outcome
    : { kind: "fault", fault: { code: "Denied", key: "region", message } };
}
