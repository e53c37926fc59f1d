import * as z from "zod";
import type { Api, ApiAnswer, ApiRequest } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { ORPHANED_TAG } from "#clouds/oci/load-balancers/tags.ts";
import { fault } from "#clouds/outcome.ts";

const TaggedResource = z.object({ freeformTags: z.record(z.string(), z.string()).nullish() });

/**
 * Writes a mark to the free-form tags of a resource, or removes it without a text. The request replaces all
 * tags with those just read, and has no effect if they changed since.
 */
export async function writeMark(
  api: Api,
  request: ApiRequest,
  text: string | undefined,
  callContext: CallContext,
): Promise<Outcome<ApiAnswer>> {
  const operation = request.operation.replace("Mark", "Get");
  const template = request.template.replace("PUT", "GET");
  const read = await api.send({ operation, template, path: request.path }, callContext);
  if (read.kind === "fault") return read;
  const tagged = TaggedResource.safeParse(read.value.body);
  const { etag } = read.value.headers;
  if (!tagged.success || etag === undefined) return fault("Unavailable", `${template}: no tags, or no etag`);
  const { [ORPHANED_TAG]: _, ...others } = tagged.data.freeformTags ?? {};
  const freeformTags = { ...others, ...(text === undefined ? {} : { [ORPHANED_TAG]: text }) };
  return api.send({ ...request, headers: { "if-match": etag }, body: { freeformTags } }, callContext);
}
