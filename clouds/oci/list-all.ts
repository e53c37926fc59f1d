import * as z from "zod";
import type { Api, ApiRequest, Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { isNotFound } from "#clouds/oci/read-error.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** The most that a page may hold; the server may well put less on one. */
export const PAGE_SIZE = 500;

/** How many pages are looked at. */
const MAX_PAGES = 60;

/** A page, as most services have it, or as newer ones do. */
const Page = z.union([
  z.array(z.unknown()),
  z.object({ items: z.array(z.unknown()) }).transform(({ items }) => items),
]);

/**
 * All that a list shows, page after page. A page may be short, or empty, and not the last: only the header says which is. Half a list
 * is a fault, as nothing could be concluded from what it lacks. Oracle says "not found" where it means "not for you".
 */
export async function listAll(
  api: Api,
  request: Omit<ApiRequest, "method" | "body">,
  turn: Turn,
): Promise<Outcome<readonly unknown[]>> {
  const { template, path } = request;
  const items: unknown[] = [];
  const seen = new Set<string>();
  for (let page: string | undefined, count = 0; count < MAX_PAGES; count += 1) {
    const paging = new URLSearchParams({ limit: String(PAGE_SIZE), ...(page === undefined ? {} : { page }) });
    const answer = await api.send(
      { ...request, path: `${path}${path.includes("?") ? "&" : "?"}${paging}` },
      turn,
    );
    if (answer.kind === "fault") {
      const { message } = answer.fault;
      if (!isNotFound(answer.fault)) return answer;
      const remedy = "see that what is listed is there, and that a policy lets the user read it";
      return { kind: "fault", fault: { ...answer.fault, code: "Denied", message: `${message}; ${remedy}` } };
    }
    const parsed = Page.safeParse(answer.value.body);
    if (!parsed.success) return fault("Unavailable", `${template}: the answer is not a list`);
    items.push(...parsed.data);
    page = answer.value.headers["opc-next-page"];
    if (page === undefined || page === "") return ok(items);
    if (seen.has(page))
      return fault("Unavailable", `${template}: the same page is named twice as the next one`);
    seen.add(page);
  }
  return fault("Unavailable", `${template}: there are more than ${MAX_PAGES} pages`);
}
