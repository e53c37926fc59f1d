import * as z from "zod";
import type { Api } from "#clouds/http/api.ts";
import type { ApiError } from "#clouds/http/classify.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import { type ErrorCodes, findMeaning, type Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** An entry of a list; only its id and name are parsed. */
const Entry = z.looseObject({ id: z.string().min(1), name: z.string() });
export type Entry = z.output<typeof Entry>;

/** The list to read. */
export interface ListName {
  readonly operation: string;
  readonly path: string;
  /** The key of the entries in a page. */
  readonly key: string;
}

/** A page says whether another one follows; an answer that does not is invalid. */
const Page = z.looseObject({
  links: z.object({ pages: z.object({ next: z.string().optional() }).optional() }),
  meta: z
    .object({ total: z.int().min(0) })
    .optional()
    .catch(undefined),
});

/** The largest page. */
const PAGE_SIZE = 200;

/**
 * Reads all entries of a list, each once. A missing entry would be created a second time or count as deleted.
 * So a list that changed during the read, or is incomplete, is a fault.
 */
export async function readList(
  { operation, path, key }: ListName,
  maxPages: number,
  api: Api,
  callContext: CallContext,
): Promise<Outcome<readonly Entry[]>> {
  const template = `GET ${path}`;
  const found = new Map<string, Entry>();
  const totals = new Set<number>();
  for (let page = 1; page <= maxPages; page += 1) {
    // The links in an answer name a host and are not followed: we set the page numbers.
    const query = `page=${page}&per_page=${PAGE_SIZE}`;
    const answer = await api.get({ operation, template, path: `${path}?${query}` }, callContext);
    if (answer.kind === "fault") return answer;
    const { data } = Page.safeParse(answer.value);
    const entries = z.array(Entry).safeParse(data?.[key]).data;
    if (data === undefined || entries === undefined)
      return fault("Unavailable", `${template}: the answer is not a list of ${key}`);
    const previousSize = found.size;
    for (const entry of entries) found.set(entry.id, entry);
    if (data.meta !== undefined) totals.add(data.meta.total);
    if (data.links.pages?.next === undefined) return checkComplete(found, totals, template);
    if (found.size === previousSize)
      return fault("Unavailable", `${template}: page ${page} holds nothing new`);
  }
  return fault("Unavailable", `${template}: more than ${maxPages} pages, the rest is not read`);
}

/** A deletion during the read moves entries to earlier pages, which are not read again. */
function checkComplete(
  found: ReadonlyMap<string, Entry>,
  totals: ReadonlySet<number>,
  template: string,
): Outcome<readonly Entry[]> {
  const isComplete = totals.size <= 1 && [...totals].every((total) => total <= found.size);
  if (isComplete) return ok([...found.values()]);
  const reportedTotals = [...totals].join(", then ");
  return fault(
    "Unavailable",
    `${template}: the pages hold ${found.size}, and say that there are ${reportedTotals}; it is read again`,
  );
}

/** The format of DigitalOcean's errors. */
const ErrorBody = z.object({
  id: z.string(),
  message: z.string().optional().catch(undefined),
  request_id: z.string().optional().catch(undefined),
});

/** Reads DigitalOcean's error from the body of an answer; undefined for any other body. */
export function readError(body: unknown): ApiError | undefined {
  const { success, data } = ErrorBody.safeParse(body);
  if (!success) return undefined;
  const { id, message, request_id: requestId } = data;
  const isBusy = id === "forbidden" && BUSY_LOAD_BALANCER.test(message ?? "");
  const meaning = isBusy ? "Unavailable" : findMeaning(DIGITALOCEAN_ERROR_CODES, id);
  return { id, message, requestId, meaning };
}

/**
 * DigitalOcean's error ids, from its API reference. Quotas have no id: a limit is `unprocessable_entity` or
 * `forbidden`.
 */
const DIGITALOCEAN_ERROR_CODES: ErrorCodes = {
  Throttled: new Set(["too_many_requests"]),
  Denied: new Set(["unauthorized", "forbidden"]),
  Invalid: new Set(["bad_request", "unprocessable_entity"]),
  NotFound: new Set(["not_found"]),
  Conflict: new Set(["conflict"]),
  Unavailable: new Set(["server_error", "internal_server_error", "service_unavailable"]),
};

/**
 * Matches the message of a 403 `forbidden` about a load balancer with a change in progress. It is temporary,
 * says nothing about permissions, and has no id of its own.
 */
const BUSY_LOAD_BALANCER = /processes previous actions/;
