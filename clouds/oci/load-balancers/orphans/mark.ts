import * as z from "zod";
import type { Api, ApiAnswer, ApiRequest, Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { ORPHANED_TAG } from "#clouds/oci/load-balancers/tags.ts";
import { fault } from "#clouds/outcome.ts";

const Tagged = z.object({ freeformTags: z.record(z.string(), z.string()).nullish() });

/**
 * Writes a mark among the free-form tags of a thing, or takes it off where there is no text. All of them are replaced by what was read a
 * moment before, and nothing where somebody else has changed it since.
 */
export async function mark(
  api: Api,
  request: ApiRequest,
  text: string | undefined,
  turn: Turn,
): Promise<Outcome<ApiAnswer>> {
  const operation = request.operation.replace("Mark", "Get");
  const template = request.template.replace("PUT", "GET");
  const read = await api.send({ operation, template, path: request.path }, turn);
  if (read.kind === "fault") return read;
  const tagged = Tagged.safeParse(read.value.body);
  const { etag } = read.value.headers;
  if (!tagged.success || etag === undefined) return fault("Unavailable", `${template}: no tags, or no etag`);
  const { [ORPHANED_TAG]: _, ...others } = tagged.data.freeformTags ?? {};
  const freeformTags = { ...others, ...(text === undefined ? {} : { [ORPHANED_TAG]: text }) };
  return api.send({ ...request, headers: { "if-match": etag }, body: { freeformTags } }, turn);
}
