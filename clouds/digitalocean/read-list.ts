import * as z from "zod";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** Something of a list, as far as it is told apart; the rest is as it came. */
const Entry = z.looseObject({ id: z.string().min(1), name: z.string() });
export type Entry = z.output<typeof Entry>;

/** Which list is read. */
export interface ListName {
  readonly operation: string;
  readonly path: string;
  /** Under which a page has its entries. */
  readonly key: string;
}

/** A page says whether there is another one; what says nothing of that is no page. */
const Page = z.looseObject({
  links: z.object({ pages: z.object({ next: z.string().optional() }).optional() }),
  meta: z
    .object({ total: z.int().min(0) })
    .optional()
    .catch(undefined),
});

/** The most that a page may hold. */
const PAGE_SIZE = 200;

/**
 * All entries of a list, each once. What is missing in it would be made a second time or be taken for gone, so that a list that changed
 * under the reading, or that cannot be read as a whole, is a fault.
 */
export async function readList(
  { operation, path, key }: ListName,
  mostPages: number,
  api: Api,
  turn: Turn,
): Promise<Outcome<readonly Entry[]>> {
  const template = `GET ${path}`;
  const found = new Map<string, Entry>();
  const totals = new Set<number>();
  for (let page = 1; page <= mostPages; page += 1) {
    // The links in an answer name a host, and are not followed: page numbers are ours.
    const query = `page=${page}&per_page=${PAGE_SIZE}`;
    const answer = await api.get({ operation, template, path: `${path}?${query}` }, turn);
    if (answer.kind === "fault") return answer;
    const { data } = Page.safeParse(answer.value);
    const entries = z.array(Entry).safeParse(data?.[key]).data;
    if (data === undefined || entries === undefined)
      return fault("Unavailable", `${template}: the answer is not a list of ${key}`);
    const before = found.size;
    for (const entry of entries) found.set(entry.id, entry);
    if (data.meta !== undefined) totals.add(data.meta.total);
    if (data.links.pages?.next === undefined) return whole(found, totals, template);
    if (found.size === before) return fault("Unavailable", `${template}: page ${page} holds nothing new`);
  }
  return fault("Unavailable", `${template}: more than ${mostPages} pages, not looked at further`);
}

/** Whatever goes while pages are read moves what is on later ones to earlier ones, where nobody looks any more. */
function whole(
  found: ReadonlyMap<string, Entry>,
  totals: ReadonlySet<number>,
  template: string,
): Outcome<readonly Entry[]> {
  const isWhole = totals.size <= 1 && [...totals].every((total) => total <= found.size);
  if (isWhole) return ok([...found.values()]);
  const said = [...totals].join(", then ");
  return fault(
    "Unavailable",
    `${template}: the pages hold ${found.size}, and say that there are ${said}; it is read again`,
  );
}
